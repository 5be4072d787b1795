"""Small pools and traffic for tests of engine and fleet: round costs, so that times can be worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.engine.deployment import EngineLimits, StepCost
from sim.engine.pool import Pool
from sim.requests import Requests


def make_cost(
    base_ps: int = 100,
    token_ps: int = 0,
    context_ps: int = 0,
    sequence_ps: int = 0,
    pair_ps: int = 0,
    read_ps: int = 0,
    request_ps: int = 0,
    limits: EngineLimits | None = None,
) -> StepCost:
    """A step of T tokens costs base_ps + token_ps * T, and what the other terms add."""
    limits = limits or EngineLimits()
    tokens = np.arange(limits.max_num_batched_tokens + 1, dtype=np.int64)
    context = np.full(limits.max_num_seqs + 1, context_ps, np.int64)
    return StepCost(base_ps + token_ps * tokens, context, sequence_ps, pair_ps, read_ps, request_ps, True, {})


def make_pool(
    cost: StepCost | None = None, kv_blocks: int = 1000, limits: EngineLimits | None = None, replicas: int = 1, network_ps: int = 0
) -> Pool:
    """A pool named "pool"; a step costs 100 ps unless `cost` says otherwise."""
    limits = limits or EngineLimits()
    return Pool("pool", cost or make_cost(limits=limits), kv_blocks, limits, replicas, network_ps)


def make_requests(rows: Sequence[tuple[int, int, int]], class_id: Sequence[int] | None = None) -> Requests:
    """Requests from (arrival_ps, input_tokens, output_tokens)."""
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    size = columns.shape[1]
    classes = np.zeros(size, np.int16) if class_id is None else np.array(class_id, np.int16)
    tokens = columns[1].astype(np.int32), columns[2].astype(np.int32)
    return Requests(columns[0].copy(), classes, *tokens, np.full(size, -1, np.int64), np.zeros(size, np.int32))


def random_requests(seed: int, size: int, gap_ps: float, mean_input: float = 100, mean_output: float = 40, classes: int = 1) -> Requests:
    """Poisson arrivals with geometric lengths."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(gap_ps, size)).astype(np.int64)
    rows = np.stack([arrivals, rng.geometric(1 / mean_input, size), rng.geometric(1 / mean_output, size)], axis=1)
    return make_requests([tuple(row) for row in rows.tolist()], rng.integers(0, classes, size).tolist())
