"""The fit's schedule is the kernel's, step by step, so that what is fitted is what plans use."""

from __future__ import annotations

import numpy as np
import pytest

from sim.calibration.replay_points import Run
from sim.calibration.schedule import run_schedule
from sim.calibration.validate_points import replay
from sim.catalog.loader import load_catalog
from sim.engine.deployment import PS, Deployment, EngineLimits
from sim.engine.step_cost import step_cost

RNG = np.random.default_rng(7)
PROMPT, OUTPUT = RNG.integers(20, 900, 60), RNG.integers(1, 200, 60)


def run(blocks: int | None, in_flight: int, arrival_s: np.ndarray | None = None) -> Run:
    catalog = load_catalog()
    limits = EngineLimits(max_num_seqs=16, max_num_batched_tokens=512, kv_blocks=blocks)
    deployment = Deployment(catalog.models["llama-3.1-8b"], catalog.weight_formats["bf16"], catalog.gpus["l40s"], limits=limits)
    return Run(deployment, PROMPT, OUTPUT, arrival_s, in_flight, 0, 0)


@pytest.mark.parametrize(
    "case",
    [run(4000, 60), run(150, 60), run(4000, 8), run(160, 12), run(300, 0, np.cumsum(RNG.exponential(0.15, 60)))],
    ids=["burst", "burst with preemption", "closed loop", "closed loop with preemption", "open arrivals"],
)
def test_first_and_last_tokens_agree_with_the_kernel(case: Run) -> None:
    cost = step_cost(case.deployment, load_catalog().calibration)
    assert case.deployment.limits.kv_blocks is not None
    shift = cost.request_ps / PS
    blocks = case.deployment.limits.kv_blocks
    schedule = run_schedule(case.prompt, case.output, case.arrival_s, case.in_flight, cost, blocks, gap_s=shift)
    log = replay(case, cost)
    assert schedule is not None and log is not None
    assert schedule.first_s == pytest.approx(log.first_ps / PS - shift, abs=1e-7)
    assert schedule.last_s == pytest.approx(log.finish_ps / PS - shift, abs=1e-7)


def test_the_preemption_cases_do_preempt() -> None:
    for case in (run(150, 60), run(160, 12)):
        cost = step_cost(case.deployment, None)
        schedule = run_schedule(case.prompt, case.output, None, case.in_flight, cost, case.deployment.limits.kv_blocks or 0)
        assert schedule is not None and schedule.preemptions > 3


def test_step_times_weighted_by_waiting_and_pace_are_mean_ttft_and_mean_tpot() -> None:
    case = run(160, 12)
    schedule = run_schedule(case.prompt, case.output, None, 12, step_cost(case.deployment, None), 160)
    assert schedule is not None
    several = case.output > 1
    seconds, count = schedule.steps[:, 8], len(PROMPT)
    pace = (schedule.last_s - schedule.first_s)[several] / (case.output[several] - 1)
    assert (schedule.steps[:, 6] * seconds).sum() / count == pytest.approx((schedule.first_s - schedule.arrival_s).mean())
    assert (schedule.steps[:, 7] * seconds).sum() / several.sum() == pytest.approx(pace.mean())


def test_a_request_that_can_never_fit_has_no_schedule() -> None:
    case = run(10, 60)
    assert run_schedule(case.prompt, case.output, None, 60, step_cost(case.deployment, None), 10) is None
