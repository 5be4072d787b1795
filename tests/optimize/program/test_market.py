"""Markets too large for enumeration: every way of solving keeps every rule and states a gap that its bound supports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.program import Size, market
from optimize.program.fluid import fluid_bound_usd
from optimize.program.solve import solve
from tests.optimize.program.checker import violations

ELASTIC = Size("elastic", 5, 2, 3, 8, 4, monthly=0.0)
MONTHLY = Size("monthly", 5, 2, 3, 16, 4, monthly=0.3, n_plus_one=True)


@pytest.mark.parametrize("size", [ELASTIC, MONTHLY], ids=lambda size: size.name)
def test_gap_is_within_three_percent_and_no_rule_is_broken(size: Size) -> None:
    given = market(size)
    answer = solve(given)
    assert violations(given, answer) == []
    assert answer.unserved.sum() == 0
    assert answer.gap <= 0.03
    assert answer.model_bound_usd == pytest.approx(answer.cost_usd * (1 - answer.gap))
    assert fluid_bound_usd(given) <= answer.cost_usd


@pytest.mark.parametrize("size", [ELASTIC, MONTHLY], ids=lambda size: size.name)
def test_budget_that_cannot_serve_all_is_kept_and_spent(size: Size) -> None:
    given = market(size)
    tight = replace(given, budget_usd=0.9 * solve(given).cost_usd)
    answer = solve(tight)
    assert violations(tight, answer) == []
    assert answer.status == "infeasible" and 0 < answer.unserved.sum() < 0.2 * given.demand.mean_rps.sum()
    assert 0.97 * tight.budget_usd <= answer.cost_usd <= tight.budget_usd * (1 + 1e-9)


def test_ten_times_the_demand_costs_less_than_ten_times_as_much() -> None:
    given = market(ELASTIC)
    more = replace(given, demand=replace(given.demand, mean_rps=10 * given.demand.mean_rps))
    unlimited = replace(more, relays=tuple(replace(relay, hard_limits=False) for relay in more.relays))
    assert solve(unlimited).cost_usd <= 10 * solve(given).cost_usd * 1.005
