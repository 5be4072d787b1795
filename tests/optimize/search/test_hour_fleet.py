"""The fleet of one hour: what runs in it, how classes are shared out, and how it is warmed up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from optimize.records import SloRow
from optimize.search import demand_rounds, played_hours, simulated_hour
from optimize.search.loop import Settled
from optimize.search.simulated_hour import IN_HOUR_PS, Hour, fleet_of, sample_of, warmup_keep, without_backlog
from optimize.search.stretch import Stretch
from sim.engine.deployment import PS
from sim.fleet.fleet import Fleet
from sim.requests import Requests
from sim.scenario.scenario import Scenario
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.search.by_hand import market_of, settled_of
from tests.samples import make_pool, random_requests

PROMISE = SloRow(0, "ttft", 0.95, 1.0)


@pytest.fixture
def hour(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`fleet_of` on engines that are told apart by their replicas alone."""
    monkeypatch.setattr(simulated_hour, "pool_of", lambda option, cost, replicas, network_s: make_pool(replicas=replicas))
    monkeypatch.setattr(simulated_hour, "cascade_of", lambda scenario, models, table: (table, None))
    monkeypatch.setattr(simulated_hour, "router_of", lambda scenario: "least_outstanding")
    monkeypatch.setattr(simulated_hour, "priorities_of", lambda scenario: None)
    scenario = cast(Scenario, SimpleNamespace(policy=SimpleNamespace(network_s=0.0)))

    def made(settled: Settled, t: int = 0, costs: tuple[object, ...] = (1, 1, 1)) -> Hour:
        return fleet_of(scenario, settled.problem, settled.solution, cast(Any, costs), t)

    return made


def plan_of() -> Settled:
    """Three pools of two replicas a host and three relays; two classes; the middle pool and the middle relay are idle in hour 0."""
    pools = [pool(offer(f"o{k}", 1.0), [0.1, 0.1], [0.0], replicas=2) for k in range(3)]
    calls = [relay(f"r{k}", [1e-3, 1e-3], [0.0]) for k in range(3)]
    settled = settled_of(problem([[10.0, 10.0], [4.0, 0.0]], pools, calls, [PROMISE]), [[1, 1], [0, 1], [3, 1]])
    pool_flow, relay_flow = np.zeros((3, 2, 2)), np.zeros((3, 2, 2))
    pool_flow[:, 0, 0], relay_flow[:, 0, 0] = [2.0, 0.0, 5.0], [1.0, 0.0, 2.0]
    pool_flow[2, 1, 0], relay_flow[2, 1, 0] = 3.0, 1.0
    pool_flow[1, 0, 1] = 10.0
    return replace(settled, solution=replace(settled.solution, pool_flow=pool_flow, relay_flow=relay_flow))


def test_targets_are_the_pools_and_relays_that_serve_in_the_hour_wherever_idle_ones_stand(hour: Any) -> None:
    made = hour(plan_of())
    assert (made.index, made.pools, made.relays) == (0, (0, 2), (0, 2))
    assert [getattr(target, "replicas", None) or target.name for target in made.fleet.targets] == [2, 6, "r0", "r2"]
    assert made.fleet.shares.tolist() == [[0.2, 0.5, 0.1, 0.2], [0.0, 0.75, 0.0, 0.25]]
    later = hour(plan_of(), 1)
    assert (later.pools, later.relays, later.fleet.shares.tolist()) == ((1,), (), [[1.0], [0.0]])


def test_a_pool_without_an_engine_and_one_with_hosts_that_serve_nothing_are_not_simulated(hour: Any) -> None:
    assert hour(plan_of(), costs=(1, 1, None)).pools == (0,)
    assert hour(plan_of(), costs=(None, 1, 1)).pools == (2,)


def test_shares_are_rounded_to_a_whole_unless_something_is_left_out(hour: Any) -> None:
    settled = plan_of()
    solution = replace(settled.solution, pool_flow=settled.solution.pool_flow * (1 - 1e-7))
    whole = hour(replace(settled, solution=solution))
    assert whole.fleet.shares.sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-12)
    unserved = settled.solution.unserved.copy()
    unserved[0, 0] = 5.0
    half = replace(solution, unserved=unserved, pool_flow=settled.solution.pool_flow * 0.5, relay_flow=settled.solution.relay_flow * 0.5)
    assert hour(replace(settled, solution=half)).fleet.shares.sum(axis=1) == pytest.approx([0.5, 1.0])


def test_a_tier_that_was_bought_gives_the_relay_its_limits(hour: Any) -> None:
    from optimize.records import SpendTier

    settled = plan_of()
    tiers = (SpendTier(0.0, rpm=10.0), SpendTier(100.0, rpm=99.0))
    relays = tuple(replace(terms, tiers=tiers) for terms in settled.problem.relays)
    bought = replace(settled.solution, relay_tier=np.array([1, 0, 0]))
    made = hour(replace(settled, problem=replace(settled.problem, relays=relays), solution=bought))
    assert [target.relay.rpm for target in made.fleet.targets[2:]] == [99.0, 10.0]


# --- warm-up


def test_the_hour_before_was_served_by_its_own_hosts_and_leaves_no_backlog() -> None:
    days = ("weekday 00", "weekday 01", "weekend 00", "weekend 01")
    demand = replace(problem([[4.0, 1.0, 3.0, 6.0]]).demand, slices=days)
    assert [warmup_keep(demand, t) for t in range(4)] == [4.0 / 6.0, 0.25, 0.5, 1.0], (
        "hour 0 comes after the last of the day, or of what there is"
    )
    assert warmup_keep(replace(demand, mean_rps=np.array([[0.0, 1.0, 1.0, 1.0]])), 1) == 1.0


