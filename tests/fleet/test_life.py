"""Boots, drains, failures, repairs and notices: who serves what and when, worked out on paper with steps of 100 ps."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import sim.fleet.life.living_pool
from sim.catalog.relay_records import Outages, RetryPolicy
from sim.engine.deployment import PS, EngineLimits
from sim.engine.pool import Pool, Status
from sim.errors import InputError, SimulationError
from sim.fleet.fleet import FailOver, Fleet, Overflow, SimulationResult
from sim.fleet.life.draws import HOUR_PS, drawn_losses, timetable
from sim.fleet.life.life_terms import Change, Lifecycle, LifeResult, PoolRules, Reroute
from sim.fleet.life.simulate_life import simulate_lifecycle
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from sim.request_log import RequestLog
from sim.requests import Requests
from tests.fuzz.random_cases import random_case
from tests.fuzz.random_conversations import caching_case
from tests.fuzz.random_lives import RELAY
from tests.samples import make_cost, make_pool, make_requests, random_requests

ENDPOINT = RelayEndpoint("relay", RELAY)
NOBODY = Lifecycle((PoolRules(0),))
TO_RELAY = ((0.0, 1.0),)


def fleet(replicas: int = 2, router: str = "least_outstanding", **changes: Any) -> Fleet:
    """One pool whose steps last 100 ps."""
    return Fleet((make_pool(replicas=replicas),), np.ones((1, 1)), router, **changes)


def with_relay(replicas: int = 1, relay: RelayEndpoint = ENDPOINT, **changes: Any) -> Fleet:
    return Fleet((make_pool(replicas=replicas), relay), np.array([[1.0, 0.0]]), **changes)


def live(
    requests: list[tuple[int, int, int]], *changes: Change, of: Fleet | None = None, end_ps: int | None = None, **rules: Any
) -> LifeResult:
    life = Lifecycle((PoolRules(0, **rules),), changes)
    return simulate_lifecycle(of or fleet(), life, make_requests(requests), seed=1, end_ps=end_ps)


def same(left: SimulationResult, right: SimulationResult) -> bool:
    equal = all(np.array_equal(getattr(left.log, f.name), getattr(right.log, f.name)) for f in fields(RequestLog))
    return equal and left.targets == right.targets and left.end_ps == right.end_ps


@pytest.mark.parametrize("router", ["least_outstanding", "round_robin", "session_affinity"])
def test_a_fleet_in_which_nothing_happens_is_served_as_ever_to_the_last_byte(router: str) -> None:
    requests = random_requests(1, 600, gap_ps=300)
    some = fleet(3, router)
    for end_ps in (None, 40_000):
        assert same(simulate(some, requests, 1, end_ps), simulate_lifecycle(some, NOBODY, requests, 1, end_ps).simulation)


def test_a_request_on_a_lost_replica_starts_anew_on_another_and_keeps_its_arrival() -> None:
    life = live([(0, 5, 5), (0, 5, 5)], Change(250, 0, "fail", 1))
    log = life.simulation.log
    assert log.arrival_ps.tolist() == [0, 0]
    assert log.first_ps.tolist() == [400, 100]  # replica 1 is in the step from 200 to 300 when request 0 comes
    assert log.finish_ps.tolist() == [800, 500]
    assert log.replica.tolist() == [1, 1]
    assert log.attempts.tolist() == [2, 1]
    assert life.restarts.tolist() == [1, 0]
    assert life.totals[0].restarts == life.totals[0].lost_replicas == 1
    assert life.totals[0].serving_ps == 250 + 800


def test_what_ends_at_the_instant_of_a_loss_has_ended() -> None:
    assert live([(0, 5, 5)], Change(500, 0, "fail", 1)).restarts.tolist() == [0]
    assert live([(0, 5, 5)], Change(499, 0, "fail", 1)).restarts.tolist() == [1]


def test_requests_wait_for_the_repair_when_no_replica_is_left() -> None:
    life = live([(0, 5, 5), (600, 5, 2)], Change(250, 0, "fail", 1), of=fleet(1), repair_ps=1000)
    log = life.simulation.log
    assert log.first_ps.tolist() == [1350, 1350]
    assert log.finish_ps.tolist() == [1750, 1450]
    assert life.totals[0].waited == 2
    assert (log.status == Status.FINISHED).all()


def test_without_a_repair_and_a_relay_requests_fail_at_once() -> None:
    life = live([(0, 5, 5), (600, 5, 2)], Change(250, 0, "fail", 1), of=fleet(1))
    assert life.simulation.log.status.tolist() == [Status.FAILED, Status.FAILED]
    assert life.simulation.log.finish_ps.tolist() == [250, 600]
    assert life.simulation.log.attempts.tolist() == [1, 0]
    assert life.totals[0].failed == 2


def test_requests_that_find_no_replica_go_to_the_fallback_relay() -> None:
    life = live([(0, 5, 5), (600, 5, 2)], Change(250, 0, "fail", 1), of=with_relay(), fallback=TO_RELAY)
    log = life.simulation.log
    assert log.target.tolist() == [1, 1]
    assert log.attempts.tolist() == [2, 1]
    assert (log.status == Status.FINISHED).all() and (log.replica == -1).all()
    assert life.totals[0].diverted == 2 and life.simulation.targets[1].requests == 2


def test_requests_that_find_no_replica_are_spread_over_other_pools_and_relays_by_their_shares() -> None:
    pools = make_pool(), replace(make_pool(), name="other")
    some = Fleet((*pools, ENDPOINT), np.array([[1.0, 0.0, 0.0]]))
    rules = PoolRules(0, fallback=((0.0, 0.5, 0.25),))
    requests = random_requests(5, 2000, gap_ps=10_000)
    life = simulate_lifecycle(some, Lifecycle((rules,), (Change(0, 0, "fail", 1),)), requests, 1)
    log = life.simulation.log
    shares = np.bincount(log.target, minlength=3) / len(log)
    assert np.all(np.abs(shares - [0.25, 0.5, 0.25]) <= 4 * np.sqrt(0.25 / len(log))), shares
    assert ((log.status == Status.FAILED) == (log.target == 0)).all()
    assert life.totals[0].diverted == np.count_nonzero(log.target > 0)


def test_two_pools_that_are_down_do_not_send_requests_to_and_fro() -> None:
    pools = make_pool(), replace(make_pool(), name="other")
    rules = PoolRules(0, fallback=((0.0, 1.0),)), PoolRules(1, fallback=((1.0, 0.0),), repair_ps=1000)
    down = Change(0, 0, "fail", 1), Change(100, 1, "fail", 1)
    life = simulate_lifecycle(Fleet(pools, np.array([[1.0, 0.0]])), Lifecycle(rules, down), make_requests([(200, 5, 5), (300, 5, 5)]), 1)
    assert life.simulation.log.status.tolist() == [Status.FAILED, Status.FAILED]  # pool 0 is not repaired, and has them last


def test_patience_at_the_fallback_counts_from_the_arrival() -> None:
    relay = replace(ENDPOINT, retry=RetryPolicy(timeout_s=3.0))
    some = Fleet((make_pool(make_cost(PS // 10)), relay), np.array([[1.0, 0.0]]))
    log = live([(0, 5, 900)], Change(2 * PS, 0, "fail", 1), of=some, fallback=TO_RELAY).simulation.log
    assert log.status.tolist() == [Status.TIMED_OUT]
    assert log.finish_ps.tolist() == [3 * PS]


def test_a_relay_that_sends_back_what_it_fails_ends_in_a_failure_not_in_a_loop() -> None:
    dead = replace(ENDPOINT, relay=replace(RELAY, outages=Outages(minutes=1e6, at_s=0.0)), retry=RetryPolicy(attempts=1))
    some = with_relay(relay=dead, failover=(FailOver(1, 0, (0,)),))
    life = live([(0, 5, 5)], Change(250, 0, "fail", 1), of=some, fallback=TO_RELAY)
    assert life.simulation.log.status.tolist() == [Status.FAILED]
    assert life.totals[0].diverted == life.totals[0].failed == 1


def test_a_pool_that_overflows_does_so_when_no_replica_is_up() -> None:
    some = with_relay(overflow=(Overflow(0, 1, 100),))
    life = live([(0, 5, 5), (600, 5, 2)], Change(250, 0, "fail", 1), of=some)
    assert life.simulation.log.target.tolist() == [1, 1]


def test_a_draining_replica_finishes_what_it_has_and_gets_nothing_new() -> None:
    life = live([(0, 5, 5), (0, 5, 5), (160, 5, 5), (170, 5, 5), (2000, 5, 1)], Change(150, 0, "scale", 1))
    log = life.simulation.log
    assert log.replica.tolist() == [0, 1, 0, 0, 0]
    assert log.finish_ps.tolist()[:2] == [500, 500]
    assert not life.restarts.any()
    assert life.totals[0].serving_ps == 500 + 2100


def test_a_drain_is_called_off_when_the_replica_is_needed_again() -> None:
    life = live([(0, 5, 50), (0, 5, 50), (400, 5, 5)], Change(150, 0, "scale", 1), Change(300, 0, "scale", 2), boot_ps=10_000)
    assert [event.state for event in life.events] == ["draining", "up"]
    assert live([(0, 5, 50), (0, 5, 5), (700, 5, 5)], Change(300, 0, "scale", 2)).simulation.log.replica.tolist() == [0, 1, 1]


def test_a_replica_that_has_drained_has_gone_and_boots_when_it_is_needed_again() -> None:
    life = live([(0, 5, 5), (0, 5, 5)], Change(150, 0, "scale", 1), Change(5000, 0, "scale", 2), boot_ps=1000)
    assert [(event.at_ps, event.state) for event in life.events] == [(150, "draining"), (5000, "off"), (5000, "booting"), (6000, "up")]
    assert life.totals[0].serving_ps == 500 + 500


def test_a_replica_takes_requests_one_boot_after_it_was_ordered() -> None:
    """The arrival at the instant at which it comes up is routed before that, the next one after it."""
    life = live([(0, 5, 50), (1100, 5, 5), (1101, 5, 5)], Change(100, 0, "scale", 2), start=1, boot_ps=1000)
    assert life.simulation.log.replica.tolist() == [0, 0, 1]
    assert [(event.at_ps, event.state) for event in life.events] == [(100, "booting"), (1100, "up")]


def test_notice_that_is_long_enough_costs_nothing_and_a_short_one_a_restart() -> None:
    gone = Change(150, 0, "reclaim", 1)
    kind = live([(0, 5, 5), (0, 5, 5), (200, 5, 1)], gone, notice_ps=350)
    assert not kind.restarts.any()
    assert kind.simulation.log.replica.tolist() == [0, 1, 0]  # nothing new under notice
    harsh = live([(0, 5, 5), (0, 5, 5)], gone, notice_ps=100)
    assert harsh.restarts.tolist() == [0, 1]
    assert [(event.at_ps, event.state) for event in harsh.events] == [(150, "noticed"), (250, "down")]


def test_a_notice_ends_with_the_replica_that_it_was_given_to() -> None:
    """Its substitute, repaired within the notice and reclaimed in its turn, has the whole notice of its own."""
    changes = Change(100, 0, "reclaim", 1, 0), Change(200, 0, "fail", 1, 0), Change(400, 0, "reclaim", 1, 0)
    life = live([(2000, 5, 1)], *changes, notice_ps=500, repair_ps=100)
    states = [(event.at_ps, event.state) for event in life.events]
    assert states == [(100, "noticed"), (200, "down"), (300, "up"), (400, "noticed"), (900, "down"), (1000, "up")]


def test_requests_are_sent_again_when_the_loss_is_noticed_and_new_ones_avoid_the_replica_at_once() -> None:
    life = live([(0, 5, 5), (0, 5, 5), (260, 5, 5)], Change(250, 0, "fail", 1), detect_ps=300)
    assert life.simulation.log.first_ps.tolist() == [700, 100, 400]  # 0 is sent again at 550
    assert life.simulation.log.replica.tolist() == [1, 1, 1]


def test_a_host_takes_all_its_replicas_with_it() -> None:
    life = live([(0, 5, 5)] * 4, Change(250, 0, "fail", 2, first=1), of=fleet(4))
    assert life.simulation.log.replica.tolist() == [0, 0, 3, 3]
    assert life.restarts.tolist() == [0, 1, 1, 0]


def test_round_robin_passes_over_replicas_that_take_nothing() -> None:
    requests = [(1000 * k, 5, 1) for k in range(6)]
    life = live(requests, Change(1500, 0, "fail", 1, first=2), Change(4500, 0, "scale", 2), of=fleet(3, "round_robin"), repair_ps=2000)
    assert life.simulation.log.replica.tolist() == [0, 1, 0, 1, 2, 0]


def test_a_lost_replica_forgets_its_prefix_cache() -> None:
    limits = EngineLimits(prefix_caching=True)
    pool = make_pool(limits=limits)
    turns = make_requests([(0, 64, 16), (5000, 100, 5)])
    turns = replace(turns, session_id=np.zeros(2, np.int64), prefix_tokens=np.array([0, 80], np.int32))
    some = Fleet((pool,), np.ones((1, 1)))
    rules = (PoolRules(0, repair_ps=100),)
    assert simulate_lifecycle(some, Lifecycle(rules), turns, 1).simulation.log.cached_tokens.tolist() == [0, 64]
    lost = simulate_lifecycle(some, Lifecycle(rules, (Change(4000, 0, "fail", 1),)), turns, 1)
    assert lost.simulation.log.cached_tokens.tolist() == [0, 0]


def test_a_run_that_is_cut_leaves_waiting_requests_in_flight() -> None:
    life = live([(0, 5, 5), (600, 5, 2)], Change(250, 0, "fail", 1), of=fleet(1), repair_ps=1000, end_ps=1000)
    assert life.simulation.log.status.tolist() == [Status.IN_FLIGHT, Status.IN_FLIGHT]


def test_replicas_that_take_nothing_are_not_there_for_the_router() -> None:
    """A pool of n of which k serve is a pool of k, to the last picosecond, whatever the router; affinity and priorities included."""
    for number in range(120):
        case = caching_case(number) if number % 2 else random_case(number)
        pools = [replace(pool, replicas=1 + number % 3) for pool in case.fleet.targets if isinstance(pool, Pool)]
        few = replace(case.fleet, targets=tuple(pools))
        many = replace(case.fleet, targets=tuple(replace(pool, replicas=pool.replicas + 2) for pool in pools))
        rules = tuple(PoolRules(k, start=pool.replicas) for k, pool in enumerate(pools))
        life = simulate_lifecycle(many, Lifecycle(rules), case.requests, 1, case.end_ps).simulation.log
        plain = simulate(few, case.requests, 1, case.end_ps).log
        for field in fields(RequestLog):
            assert np.array_equal(getattr(life, field.name), getattr(plain, field.name)), f"case {number}: {field.name}"


@pytest.mark.parametrize("caching", [False, True])
def test_after_an_outage_a_replica_serves_as_if_all_that_waited_had_come_at_its_end(caching: bool) -> None:
    """The same pool, in which what was open at the loss or came before the repair arrives at the repair: equal to the last picosecond,
    with what a prefix cache finds, and with priorities.
    """
    compared = 0
    for number in range(120):
        case = caching_case(number) if caching else random_case(number)
        pool, requests = case.fleet.targets[0], case.requests
        assert isinstance(pool, Pool)
        alone = Fleet((replace(pool, replicas=1),), np.ones((3, 1)), priorities=case.fleet.priorities)
        whole = simulate(alone, requests, 1)
        lost_ps, back_ps = int(whole.end_ps * 0.4), int(whole.end_ps * 0.7)
        life = Lifecycle((PoolRules(0, repair_ps=back_ps - lost_ps),), (Change(lost_ps, 0, "fail", 1),))
        log = simulate_lifecycle(alone, life, requests, 1).simulation.log
        shift_ps = pool.network_ps + pool.cost.request_ps
        later = (whole.log.finish_ps - shift_ps > lost_ps) & (whole.log.status == Status.FINISHED)
        if not later.any() or log.preemptions.any() or whole.log.preemptions.any():
            continue  # after a preemption the order of the running is not that of the arrivals
        compared += 1
        again = simulate(alone, _chosen(requests, np.flatnonzero(later), back_ps), 1).log
        for name in ("first_ps", "finish_ps", "cached_tokens"):
            assert np.array_equal(getattr(log, name)[later], getattr(again, name)), f"case {number}: {name}"
    assert compared >= 20


def _chosen(requests: Requests, rows: Any, least_ps: int) -> Requests:
    columns = {f.name: getattr(requests, f.name)[rows] for f in fields(Requests)}
    columns["arrival_ps"] = np.maximum(columns["arrival_ps"], least_ps)
    return Requests(**columns)


def test_a_request_that_is_dropped_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = sim.fleet.life.living_pool.evict
    monkeypatch.setattr(sim.fleet.life.living_pool, "evict", lambda *args: max(0, honest(*args) - 1))
    with pytest.raises(SimulationError, match=r"conservation|outstanding"):
        live([(0, 5, 5), (0, 5, 5)], Change(250, 0, "fail", 1))


def test_a_replica_that_keeps_what_it_lost_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim.fleet.life.living_pool, "evict", lambda *args: 0)
    with pytest.raises(SimulationError, match="replica 0 is down and holds"):
        live([(0, 5, 5), (0, 5, 5)], Change(250, 0, "fail", 1), end_ps=300)


FULL_HOURS = [h * HOUR_PS for h in range(4)]


def counts(hosts: list[int], lead_s: int = 0, linger_s: int = 0, per_host: int = 1) -> list[tuple[float, int]]:
    """(minutes, replicas ordered or serving from then on) of a timetable of hosts that boot in five minutes."""
    start, changes = timetable(0, hosts, FULL_HOURS[: len(hosts)], per_host, 300 * PS, lead_s * PS, linger_s * PS)
    return [(0, start), *((change.at_ps / PS / 60, change.replicas) for change in changes)]


def test_hosts_are_ordered_a_boot_and_a_lead_before_their_hour() -> None:
    assert counts([3, 9]) == [(0, 3), (55, 9)]
    assert counts([3, 9], lead_s=600) == [(0, 3), (45, 9)]
    assert counts([1, 3], per_host=2) == [(0, 2), (55, 6)]


def test_hosts_that_linger_go_one_after_the_other() -> None:
    assert counts([9, 3], linger_s=3600)[:4] == [(0, 9), (70, 8), (80, 7), (90, 6)]
    assert counts([9, 3], linger_s=3600)[-1] == (120, 3)


def test_a_host_that_is_needed_again_before_it_has_gone_stays() -> None:
    assert counts([9, 3, 9]) == [(0, 9), (60, 3), (115, 9)]
    assert counts([9, 3, 9], lead_s=1800, linger_s=3600) == [(0, 9), (70, 8), (80, 7), (85, 9)]
    assert counts([9, 3, 9], lead_s=3300) == [(0, 9)]


def test_requests_are_split_by_the_shares_of_their_time() -> None:
    """A reroute moves requests from its instant on, and only as far as shares move; without effect it changes no byte."""
    fleet = Fleet((make_pool(replicas=2), make_pool(replicas=2)), np.array([[0.5, 0.5]]))
    requests = random_requests(3, 1000, gap_ps=PS)
    half_ps = int(requests.arrival_ps[500])
    life = Lifecycle((PoolRules(0), PoolRules(1)), reroutes=(Reroute(half_ps, np.array([[0.2, 0.8]])),))
    moved = simulate_lifecycle(fleet, life, requests, 1).simulation.log.target
    kept = simulate_lifecycle(fleet, replace(life, reroutes=(Reroute(half_ps, fleet.shares),)), requests, 1).simulation.log.target
    plain = simulate_lifecycle(fleet, replace(life, reroutes=()), requests, 1).simulation.log.target
    assert np.array_equal(kept, plain) and np.array_equal(moved[:500], plain[:500])
    assert np.count_nonzero(moved[500:] == 0) == pytest.approx(100, abs=40)
    assert not ((plain == 1) & (moved == 0)).any()


def test_reroutes_that_make_no_sense_are_refused() -> None:
    fleet, requests = Fleet((make_pool(),), np.ones((1, 1))), random_requests(3, 5, gap_ps=PS)
    for reroutes, says in (
        ((Reroute(9, np.ones((1, 1))), Reroute(3, np.ones((1, 1)))), "in order of time"),
        ((Reroute(9, np.ones((1, 2))),), "for 1 classes and 1 targets"),
        ((Reroute(9, np.full((1, 1), 1.5)),), "rows sum to at most 1"),
    ):
        with pytest.raises(InputError, match=says):
            simulate_lifecycle(fleet, Lifecycle((PoolRules(0),), reroutes=reroutes), requests, 1)


def test_hours_of_a_plan_change_without_a_request_lost() -> None:
    pool = make_pool(replicas=3)
    requests = random_requests(3, 2000, gap_ps=4 * HOUR_PS / 2000)
    start, changes = timetable(0, [1, 3, 2, 1], FULL_HOURS, 1, boot_ps=300 * PS)
    rules = PoolRules(0, start=start, boot_ps=300 * PS)
    life = simulate_lifecycle(Fleet((pool,), np.ones((1, 1))), Lifecycle((rules,), changes), requests, 1)
    assert (life.simulation.log.status == Status.FINISHED).all()
    assert life.totals[0].serving_ps == pytest.approx((1 + 3 + 2 + 1) * HOUR_PS, rel=0.01)


def test_drawn_losses_come_at_their_rate_each_host_from_its_own_stream() -> None:
    hosts, mean_h, span_h = 40, 50.0, 2000.0
    losses = drawn_losses(0, hosts, 2, mean_h, int(span_h * HOUR_PS), seed=1)
    expected = hosts * span_h / mean_h
    assert abs(len(losses) - expected) <= 4 * expected**0.5, (len(losses), expected)
    fewer = drawn_losses(0, hosts - 1, 2, mean_h, int(span_h * HOUR_PS), seed=1)
    assert [loss for loss in losses if loss.first != 2 * (hosts - 1)] == list(fewer)
    assert losses != drawn_losses(0, hosts, 2, mean_h, int(span_h * HOUR_PS), seed=2)


def test_all_that_is_wrong_with_a_life_is_said_at_once() -> None:
    rules = (PoolRules(0, start=5, boot_ps=-1, fallback=((1.0, 0.0),)), PoolRules(0), PoolRules(1), PoolRules(9))
    changes = (
        Change(0, 0, "explode", 1),
        Change(-1, 0, "fail", 1),
        Change(0, 0, "scale", 9),
        Change(0, 7, "fail", 1),
        Change(0, 0, "fail", 2, 1),
    )
    with pytest.raises(InputError) as told:
        simulate_lifecycle(with_relay(2), Lifecycle(rules, changes), make_requests([(0, 1, 1)]), 1)
    text = str(told.value)
    for words in (
        "start: 5 of 2",
        "boot_ps: -1",
        "pool 0 itself get none",
        "has two",
        "target 1 is not a pool",
        "target 9 is not a pool",
        "'explode'",
        "at_ps -1",
        "scale to 9",
        "pool 7 has no rules",
        "replicas 1 to 2 are not all in 0 to 1",
    ):
        assert words in text, words
