"""Scenarios that say nothing of routing by task are planned as before."""

from __future__ import annotations

from pathlib import Path

from optimize.market.pools import slo_rows
from optimize.search.routing import with_escalations
from sim.scenario import load_scenario
from sim.traffic import demand


def test_a_scenario_without_tiers_has_no_answers_in_vain() -> None:
    scenario = load_scenario(Path(__file__).parents[3] / "scenarios/two_offers.yaml")
    assert scenario.routing is None
    assert with_escalations(scenario, demand(scenario), slo_rows(scenario), (), {}, []) == ((), [])
