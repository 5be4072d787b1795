"""Laws of rates: Little's law, the bound that the step cost sets, and what happens above it."""

from __future__ import annotations

import numpy as np
import pytest

from sim.engine.deployment import PS, EngineLimits
from sim.engine.pool import Pool, Status
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import probe, simulate
from sim.requests import Requests
from tests.samples import make_cost, make_requests
from tests.theory.queues import SEEDS, assert_mean, geometric, poisson, server_pool


@pytest.mark.parametrize("replicas", [1, 3])
def test_sequences_in_service_are_throughput_times_time_in_service(replicas: int) -> None:
    """Little's law between two independent accounts: the kernel's integral of the batch size, and the log's times.

    One prompt token and a constant step: service starts one step before the first token. Equal but for rounding.
    """
    step_ps = PS // 100
    result = probe(server_pool(4, step_ps, replicas), poisson(3.0 * replicas, 3000, 1, geometric(100)))
    in_service_ps = int((result.log.finish_ps - result.log.first_ps + step_ps).sum())
    by_log, by_kernel = in_service_ps / result.end_ps / replicas, result.targets[0].running_mean
    assert by_kernel == pytest.approx(by_log, rel=1e-9), f"kernel {by_kernel}, log {by_log}"


def test_requests_in_the_system_are_arrival_rate_times_sojourn() -> None:
    """Little's law over time: what is open at the cut of a long run, averaged over cuts, is rate x mean sojourn."""
    step_ps, rate = PS // 50, 2.4
    pool, requests = server_pool(4, step_ps), poisson(rate, 4000, 3, geometric(50))
    whole = probe(pool, requests)
    sojourn_s = float((whole.log.finish_ps - whole.log.arrival_ps).mean()) / PS
    cuts = np.linspace(0, int(requests.arrival_ps[-1]), 122)[1:-1].astype(int).tolist()
    fleet = Fleet((pool,), np.ones((1, 1)))
    open_at = [open_requests(requests, simulate(fleet, requests, 0, end_ps=end).log.status, end) for end in cuts]
    mean, error = float(np.mean(open_at)), float(np.std(open_at) / np.sqrt(len(open_at) / 2))  # neighbours are correlated: half count
    expected = len(requests) / (int(requests.arrival_ps[-1]) / PS) * sojourn_s
    assert abs(mean - expected) <= 4 * error, f"open at a cut {mean:.3f} +- {error:.3f}, rate x sojourn {expected:.3f}"


def open_requests(requests: Requests, status: np.ndarray[tuple[int], np.dtype[np.int8]], end_ps: int) -> int:
    return int(np.count_nonzero((status == Status.IN_FLIGHT) & (requests.arrival_ps <= end_ps)))


def test_an_overloaded_queue_grows_at_arrival_rate_minus_capacity() -> None:
    step_ps, rate, capacity, seconds = PS // 200, 6.0, 4.0, 600
    fleet = Fleet((server_pool(4, step_ps),), np.ones((1, 1)))
    growth = []
    for seed in SEEDS:
        requests = poisson(rate, 5000, seed, geometric(200))
        log = simulate(fleet, requests, seed, end_ps=seconds * PS).log
        growth.append(open_requests(requests, log.status, seconds * PS) / seconds)
    assert_mean(growth, rate - capacity)


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_full_batch_of_equal_requests_runs_exactly_at_the_bound_of_the_step_cost(replicas: int) -> None:
    """Waves of 8 requests: one step of 8 x 10 prompt tokens, 19 steps of 8 decodes; the sum of their costs and nothing else."""
    limits = EngineLimits(max_num_seqs=8, max_num_batched_tokens=80)
    pool = Pool("full", make_cost(1000, 10, sequence_ps=3, limits=limits), 1000, limits, replicas)
    result = probe(pool, make_requests([(0, 10, 20)] * 8 * 50 * replicas))
    wave_ps = (1000 + 80 * 10 + 8 * 3) + 19 * (1000 + 8 * 10 + 8 * 3)
    assert (result.end_ps, result.targets[0].busy_share) == (50 * wave_ps, 1.0)


def test_saturated_throughput_comes_up_to_the_bound_of_the_step_cost_and_never_above() -> None:
    """Decodes of a full batch of 16 give 16 tokens per step; random lengths lose only the tail, when the queue is empty."""
    limits = EngineLimits(max_num_seqs=16, max_num_batched_tokens=64)
    pool = Pool("saturated", make_cost(PS // 100, PS // 10000, limits=limits), 10**6, limits, 1)
    bound = 16 / (0.01 + 16 * 0.0001)
    for seed in SEEDS:
        n = 4000
        outputs = geometric(100)(np.random.default_rng(seed), n)
        result = probe(pool, make_requests([(0, 1, int(o)) for o in outputs]))
        rate = int(outputs.sum()) / (result.end_ps / PS)
        assert 0.97 * bound < rate <= bound, f"seed {seed}: {rate:.1f} tokens/s, bound {bound:.1f}"
