"""Numbers out of nested JSON: what is absent is None, what is no number is one clear message."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sim import named_files
from sim.errors import InputError, quoted

WHAT = "a benchmark result"


def read_text(path: Path) -> str:
    """The text of `path`. Raises InputError where there is none."""
    return named_files.read_text(path, WHAT)


def parse_json(path: Path, text: str) -> list[Any]:
    """The JSON values of a file: one, or one per line. Raises InputError with the line that is none."""
    try:
        return [named_files.parse_json(text, str(path), WHAT, finite=False)]
    except InputError:
        lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or not all(line.lstrip().startswith("{") for _, line in lines):
            raise
    return [named_files.parse_json(line, str(path), WHAT, finite=False, line=number) for number, line in lines]


def at(data: Any, *keys: str) -> Any:
    """The value at `keys` in nested mappings; None where one is missing.

    >>> at({"a": {"b": 1}}, "a", "b"), at({"a": 1}, "a", "b")
    (1, None)
    """
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def number(where: str, data: Any, *keys: str) -> float | None:
    """The number at `keys`; None where it is missing. Raises InputError for what is negative, not finite or no number."""
    value = at(data, *keys)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: {'.'.join(keys)}: {quoted(value, 40)} is not a number")
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{where}: {'.'.join(keys)}: {quoted(value)} is not a finite number of 0 or more")
    return float(value)


def first_number(where: str, data: Any, *paths: tuple[str, ...]) -> float | None:
    """The first number that is there at one of `paths`."""
    return next((value for keys in paths if (value := number(where, data, *keys)) is not None), None)


def needed(where: str, value: float | None, what: str) -> float:
    """`value`, or InputError that names what the file lacks."""
    if not value:
        raise InputError(f"{where}: has no {what}; is the file complete?")
    return value
