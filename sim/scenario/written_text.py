"""A scenario that is no file: standard input, or the dict of a script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.errors import InputError


@dataclass(frozen=True)
class WrittenText:
    """The YAML `text` of a scenario, and the `name` that stands for it in messages. Files that it names are relative to the current folder.

    `numbered`: lines and columns of the text mean something to the person who wrote it.
    """

    name: str
    text: str
    numbered: bool = True

    @property
    def path(self) -> Path:
        """What stands for the file where a path is asked for."""
        return Path(self.name)


Origin = Path | WrittenText


def of_mapping(values: Mapping[str, Any], name: str = "scenario") -> WrittenText:
    """The scenario that `values` hold, keys as in a file. InputError where a value is neither text, number, truth, list nor mapping.

    >>> of_mapping({"name": "mine", "seed": 1}).text
    '{"name": "mine", "seed": 1}'
    """
    try:
        return WrittenText(name, json.dumps(dict(values), ensure_ascii=False, default=_plain), numbered=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}; write texts, numbers, true or false, lists and dicts, as in a scenario file") from None


def _plain(value: Any) -> Any:
    """A path as text, a number of numpy as a plain one."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r} is no value of a scenario")
