"""What engineers know of GPUs comes out of the simulator on its own: runs, not formulas, on the catalogue's calibration."""

from __future__ import annotations

import numpy as np
import pytest

from sim.calibration.replay_log import Latencies
from sim.calibration.replay_points import Run
from sim.calibration.validate_points import replay
from sim.catalog.loader import load_catalog
from sim.engine.deployment import PS, Deployment, EngineLimits
from sim.engine.step_cost import step_cost


def run(
    gpu: str,
    weights: str,
    in_flight: int,
    prompt: int,
    output: int,
    *,
    model: str = "llama-3.1-8b",
    size: int = 1,
    kv_blocks: int | None = None,
) -> tuple[float, Latencies]:
    """Output tokens/s and latencies of a closed loop of eight rounds, lengths spread by a quarter."""
    catalog, rng, count = load_catalog(), np.random.default_rng(3), 8 * in_flight
    limits = EngineLimits(kv_blocks=kv_blocks)
    one = Deployment(catalog.models[model], catalog.weight_formats[weights], catalog.gpus[gpu], size, limits)
    prompts, outputs = (rng.integers(round(0.75 * n), round(1.25 * n) + 1, count) for n in (prompt, output))
    log = replay(Run(one, prompts, outputs, None, in_flight, 0, 0), step_cost(one, catalog.calibration))
    assert log is not None
    seconds = (log.finish_ps.max() - log.arrival_ps.min()) / PS
    latencies = Latencies.of((log.first_ps - log.arrival_ps) / PS, (log.finish_ps - log.arrival_ps) / PS, outputs)
    return float(outputs.sum()) / seconds, latencies


def test_int4_beats_bf16_for_one_user_and_not_for_a_hundred_on_a100() -> None:
    """Published: an A100 serves 1,761 tokens/s with int4 and 2,661 with bf16 at about a hundred in flight (AccelMark, vLLM 0.7.3)."""
    alone = {weights: run("a100-80", weights, 1, 300, 200)[0] for weights in ("int4", "bf16")}
    crowd = {weights: run("a100-80", weights, 100, 300, 200)[0] for weights in ("int4", "bf16")}
    assert alone["int4"] > 1.3 * alone["bf16"]
    assert crowd["int4"] < crowd["bf16"]


def test_eight_gpus_over_pcie_are_no_faster_than_four_for_long_prompts() -> None:
    """Every prompt token crosses the bus twice a layer, and eight cards share what four share."""
    ttft = {size: run("l40s", "bf16", 1, 8000, 8, model="llama-3.1-70b", size=size)[1].summary()["ttft_mean"] for size in (4, 8)}
    assert ttft[8] > 0.95 * ttft[4]


def test_over_nvlink_eight_gpus_are_faster_than_four() -> None:
    """The control of the test above."""
    ttft = {size: run("h100", "bf16", 1, 8000, 8, model="llama-3.1-70b", size=size)[1].summary()["ttft_mean"] for size in (4, 8)}
    assert ttft[8] < 0.75 * ttft[4]


def test_more_kv_memory_moves_the_knee() -> None:
    """Where TTFT leaves its floor: with twice the memory at about twice the requests in flight."""

    def knee(blocks: int) -> int:
        loads = (4, 8, 16, 24, 32, 48, 64, 96)
        floor = run("l40s", "fp8", loads[0], 1500, 300, kv_blocks=blocks)[1].summary()["ttft_p50"]
        waits = [run("l40s", "fp8", load, 1500, 300, kv_blocks=blocks)[1].summary()["ttft_p50"] for load in loads]
        return next(load for load, wait in zip(loads, waits, strict=True) if wait > 20 * floor)

    small, large = knee(2000), knee(4000)
    assert large >= 1.5 * small, (small, large)


@pytest.mark.parametrize("in_flight", [1, 16, 128])
def test_fp8_raises_the_throughput_of_an_l40s(in_flight: int) -> None:
    served = {weights: run("l40s", weights, in_flight, 500, 200)[0] for weights in ("fp8", "bf16")}
    assert served["fp8"] > 1.1 * served["bf16"]


def test_a_batch_serves_more_and_each_user_waits_longer() -> None:
    runs = [run("a100-80", "bf16", in_flight, 500, 200) for in_flight in (1, 16, 128)]
    assert np.all(np.diff([rate for rate, _ in runs]) > 0)
    assert np.all(np.diff([found.summary()["tpot_mean"] for _, found in runs]) > 0)
