"""The distance of a plan from divisible hosts, by cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimize.program.gap import gap_parts
from optimize.program.solve import solve
from tests.optimize.program.problems import offer, pool, problem
from tests.optimize.program.random_problems import random_problem


@pytest.mark.parametrize("seed", range(12))
def test_parts_are_never_negative_and_sum_to_the_cost(seed: int) -> None:
    given = random_problem(seed)
    answer = solve(given, gap=1e-6)
    parts = gap_parts(given, answer, 0.03)
    assert min(parts.integrality_usd, parts.pooling_usd, parts.margin_usd, parts.least_usd) >= -1e-9
    assert parts.total_usd == pytest.approx(answer.cost_usd)


def test_each_part_is_what_its_cause_costs() -> None:
    """4.5 replicas' worth of load at a price of 1 an hour: 5 whole hosts, 6 with the intercept, at loads that hold 10 % free."""
    given = problem([[4.5]], [pool(offer("o", 1.0), [1.0], slope=1.0, intercept=1.0)])
    answer = solve(given)
    parts = gap_parts(given, answer, 0.1)
    assert answer.cost_usd == pytest.approx(6 * 730)
    assert parts.integrality_usd + parts.pooling_usd == pytest.approx(1.5 * 730)
    assert parts.margin_usd == pytest.approx(0.45 * 730)
    assert parts.least_usd == pytest.approx(4.05 * 730)


def test_a_plan_that_leaves_demand_out_has_no_parts() -> None:
    given = replace(problem([[4.5]], [pool(offer("o", 1.0), [1.0])]), budget_usd=800.0)
    parts = gap_parts(given, solve(given), 0.1)
    assert parts.integrality_usd == parts.pooling_usd == parts.margin_usd == 0
