"""Clients who wait for their answers: a reactive run must be the open run of the arrivals that it made."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from sim.engine.deployment import PS, EngineLimits
from sim.engine.pool import Pool, Status
from sim.errors import InputError
from sim.fleet.clients import Turns, closed_loop, session_turns, simulate_turns
from sim.fleet.fleet import Fleet, Overflow
from sim.fleet.simulate import simulate
from sim.request_log import RequestLog
from sim.requests import Requests
from tests.fleet.test_fleet import ENDPOINT, MS, one_pool, real_pool
from tests.samples import make_cost, make_pool, make_requests, random_requests


def alone(requests: Requests) -> Turns:
    return Turns(np.full(len(requests), -1, np.int64), np.zeros(len(requests), np.int64))


def random_turns(seed: int, size: int, mean_think_ps: int) -> Turns:
    """Each request waits for one of the fifty before it, or for no one."""
    rng = np.random.default_rng(seed)
    after, free = np.full(size, -1, np.int64), set(range(size))
    for i in range(1, size):
        candidate = i - int(rng.integers(1, 50))
        if candidate in free and rng.random() < 0.7:
            after[i] = candidate
            free.remove(candidate)
    return Turns(after, rng.integers(1, 2 * mean_think_ps, size))


def small_pool(seed: int) -> Pool:
    """Different limits, memory and number of replicas for each seed; step costs without common divisors."""
    rng = np.random.default_rng([seed, 1])
    limits = EngineLimits(int(rng.integers(1, 20)), int(rng.integers(20, 200)), watermark=float(rng.choice([0.0, 0.1])))
    cost = make_cost(5_000_011, 1_003, 17, 104_729, 7, 13, request_ps=int(rng.integers(0, 9_999_991)), limits=limits)
    return make_pool(cost, int(rng.integers(20, 80)), limits, int(rng.integers(1, 6)), int(rng.integers(0, 1_000_003)))


@pytest.mark.parametrize("seed", range(12))
def test_a_reactive_run_is_the_open_run_of_the_arrivals_that_it_made(seed: int) -> None:
    requests = random_requests(seed, 400, gap_ps=20_000_000)
    turns = random_turns(seed, 400, mean_think_ps=300_000_000)
    fleet = one_pool(small_pool(seed), "round_robin" if seed % 3 == 0 else "least_outstanding")
    log = simulate_turns(fleet, requests, turns, 1).log
    order = np.argsort(log.arrival_ps, kind="stable")
    columns = {field.name: getattr(requests, field.name)[order] for field in fields(Requests)}
    opened = simulate(fleet, Requests(**{**columns, "arrival_ps": log.arrival_ps[order]}), 1).log
    for field in fields(RequestLog):
        assert np.array_equal(getattr(opened, field.name), getattr(log, field.name)[order]), field.name
    ended_ps = np.where(log.status == Status.FINISHED, log.finish_ps, log.arrival_ps)
    waits = turns.after >= 0
    assert np.array_equal(log.arrival_ps[waits], ended_ps[turns.after[waits]] + turns.think_ps[waits])
    assert waits.sum() > 100 and np.array_equal(log.arrival_ps[~waits], requests.arrival_ps[~waits])


@pytest.mark.parametrize("end_ps", [None, 15 * PS])
def test_clients_who_wait_for_nobody_are_open_arrivals(end_ps: int | None) -> None:
    requests = random_requests(1, 1000, gap_ps=30 * MS)
    fleet = Fleet((real_pool(), ENDPOINT), np.array([[0.7, 0.2]]), overflow=(Overflow(0, 1, 8),))
    reactive, open_run = simulate_turns(fleet, requests, alone(requests), 1, end_ps), simulate(fleet, requests, 1, end_ps)
    arrived = reactive.log.arrival_ps >= 0
    assert reactive.targets == open_run.targets
    assert np.array_equal(reactive.log.finish_ps, open_run.log.finish_ps)
    assert np.array_equal(reactive.log.arrival_ps[arrived], requests.arrival_ps[arrived])
    assert np.array_equal(arrived, requests.arrival_ps <= (end_ps or np.inf))


def test_a_closed_loop_never_has_more_open_requests_than_users() -> None:
    requests = replace(random_requests(2, 300, gap_ps=1), arrival_ps=np.zeros(300, np.int64))
    log = simulate_turns(one_pool(real_pool(1)), requests, closed_loop(requests, 5, think_ps=0), 1).log
    events = np.concatenate([np.stack([log.arrival_ps, np.ones(300)]), np.stack([log.finish_ps, -np.ones(300)])], axis=1)
    open_requests = np.cumsum(events[1][np.lexsort((events[1], events[0]))])
    assert open_requests.max() == 5


def test_one_user_without_think_time_gets_his_answers_back_to_back() -> None:
    requests = make_requests([(10, 5, 2)] * 3)
    log = simulate_turns(one_pool(make_pool()), requests, closed_loop(requests, 1, think_ps=7), 1).log
    assert log.arrival_ps.tolist() == [10, 217, 424] and log.finish_ps.tolist() == [210, 417, 624]


def test_the_turns_of_a_session_come_in_order_through_pool_relay_and_rejection() -> None:
    requests = random_requests(3, 500, gap_ps=50 * MS)
    requests = replace(requests, session_id=np.arange(500, dtype=np.int64) % 60 - 1)
    turns = session_turns(requests, np.full(500, PS // 10, np.int64))
    log = simulate_turns(Fleet((real_pool(), ENDPOINT), np.array([[0.4, 0.4]])), requests, turns, 1).log
    for session in range(5):
        mine = np.flatnonzero(requests.session_id == session)
        ended = np.where(log.finish_ps[mine] >= 0, log.finish_ps[mine], log.arrival_ps[mine])
        assert np.array_equal(log.arrival_ps[mine][1:], ended[:-1] + PS // 10)
    assert set(log.status.tolist()) == {Status.FINISHED, Status.REJECTED}


def test_steps_that_cost_nothing_still_wake_every_client() -> None:
    requests = make_requests([(0, 3, 2)] * 40)
    limits = EngineLimits(max_num_seqs=2, max_num_batched_tokens=8)
    pool = make_pool(make_cost(base_ps=0, limits=limits), limits=limits)
    log = simulate_turns(one_pool(pool), requests, closed_loop(requests, 20, think_ps=3), 1).log
    assert log.finish_ps.tolist() == [0] * 20 + [3] * 20


def test_a_turn_that_the_end_cut_off_never_arrived() -> None:
    requests = make_requests([(0, 5, 2)] * 3)
    result = simulate_turns(one_pool(make_pool()), requests, closed_loop(requests, 1, think_ps=50), 1, end_ps=300)
    assert result.log.arrival_ps.tolist() == [0, 250, -1]
    assert result.log.first_ps.tolist() == [100, -1, -1]
    assert result.log.status.tolist() == [Status.FINISHED, Status.IN_FLIGHT, Status.IN_FLIGHT]
    assert result.targets[0].requests == 2


def test_turns_that_make_no_sense_are_refused() -> None:
    requests = make_requests([(0, 5, 2)] * 3)
    none = np.zeros(3, np.int64)
    for after, match in (([-1, 1, 0], "later one"), ([-1, 0, 0], "at most one"), ([-1, 0], "one per request")):
        with pytest.raises(InputError, match=match):
            simulate_turns(one_pool(make_pool()), requests, Turns(np.array(after), none), 1)
