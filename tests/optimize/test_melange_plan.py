"""From file to plan on measured capacities: scenarios/melange.yaml, the worked example of the Mélange repository."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from optimize.plan import optimize
from optimize.result import Plan
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
HOUR_USD = 1.01 + 3.67


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(ROOT / "scenarios" / "melange.yaml")


def with_stock(scenario: Scenario, stock: dict[str, int]) -> Scenario:
    offers = tuple(replace(each, stock=stock.get(each.id, each.stock)) for each in scenario.offers)
    return replace(scenario, offers=offers)


def hosts_of(plan: Plan) -> dict[str, int]:
    return {terms.option.offer.id: int(plan.solution.hosts[p].max()) for p, terms in enumerate(plan.program.pools)}


def test_one_of_each_gpu_for_730_hours_and_nothing_was_simulated(scenario: Scenario) -> None:
    plan = optimize(scenario)
    assert hosts_of(plan) == {"A10G": 1, "A100-80GB": 1}
    assert sum(line.per_month_usd for line in plan.lines) == pytest.approx(HOUR_USD * 730)
    assert plan.status == "unverified" and plan.verification is None
    assert not plan.solution.unserved.any()
    assert plan.solution.model_bound_usd == pytest.approx(HOUR_USD * 730)


def test_each_type_alone_costs_more_than_the_mix(scenario: Scenario) -> None:
    alone = {each.name: each.per_month_usd for each in optimize(scenario).alternatives if each.name.startswith("A10")}
    assert alone == {"A10G alone": pytest.approx(12.12 * 730), "A100-80GB alone": pytest.approx(7.34 * 730)}


def test_pools_that_classes_do_not_share_take_three_a10g_for_each_class(scenario: Scenario) -> None:
    others = {each.name: each for each in optimize(scenario).alternatives}
    assert others["pools of its own for each class"].per_month_usd == pytest.approx(4 * 3 * 1.01 * 730)  # an A100 is 3.67 > 3.03
    assert (others["relays alone"].status, others["relays alone"].per_month_usd) == ("infeasible", None)


def test_without_an_a100_the_plan_is_twelve_a10g_over_budget(scenario: Scenario) -> None:
    plan = optimize(with_stock(scenario, {"A100-80GB": 0}))
    assert plan.status == "over_budget"  # 12 x 1.01 x 730 = 8,847 > 5,000
    assert plan.solution.cost_usd <= 5000
    rich = optimize(replace(with_stock(scenario, {"A100-80GB": 0}), budget=replace(scenario.budget, per_month=10_000.0)))
    assert hosts_of(rich)["A10G"] == 12 and rich.status == "unverified"


def test_stock_that_makes_every_mix_impossible_is_said_not_hidden(scenario: Scenario) -> None:
    plan = optimize(with_stock(scenario, {"A100-80GB": 0, "A10G": 3}))
    assert plan.status == "infeasible"
    assert plan.solution.unserved.any() and any("misses" in words for words in plan.warnings)
    assert hosts_of(plan).get("A10G") == 3


def test_budget_below_the_mix_buys_what_it_can_and_says_so(scenario: Scenario) -> None:
    plan = optimize(replace(scenario, budget=replace(scenario.budget, per_month=3000.0)))
    assert plan.status == "over_budget"
    assert plan.solution.cost_usd <= 3000 and plan.solution.unserved.any()