def test_only_the_warm_up_is_thinned_and_by_its_share() -> None:
    many = random_requests(1, 20_000, 20_000 / 4200)
    kept = without_backlog(many, 0.25, 1)
    edge = IN_HOUR_PS[0]
    before, after = (int((each.arrival_ps < edge).sum()) for each in (many, kept))
    assert after / before == pytest.approx(0.25, abs=0.05) and len(many) - before == len(kept) - after
    assert without_backlog(many, 1.0, 1) is many and isinstance(kept, Requests)


# --- counts


def test_requests_count_for_who_they_were_sent_to_in_the_window_alone() -> None:
    """Six requests of class 0: two before and after the window, of four in it three are in time; one was sent nowhere."""
    start, end = IN_HOUR_PS
    arrival = np.array([start - 1, start, start + 600 * PS, end - 1, end - 2, end])
    wait = np.array([0.1, 0.5, 1.0, 2.0, 0.3, 0.1])
    first = arrival + (wait * PS).astype(np.int64)
    log = cast(Any, SimpleNamespace(arrival_ps=arrival, class_id=np.zeros(6, np.int16)))
    given = problem([[1.0]], [], [], [PROMISE])

    def metrics(log: object, c: int, from_ps: int, to_ps: int) -> dict[str, Any]:
        assert (from_ps, to_ps) == IN_HOUR_PS
        return {"ttft": ((first - arrival) / PS)[(arrival >= from_ps) & (arrival < to_ps)]}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated_hour, "class_metrics", metrics)
        sample = sample_of(given, 2, log, np.array([0, 0, 1, 1, -1, 0], np.int16), IN_HOUR_PS)
    assert sample.seen[:, 0].tolist() == [1, 1 + 1, 1] and sample.met[:, 0].tolist() == [1, 1, 1] and sample.requests == 4
    assert sample.blocks_seen is not None and sample.blocks_met is not None
    assert sample.blocks_seen[:, 0].tolist() == [1, 1, 0, 0, 0, 2] and sample.blocks_met[:, 0].tolist() == [1, 1, 0, 0, 0, 1]


# --- which hours are played after the one before them


@pytest.mark.parametrize(("proof", "asked"), [("day", "day"), ("changes", "changes")])
def test_a_day_plays_every_hour_and_changes_the_steepest(monkeypatch: pytest.MonkeyPatch, proof: str, asked: str) -> None:
    said: list[str] = []

    def stretches(kind: str) -> Any:
        return lambda *_: said.append(kind) or []

    monkeypatch.setattr(played_hours, "slice_length_s", lambda _: 3600.0)
    monkeypatch.setattr(played_hours, "day_stretches", stretches("day"))
    monkeypatch.setattr(played_hours, "change_stretches", stretches("changes"))
    settled = plan_of()
    assert played_hours.play(cast(Any, None), settled.problem, settled.solution, [None] * 3, (1,), 1, proof) == []
    assert said == [asked]


def test_a_stretch_begins_with_its_warm_up_and_lasts_as_long_as_its_parts() -> None:
    part = Stretch((3, 4), (1200.0, 3600.0), Fleet((), np.zeros((1, 0))), cast(Any, None), (), (), (), 1.0)
    assert [each / PS for each in part.begins_ps] == [600.0, 1800.0, 5400.0]


def test_a_stretch_that_cannot_be_played_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A classifier stands before the fleet."""
    monkeypatch.setattr(played_hours, "slice_length_s", lambda _: 3600.0)
    monkeypatch.setattr(played_hours, "change_stretches", lambda *_: [((0, 1), (1200.0, 3600.0))])
    monkeypatch.setattr(played_hours, "stretch_of", lambda *_: None)
    settled = plan_of()
    assert played_hours.play(cast(Any, None), settled.problem, settled.solution, [None] * 3, (1,), 1, "changes") == []


@pytest.mark.parametrize(("settled_at", "used"), [(1, 1), (4, 4), (10, 10), (99, 12)])
def test_a_stretch_is_played_on_as_many_seeds_as_settle_all_its_hours(monkeypatch: pytest.MonkeyPatch, settled_at: int, used: int) -> None:
    """Looks after 1, 4 and 10 seeds, and after all of them."""
    played: list[int] = []
    part = cast(Any, SimpleNamespace(moves=("one", "two")))
    monkeypatch.setattr(played_hours, "_samples", lambda scenario, problem, part, seed: played.append(seed) or [(seed, seed)] * 2)
    monkeypatch.setattr(played_hours, "_settled", lambda problem, part, samples, k, alone: len(samples) >= settled_at - k)
    monkeypatch.setattr(played_hours, "_judged", lambda problem, part, samples, alone: samples)
    found = played_hours.play_stretch(cast(Any, None), plan_of().problem, part, tuple(range(12)), {})
    assert played == list(range(used)) and len(found) == used


def test_the_users_are_played_in_the_busiest_hour_of_all_classes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = settled_of(problem([[1.0, 5.0, 4.0], [1.0, 1.0, 4.0]], [pool(offer("o", 1.0), [0.1, 0.1], [0.0])], [], [PROMISE]))
    monkeypatch.setattr(demand_rounds, "fleet_of", lambda scenario, problem, solution, costs, t: SimpleNamespace(fleet=t))
    monkeypatch.setattr(demand_rounds, "played_rates", lambda scenario, fleets, seed: fleets)
    assert demand_rounds._played(market_of(settled), settled) == [(2, 2)]
