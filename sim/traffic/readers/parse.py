"""Columns of text to columns of numbers: fast where all is well, NaN or -1 where a cell cannot be read."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from sim.errors import InputError
from sim.traffic.readers.log_rows import Floats, Longs

ZONED = re.compile(r"\d[T ]\d[^-+]*(Z|[+-]\d\d(:?\d\d)?)\s*$", re.IGNORECASE)  # after a time of day: a date alone ends like a zone
UTC_MARKS = ("+00:00", "Z", "+00")
SHOWN = 40  # characters of a cell in a message


def numbers(cells: Sequence[str]) -> Floats:
    """Cells as float64; NaN for what is no number.

    >>> numbers(["1", " 2.5", "x", ""]).tolist()
    [1.0, 2.5, nan, nan]
    """
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array([_number(cell) for cell in cells], dtype=np.float64)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


CACHED = re.compile(r'"(?:cached_tokens|cache_read_input_tokens)"\s*:\s*(\d{1,9})\b')


def cached_tokens(cell: str) -> float:
    """The prompt tokens that a provider says it had cached, from the usage in a cell of JSON; NaN where none is told.

    OpenAI says `cached_tokens`, Anthropic `cache_read_input_tokens`; gateways write both with the same number.

    >>> cached_tokens('{"usage_object": {"prompt_tokens_details": {"cached_tokens": 768}}}'), cached_tokens('{"cached_tokens": null}')
    (768.0, nan)
    """
    return max((float(found) for found in CACHED.findall(cell)), default=math.nan)


def instants(cells: Sequence[str]) -> Floats:
    """ISO date-times as seconds since 1970; NaN for what is none. Up to nine fractional digits; no zone means UTC.

    float64 keeps them to 0.24 microseconds.

    >>> instants(["1970-01-01 00:00:01.5000000Z", "1970-01-01T02:00:00+02:00", "soon"]).tolist()
    [1.5, 0.0, nan]
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy warns where a zone is left, and reads it wrongly
            stamps = np.array(_without_utc(cells), dtype="datetime64[ns]")
    except (ValueError, Warning):
        return np.array([_instant(cell) for cell in cells], dtype=np.float64)
    seconds = stamps.astype(np.int64) / 1e9
    seconds[np.isnat(stamps)] = math.nan
    return np.asarray(seconds, dtype=np.float64)


class Instants:
    """`instants` of a column that is read in parts, all of whose times name a time zone, or none does.

    Cells that are no time say nothing about zones.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[bool, tuple[str, int]] = {}  # with a zone or without -> the first such cell and its line

    def __call__(self, cells: Sequence[str], lines: Longs) -> Floats:
        """Seconds since 1970. Raises InputError at the first time of the other kind: no one can say how far the two lie apart."""
        seconds = instants(cells)
        zoned = _zoned(cells)
        for kind in (True, False):
            rows = np.flatnonzero((zoned == kind) & np.isfinite(seconds))
            if kind not in self._seen and len(rows):
                self._seen[kind] = (cells[rows[0]].strip()[:SHOWN], int(lines[rows[0]]))
        if len(self._seen) == 2:
            self._refuse()
        return seconds

    def _refuse(self) -> NoReturn:
        kind, (cell, line) = max(self._seen.items(), key=lambda each: each[1][1])
        other, other_line = self._seen[not kind]
        first, second = ("with a time zone", "without one") if kind else ("without a time zone", "with one")
        raise InputError(
            f"{self._path}:{line}: time {cell} is written {first}, {other} in line {other_line} {second}; write all of them with one"
        )


def _zoned(cells: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which cells name a time zone. Columns that all end alike are seen at once: the pattern costs ten times what reading a time does.

    >>> _zoned(["2024-01-01 00:00", "2024-01-01"]).tolist(), _zoned(["2024-01-01 00:00-03", "2024-01-01T00"]).tolist()
    ([False, False], [True, False])
    """
    after_date = "".join([cell[10:] for cell in cells])
    if not any(mark in after_date for mark in "+-Zz"):
        return np.zeros(len(cells), bool)
    if any(all(cell.endswith(suffix) for cell in cells) for suffix in UTC_MARKS):
        return np.ones(len(cells), bool)
    return np.fromiter((ZONED.search(cell) is not None for cell in cells), bool, len(cells))


def _without_utc(cells: Sequence[str]) -> Sequence[str]:
    """Cells without the mark of UTC that the first one ends with; those that end otherwise stay as they are.

    >>> list(_without_utc(["2024-01-01T00Z", "2024-01-01T01"])), list(_without_utc(["2024-01-01T00+00", "2024-01-01T00+02"]))
    (['2024-01-01T00', '2024-01-01T01'], ['2024-01-01T00', '2024-01-01T00+02'])
    """
    for suffix in UTC_MARKS:
        if cells and cells[0].endswith(suffix):
            return [cell.removesuffix(suffix) for cell in cells]
    return cells


def _instant(cell: str) -> float:
    try:
        moment = datetime.fromisoformat(cell.strip())
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class Codes:
    """Whole numbers for texts, in order of first sight; an empty cell is -1.

    >>> codes = Codes()
    >>> codes(["b", "a", "", "b"]).tolist(), codes.names
    ([0, 1, -1, 0], ('b', 'a'))
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._raw: dict[str, int] = {}  # as written, blanks around it included

    def __call__(self, cells: Sequence[str]) -> Longs:
        raw, distinct = self._raw, dict.fromkeys(cells)  # in order of first sight
        for cell in distinct:
            if cell not in raw:
                name = cell.strip()
                if name and name not in raw:
                    raw[name] = len(self._names)
                    self._names.append(name)
                raw[cell] = raw[name] if name else -1
        if len(distinct) == 1:  # columns that say the same for hours: a model, a kind of call
            return np.full(len(cells), raw[cells[0]], np.int64)
        return np.fromiter(map(raw.__getitem__, cells), np.int64, len(cells))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)
