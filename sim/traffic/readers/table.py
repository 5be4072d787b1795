"""A CSV log as numpy columns: only the columns that a format wants, so that personal ones never leave the file."""

from __future__ import annotations

import csv
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import numpy as np

from sim.errors import InputError
from sim.traffic.readers.files import LONGEST_LINE, gzip_faults, open_log
from sim.traffic.readers.log_rows import Floats, Longs, Raw
from sim.traffic.readers.parse import Codes, Instants, cached_tokens, numbers

csv.field_size_limit(LONGEST_LINE)  # logs carry whole prompts in cells that are skipped; the module's limit of 128 kB would stop there
CHUNK_ROWS = 300  # rows and their cells stay in the processor's cache: at 2,000 wide rows take 1.5 times as long
LOOK_ROWS, LONG_CHARACTERS = 20, 2**20
MOST_INSIDE = 0.01
NUMBER, TIME, TEXT = "number", "time", "text"
CACHED = "cached"  # a cell of JSON of which nothing but the number of cached prompt tokens is read


@dataclass
class Table:
    """Columns by lower-case name: float64 for numbers and times (seconds since 1970), int64 codes for texts."""

    columns: dict[str, Floats]
    codes: dict[str, Longs]
    names: dict[str, tuple[str, ...]]
    lines: Longs
    dropped: Counter[str] = field(default_factory=Counter)
    first_line: dict[str, int] = field(default_factory=dict)
    inside: int = 0  # lines of the file that stand inside quoted cells: long texts, or what follows a quote that was left open

    def quoted_words(self) -> list[str]:
        """A note where more lines stand inside quotes than one in a hundred rows."""
        rows = len(self) + sum(self.dropped.values())
        if self.inside <= MOST_INSIDE * rows:
            return []
        return [f"{self.inside:,} lines stand inside quoted cells and are no rows: texts with line ends, or a quote that was left open"]

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Columns of a format, recognised by its header or keys: all of `required` must be there, in any order and letter case.

    required, optional   lower-case column name -> NUMBER, TIME (ISO date-time), TEXT or CACHED
    """

    name: str
    required: Mapping[str, str]
    optional: Mapping[str, str] = field(default_factory=dict)

    def matches(self, header: Sequence[str]) -> bool:
        return set(self.required) <= set(header)


@dataclass(frozen=True, kw_only=True)
class CsvFormat(Layout):
    """A format with a row for each request; `build` says what the columns mean."""

    build: Callable[[Table], Raw]


def read_header(path: Path) -> list[str]:
    """Lower-case column names in the first line."""
    with open_log(path) as text, gzip_faults(path, [1]), _csv_faults(path, [0]):
        return _header(text)


def _header(text: TextIO) -> list[str]:
    return [name.strip().lower() for name in next(csv.reader(text), [])]


def read_table(path: Path, form: Layout, header: Sequence[str] | None = None) -> Table:
    """The wanted columns of a file; rows with too few or too many cells are counted as torn, empty lines as blank.

    `header` names the columns of a file that has no such line.
    """
    with open_log(path) as text:
        named = bool(header)
        line = [0] if named else [1]
        header = list(header) if header else _header(text)
        wanted = {**form.required, **{k: v for k, v in form.optional.items() if k in header}}
        twice = [name for name in wanted if header.count(name) > 1]
        if twice:
            raise InputError(f"{path}:1: column {twice[0]} stands twice in the header; keep one")
        reader = _Columns(path, {name: (header.index(name), kind) for name, kind in wanted.items()}, len(header))
        with gzip_faults(path, line), _csv_faults(path, line), _collector_paused():
            lines = csv.reader(text)
            for rows in _chunks(lines):
                try:
                    reader.add(rows, line[0] + 1)
                finally:
                    line[0] += len(rows)
    return replace(reader.table(), inside=max(0, lines.line_num - (line[0] - (0 if named else 1))))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No search for reference cycles meanwhile: rows of text have none, and looking through them costs a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _csv_faults(path: Path, line: list[int]) -> Iterator[None]:
    """Turns what the csv module cannot read into an InputError after `line[0]`, the last row that was read."""
    try:
        yield
    except csv.Error as error:
        raise InputError(f"{path}:{line[0] + 1}: is not CSV from here on ({error}); is a quote left open?") from None


def _chunks(rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """Rows in chunks of CHUNK_ROWS; fewer where rows are so long that a chunk of them would fill the memory."""
    while True:
        chunk: list[list[str]] = []
        while len(chunk) < CHUNK_ROWS:
            some = list(islice(rows, LOOK_ROWS))
            chunk += some
            if len(some) < LOOK_ROWS or sum(map(len, chain.from_iterable(some))) > LONG_CHARACTERS:
                break
        if not chunk:
            return
        yield chunk


class _Columns:
    """Collects chunks of rows as arrays."""

    def __init__(self, path: Path, wanted: Mapping[str, tuple[int, str]], width: int) -> None:
        self._wanted = wanted
        self._width = width
        self._pick = itemgetter(*(index for index, _ in wanted.values()))
        self._parts: dict[str, list[Floats]] = {n: [] for n, (_, kind) in wanted.items() if kind != TEXT}
        self._instants = {name: Instants(path) for name, (_, kind) in wanted.items() if kind == TIME}
        self._codes = {name: Codes() for name, (_, kind) in wanted.items() if kind == TEXT}
        self._code_parts: dict[str, list[Longs]] = {name: [] for name in self._codes}
        self._lines: list[Longs] = []
        self._dropped: Counter[str] = Counter()
        self._first_line: dict[str, int] = {}

    def add(self, rows: list[list[str]], first: int) -> None:
        lines = np.arange(first, first + len(rows))
        if set(map(len, rows)) != {self._width}:
            whole = [len(row) == self._width for row in rows]
            for row, line in zip(rows, lines.tolist(), strict=True):
                if len(row) != self._width:
                    reason = "torn row (wrong number of cells)" if row else "blank line"
                    self._dropped[reason] += 1
                    self._first_line.setdefault(reason, line)
            lines = lines[whole]
            rows = [row for row, keep in zip(rows, whole, strict=True) if keep]
        if not rows:
            return
        self._lines.append(lines)
        wanted = self._pick(tuple(zip(*rows, strict=True)))  # all columns, then these: a third of the time of picking row by row
        for (name, (_, kind)), cells in zip(self._wanted.items(), wanted, strict=True):
            if kind == TEXT:
                self._code_parts[name].append(self._codes[name](cells))
            elif kind == CACHED:
                self._parts[name].append(np.array([cached_tokens(cell) for cell in cells]))
            else:
                self._parts[name].append(self._instants[name](cells, lines) if kind == TIME else numbers(cells))

    def table(self) -> Table:
        return Table(
            columns={n: np.concatenate(p) if p else np.empty(0) for n, p in self._parts.items()},
            codes={n: np.concatenate(p) if p else np.empty(0, np.int64) for n, p in self._code_parts.items()},
            names={name: codes.names for name, codes in self._codes.items()},
            lines=np.concatenate(self._lines) if self._lines else np.empty(0, np.int64),
            dropped=self._dropped,
            first_line=self._first_line,
        )
