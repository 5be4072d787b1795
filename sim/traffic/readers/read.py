"""Reads a log in any known format, told by its header or keys."""

from __future__ import annotations

from pathlib import Path

from sim.errors import InputError
from sim.traffic.readers import azure, burstgpt, own, splitwise, vidur
from sim.traffic.readers.blocks import read_blocks
from sim.traffic.readers.clean import clean
from sim.traffic.readers.files import FORMATS
from sim.traffic.readers.records import ReadLog
from sim.traffic.readers.table import read_header, read_table

CSV_FORMATS = (own.FORMAT, azure.FORMAT, burstgpt.FORMAT, vidur.FORMAT, splitwise.FORMAT)


def read_log(path: Path) -> ReadLog:
    """Requests of the log at `path`, plain or gzip, with an account of every row read, kept and dropped.

    Raises InputError for a file that is missing, empty, torn or damaged as gzip, of no known format, without
    a usable row, or with mixed clocks.
    """
    header = read_header(path)
    if header and header[0].startswith("{"):
        name, raw, dropped, first_line = read_blocks(path)
        return clean(path, name, raw, dropped, first_line)
    for form in CSV_FORMATS:
        if form.matches(header):
            table = read_table(path, form)
            return clean(path, form.name, form.build(table), table.dropped, table.first_line)
    shown = ",".join(header)[:80].encode("ascii", "replace").decode()
    known = "; ".join(f"{form.name}: {','.join(form.required)}" for form in CSV_FORMATS)
    raise InputError(f"{path}:1: header {shown!r} is of no known log format; write {FORMATS} ({known})")
