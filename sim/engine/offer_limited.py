"""Arrivals of a pool that overflows, worked off at once: those that find every replica full are named, and nothing happens to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.engine.jit import compiled
from sim.engine.kernel import FULL, offer


@compiled
def offer_all_limited(
    front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, arrival_ps: Any, chosen: Any, limit: int, full: Any
) -> None:
    """`offer_all` with at most `limit` open requests per replica; `full` [len(chosen)] becomes True for the rows that were not taken."""
    for k in range(len(chosen)):
        i = chosen[k]
        full[k] = limit == 0 or offer(front, replicas, work, table, rows, links, arrival_ps[i], i, limit) == FULL


def overflow_all(arrays: tuple[Any, Any, Any, Any, Any, Any], arrival_ps: Any, chosen: Any, limit: int) -> Any:
    """The rows of `chosen` that the pool with these arrays leaves to where it overflows, all others taken."""
    full = np.zeros(len(chosen), np.bool_)
    offer_all_limited(*arrays, arrival_ps, chosen, limit, full)
    return chosen[full]
