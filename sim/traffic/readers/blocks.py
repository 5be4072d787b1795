"""Traces with block hashes, JSON lines: Mooncake (ms, blocks of 512 tokens), Bailian (s, blocks of 16, chats).

Sources: Qin et al., Mooncake, FAST 2025 (Apache-2.0); Alibaba Cloud Model Studio traces (qwen-bailian). A
hash stands for its block and all before it, so leading hashes that were seen before are a shared prefix.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from sim.errors import InputError
from sim.traffic.readers.json_rows import BLANK, TORN, json_objects
from sim.traffic.readers.log_rows import Raw

KEYS = ("timestamp", "input_length", "output_length")
MOONCAKE_BLOCK, BAILIAN_BLOCK = 512, 16


@dataclass
class _Rows:
    values: list[tuple[float, float, float, int]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    hashes: list[list[int]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    first_line: dict[str, int] = field(default_factory=dict)
    chats: dict[str, int] = field(default_factory=dict)
    bailian: bool = False
    last_ms: dict[str, float] = field(default_factory=dict)
    untimed: int = 0

    def drop(self, reason: str, line: int) -> None:
        self.dropped[reason] += 1
        self.first_line.setdefault(reason, line)

    def after(self, row: dict[str, Any]) -> float:
        """Time (ms) of a turn that says only its `delay`: that long after the turn before; of a first turn, a second after the last row.

        The answer to the turn before is not in the file: the delay counts from when it was sent.
        """
        self.untimed += 1
        known = self.last_ms.get(str(row.get("session_id")))
        if known is None:
            return (self.values[-1][0] if self.values else -1000.0) + 1000.0
        delay = _number(row.get("delay", 0.0))
        return known + (0.0 if math.isnan(delay) else max(delay, 0.0))

    def chat(self, row: dict[str, Any]) -> int:
        """Number of the conversation: that of the parent chat, else a new one; -1 where rows have no chats."""
        if "session_id" in row and "chat_id" not in row:
            return self.chats.setdefault(str(row["session_id"]), len(self.chats))
        if "chat_id" not in row:
            return -1
        self.bailian = True
        parent = self.chats.get(str(row.get("parent_chat_id")), len(self.chats))
        return self.chats.setdefault(str(row["chat_id"]), parent)


def read_blocks(path: Path) -> tuple[str, Raw, Counter[str], dict[str, int]]:
    """Name of the format, its rows, and what was dropped; InputError when the first object lacks their keys.

    prefix_tokens: leading blocks that any earlier row of the log had too, as an unlimited cache would find
    them.
    """
    rows = _Rows()
    for line, row in json_objects(path):
        _add(path, rows, row, line)
    values = np.array(rows.values, dtype=np.float64).reshape(-1, 4)
    block = BAILIAN_BLOCK if rows.bailian else MOONCAKE_BLOCK
    hashed = any(rows.hashes)
    notes = [f"shared prefixes are those of an unlimited cache, in the log's blocks of {block} tokens"] if hashed else []
    if rows.untimed:
        notes.append(f"{rows.untimed} rows have no timestamp: they come their delay after the turn before, first turns a second apart")
    raw = Raw(
        arrival_s=values[:, 0] if rows.bailian else values[:, 0] / 1000.0,
        input_tokens=values[:, 1],
        output_tokens=values[:, 2],
        lines=np.array(rows.lines, dtype=np.int64),
        session_id=values[:, 3].astype(np.int64),
        prefix_tokens=shared_blocks(rows.hashes) * float(block) if hashed else None,
        notes=notes,
    )
    name = "Bailian trace" if rows.bailian else "AIPerf trace" if rows.last_ms else "Mooncake trace"
    return name, raw, rows.dropped, rows.first_line


def _add(path: Path, rows: _Rows, row: dict[str, Any] | None, line: int) -> None:
    if not row:
        return rows.drop(BLANK if row == {} else TORN, line)
    missing = [key for key in KEYS if key not in row and not (key == "timestamp" and ("delay" in row or "session_id" in row))]
    if missing and "text_input" in row:
        raise InputError(
            f"{path}:{line}: holds texts (text_input) in place of {missing[0]}; write input_length and output_length in tokens"
        )
    if missing and not rows.values:
        raise InputError(f"{path}:{line}: key {missing[0]} is missing; known JSON logs have {', '.join(KEYS)}")
    time, inputs, outputs = (_number(row.get(key)) for key in KEYS)
    if "timestamp" not in row and not missing:
        time = rows.after(row)
    hashes = row.get("hash_ids")
    if "session_id" in row:
        rows.last_ms[str(row["session_id"])] = time
    rows.values.append((time, inputs, outputs, rows.chat(row)))
    rows.hashes.append(plain_hashes(hashes))
    rows.lines.append(line)


def plain_hashes(hashes: object) -> list[int]:
    """The numbers of a list of block hashes up to the first entry that is none: what stands behind it is no known prefix.

    >>> plain_hashes([3, 4, None, 5]), plain_hashes("x")
    ([3, 4], [])
    """
    if not isinstance(hashes, list):
        return []
    return list(takewhile(lambda each: isinstance(each, int), hashes))


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # more digits than a float holds: a damaged cell
        return math.nan


def shared_blocks(hashes: list[list[int]]) -> np.typing.NDArray[np.float64]:
    """Leading blocks of each row that an earlier row had.

    >>> shared_blocks([[1, 2, 3], [1, 2, 4], [5], [1, 2, 4, 6]]).tolist()
    [0.0, 2.0, 0.0, 3.0]
    """
    seen: set[int] = set()
    shared = np.zeros(len(hashes))
    for row, blocks in enumerate(hashes):
        known = 0
        for block in blocks:
            if block not in seen:
                break
            known += 1
        shared[row] = known
        seen.update(blocks[known:])
    return shared
