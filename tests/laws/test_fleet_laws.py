"""What holds for fleets: same seed same bytes, a cut run is the beginning of the whole, more replicas do not hurt."""

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.catalog.facts import Relay, Source
from sim.engine.deployment import PS, EngineLimits
from sim.engine.pool import Pool, Status
from sim.fleet.fleet import Fleet, SimulationResult
from sim.fleet.simulate import probe, simulate
from sim.relay.endpoint import RelayEndpoint
from sim.requests import Requests
from tests.laws.strategies import QUICK, pools, traffic
from tests.samples import make_cost, make_pool, random_requests

SOURCE = Source("made up for this test", "2026-11-30")
RELAY = RelayEndpoint("relay", Relay("r", "v", "m", 1.0, 2.0, None, 0.5, 0.4, 80.0, 0.2, SOURCE, SOURCE))


def log_bytes(result: SimulationResult) -> tuple[bytes, ...]:
    return tuple(column.tobytes() for column in astuple(result.log))


@QUICK
@given(pools(), traffic(), st.integers(0, 2**32), st.floats(0, 1), st.booleans())
def test_same_seed_same_bytes(pool: Pool, requests: Requests, seed: int, share: float, to_relay: bool) -> None:
    shares = np.array([[share, (1 - share) * to_relay]])
    first, second = (simulate(Fleet((pool, RELAY), shares), requests, seed) for _ in range(2))
    assert log_bytes(first) == log_bytes(second)
    assert (first.targets, first.end_ps) == (second.targets, second.end_ps)


@QUICK
@given(pools(), traffic(), st.floats(0, 1.1))
def test_a_cut_run_is_the_beginning_of_the_whole_run(pool: Pool, requests: Requests, part: float) -> None:
    whole = probe(pool, requests)
    cut_ps = int(part * whole.end_ps)
    cut = simulate(Fleet((pool,), np.ones((1, 1))), requests, 0, end_ps=cut_ps)
    shift_ps = pool.network_ps + pool.cost.request_ps
    for name in ("first_ps", "finish_ps"):
        times = getattr(whole.log, name)
        assert np.array_equal(getattr(cut.log, name), np.where(times - shift_ps <= cut_ps, times, -1)), name
    ended = (whole.log.finish_ps >= 0) & (whole.log.finish_ps - shift_ps <= cut_ps)
    assert np.array_equal(cut.log.status == Status.FINISHED, ended)


@QUICK
@given(pools(), traffic(), st.floats(0, 1))
def test_every_request_has_one_status_and_one_target(pool: Pool, requests: Requests, share: float) -> None:
    fleet = Fleet((pool, RELAY, pool), np.array([[share * 0.5, 0.25, share * 0.25]]))
    result = simulate(fleet, requests, seed=7)
    log = result.log
    assert np.bincount(log.status, minlength=5).sum() == len(requests)
    assert (log.status != Status.IN_FLIGHT).all()
    assert [stats.requests for stats in result.targets] == [int(np.count_nonzero(log.target == t)) for t in range(3)]
    assert (log.status[log.target == -1] == Status.REJECTED).all()


@pytest.mark.parametrize("router", ["least_outstanding", "round_robin"])
@pytest.mark.parametrize("quantile", [0.5, 0.95])
@pytest.mark.parametrize("kv_blocks", [60, 2000], ids=["little memory", "much memory"])
def test_more_replicas_do_not_hurt_beyond_noise(router: str, quantile: float, kv_blocks: int) -> None:
    """End-to-end times of 20 streams, each served by 2, 3 and 4 replicas; when memory is short, two of them preempt often."""
    limits = EngineLimits(max_num_seqs=8, max_num_batched_tokens=128)
    pool = make_pool(make_cost(PS // 100, PS // 10_000, PS // 10**7, limits=limits), kv_blocks, limits)
    by_size = []
    for replicas in (2, 3, 4):
        fleet = Fleet((replace(pool, replicas=replicas),), np.ones((1, 1)), router)
        logs = [simulate(fleet, random_requests(seed, 800, PS / 22), seed, event_per_arrival=False).log for seed in range(20)]
        by_size.append([np.quantile((log.finish_ps - log.arrival_ps)[log.status == Status.FINISHED], quantile) / PS for log in logs])
    for fewer, more in pairwise(by_size):
        worse = np.array(more) - np.array(fewer)
        error = float(worse.std(ddof=1) / np.sqrt(len(worse)))
        assert worse.mean() <= 2 * error, f"one more replica: {np.mean(fewer):.4f} s -> {np.mean(more):.4f} s, +- {error:.4f}"
