"""Compile the kernel before the first simulation, and say so when that takes a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sim.engine import kernel
from sim.engine.deployment import EngineLimits, StepCost
from sim.engine.links import pool_links
from sim.engine.pool import Pool
from sim.engine.rows import request_rows
from sim.engine.state import PoolState
from sim.requests import Requests


def is_cached(function: Any) -> bool:
    """Whether numba's cache on disk holds machine code of `function` as it is now."""
    try:
        return bool(function._cache._cache_file._load_index())
    except (AttributeError, OSError):  # no cache here, or not the numba that we know
        return False


def announce(tell: Callable[[str], None]) -> bool:
    """Whether `tell` was told that the first simulation compiles the kernel: its machine code is not in the cache, or there is none."""
    ready = is_cached(kernel.offer) and is_cached(kernel.stop)
    if not ready:
        tell("compiling the simulation kernel: about 15 s, once on this machine ...")
    return not ready


def warm_up(tell: Callable[[str], None]) -> float:
    """Seconds that it took to load or compile the kernel; `tell` hears of a compilation before and after it.

    Optional: the first simulation compiles too, without a message.
    """
    start_s, compiling = time.perf_counter(), announce(tell)
    for caching in (False, True):
        _serve_one(caching)
    taken_s = time.perf_counter() - start_s
    if compiling:
        tell(f"compiled in {taken_s:.0f} s")
    return taken_s


def _serve_one(caching: bool) -> None:
    """One request through every function of the kernel that a simulation calls, with or without a prefix cache."""
    one = np.ones(1, np.int32)
    limits, costs = EngineLimits(1, 1, kv_blocks=1, prefix_caching=caching), np.ones(2, np.int64)
    pool = Pool("warm-up", StepCost(costs, costs, 0, 0, 0, 0, True, {}), 1, limits, 1)
    request = Requests(np.zeros(1, np.int64), np.zeros(1, np.int16), one, one, np.full(1, -1, np.int64), one - 1)
    links = pool_links(request, request.class_id, [1], moving=False)[0] if caching else None
    state = PoolState(pool, request_rows(request), links=links)
    kernel.offer(*state.arrays, 0, 0, 1)
    kernel.offer_all(*state.arrays, request.arrival_ps, np.zeros(0, np.int64))
    state.stop(None)
    kernel.held_blocks(state.replicas, state.table, state.rows, state.links, 0)
