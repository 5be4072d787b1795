"""A simple fleet that holds: the program learns what it carried, and only a clearly cheaper plan that holds takes its place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimize.records import SloRow
from optimize.search import simple_fleets
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import Market, Settled
from optimize.search.simple_fleets import Effort, Fleet, adopted, name_of, with_more, without_spares
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.search.by_hand import evidence_of, market_of, settled_of

PROMISE = SloRow(0, "ttft", 0.95, 1.0)


def fleet_of(
    usd: float, bound: float = 0.0, hosts: int = 4, n_plus_one: bool = False, elastic: bool = True, stock: int | None = None
) -> Settled:
    """One pool in two hours; cost and bound as told."""
    pools = [pool(offer("o", 1.0, elastic=elastic, stock=stock), [0.5], [0.0])]
    settled = settled_of(problem([[2.0, 4.0]], pools, [], [PROMISE], n_plus_one=n_plus_one), [[hosts // 2, hosts]])
    return replace(settled, solution=replace(settled.solution, cost_usd=usd, model_bound_usd=bound))


def answer(
    monkeypatch: pytest.MonkeyPatch,
    fleet: Settled,
    wiser: Settled,
    holds: bool = True,
    spare_holds: bool = True,
    proved: Settled | None = None,
) -> Settled:
    """What `adopted` makes of a fleet where the program, once wiser, answers `wiser`."""

    def prove(market: Market, again: Settled) -> tuple[Settled, list[HourEvidence]]:
        return proved or again, [evidence_of(again, 0, (0.96 if holds else 0.94,))]

    monkeypatch.setattr(simple_fleets, "settle", lambda *_: wiser)
    monkeypatch.setattr(simple_fleets, "prove", prove)
    monkeypatch.setattr(simple_fleets, "asked", lambda *_: ([], spare_holds))
    return adopted(market_of(fleet), (fleet, []))[0]


def test_a_clearly_cheaper_plan_that_holds_takes_the_place_of_the_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    better = fleet_of(90.0, 80.0)
    assert answer(monkeypatch, fleet_of(100.0), better) is better


def test_a_plan_that_saves_less_than_half_a_percent_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answer(monkeypatch, fleet_of(100.0), fleet_of(99.6, 98.0))
    assert (found.solution.cost_usd, found.solution.model_bound_usd, found.solution.gap) == (100.0, 98.0, pytest.approx(0.02))


def test_a_plan_that_does_not_hold_or_grows_dearer_in_its_proof_leaves_the_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, better = fleet_of(100.0), fleet_of(90.0, 80.0)
    assert answer(monkeypatch, fleet, better, holds=False).solution.cost_usd == 100.0
    assert answer(monkeypatch, fleet, better, proved=fleet_of(100.0)).solution.cost_usd == 100.0


def test_under_n_plus_one_a_plan_must_hold_without_its_spare_hosts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, better = fleet_of(100.0, n_plus_one=True), fleet_of(90.0, 80.0, n_plus_one=True)
    assert answer(monkeypatch, fleet, better, spare_holds=False).solution.cost_usd == 100.0
    assert answer(monkeypatch, fleet, better) is better
    assert answer(monkeypatch, fleet_of(100.0), fleet_of(90.0), spare_holds=False).solution.cost_usd == 90.0


def test_the_bound_is_never_above_the_fleet_and_is_what_is_paid_anyway_where_the_program_serves_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert answer(monkeypatch, fleet_of(100.0), fleet_of(120.0, 110.0)).solution.model_bound_usd == 100.0
    wiser = fleet_of(10.0, 10.0)
    lacking = replace(wiser, solution=replace(wiser.solution, unserved=wiser.solution.unserved + 1.0))
    fleet = fleet_of(100.0)
    paid = replace(fleet, problem=replace(fleet.problem, fixed_usd=7.0))
    found = answer(monkeypatch, paid, lacking)
    assert (found.solution.cost_usd, found.solution.model_bound_usd, found.solution.gap) == (100.0, 7.0, pytest.approx(0.93))
    free = answer(monkeypatch, fleet_of(0.0), fleet_of(0.0))
    assert free.solution.gap == 0.0


def test_the_market_knows_from_then_on_what_the_fleet_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = fleet_of(100.0)
    market = market_of(fleet)
    market.states = [replace(state, given=None, correction=1.3) for state in fleet.pools]
    monkeypatch.setattr(simple_fleets, "settle", lambda *_: fleet_of(100.0))
    found, _ = adopted(market, (fleet, []))
    assert market.states[0].given is fleet.pools[0].given and market.states[0].correction == 1.0
    assert found.pools[0] is market.states[0]


# --- larger fleets


def grown(fleet: Settled, missed: tuple[int, ...]) -> list[int] | None:
    evidence = [evidence_of(fleet, hour, (0.90 if hour in missed else 0.99,)) for hour in range(2)]
    more = with_more(market_of(fleet), simple_fleets.Restriction(), Fleet(fleet, fleet.pools[0], int(fleet.solution.hosts.max())), evidence)
    return None if more is None else [int(each) for each in more.settled.solution.hosts[0]]


def test_only_hours_that_missed_get_hosts_an_eighth_more_and_one_at_least() -> None:
    assert grown(fleet_of(100.0), (0,)) == [3, 4] and grown(fleet_of(100.0, hosts=32), (1,)) == [16, 36]
    assert grown(fleet_of(100.0, hosts=32), (0, 1)) == [18, 36]


def test_a_fleet_that_may_not_grow_beyond_its_stock_ends_there() -> None:
    assert grown(fleet_of(100.0, stock=5), (1,)) == [2, 5] and grown(fleet_of(100.0, stock=4), (1,)) is None


@pytest.mark.parametrize(("elastic", "missed"), [(False, (0,)), (True, ())])
def test_where_hosts_do_not_follow_the_hour_or_none_missed_the_whole_fleet_has_one_host_more(
    monkeypatch: pytest.MonkeyPatch, elastic: bool, missed: tuple[int, ...]
) -> None:
    asked: list[int] = []

    def with_hosts(market: Market, restriction: object, state: object, hosts: int, *_: object) -> None:
        asked.append(hosts)

    monkeypatch.setattr(simple_fleets, "with_hosts", with_hosts)
    assert grown(fleet_of(100.0, elastic=elastic), missed) is None and asked == [5]


def test_a_larger_fleet_costs_what_its_hosts_cost() -> None:
    fleet = fleet_of(100.0)
    more = with_more(market_of(fleet), simple_fleets.Restriction(), Fleet(fleet, fleet.pools[0], 4), [evidence_of(fleet, 0, (0.9,))])
    assert more is not None and more.usd == pytest.approx((3 + 4) * 365.0)


def test_spare_hosts_are_taken_out_under_n_plus_one_alone() -> None:
    assert without_spares(fleet_of(1.0)).solution.hosts[0].tolist() == [2, 4]
    assert without_spares(fleet_of(1.0, n_plus_one=True)).solution.hosts[0].tolist() == [1, 3]
    assert without_spares(fleet_of(1.0, hosts=0, n_plus_one=True)).solution.hosts[0].tolist() == [0, 0]


def test_effort_is_spent_to_the_last_request() -> None:
    effort = Effort(10.0)
    assert [effort.pays(6.0), effort.pays(4.0), effort.pays(1.0)] == [True, True, False]


def test_a_fleet_is_named_by_its_hosts_or_its_relays() -> None:
    fleet = fleet_of(1.0)
    assert name_of(Fleet(fleet, fleet.pools[0], 4)) == "4 x o:0"
    calls = settled_of(problem([[1.0]], [], [relay("a", [1e-4]), relay("b", [1e-4])]))
    assert name_of(Fleet(calls)) == "a, b"
