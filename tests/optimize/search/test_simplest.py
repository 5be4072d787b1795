"""Which simple fleet is the answer: the cheapest that its proof confirms, with more hosts where they are missing, within the effort."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimize.records import SloRow
from optimize.search import simple_fleets
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import Market, Restriction, Settled
from optimize.search.simple_fleets import LOOKS, Effort, Fleet, simplest, smallest
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.search.by_hand import evidence_of, market_of, settled_of

PROMISE = SloRow(0, "ttft", 0.95, 1.0)


def fleet(name: str, usd: float, hosts: int = 1) -> Fleet:
    """A fleet of so many hosts of an offer that do not follow the hour; without hosts a relay alone."""
    pools = [pool(offer(name, 1.0, elastic=False), [0.01], [0.0])] if hosts else []
    calls = [] if hosts else [relay(name, [1e-4], [0.0])]
    settled = settled_of(problem([[1.0, 1.0]], pools, calls, [PROMISE]))
    settled = replace(settled, solution=replace(settled.solution, cost_usd=usd))
    return Fleet(settled, settled.pools[0] if hosts else None, hosts)


class Proofs:
    """`simplest` where fleets hold from so many hosts on; those asked, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, passed: list[Fleet], enough: dict[str, int], usd_per_host: float = 10.0) -> None:
        self.asked: list[str] = []

        def asked(market: Market, settled: Settled) -> tuple[list[HourEvidence], bool]:
            found = next(each for each in self.fleets if each.settled is settled)
            name = simple_fleets.name_of(found)
            self.asked.append(name)
            held = found.hosts >= enough.get(name.rpartition(" ")[2], 0)
            return [evidence_of(settled, 0, (0.96 if held else 0.9,))], held

        def larger(market: Market, restriction: Restriction, now: Fleet, evidence: list[HourEvidence]) -> Fleet | None:
            assert now.state is not None
            self.fleets.append(replace(fleet(now.state.option.offer.id, now.usd + usd_per_host, now.hosts + 1)))
            return self.fleets[-1]

        self.fleets = list(passed)
        monkeypatch.setattr(simple_fleets, "passed", lambda *_: iter(passed))
        monkeypatch.setattr(simple_fleets, "asked", asked)
        monkeypatch.setattr(simple_fleets, "with_more", larger)

    def answer(self, below_usd: float = 1000.0, requests: float = 1e9) -> float | None:
        found = simplest(market_of(self.fleets[0].settled), Restriction(), below_usd, requests)
        return None if found is None else found[0].solution.cost_usd


def test_the_cheapest_fleet_that_holds_is_the_answer_and_dearer_ones_are_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = Proofs(monkeypatch, [fleet("dear", 300.0), fleet("cheap", 100.0), fleet("middle", 200.0)], {})
    assert proofs.answer() == 100.0 and proofs.asked == ["1 x cheap:0"]


def test_a_relay_that_does_not_hold_is_left_and_the_next_fleet_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = Proofs(monkeypatch, [fleet("calls", 50.0, hosts=0), fleet("host", 100.0)], {"calls": 1})
    assert proofs.answer() == 100.0 and proofs.asked == ["calls", "1 x host:0"]


def test_a_fleet_that_misses_comes_back_larger_and_in_its_place_by_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = Proofs(monkeypatch, [fleet("a", 100.0), fleet("b", 105.0)], {"a:0": 3, "b:0": 9})
    assert proofs.answer() == 120.0
    assert proofs.asked == ["1 x a:0", "1 x b:0", "2 x a:0", "2 x b:0", "3 x a:0"]


def test_fleets_of_one_deployment_are_asked_a_dozen_times_at_most_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = Proofs(monkeypatch, [fleet("a", 100.0), fleet("b", 900.0)], {"a:0": 99})
    assert proofs.answer() == 900.0
    assert proofs.asked == [*(f"{k} x a:0" for k in range(1, LOOKS + 2)), "1 x b:0"]


def test_a_larger_fleet_must_stay_below_the_price_and_within_the_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Proofs(monkeypatch, [fleet("a", 100.0)], {"a:0": 3}).answer(below_usd=120.0) is None
    assert Proofs(monkeypatch, [fleet("a", 100.0)], {"a:0": 3}).answer(below_usd=120.01) == 120.0
    hour = 1.0 * (3600 + 600) * 4  # requests of four looks at one hour of one request a second
    assert Proofs(monkeypatch, [fleet("a", 100.0)], {"a:0": 3}).answer(requests=2 * hour) == 120.0
    assert Proofs(monkeypatch, [fleet("a", 100.0)], {"a:0": 3}).answer(requests=2 * hour - 1) is None


# --- the smallest fleet of one deployment


def fewest(
    monkeypatch: pytest.MonkeyPatch, enough: int, ideal: int = 3, rigorous: int = 2, most: int = 1000, effort: float = 1e9
) -> tuple[int | None, list[int]]:
    """(hosts of the smallest fleet that passes, hosts tried) where `enough` pass; a fleet above `most` costs too much."""
    tried: list[int] = []
    state = fleet("a", 1.0).state
    assert state is not None

    def with_hosts(market: Market, restriction: Restriction, state: object, hosts: int, *_: object) -> Fleet:
        return fleet("a", float(hosts), hosts)

    def passes(market: Market, each: Fleet, left: Effort) -> bool:
        tried.append(each.hosts)
        return left.pays(1.0) and each.hosts >= enough

    loads = {id(state.base): ideal}
    monkeypatch.setattr(simple_fleets, "covers", lambda *_: True)
    monkeypatch.setattr(simple_fleets, "class_loads", lambda *_, **__: None)
    monkeypatch.setattr(simple_fleets, "hosts_at_least", lambda market, state, load: loads.get(id(load), rigorous))
    monkeypatch.setattr(simple_fleets, "with_hosts", with_hosts)
    monkeypatch.setattr(simple_fleets, "passes", passes)
    state.cost = object()  # type: ignore[assignment]
    found = smallest(market_of(fleet("a", 1.0).settled), Restriction(), state, most + 1.0, Effort(effort))
    return (None if found is None else found.hosts), tried


@pytest.mark.parametrize("enough", [2, 3, 4, 7, 20, 133])
def test_the_fewest_hosts_that_pass_are_found(monkeypatch: pytest.MonkeyPatch, enough: int) -> None:
    found, tried = fewest(monkeypatch, enough)
    assert found == enough and tried[0] == 3 and len(tried) == len(set(tried)) <= 2 + 2 * enough.bit_length()


def test_fewer_hosts_than_any_engine_can_do_with_are_never_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found, tried = fewest(monkeypatch, enough=1, ideal=2, rigorous=5)
    assert found == 5 and min(tried) == 5


def test_a_fleet_that_costs_too_much_is_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    found, tried = fewest(monkeypatch, enough=20, most=20)
    assert found == 20 and max(tried) <= 20
    found, tried = fewest(monkeypatch, enough=21, most=20)
    assert found is None and max(tried) <= 20


def test_spent_effort_ends_the_search_with_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fewest(monkeypatch, enough=20, effort=2)[0] is None
    found, tried = fewest(monkeypatch, enough=20, effort=6)
    assert found is not None and found >= 20 and len(tried) == 7
