"""Fleets: who gets a request, what overflows, how a run stops, and that all modes agree."""

from __future__ import annotations

import gc
import weakref
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from sim.catalog.facts import Relay, Source
from sim.engine.deployment import PS, EngineLimits
from sim.engine.pool import Pool, Status
from sim.engine.rows import request_rows
from sim.engine.state import PoolState
from sim.errors import InputError, SimulationError
from sim.fleet import laws
from sim.fleet.fleet import Fleet, Overflow, SimulationResult
from sim.fleet.run import Run
from sim.fleet.simulate import probe, simulate
from sim.relay.endpoint import RelayEndpoint
from sim.request_log import RequestLog
from tests.samples import make_cost, make_pool, make_requests, random_requests

SOURCE = Source("made up for this test", "2026-11-30")
RELAY = Relay(
    id="r", vendor="v", model="m", usd_per_mtok_input=1.0, usd_per_mtok_output=2.0, usd_per_mtok_cached=None,
    ttft_p50_s=0.5, ttft_sigma=0.4, tokens_per_s=80.0, tokens_sigma=0.2, source=SOURCE, latency_source=SOURCE,
)  # fmt: skip
ENDPOINT = RelayEndpoint("relay", RELAY)
MS = PS // 1000


def real_pool(replicas: int = 3, network_ps: int = 0) -> Pool:
    """A pool with steps of some milliseconds and little memory."""
    limits = EngineLimits(max_num_seqs=32, max_num_batched_tokens=256)
    cost = make_cost(5 * MS, MS // 50, 200_000, 8_000_000, 100, 1000, request_ps=15 * MS, limits=limits)
    return make_pool(cost, kv_blocks=150, limits=limits, replicas=replicas, network_ps=network_ps)


def one_pool(pool: Pool, router: str = "least_outstanding") -> Fleet:
    return Fleet((pool,), np.ones((1, 1)), router)


def same(left: SimulationResult, right: SimulationResult) -> bool:
    columns = [field.name for field in fields(RequestLog)]
    equal = all(np.array_equal(getattr(left.log, name), getattr(right.log, name)) for name in columns)
    return equal and left.targets == right.targets and left.end_ps == right.end_ps


@pytest.mark.parametrize("router", ["least_outstanding", "round_robin"])
def test_arrivals_as_events_and_arrivals_in_the_kernel_agree_to_the_last_byte(router: str) -> None:
    requests = random_requests(1, 3000, gap_ps=30 * MS, classes=2)
    pools = real_pool(2), real_pool(3, network_ps=7 * MS)
    fleet = Fleet((*pools, ENDPOINT), np.array([[0.5, 0.3, 0.1], [0.2, 0.6, 0.2]]), router)
    assert same(simulate(fleet, requests, 7), simulate(fleet, requests, 7, event_per_arrival=False))
    assert same(simulate(fleet, requests, 7, 20 * PS), simulate(fleet, requests, 7, 20 * PS, event_per_arrival=False))


def test_a_probe_is_a_fleet_of_one_pool() -> None:
    requests = random_requests(2, 2000, gap_ps=30 * MS)
    assert same(probe(real_pool(), requests), simulate(one_pool(real_pool()), requests, seed=3))


def test_same_seed_same_bytes_and_another_seed_another_split() -> None:
    requests = random_requests(3, 1000, gap_ps=30 * MS)
    fleet = Fleet((real_pool(), ENDPOINT), np.array([[0.5, 0.5]]))
    assert same(simulate(fleet, requests, 1), simulate(fleet, requests, 1))
    assert not np.array_equal(simulate(fleet, requests, 1).log.target, simulate(fleet, requests, 2).log.target)


def test_a_stopped_run_is_the_beginning_of_the_whole_run() -> None:
    requests = random_requests(4, 1000, gap_ps=30 * MS)
    fleet = one_pool(real_pool(network_ps=3 * MS))
    whole = simulate(fleet, requests, 1).log
    shift_ps = (15 + 3) * MS
    for end_ps in (0, 10 * MS, PS, int(whole.finish_ps[100]) - shift_ps, int(whole.finish_ps[100]) - shift_ps - 1, 15 * PS):
        part = simulate(fleet, requests, 1, end_ps)
        assert np.array_equal(part.log.first_ps, np.where(whole.first_ps <= end_ps + shift_ps, whole.first_ps, -1))
        assert np.array_equal(part.log.finish_ps, np.where(whole.finish_ps <= end_ps + shift_ps, whole.finish_ps, -1))
        assert np.array_equal(part.log.status == Status.IN_FLIGHT, part.log.finish_ps < 0)
        assert part.end_ps == end_ps


def test_request_overhead_and_network_are_added_once_to_first_and_last_token() -> None:
    requests = random_requests(5, 300, gap_ps=30 * MS)
    near = probe(real_pool(), requests).log
    far = probe(real_pool(network_ps=40 * MS), requests).log
    bare = probe(replace(real_pool(), cost=replace(real_pool().cost, request_ps=0)), requests).log
    assert np.array_equal(far.first_ps, near.first_ps + 40 * MS) and np.array_equal(far.finish_ps, near.finish_ps + 40 * MS)
    assert np.array_equal(near.first_ps, bare.first_ps + 15 * MS)


def test_shares_are_kept_and_what_is_missing_to_one_is_rejected() -> None:
    requests = random_requests(6, 4000, gap_ps=200 * MS)
    log = simulate(Fleet((real_pool(), ENDPOINT), np.array([[0.5, 0.2]])), requests, 1).log
    counts = np.array([np.count_nonzero(log.target == target) for target in (0, 1, -1)]) / len(log)
    assert np.all(np.abs(counts - [0.5, 0.2, 0.3]) <= 4 * np.sqrt(0.25 / len(log)))
    assert np.array_equal(log.status == Status.REJECTED, log.target == -1)


def test_a_relay_beside_a_pool_does_not_change_what_the_pool_does() -> None:
    requests = random_requests(7, 1000, gap_ps=30 * MS)
    alone = simulate(Fleet((real_pool(),), np.array([[0.5]])), requests, 1).log
    beside = simulate(Fleet((real_pool(), ENDPOINT), np.array([[0.5, 0.5]])), requests, 1).log
    served = alone.target == 0
    assert np.array_equal(served, beside.target == 0)
    assert np.array_equal(alone.finish_ps[served], beside.finish_ps[served])


def test_relay_ends_are_logged_and_metered() -> None:
    requests = random_requests(8, 200, gap_ps=30 * MS)
    result = simulate(Fleet((ENDPOINT,), np.ones((1, 1))), requests, 1)
    assert (result.log.status == Status.FINISHED).all() and (result.log.attempts == 1).all()
    assert result.targets[0].requests == 200
    assert result.targets[0].billed_output_tokens == requests.output_tokens.sum()
    assert (result.log.replica == -1).all()


def test_overflow_goes_to_the_relay_only_when_every_replica_is_full() -> None:
    fleet = Fleet((make_pool(replicas=2), ENDPOINT), np.array([[1.0, 0.0]]), overflow=(Overflow(0, 1, 2),))
    log = simulate(fleet, make_requests([(0, 5, 5)] * 6 + [(500, 5, 1), (501, 5, 1)]), 1).log
    assert log.target.tolist() == [0, 0, 0, 0, 1, 1, 1, 0]
    assert log.replica.tolist() == [0, 1, 0, 1, -1, -1, -1, 0]
    assert (log.status == Status.FINISHED).all()


def test_a_full_pool_overflows_into_another_and_that_one_to_a_relay() -> None:
    """Five requests at once: one at each of two replicas, one at the next pool, the rest at the relay; both ways give the same bytes."""
    chain = (Overflow(0, 1, 1), Overflow(1, 2, 1))
    fleet = Fleet((make_pool(replicas=2), make_pool(), ENDPOINT), np.array([[1.0, 0.0, 0.0]]), overflow=chain)
    result = simulate(fleet, make_requests([(0, 50, 50)] * 5), 1)
    assert result.log.target.tolist() == [0, 0, 1, 2, 2]
    requests = random_requests(8, 600, gap_ps=4 * MS)
    busy = Fleet((real_pool(1), real_pool(2), ENDPOINT), np.array([[0.8, 0.2, 0.0]]), overflow=(Overflow(0, 1, 6), Overflow(1, 2, 9)))
    assert same(simulate(busy, requests, 1), simulate(busy, requests, 1, event_per_arrival=False))
    assert set(simulate(busy, requests, 1).log.target) == {0, 1, 2}


@pytest.mark.parametrize("limit", [0, 3, 12, 10**6])
def test_overflow_to_a_relay_without_limits_is_the_same_with_and_without_events(limit: int) -> None:
    """Two pools overflow to one relay, which is called directly too; without events the kernel names the rows that find a pool full."""
    requests = random_requests(9, 3000, gap_ps=4 * MS, classes=2)
    shares = np.array([[0.8, 0.0, 0.2], [0.3, 0.7, 0.0]])
    fleet = Fleet((real_pool(2), real_pool(1), ENDPOINT), shares, overflow=(Overflow(0, 2, limit), Overflow(1, 2, 5)))
    played, at_once = simulate(fleet, requests, 1), simulate(fleet, requests, 1, event_per_arrival=False)
    assert same(played, at_once) and at_once.events < played.events
    assert (played.log.target == 2).sum() > 600 or limit == 10**6


def test_overflow_in_a_circle_is_refused() -> None:
    fleet = Fleet((make_pool(), make_pool()), np.array([[1.0, 0.0]]), overflow=(Overflow(0, 1, 1), Overflow(1, 0, 1)))
    with pytest.raises(InputError, match="circle"):
        simulate(fleet, make_requests([(0, 50, 50)]), 1)


def test_overflow_that_never_happens_changes_nothing() -> None:
    requests = random_requests(9, 1000, gap_ps=30 * MS)
    shares = np.array([[1.0, 0.0]])
    plain = simulate(Fleet((real_pool(), ENDPOINT), shares), requests, 1)
    assert same(plain, simulate(Fleet((real_pool(), ENDPOINT), shares, overflow=(Overflow(0, 1, 10**6),)), requests, 1))


def test_a_pool_without_replicas_rejects_or_overflows() -> None:
    requests, empty = make_requests([(0, 5, 5)]), replace(make_pool(), replicas=0)
    assert simulate(one_pool(empty), requests, 1).log.status.tolist() == [Status.REJECTED]
    fleet = Fleet((empty, ENDPOINT), np.array([[1.0, 0.0]]), overflow=(Overflow(0, 1, 4),))
    assert simulate(fleet, requests, 1).log.target.tolist() == [1]


def test_round_robin_takes_turns() -> None:
    requests = make_requests([(0, 5, 5)] * 7)
    assert simulate(one_pool(make_pool(replicas=3), "round_robin"), requests, 1).log.replica.tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_no_requests_is_an_empty_log() -> None:
    result = simulate(one_pool(make_pool()), make_requests([]), 1)
    assert (len(result.log), result.end_ps, result.targets[0].busy_share) == (0, 0, 0.0)


def test_every_problem_of_a_fleet_is_named_at_once() -> None:
    bad = replace(make_pool(), kv_blocks=0, limits=EngineLimits(max_num_seqs=8, max_num_batched_tokens=4))
    fleet = Fleet((bad,), np.array([[1.5]]), "random", (Overflow(0, 0, 1),))
    with pytest.raises(InputError) as raised:
        simulate(fleet, make_requests([(0, 5, 5)]), 1)
    text = str(raised.value)
    assert all(word in text for word in ("kv_blocks", "max_num_batched_tokens", "shares", "router", "overflow"))


def test_traffic_that_goes_back_in_time_is_refused() -> None:
    with pytest.raises(InputError, match="sorted"):
        simulate(one_pool(make_pool()), make_requests([(5, 5, 5), (4, 5, 5)]), 1)


@pytest.mark.parametrize(
    ("array", "field", "match"),
    [
        ("replicas", "free", "blocks"),
        ("replicas", "computed_tokens", "tokens"),
        ("replicas", "waiting", "idle"),
        ("log", "status", "open"),
        ("log", "input_tokens", "needed"),
    ],
)
def test_a_broken_law_is_an_error(array: str, field: str, match: str) -> None:
    requests = make_requests([(0, 20, 5)])
    log = probe(make_pool(), requests).log
    state = PoolState(make_pool(), request_rows(requests))
    state.replicas["computed_tokens"] = 24
    served = np.ones(1, np.bool_)
    laws.check_pool(state, log, served)
    if array == "log":
        log = replace(log, **{field: np.array([Status.IN_FLIGHT], np.int8)})
    else:
        state.replicas[field] = Status.IN_FLIGHT
    with pytest.raises(SimulationError, match=match):
        laws.check_pool(state, log, served)


def test_a_log_with_an_open_request_after_the_end_is_an_error() -> None:
    log = probe(make_pool(), make_requests([(0, 5, 5)])).log
    laws.check_log(log, all_ended=True)
    with pytest.raises(SimulationError, match="conservation"):
        laws.check_log(replace(log, status=np.array([Status.IN_FLIGHT], np.int8)), all_ended=True)
    with pytest.raises(SimulationError, match="clock"):
        laws.check_log(replace(log, first_ps=log.first_ps + 10**6), all_ended=True)


@pytest.mark.parametrize("event_per_arrival", [True, False])
def test_finished_run_is_freed_without_the_garbage_collector(event_per_arrival: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[weakref.ref[Run]] = []

    class Watched(Run):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            seen.append(weakref.ref(self))

    monkeypatch.setattr("sim.fleet.simulate.Run", Watched)
    gc.disable()
    try:
        fleet = Fleet((real_pool(), ENDPOINT), np.array([[0.5, 0.5]]))
        simulate(fleet, random_requests(4, 200, gap_ps=30 * MS), 1, event_per_arrival=event_per_arrival)
        assert [run() for run in seen] == [None]
    finally:
        gc.enable()
