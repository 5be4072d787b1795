"""The step cost behaves as physics says, and is the form that the kernel reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.catalog.facts import CalibrationRow
from sim.engine.deployment import PS, Deployment, StepCost
from sim.engine.physics import COEFFICIENTS, parameters_read, shape_of
from sim.engine.step_cost import best_row, step_cost
from tests.engine.test_memory import BF16, FP8, H100, INT4, L40S, LLAMA_8B, LLAMA_70B, SOURCE

MIXTRAL = replace(
    LLAMA_8B,
    id="mixtral-8x7b",
    parameters=46.7e9,
    active_parameters=12.9e9,
    experts=8,
    experts_per_token=2,
    vocab_size=32000,
)


def decode_s(cost: StepCost, batch: int, context: int) -> float:
    return float(cost.base_ps[batch] + cost.sequence_ps * batch + cost.context_ps[batch] * batch * context) / PS


def row(gpu: str, weights: str, engine: str = "vllm-v1", **coefficients: float) -> CalibrationRow:
    return CalibrationRow(gpu, engine, weights, coefficients, 9, {"tpot_median": 0.1}, SOURCE)


def test_tables_are_integers_as_long_as_the_limits_and_never_fall_with_tokens() -> None:
    deployment = Deployment(LLAMA_8B, BF16, L40S)
    cost = step_cost(deployment, None)
    assert cost.base_ps.dtype == cost.context_ps.dtype == np.int64
    assert len(cost.base_ps) == deployment.limits.max_num_batched_tokens + 1
    assert len(cost.context_ps) == deployment.limits.max_num_seqs + 1
    assert (np.diff(cost.base_ps) >= 0).all()
    assert (np.diff(cost.context_ps) <= 0).all()


def test_one_decode_cannot_beat_reading_the_weights_once() -> None:
    assert decode_s(step_cost(Deployment(LLAMA_8B, BF16, L40S), None), 1, 500) > 15e9 / 864e9


def test_small_weights_speed_up_a_single_stream_more_than_a_full_batch() -> None:
    full, small = (step_cost(Deployment(LLAMA_8B, w, L40S), None) for w in (BF16, INT4))
    gain_single = decode_s(full, 1, 500) / decode_s(small, 1, 500)
    gain_batch = decode_s(full, 128, 500) / decode_s(small, 128, 500)
    assert gain_single > 1.8 > gain_batch


def test_fp8_halves_the_time_of_a_long_prefill_on_a_card_that_has_it() -> None:
    full, small = (step_cost(Deployment(LLAMA_8B, w, L40S), None) for w in (BF16, FP8))
    assert 1.4 < full.base_ps[2048] / small.base_ps[2048] < 2.1


def test_more_gpus_over_pcie_do_not_make_a_long_prefill_faster() -> None:
    four, eight = (step_cost(Deployment(LLAMA_70B, BF16, L40S, size), None) for size in (4, 8))
    assert eight.base_ps[2048] > 0.95 * four.base_ps[2048]


def test_a_mixture_reads_the_experts_that_its_tokens_touch() -> None:
    one, many = np.asarray(parameters_read(shape_of(Deployment(MIXTRAL, BF16, H100)), np.array([1.0, 1e6])))
    head = 2 * 32000 * 4096
    assert one == pytest.approx(MIXTRAL.active_parameters - head)
    assert many == pytest.approx(MIXTRAL.parameters - head)


def test_the_row_of_this_gpu_and_format_beats_that_of_the_gpu_and_that_beats_any() -> None:
    rows = (row("*", "*"), row("l40s", "*"), row("l40s", "bf16"), row("l40s", "bf16", "vllm-v0"))
    deployment = Deployment(LLAMA_8B, BF16, L40S)
    assert best_row(deployment, rows) is rows[2]
    assert best_row(replace(deployment, weights=FP8), rows) is rows[1]
    assert best_row(replace(deployment, gpu=H100), rows) is rows[0]
    assert best_row(replace(deployment, engine="other"), rows) is None


def test_a_gpu_without_points_is_labelled_not_calibrated() -> None:
    rows = (row("*", "*"), row("l40s", "*", step_s=3e-3))
    assert step_cost(Deployment(LLAMA_8B, BF16, L40S), rows).calibrated
    fallback = step_cost(Deployment(LLAMA_8B, BF16, H100), rows)
    assert not fallback.calibrated
    assert fallback.error == {"tpot_median": 0.1}
    assert not step_cost(Deployment(LLAMA_8B, BF16, H100), None).calibrated


def test_a_coefficient_of_a_row_moves_the_cost_by_what_it_means() -> None:
    plain = step_cost(Deployment(LLAMA_8B, BF16, L40S), (row("l40s", "*"),))
    slow = step_cost(Deployment(LLAMA_8B, BF16, L40S), (row("l40s", "*", step_s=COEFFICIENTS["step_s"][0] + 1e-3),))
    assert int(slow.base_ps[10] - plain.base_ps[10]) == pytest.approx(PS // 1000, abs=2)
