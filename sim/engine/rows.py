"""One record per request: what the kernel knows of it, and what becomes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.engine.jit import compiled
from sim.engine.pool import Status
from sim.requests import Requests

ROW = np.dtype(
    [
        *((name, np.int64) for name in ("first", "finish")),
        *((name, np.int32) for name in ("input", "output", "generated", "next", "prev", "replica", "preemptions", "offset")),
        ("end_step", np.uint32),  # up to layout.MAX_COUNT and an answer more
        ("status", np.int8),
        ("level", np.int8),
    ],
    align=True,
)  # 56 bytes
OPEN = int(Status.IN_FLIGHT)


@compiled
def _fill(rows: Any, inputs: Any, outputs: Any, class_id: Any, levels: Any) -> None:
    for i in range(len(rows)):
        row = rows[i]
        row.first, row.finish, row.input, row.output = -1, -1, inputs[i], outputs[i]
        row.generated, row.next, row.prev, row.replica, row.preemptions = 0, -1, -1, -1, 0
        row.offset, row.end_step, row.status, row.level = 0, 0, OPEN, levels[class_id[i]]


def request_rows(requests: Requests, priorities: tuple[int, ...] = ()) -> npt.NDArray[Any]:
    """One ROW per request, all of them open; `priorities` by class, lower ones first, become levels 0, 1, ..."""
    rows = np.empty(len(requests), ROW)
    levels = np.zeros(int(requests.class_id.max(initial=0)) + 1, np.int8)
    if len(set(priorities)) > 1:
        levels = np.unique(priorities, return_inverse=True)[1].astype(np.int8)
    _fill(rows, requests.input_tokens, requests.output_tokens, requests.class_id, levels)
    return rows
