"""Traffic that no simulation holds is refused before the search, unless no plan inside the budget would need one."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.plan import optimize
from optimize.search.simulated_hour import check_playable
from sim.errors import InputError
from sim.scenario import load_scenario
from tests.optimize.program.problems import problem

TWO = Path(__file__).resolve().parents[3] / "scenarios" / "two_offers.yaml"


def test_million_requests_a_second_with_money_for_them_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    scenario = load_scenario(TWO, ["traffic.rate_rps=1e6", "budget.per_month=1e12"])
    said: list[str] = []
    with pytest.raises(InputError, match="too many for one simulation"):
        optimize(scenario, jobs=1, tell=said.append, cache=tmp_path)
    assert said == []


def test_hour_counts_with_its_warm_up_and_only_where_it_will_be_played() -> None:
    held, too_many = problem([[1.0, 18_500.0]]).demand, problem([[1.0, 18_600.0]]).demand  # 5,400 s of the busiest: 1e8 at most
    check_playable(held, lambda: True)
    check_playable(too_many, lambda: False)
    with pytest.raises(InputError):
        check_playable(too_many, lambda: True)
