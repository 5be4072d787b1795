"""RAGPulse, JSON lines: `timestamp` (text, s), `input_length`, `output_length`, `session_id`, `hash_ids` by part of the prompt.

Parts stand in the order system prompt, passages, history, web search, question. Lengths of the chunks are in the files next to the
trace (`1_sys_prompt.jsonl` ...); without them no shared prefix is known. Source: Wang et al., RAGPulse, arXiv 2511.12979.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim.errors import InputError
from sim.traffic.readers.blocks import plain_hashes
from sim.traffic.readers.files import open_log
from sim.traffic.readers.json_rows import Row, object_table
from sim.traffic.readers.log_rows import Floats, Raw
from sim.traffic.readers.table import NUMBER, TEXT, Layout, Table

LAYOUT = Layout(
    name="RAGPulse trace",
    required={"timestamp": NUMBER, "input_length": NUMBER, "output_length": NUMBER},
    optional={"session_id": TEXT},
)
CHUNK_FILES = ("1_sys_prompt.jsonl", "2_passages.jsonl", "3_history.jsonl", "4_user_input.jsonl", "5_web_search.jsonl")


def is_row(row: dict[str, Any]) -> bool:
    """Whether a JSON row is one of this trace: its hashes are kept by part."""
    return isinstance(row.get("hash_ids"), dict)


def read_rows(path: Path, objects: Iterator[Row]) -> tuple[Table, Raw]:
    """Rows of the trace; prefix_tokens: leading chunks that an earlier row had in the same place, as an unlimited cache finds them."""
    chunks: list[list[int]] = []

    def noted() -> Iterator[Row]:
        for line, row in objects:
            if row:
                parts = row.get("hash_ids")
                listed = list(parts.values()) if isinstance(parts, dict) else []
                chunks.append([chunk for part in listed for chunk in plain_hashes(part)])
            yield line, row

    table = object_table(path, LAYOUT, noted())
    lengths = chunk_tokens(path.parent)
    note = "shared prefixes are those of an unlimited cache, in the log's own chunks"
    if not lengths:
        note = f"no shared prefix is known: {CHUNK_FILES[0]} and the other chunk files are not next to the log"
    return table, Raw(
        arrival_s=table.columns["timestamp"],
        input_tokens=table.columns["input_length"],
        output_tokens=table.columns["output_length"],
        lines=table.lines,
        session_id=table.codes.get("session_id"),
        prefix_tokens=shared_chunks(chunks, lengths),
        notes=[note],
    )


def chunk_tokens(folder: Path) -> dict[int, int]:
    """Tokens of each chunk, from the files next to the trace; empty where they are not there."""
    found: dict[int, int] = {}
    for name in CHUNK_FILES:
        if not (folder / name).is_file():
            continue
        with open_log(folder / name) as text:
            for number, entry in enumerate(text, 1):
                try:
                    chunk, tokens = json.loads(entry).values()
                    found[int(chunk)] = int(tokens)
                except (ValueError, AttributeError, TypeError) as error:
                    raise InputError(f"{folder / name}:{number}: is not a chunk ({error}); write an id and its token_length") from None
    return found


def shared_chunks(chunks: Sequence[Sequence[int]], tokens: dict[int, int]) -> Floats:
    """Tokens of the leading chunks of each row that an earlier row had, chunk for chunk from the start.

    >>> shared_chunks([[1, 2, 3], [1, 3], [1, 2, 4]], {1: 500, 2: 100, 3: 50}).tolist()
    [0.0, 500.0, 600.0]
    """
    nodes: dict[tuple[int, int], int] = {}
    shared = np.zeros(len(chunks))
    for row, chain in enumerate(chunks):
        node, known, leading = 0, 0, True
        for chunk in chain:
            key = (node, chunk)
            if key not in nodes:
                leading = False
                nodes[key] = len(nodes) + 1
            if leading:
                known += tokens.get(chunk, 0)
            node = nodes[key]
        shared[row] = known
    return shared
