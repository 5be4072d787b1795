"""Reads a log or a usage export in any known format, told by its header or keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sim.errors import InputError
from sim.traffic.readers import (
    azure,
    azure_hours,
    burstgpt,
    chat_texts,
    litellm,
    openai_usage,
    openrouter,
    own,
    ragpulse,
    servegen,
    splitwise,
    vidur,
)
from sim.traffic.readers.blocks import read_blocks
from sim.traffic.readers.clean import clean
from sim.traffic.readers.files import FORMATS, gzip_faults, open_log
from sim.traffic.readers.json_rows import first_object, is_json, json_objects, object_table
from sim.traffic.readers.log_rows import Raw, ReadLog
from sim.traffic.readers.table import Table, read_header, read_table
from sim.traffic.readers.usage import LACKS, Usage, summed

LOGS = (own.FORMAT, azure.FORMAT, burstgpt.FORMAT, vidur.FORMAT, splitwise.FORMAT, litellm.FORMAT, openrouter.FORMAT)
EXPORTS = (openai_usage.FORMAT, openrouter.DAILY, azure_hours.FORMAT, servegen.CLIENTS, servegen.WINDOWS)
BLOCK_KEYS = {"timestamp", "input_length", "output_length"}


def read_log(path: Path) -> ReadLog:
    """Requests of the log at `path`, plain or gzip, with an account of every row read, kept and dropped.

    Raises InputError for a file that is missing, empty, torn or damaged as gzip, of no known format, without a usable row, with
    mixed clocks, or with sums instead of requests.
    """
    found = read_any(path)
    if isinstance(found, Usage):
        raise InputError(
            f"{path}: {found.format}: it holds sums over buckets of {found.width_s:g} s and lacks {LACKS}; a replay needs a row for "
            f"each request ({FORMATS}); start a scenario from the sums with `servemix new NAME --from-log {path.name}`"
        )
    return found


def read_usage(path: Path) -> Usage:
    """Sums of the usage export at `path`; raises InputError for a log of single requests, and as `read_log` does."""
    found = read_any(path)
    if isinstance(found, ReadLog):
        raise InputError(f"{path}: {found.format}: it holds single requests, not sums; write it as traffic.log")
    return found


def read_any(path: Path) -> ReadLog | Usage:
    """The log or the usage export at `path`, whichever it is."""
    with open_log(path) as text, gzip_faults(path, [0]):
        begins = text.read(200)
    if is_json(begins):
        return _read_json(path)
    header = read_header(path)
    for form in LOGS:
        if form.matches(header):
            table = read_table(path, form)
            return _cleaned(path, form.name, table, form.build(table))
    for export in EXPORTS:
        if export.matches(header):
            table = read_table(path, export)
            sums = export.sums(table)
            sums.notes += table.quoted_words()
            return summed(path, export.name, sums, table.dropped, table.first_line)
    if servegen.is_chunk(path, header):
        table, rows = servegen.read_chunk(path)
        return summed(path, servegen.CHUNK.name, rows, table.dropped, table.first_line)
    raise InputError(f"{path}:1: header {_shown(header)!r} is of no known log format; {_advice(header)}")


def _read_json(path: Path) -> ReadLog | Usage:
    first = first_object(path)
    keys = [key.lower() for key in first]
    if not first:
        raise InputError(f"{path}:1: holds no JSON object with a row in it; write {FORMATS}")
    if ragpulse.is_row(first):
        table, raw = ragpulse.read_rows(path, json_objects(path))
        return _cleaned(path, ragpulse.LAYOUT.name, table, raw)
    if openai_usage.is_bucket(first):
        table = object_table(path, openai_usage.FORMAT, openai_usage.flat_rows(json_objects(path)))
        sums = openai_usage.FORMAT.sums(table)
        if openai_usage.more_pages(path):
            sums.notes.append("its last page says has_more: the export goes on where this file ends; fetch the other pages too")
        return summed(path, openai_usage.FORMAT.name, sums, table.dropped, table.first_line)
    if chat_texts.is_row(first):
        raw, lost, first_line = chat_texts.read_rows(json_objects(path))
        return clean(path, chat_texts.NAME, raw, lost, first_line)
    for form in LOGS:
        if form.matches(keys):
            table = object_table(path, form, json_objects(path))
            return _cleaned(path, form.name, table, form.build(table))
    for export in EXPORTS:
        if export.matches(keys):
            table = object_table(path, export, json_objects(path))
            return summed(path, export.name, export.sums(table), table.dropped, table.first_line)
    if BLOCK_KEYS & set(keys):
        name, raw, dropped, first_line = read_blocks(path)
        return clean(path, name, raw, dropped, first_line)
    raise InputError(f"{path}:1: keys {_shown(keys)!r} are of no known log format; {_advice(keys)}")


def _cleaned(path: Path, name: str, table: Table, raw: Raw) -> ReadLog:
    raw.notes += table.quoted_words()
    return clean(path, name, raw, Counter(table.dropped), table.first_line)


def _shown(names: Sequence[str]) -> str:
    return ",".join(names)[:80].encode("ascii", "replace").decode()


def _advice(header: Sequence[str]) -> str:
    """What would be right, for a file that no format fits."""
    if set(openai_usage.EMPTY) <= set(header):
        return "it looks like a usage export without usage: choose a capability and dates that had requests, and export again"
    if {"quantile", "tokens"} <= set(header):
        return "it holds quantiles of token counts, no requests: write them in a scenario as `input_tokens: {quantiles: ...}`"
    known = "; ".join(f"{form.name}: {','.join(form.required)}" for form in (*LOGS, *EXPORTS))
    return f"write {FORMATS} ({known})"
