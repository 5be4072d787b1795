"""Whatever happens to its replicas, a fleet loses no request and no block, and says the same twice."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from sim.engine.pool import Pool, Status
from sim.fleet.life.life_terms import LifeResult
from sim.fleet.life.simulate_life import simulate_lifecycle
from sim.request_log import RequestLog
from tests.fuzz.random_lives import LifeCase, life_case

QUICK, CHUNK = 400, 50


def run(case: LifeCase) -> LifeResult:
    """The laws of conservation, blocks and tokens are checked inside, at the end of every run."""
    return simulate_lifecycle(case.fleet, case.life, case.requests, seed=1, end_ps=case.end_ps)


@pytest.mark.parametrize("first", [*range(0, QUICK, CHUNK), *(pytest.param(k, marks=pytest.mark.slow) for k in range(10_000, 14_000, 500))])
def test_no_request_and_no_block_is_lost_in_random_lives(first: int) -> None:
    for number in range(first, first + (CHUNK if first < QUICK else 500)):
        case = life_case(number)
        life = run(case)
        log, counted = life.simulation.log, np.zeros(len(Status), int)
        np.add.at(counted, log.status, 1)
        assert counted.sum() == len(case.requests), f"life_case({number})"
        assert np.array_equal(log.arrival_ps, case.requests.arrival_ps), f"life_case({number})"
        if case.end_ps is None:
            assert counted[Status.IN_FLIGHT] == 0, f"life_case({number})"
        assert (log.attempts >= life.restarts).all(), f"life_case({number})"
        assert sum(total.restarts for total in life.totals) == sum(event.open_requests for event in life.events) == life.restarts.sum()
        _check_shares(life, case, number)


def _check_shares(life: LifeResult, case: LifeCase, number: int) -> None:
    for total in life.totals:
        pool, stats = case.fleet.targets[total.pool], life.simulation.targets[total.pool]
        assert isinstance(pool, Pool)
        assert 0 <= total.serving_ps <= life.simulation.end_ps * pool.replicas, f"life_case({number})"
        assert stats.busy_share <= 1 + 1e-9, f"life_case({number})"
        assert stats.kv_mean_share <= 1 + 1e-9, f"life_case({number})"


def test_same_seed_same_bytes() -> None:
    for number in range(60):
        first, second = run(life_case(number)), run(life_case(number))
        for field in fields(RequestLog):
            assert np.array_equal(getattr(first.simulation.log, field.name), getattr(second.simulation.log, field.name)), number
        assert (first.simulation.targets, first.totals, first.events) == (second.simulation.targets, second.totals, second.events)


def test_the_random_lives_reach_the_corners() -> None:
    """A fuzz that takes nothing back, never waits and never flees proves nothing about those."""
    corners = ("taken back", "taken back twice", "waited", "went elsewhere", "failed for good", "finished after a restart", "cut")
    seen = dict.fromkeys(corners, 0)
    for number in range(QUICK):
        case = life_case(number)
        life = run(case)
        status = life.simulation.log.status
        seen["taken back"] += bool(life.restarts.any())
        seen["taken back twice"] += bool((life.restarts > 1).any())
        seen["waited"] += any(total.waited for total in life.totals)
        seen["went elsewhere"] += any(total.diverted for total in life.totals)
        seen["failed for good"] += any(total.failed for total in life.totals)
        seen["finished after a restart"] += bool((status[life.restarts > 0] == Status.FINISHED).any())
        seen["cut"] += bool((status == Status.IN_FLIGHT).any())
    assert min(seen.values()) >= QUICK // 20, seen
