"""Columns of text to columns of numbers: fast where all is well, NaN or -1 where a cell cannot be read."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from sim.errors import InputError
from sim.traffic.readers.log_rows import Floats, Longs

ZONE = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)\s*$", re.IGNORECASE)


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


def instants(cells: Sequence[str]) -> Floats:
    """ISO date-times as seconds since 1970; NaN for what is none. Up to nine fractional digits; no zone means UTC.

    float64 keeps them to 0.24 microseconds.

    >>> instants(["1970-01-01 00:00:01.5000000Z", "1970-01-01T02:00:00+02:00", "soon"]).tolist()
    [1.5, 0.0, nan]
    """
    one_clock(cells)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy warns where a zone is left, and reads it wrongly
            stamps = np.array(_without_utc(cells), dtype="datetime64[ns]")
    except (ValueError, Warning):
        return np.array([_instant(cell) for cell in cells], dtype=np.float64)
    seconds = stamps.astype(np.int64) / 1e9
    seconds[np.isnat(stamps)] = math.nan
    return np.asarray(seconds, dtype=np.float64)


def one_clock(cells: Sequence[str]) -> None:
    """Raises InputError where some of `cells` name a time zone and others do not: no one can say how far they lie apart."""
    zoned = next((cell for cell in cells if ":" in cell and ZONE.search(cell)), None)
    naive = next((cell for cell in cells if ":" in cell and not ZONE.search(cell)), None)
    if zoned is not None and naive is not None:
        raise InputError(f"times: {zoned[:40]} is written with a time zone, another without ({naive[:40]}); write all of them with one")


def _without_utc(cells: Sequence[str]) -> Sequence[str]:
    """Cells without the mark of UTC that the first one ends with; those that end otherwise stay as they are.

    >>> list(_without_utc(["2024-01-01T00Z", "2024-01-01T01"])), list(_without_utc(["2024-01-01T00+00", "2024-01-01T00+02"]))
    (['2024-01-01T00', '2024-01-01T01'], ['2024-01-01T00', '2024-01-01T00+02'])
    """
    for suffix in ("+00:00", "Z", "+00"):
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
