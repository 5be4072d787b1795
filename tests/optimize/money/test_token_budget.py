"""A limit by the million tokens is that of the month's tokens; of two limits the lower one holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimize.money import token_budget
from optimize.money.token_budget import with_token_budget
from sim.scenario.scenario import Scenario
from tests.optimize.program.problems import problem
from tests.optimize.report import plan_fixture


@pytest.fixture
def scenario(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """One request/s of 50 and 50 tokens, all month: 262.8 million tokens."""
    monkeypatch.setattr(token_budget, "demand_of", lambda _: problem([[0.5, 1.5]]).demand)
    return plan_fixture.scenario()


def limit(scenario: Scenario, per_month: float, per_mtok: float | None) -> float:
    budget = replace(scenario.budget, per_month=per_month, per_mtok=per_mtok)
    return with_token_budget(replace(scenario, budget=budget)).budget.per_month


def test_without_a_limit_by_tokens_the_scenario_stays_as_it_is(scenario: Scenario) -> None:
    assert scenario.budget.per_mtok is None and with_token_budget(scenario) is scenario


def test_the_limit_of_the_month_is_that_of_its_prompts_and_answers(scenario: Scenario) -> None:
    assert limit(scenario, float("inf"), 2.0) == pytest.approx(2.0 * 262.8)


def test_of_two_limits_the_lower_one_holds(scenario: Scenario) -> None:
    assert limit(scenario, 100.0, 2.0) == 100.0 and limit(scenario, 1000.0, 2.0) == pytest.approx(525.6)
