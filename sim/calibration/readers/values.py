"""Numbers out of nested JSON: what is absent is None, what is no number is one clear message."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sim.errors import InputError

LARGEST = 2**28  # bytes: detailed results of a million requests are smaller


def read_text(path: Path) -> str:
    """The text of `path`. Raises InputError where there is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: is larger than 256 MB; give the summary instead of the detailed result")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); write the path of a benchmark file") from error
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no UTF-8 text; is it a benchmark result?") from None


def parse_json(path: Path, text: str) -> list[Any]:
    """The JSON values of a file: one, or one per line. Raises InputError with the line that is none."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError) as error:
        lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or not all(line.lstrip().startswith("{") for _, line in lines):
            line_number = getattr(error, "lineno", 1)
            raise InputError(f"{path}:{line_number}: is not JSON: {error}") from error
    found = []
    for number, line in lines:
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: is not JSON: {error}") from error
    return found


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
        raise InputError(f"{where}: {'.'.join(keys)}: {str(value)[:40]!r} is not a number")
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{where}: {'.'.join(keys)}: {value!r} is not a finite number of 0 or more")
    return float(value)


def first_number(where: str, data: Any, *paths: tuple[str, ...]) -> float | None:
    """The first number that is there at one of `paths`."""
    return next((value for keys in paths if (value := number(where, data, *keys)) is not None), None)


def needed(where: str, value: float | None, what: str) -> float:
    """`value`, or InputError that names what the file lacks."""
    if not value:
        raise InputError(f"{where}: has no {what}; is the file complete?")
    return value
