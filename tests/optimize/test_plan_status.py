"""What a plan may call itself: `met` only where everything is served and every promise holds in every hour that was looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize import plan
from optimize.explain.notes import unanswered_warnings
from optimize.plan import market_for, proven_status
from optimize.program.solve import solve
from optimize.records import SloRow, SloVerdict
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import Settled
from optimize.search.played_hours import Played
from optimize.search.simulated_hour import Hour
from optimize.search.verify import hours_to_simulate, verification
from sim.fleet.fleet import Fleet
from sim.scenario import load_scenario
from tests.optimize.program.problems import offer, pool, problem

ROW = SloRow(0, "ttft", 0.95, 1.0)
NONE = np.zeros((1, 1), np.int64)
MARKET, _ = market_for(load_scenario(Path(__file__).resolve().parents[2] / "scenarios" / "two_offers.yaml"), jobs=1)


def settled(unserved_rps: float = 0.0) -> Settled:
    """A plan of one pool whose solution leaves `unserved_rps` out."""
    given = problem([[4.0]], [pool(offer("o", 1.0), [1.0], [0.0])], slos=[ROW])
    return Settled(given, replace(solve(given), unserved=np.array([[unserved_rps]])), ())


def evidence(attainment: float, hour: str = "weekday 00", met: bool | None = None) -> HourEvidence:
    holds = attainment >= ROW.quantile if met is None else met
    verdict = SloVerdict(ROW, hour, 0.5, (0.4, 0.6), attainment, (attainment, attainment), 1000, holds)
    where = Hour(0, Fleet((), np.zeros((1, 0))), (), (), 1.0)
    return HourEvidence(where, np.full((4, 1), attainment), NONE, NONE, (verdict,), 1000, 1, hour)


def test_plan_that_leaves_demand_out_is_never_met() -> None:
    assert proven_status(settled(), [evidence(0.99)]) == "met"
    assert proven_status(settled(unserved_rps=0.5), [evidence(0.99)]) == "missed"


@pytest.mark.parametrize(("usd", "attained", "status"), [(90.0, 0.99, "met"), (110.0, 0.99, "over_budget"), (90.0, 0.9, "missed")])
def test_every_plan_is_played_before_it_is_called_anything(
    monkeypatch: pytest.MonkeyPatch, usd: float, attained: float, status: str
) -> None:
    """Also one from a simple fleet, or beyond the budget: what is felt after a change decides."""
    change = Played(0, (), evidence(attained), evidence(attained))
    monkeypatch.setattr(plan, "prove_timetable", lambda _, settled, seen, proof: (settled, seen, [change]))
    found = settled()
    costly = replace(found, solution=replace(found.solution, cost_usd=usd))
    market = replace(MARKET, scenario=replace(MARKET.scenario, budget=replace(MARKET.scenario.budget, per_month=100.0)))
    answer = plan.timed(market, costly, [evidence(0.99)], "changes")
    assert answer.status == status and answer.played == (change,)
    assert (answer.notes != ()) is (status == "over_budget")


def test_one_missed_hour_is_enough() -> None:
    assert proven_status(settled(), [evidence(0.99), evidence(0.90)]) == "missed"


def test_verification_shows_the_hour_in_which_a_promise_was_attained_least() -> None:
    hours = [evidence(0.99, "weekday 03"), evidence(0.96, "weekday 11"), evidence(0.98, "weekday 20")]
    for order in (hours, hours[::-1]):
        shown = verification(order, (1, 2, 3, 4)).verdicts
        assert [(each.hour, each.attainment) for each in shown] == [("weekday 11", 0.96)]


def test_missed_promise_is_shown_before_one_that_is_kept_at_a_lower_attainment() -> None:
    shown = verification([evidence(0.96, "kept", met=True), evidence(0.97, "missed", met=False)], (1,))
    assert [each.hour for each in shown.verdicts] == ["missed"] and not shown.met


def test_hours_come_tightest_first_between_peak_and_least() -> None:
    given = problem([[9.0, 4.9, 3.0, 4.0, 1.0, 4.5]], [pool(offer("o", 1.0), [1.0])])
    solution = replace(solve(given), hosts=np.array([[12, 5, 5, 5, 5, 5]]), pool_flow=np.array([[[9.0, 4.9, 3.0, 4.0, 1.0, 4.5]]]))
    assert hours_to_simulate(given, solution) == [0, 1, 5, 3, 4]  # peak, then load against capacity, the least hour last


def test_requests_that_are_never_answered_stand_in_the_warnings() -> None:
    verdict = replace(evidence(0.99).verdicts[0], unanswered=0.0017)
    proof = replace(verification([evidence(0.99)], (1,)), verdicts=(verdict,))
    (said,) = unanswered_warnings(proof, ["chat"])
    assert said.startswith("chat: up to 0.17% of the requests of an hour are never answered: they fit no context")
    assert unanswered_warnings(replace(proof, verdicts=(replace(verdict, unanswered=0.0),)), ["chat"]) == []
