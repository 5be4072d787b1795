"""Numbers as people type them on a command line; every problem of a command in one message."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeVar

from sim.catalog.check import instead
from sim.errors import InputError

Row = TypeVar("Row")
SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
NUMBER = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|\.[0-9]+)\s*([kmbgt]?)", re.IGNORECASE)


def count(text: str) -> float:
    """A positive number with an optional k, M, B (or G) or T, decimal; ValueError says what would be right.

    >>> count("7e9") == count("7B") == count("7_000_000_000"), count("1.5T")
    (True, 1500000000000.0)
    """
    match = NUMBER.fullmatch(text.strip())
    value = float(match[1].replace(",", "").replace("_", "")) * SUFFIXES[match[2].lower()] if match else math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f'"{text}" is not a number above 0; write 7e9, 7B or 7000000000')
    return value


def context(text: str) -> int:
    """Tokens of context: k means 1,024 here, as model names do; whole and at least 2.

    >>> context("8k"), context("128K"), context("4000")
    (8192, 131072, 4000)
    """
    bare = text.strip()
    value = count(bare[:-1]) * 1024 if bare[-1:] in ("k", "K") and bare[:-1] else count(bare)
    if value < 2 or value != int(value):
        raise ValueError(f'"{text}" is not a number of tokens; write 8k (8,192) or 4000')
    return int(value)


def band(text: str) -> tuple[float, float]:
    """A share, or two with a colon between; above 0, at most 1, low first.

    >>> band("0.4:0.6"), band("0.5")
    ((0.4, 0.6), (0.5, 0.5))
    """
    try:
        low, high = (float(part) for part in (text.split(":") if ":" in text else (text, text)))
    except ValueError:
        raise ValueError(f'"{text}" is not a share or a band; write 0.5 or 0.4:0.6') from None
    if not 0 < low <= high <= 1:
        raise ValueError(f'"{text}" is not a band of shares; write low:high with 0 < low <= high <= 1, like 0.4:0.6')
    return low, high


class Options:
    """Reads options one by one, collects what is wrong with them, and raises it all at once."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.problems: list[str] = []

    def wrong(self, option: str, what: str) -> None:
        self.problems.append(f"{self.command}: {option}: {what}")

    def count(self, option: str, text: str) -> float:
        """`text` as a count; NaN after a problem."""
        try:
            return count(text)
        except ValueError as error:
            self.wrong(option, str(error))
            return math.nan

    def context(self, option: str, text: str) -> int:
        """`text` as tokens of context; 2 after a problem."""
        try:
            return context(text)
        except ValueError as error:
            self.wrong(option, str(error))
            return 2

    def band(self, option: str, text: str) -> tuple[float, float]:
        """`text` as a band of shares; (1, 1) after a problem."""
        try:
            return band(text)
        except ValueError as error:
            self.wrong(option, str(error))
            return 1.0, 1.0

    def row(self, option: str, name: str, rows: Mapping[str, Row]) -> Row | None:
        """The row of that name; None after a problem."""
        if name not in rows:
            self.wrong(option, f'"{name}" is not in the catalogue; {instead(name, rows)}')
        return rows.get(name)

    def check(self) -> None:
        """InputError with every problem so far."""
        if self.problems:
            raise InputError(self.problems)
