"""Small fleets and traffic for tests of the engine: costs that a human can add up, requests as tuples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.engine.deployment import EngineLimits, StepCost
from sim.fleet_records import Fleet, Pool
from sim.traffic.columns import Requests


def step_cost(
    limits: EngineLimits,
    fixed_ps: int = 0,
    token_ps: int = 0,
    context_ps: int = 0,
    sequence_ps: int = 0,
    pair_ps: int = 0,
    prefill_context_ps: int = 0,
    request_ps: int = 0,
) -> StepCost:
    """A step costs `fixed_ps` + `token_ps` per token, and the other coefficients as `StepCost` names them."""
    tokens = np.arange(limits.max_num_batched_tokens + 1, dtype=np.int64)
    decodes = np.arange(limits.max_num_seqs + 1, dtype=np.int64)
    return StepCost(
        base_ps=fixed_ps + token_ps * tokens,
        context_ps=np.full_like(decodes, context_ps),
        sequence_ps=sequence_ps,
        pair_ps=pair_ps,
        prefill_context_ps=prefill_context_ps,
        request_ps=request_ps,
        calibrated=False,
        error={},
    )


def requests_of(rows: Sequence[tuple[int, int, int]], class_id: Sequence[int] | None = None) -> Requests:
    """Requests from (arrival_ps, input_tokens, output_tokens)."""
    columns = np.array(rows, np.int64).reshape(-1, 3)
    n = len(columns)
    return Requests(
        arrival_ps=columns[:, 0].copy(),
        class_id=np.array(class_id if class_id is not None else [0] * n, np.int16),
        input_tokens=columns[:, 1].astype(np.int32),
        output_tokens=columns[:, 2].astype(np.int32),
        session_id=np.full(n, -1, np.int64),
        prefix_tokens=np.zeros(n, np.int32),
    )


def one_pool(pool: Pool, router: str = "least_outstanding") -> Fleet:
    """A fleet of `pool` alone that serves class 0."""
    return Fleet((pool,), np.ones((1, 1)), router)
