"""JSON logs, line by line or as one document, as rows of plain values: only the keys that a format wants leave the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim.errors import InputError
from sim.traffic.readers.files import gzip_faults, open_log, whole_text
from sim.traffic.readers.log_rows import Floats, Longs
from sim.traffic.readers.parse import Codes, Instants, cached_tokens, numbers
from sim.traffic.readers.table import CACHED, TEXT, TIME, Layout, Table

TORN, BLANK = "torn row (not a JSON object)", "blank line"
ROW_LISTS = ("data", "logs", "rows", "requests")  # keys under which exports keep their rows
Row = tuple[int, dict[str, Any] | None]


def is_json(first_line: str) -> bool:
    """Whether a file with this first line holds JSON.

    >>> is_json('  {"a": 1}'), is_json("["), is_json("arrival_s,input_tokens")
    (True, True, False)
    """
    return first_line.lstrip()[:1] in ("{", "[")


def json_objects(path: Path) -> Iterator[Row]:
    """(line, object) of each row of a JSON log; None for a row that is no object, {} for a blank line.

    One document: an array of objects, or an object that holds one under `data`; lines are then record numbers.
    Raises InputError for a document that ends early or holds no rows.
    """
    with open_log(path) as text:
        line = [0]
        with gzip_faults(path, line):
            entry = text.readline()
            head = _object(entry)
            if head is None or _rows_of(head) is not None:
                yield from _document(path, head, whole_text(path, text, entry))
                return
            while entry:
                line[0] += 1
                yield line[0], _entry(entry)
                entry = text.readline()


def first_object(path: Path) -> dict[str, Any]:
    """The first row that is an object; empty where there is none."""
    return next((row for _, row in json_objects(path) if row), {})


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _entry(text: str) -> dict[str, Any] | None:
    return _object(text) if text.strip() else {}


def _rows_of(value: Any) -> list[Any] | None:
    """The rows that a document holds: itself, or a list under a known key; None where it has neither."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        lists = [value[key] for key in ROW_LISTS if isinstance(value.get(key), list)]
        return lists[0] if lists and all(isinstance(each, dict) for each in lists[0]) else None
    return None


def _document(path: Path, head: dict[str, Any] | None, text: str) -> Iterator[Row]:
    """Rows of a file that begins like a document; of its lines, where more than one line is an object of its own."""
    lines = text.splitlines()
    objects = sum(_object(line) is not None for line in lines[:50])
    if objects > 1 or (objects == 1 and head is None and not text.lstrip().startswith("[")):
        yield from ((number, _entry(line)) for number, line in enumerate(lines, 1))
    else:
        yield from enumerate(_document_rows(path, text), 1)


def _document_rows(path: Path, text: str) -> list[dict[str, Any] | None]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InputError(f"{path}:{line}: the JSON is torn or damaged here ({error}); write JSON lines or one whole array") from None
    rows = _rows_of(value)
    if rows is None:
        rows = [value] if isinstance(value, dict) else []
    return [row if isinstance(row, dict) else None for row in rows]


def object_table(path: Path, form: Layout, objects: Iterator[Row]) -> Table:
    """The wanted values of objects as columns; a key that a row lacks is NaN (numbers, times) or no text.

    Keys are matched in any letter case. Numbers may be written as text; times as ISO date-times or as seconds since 1970.
    """
    wanted: Mapping[str, str] = {**form.required, **form.optional}
    cells: dict[str, list[Any]] = {name: [] for name in wanted}
    lines: list[int] = []
    table = Table({}, {}, {}, np.empty(0, np.int64), Counter(), {})
    for line, row in objects:
        if not row:
            reason = BLANK if row == {} else TORN
            table.dropped[reason] += 1
            table.first_line.setdefault(reason, line)
            continue
        lines.append(line)
        low = {key.lower(): value for key, value in row.items()}
        for name, column in cells.items():
            column.append(low.get(name))
    table.lines = np.array(lines, dtype=np.int64)
    for name, kind in wanted.items():
        if name in form.optional and not any(cell is not None for cell in cells[name]):
            continue  # no row has the key: there is no such column
        if kind == TEXT:
            codes = Codes()
            table.codes[name] = codes([_text(cell) for cell in cells[name]])
            table.names[name] = codes.names
        elif kind == CACHED:
            table.columns[name] = np.array([cached_tokens(cell if isinstance(cell, str) else json.dumps(cell)) for cell in cells[name]])
        else:
            table.columns[name] = _times(path, cells[name], table.lines) if kind == TIME else numbers([_text(cell) for cell in cells[name]])
    return table


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "" if cell is None or isinstance(cell, list | dict) else str(cell)


def _times(path: Path, cells: Sequence[Any], lines: Longs) -> Floats:
    texts = [_text(cell) for cell in cells]
    as_numbers = numbers(texts)
    return as_numbers if np.isfinite(as_numbers).any() else Instants(path)(texts, lines)
