"""Hosts that only the safety margin asked for are taken away where the seeds still keep every promise."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from optimize.money import plan_cost_usd
from optimize.records import SloRow
from optimize.search import loop
from optimize.search.loop import REMOVAL_SEEDS, Market, Settled, slim_down, without_hosts
from tests.optimize.program.problems import offer, pool, problem
from tests.optimize.search.by_hand import evidence_of, market_of, settled_of

PROMISE = SloRow(0, "ttft", 0.95, 1.0)


def plan_of(hosts: list[int], work: tuple[float, ...] = (1.0, 3.0), elastic: bool = True, **terms: Any) -> Settled:
    """One pool of one replica a host that does so much work in each hour."""
    pools = [pool(offer("o", 1.0, elastic=elastic), [0.5], [0.0], **terms)]
    return settled_of(problem([[each / 0.5 for each in work]], pools, [], [PROMISE]), [hosts])


def slimmer(settled: Settled) -> list[int] | None:
    found = without_hosts(settled, 0)
    return None if found is None else [int(each) for each in found.hosts[0]]


def test_a_host_goes_in_every_hour_whose_work_the_others_carry() -> None:
    assert slimmer(plan_of([2, 4])) == [1, 3] and slimmer(plan_of([3, 3])) == [2, 3]


def test_the_last_host_stays_and_where_every_host_works_none_goes() -> None:
    assert slimmer(plan_of([1, 3])) is None and slimmer(plan_of([1, 1], work=(0.0, 0.0))) is None


def test_the_measured_capacity_may_be_passed_by_three_percent_and_no_more() -> None:
    assert slimmer(plan_of([2, 3], work=(1.03, 3.0))) == [1, 3] and slimmer(plan_of([2, 3], work=(1.04, 3.0))) is None


def test_capacity_is_that_of_the_line_with_its_overhead_and_of_all_replicas() -> None:
    """Slope 0.9, half a replica of overhead, two replicas a host: one host carries 1.3."""
    line: dict[str, Any] = {"slope": 0.9, "intercept": 0.5, "replicas": 2}
    assert slimmer(plan_of([2, 2], work=(1.3, 1.4), **line)) == [1, 2]


def test_a_pool_whose_overhead_takes_all_of_what_would_be_left_keeps_its_hosts() -> None:
    assert slimmer(plan_of([2, 2], work=(0.0, 0.0), intercept=1.0)) is None


@pytest.mark.parametrize(("elastic", "billed"), [(True, [1, 3]), (False, [3, 3])])
def test_hosts_that_do_not_follow_the_hour_are_paid_at_the_largest_count(elastic: bool, billed: list[int]) -> None:
    settled = plan_of([2, 4], elastic=elastic)
    slim = without_hosts(settled, 0)
    assert slim is not None and slim.billed[0].tolist() == billed
    assert slim.cost_usd == pytest.approx(sum(billed) * 365.0) == plan_cost_usd(settled.problem, slim)
    assert settled.solution.hosts[0].tolist() == [2, 4]


# --- slim_down


class Trial:
    """`slim_down` where seeds keep the promise or not as told, in each of its looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, search: bool = True, hold_out: bool = True, grows: bool = False) -> None:
        self.asked: list[tuple[str, Any]] = []

        def verify(
            scenario: object, problem: object, slim: Any, costs: object, seeds: object, jobs: int, hours: list[int], **more: Any
        ) -> Any:
            self.asked.append(("search", (seeds, len(hours), more["stop_after"], slim.hosts[:, 0].tolist())))
            return [evidence_of(self.settled, hours[0], (0.96 if search else 0.94,) * len(self.settled.problem.pools))]

        def look(market: Market, settled: Settled, stop_after: int | None) -> Any:
            self.asked.append(("hold-out", stop_after))
            return [evidence_of(settled, 0, (0.97 if hold_out else 0.94,) * len(settled.problem.pools))]

        monkeypatch.setattr(loop, "verify", verify)
        monkeypatch.setattr(loop, "hold_out", look)
        monkeypatch.setattr(loop, "grows", lambda *_: grows)
        self.told: list[str] = []

    def __call__(self, settled: Settled, attained: float = 0.99, n_plus_one: bool = False) -> tuple[Settled, float]:
        """(the plan, its attainment on the evidence that comes with it)."""
        self.settled = settled
        scenario = SimpleNamespace(policy=SimpleNamespace(n_plus_one=n_plus_one))
        market = market_of(settled, scenario, self.told.append)
        found, evidence = slim_down(market, settled, [evidence_of(settled, 0, (attained,) * len(settled.problem.pools))])
        return found, float(evidence[0].attainment[0, 0])


def test_a_slimmer_plan_that_holds_on_both_kinds_of_seeds_is_taken_with_its_own_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch)
    found, attained = trial(plan_of([2, 4]))
    assert found.solution.hosts[0].tolist() == [1, 3] and attained == pytest.approx(0.97)
    assert trial.asked == [("search", (REMOVAL_SEEDS, 2, 1, [1])), ("hold-out", 1)]
    assert "hold-out seeds" in trial.told[-1]


@pytest.mark.parametrize("fails", [{"search": False}, {"hold_out": False}, {"grows": True}])
def test_a_slimmer_plan_that_fails_anywhere_is_dropped_with_its_evidence(monkeypatch: pytest.MonkeyPatch, fails: dict[str, bool]) -> None:
    settled = plan_of([2, 4])
    found, attained = Trial(monkeypatch, **fails)(settled)
    assert found is settled and attained == pytest.approx(0.99)


def test_nothing_is_tried_under_n_plus_one_nor_where_the_plan_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch)
    assert trial(plan_of([2, 4]), n_plus_one=True)[0].solution.hosts[0].tolist() == [2, 4]
    assert trial(plan_of([2, 4]), attained=0.94)[0].solution.hosts[0].tolist() == [2, 4]
    assert trial.asked == []


def test_a_host_that_would_save_nothing_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """One hour needs the most hosts, and those are paid in all."""
    trial = Trial(monkeypatch)
    settled = plan_of([2, 3], elastic=False)
    paid = replace(settled.solution, billed=settled.solution.billed * 0 + 3, cost_usd=3 * 730.0)
    assert trial(replace(settled, solution=paid))[0].solution.hosts[0].tolist() == [2, 3] and trial.asked == []


def test_every_pool_has_its_turn_and_what_went_before_stays_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pool has no spare host; the second and the third lose one each."""
    pools = [pool(offer(f"o{k}", 1.0 + k), [0.5], [0.0]) for k in range(3)]
    settled = settled_of(problem([[6.0]], pools, [], [PROMISE]), [[1], [3], [3]])
    flow = settled.solution.pool_flow * 0
    flow[:, 0, 0] = 2.0
    trial = Trial(monkeypatch)
    found, _ = trial(replace(settled, solution=replace(settled.solution, pool_flow=flow)))
    assert found.solution.hosts[:, 0].tolist() == [1, 2, 2]
    assert [what[3] for kind, what in trial.asked if kind == "search"] == [[1, 2, 3], [1, 2, 2]]


def test_at_most_three_hours_are_asked_of_the_search_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch)
    trial(plan_of([2, 3, 4, 5, 6], work=(1.0, 2.0, 3.0, 4.0, 5.0)))
    assert trial.asked[0][1][1] == 3
