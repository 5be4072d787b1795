"""Questions side by side: the number of processes changes no answer, and what one measured is known to all afterwards."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from optimize.explain.side_questions import side_by_side
from optimize.market.operating_point import OperatingPoint
from optimize.market.pools import slo_rows
from optimize.search.loop import Market, Settled
from sim.scenario import load_scenario
from tests.optimize.explain.test_near_optimal import plan, pool

TWO = Path(__file__).resolve().parents[3] / "scenarios" / "two_offers.yaml"
KEY = (2, (1.0,))


@pytest.fixture
def market() -> Market:
    scenario = load_scenario(TWO, [], None)
    made: tuple[Market, Settled] = plan(scenario, 3.0, [pool("host", "l40s", 1.0, None, len(slo_rows(scenario)))], None)
    return made[0]


def measured(rate_rps: float, market: Market) -> tuple[float, int]:
    """Learns a point; answers with its rate and how many points were known before."""
    before = len(market.states[0].points)
    market.states[0].points[KEY] = OperatingPoint(rate_rps, (0.0,), 0.0, 1)
    market.tell(f"measured {rate_rps:g}")
    return rate_rps, before


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_keep_their_order_and_see_nothing_of_each_other(market: Market, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optimize.explain.side_questions.LARGE", 1)
    said: list[str] = []
    market.jobs, market.tell = jobs, said.append
    answers = side_by_side(market, [partial(measured, rate) for rate in (3.0, 1.0, 2.0)])
    assert answers == [(3.0, 1), (1.0, 1), (2.0, 1)]
    assert market.states[0].points[KEY].rate_rps == 3.0, "the first question's measurement is the one that stays"
    assert sorted(said) == ["measured 1", "measured 2", "measured 3"]


def test_what_was_known_before_is_not_overwritten(market: Market) -> None:
    market.states[0].points[KEY] = OperatingPoint(9.0, (0.0,), 0.0, 1)
    side_by_side(market, [partial(measured, 3.0)])
    assert market.states[0].points[KEY].rate_rps == 9.0
