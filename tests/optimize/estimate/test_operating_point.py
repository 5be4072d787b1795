"""The averaged closed loop against the simulator: same deployment, same load, same step cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from optimize.estimate.serving_point import Load, knee, ladder, largest_safe_batch, rates
from sim.catalog.facts import CalibrationRow
from sim.catalog.loader import load_catalog
from sim.engine.deployment import PS, Deployment
from sim.engine.memory import kv_blocks
from sim.engine.pool import Pool
from sim.engine.step_cost import step_cost
from sim.fleet.clients import closed_loop, simulate_turns
from sim.fleet.fleet import Fleet
from sim.requests import Requests

WAVES = 9
CASES = [  # model, weights, gpu, tensor parallel, prompt, answer
    ("llama-3.1-8b", "bf16", "l40s", 1, 1024, 256),
    ("llama-3.1-8b", "bf16", "h100", 1, 7900, 256),
    ("llama-3.1-8b", "fp8", "h100", 1, 500, 300),
    ("llama-3.1-70b", "int4", "a100-80", 1, 2000, 256),
    ("llama-3.1-70b", "fp8", "h100", 2, 1024, 256),
    ("llama-3.1-8b", "int4", "rtx4090", 1, 1000, 1000),
    ("mixtral-8x7b", "bf16", "h100", 2, 1024, 256),
    ("llama-3.2-3b", "bf16", "a10g", 1, 100, 400),
    ("deepseek-v3.2", "fp8", "h200", 8, 4000, 500),
]


def deployment_of(model: str, weights: str, gpu: str, size: int) -> Deployment:
    catalog = load_catalog()
    return Deployment(catalog.models[model], catalog.weight_formats[weights], catalog.gpus[gpu], size)


def simulated_tokens_per_s(deployment: Deployment, load: Load, users: int, spread: float) -> tuple[float, int]:
    """Answer tokens per second of a closed loop, start and end cut off at whole waves, and preemptions.

    Lengths are uniform within +-`spread` of the means.
    """
    n, rng = WAVES * max(users, 12), np.random.default_rng(7)

    def lengths(mean: int) -> npt.NDArray[np.int32]:
        return np.maximum(rng.uniform(mean * (1 - spread), mean * (1 + spread), n).round(), 1).astype(np.int32)

    nothing, prompts, answers = np.zeros(n, np.int64), lengths(load.prompt_tokens), lengths(load.answer_tokens)
    requests = Requests(nothing, nothing.astype(np.int16), prompts, answers, nothing - 1, nothing.astype(np.int32))
    pool = Pool("p", step_cost(deployment, load_catalog().calibration), kv_blocks(deployment), deployment.limits, 1)
    result = simulate_turns(Fleet((pool,), np.ones((1, 1))), requests, closed_loop(requests, users, 0), seed=0)
    order = np.argsort(result.log.finish_ps, kind="stable")
    first = int(n * 0.3) // users * users - 1
    last = first + (int(n * 0.9) - first) // users * users
    span_ps = int(result.log.finish_ps[order[last]] - result.log.finish_ps[order[first]])
    return float(answers[order[first + 1 : last + 1]].sum()) / span_ps * PS, result.targets[0].preemptions


def knee_batch(deployment: Deployment, calibration: tuple[CalibrationRow, ...], load: Load, largest: int) -> float:
    """The batch of the knee, looked for up to `largest`, as `estimate` finds it."""
    batches = ladder(largest)
    found = rates(deployment, calibration, load, np.concatenate([batches, batches / 2])).tokens_per_s
    return float(batches[knee(found[: len(batches)], found[len(batches) :])])


@pytest.mark.parametrize("spread", [0.0, 0.5])
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(part) for part in case))
def test_throughput_at_the_knee_is_within_15_percent_of_the_simulator(case: tuple[str, str, str, int, int, int], spread: float) -> None:
    deployment, load = deployment_of(*case[:4]), Load(*case[4:])
    calibration = load_catalog().calibration
    longest = round(load.context_tokens * (1 + spread))
    batch = int(knee_batch(deployment, calibration, load, largest_safe_batch(deployment, longest)))
    estimated = float(rates(deployment, calibration, load, np.array([float(batch)])).tokens_per_s[0])
    simulated, preempted = simulated_tokens_per_s(deployment, load, batch, spread)
    assert preempted == 0, "the batch was called safe"
    assert estimated == pytest.approx(simulated, rel=0.15), f"{batch} requests: {estimated:.0f} estimated, {simulated:.0f} simulated"


def test_one_request_alone_is_exact_but_for_rounding() -> None:
    deployment, load = deployment_of("llama-3.1-8b", "bf16", "l40s", 1), Load(1000, 200)
    estimated = float(rates(deployment, load_catalog().calibration, load, np.array([1.0])).tokens_per_s[0])
    assert estimated == pytest.approx(simulated_tokens_per_s(deployment, load, 1, 0.0)[0], rel=0.01)


def test_the_knee_is_the_last_doubling_that_was_worth_a_quarter() -> None:
    deployment, load = deployment_of("llama-3.1-8b", "bf16", "h100", 1), Load(1024, 256)
    calibration = load_catalog().calibration
    best = knee_batch(deployment, calibration, load, 256)
    half, at, twice = rates(deployment, calibration, load, np.array([best / 2, best, best * 2])).tokens_per_s
    assert at >= 1.25 * half
    assert best == 256 or twice < 1.25 * at
    assert knee_batch(deployment, calibration, load, 1) == 1


def test_more_requests_never_make_fewer_tokens() -> None:
    deployment = deployment_of("llama-3.1-70b", "fp8", "h100", 2)
    found = rates(deployment, load_catalog().calibration, Load(1024, 256), np.arange(1.0, 200.0))
    assert (np.diff(found.tokens_per_s) > -1e-6 * found.tokens_per_s[:-1]).all()


def test_the_safe_batch_is_what_the_cache_holds_at_full_length() -> None:
    deployment = deployment_of("llama-3.1-8b", "bf16", "l40s", 1)
    batch = largest_safe_batch(deployment, 8192)
    assert batch * 512 <= kv_blocks(deployment) < (batch + 1) * 512
    assert largest_safe_batch(deployment, 16) == deployment.limits.max_num_seqs
