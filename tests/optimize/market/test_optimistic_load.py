"""Loads before simulation: the rigorous one bounds the optimistic one, which is what arithmetic by hand gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from optimize.market.optimistic_load import fluid_load_s, saturated_load_s
from sim.engine.deployment import PS, StepCost


def step_of(base_s: float, per_token_s: float = 0.0, context_s: float = 0.0, largest: int = 512, seqs: int = 64) -> StepCost:
    tokens = np.arange(largest + 1)
    return StepCost(
        base_ps=np.round((base_s + per_token_s * tokens) * PS).astype(np.int64),
        context_ps=np.full(seqs + 1, round(context_s * PS), dtype=np.int64),
        sequence_ps=0,
        pair_ps=0,
        prefill_context_ps=0,
        request_ps=0,
        calibrated=True,
        error={},
    )


def test_saturated_load_is_steps_over_batch_plus_prefill() -> None:
    cost = step_of(0.010)
    # 64 sequences a step of 10 ms: an answer of 100 tokens costs 100 * 10 ms / 64; a prompt of 256 half a step of 512 tokens.
    assert saturated_load_s(cost, 10_000, 64, 256, 100, math.inf) == pytest.approx(100 * 0.010 / 64 + 0.005)


def test_memory_limits_the_batch() -> None:
    cost = step_of(0.010)
    # 100 blocks hold 1600 tokens: four sequences of 400.
    assert saturated_load_s(cost, 100, 64, 300, 100, math.inf) == pytest.approx(100 * 0.010 / 4 + 300 / 512 * 0.010)


def test_a_tpot_limit_below_the_shortest_step_cannot_be_served() -> None:
    assert saturated_load_s(step_of(0.010), 10_000, 64, 256, 100, 0.009) == math.inf


def test_tpot_limit_cuts_the_batch() -> None:
    cost = step_of(0.010, per_token_s=0.001)
    loose = saturated_load_s(cost, 10_000, 64, 256, 100, math.inf)
    tight = saturated_load_s(cost, 10_000, 64, 256, 100, 0.020)
    assert tight > loose
    prefill = 256 / 512 * (0.010 + 0.512)
    assert tight == pytest.approx(100 * 0.020 / 10 + prefill)


@pytest.mark.parametrize("tokens", [(1, 1), (100, 10), (4000, 20), (100, 800)])
def test_rigorous_load_is_never_above_the_optimistic_one(tokens: tuple[int, int]) -> None:
    cost = step_of(0.010, per_token_s=0.0001, context_s=1e-7)
    rigorous = fluid_load_s(cost, 2000, *tokens)
    assert 0 < rigorous <= saturated_load_s(cost, 2000, 64, *tokens, math.inf) * (1 + 1e-9)
