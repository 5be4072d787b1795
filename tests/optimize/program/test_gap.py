"""The distance of a plan from divisible hosts, by cause."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.program.gap import gap_parts
from optimize.program.solve import solve
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.program.random_problems import random_problem


@pytest.mark.parametrize("seed", range(12))
def test_parts_are_never_negative_and_sum_to_the_cost(seed: int) -> None:
    given = random_problem(seed)
    answer = solve(given, gap=1e-6)
    parts = gap_parts(given, answer, 0.03)
    assert min(parts.reserve_usd, parts.integrality_usd, parts.pooling_usd, parts.margin_usd, parts.least_usd) >= -1e-9
    assert parts.total_usd == pytest.approx(answer.cost_usd)


def test_each_part_is_what_its_cause_costs() -> None:
    """Load of 5.2 replicas at a price of 1 an hour, 10 % of it margin, and an intercept of 1: 7 hosts, 6 without the margin."""
    given = problem([[5.2]], [pool(offer("o", 1.0), [1.0], slope=1.0, intercept=1.0)])
    answer = solve(given)
    parts = gap_parts(given, answer, 0.1)
    assert answer.cost_usd == pytest.approx(7 * 730)
    assert parts.margin_usd == pytest.approx(1 * 730)
    assert parts.integrality_usd + parts.pooling_usd == pytest.approx((6 - 4.68) * 730) and parts.pooling_usd > 0.5 * 730
    assert parts.least_usd == pytest.approx(4.68 * 730) and parts.reserve_usd == 0


def test_the_spare_host_is_reserve_and_not_a_whole_host() -> None:
    given = problem([[0.1]], [pool(offer("o", 1.0), [1.0])], n_plus_one=True)
    parts = gap_parts(given, solve(given), 0.03)
    assert parts.reserve_usd == pytest.approx(730) and parts.integrality_usd + parts.least_usd == pytest.approx(730)
    assert parts.least_usd == pytest.approx(0.097 * 730) and parts.margin_usd == parts.pooling_usd == 0


def test_hosts_kept_for_a_relay_that_is_out_are_reserve() -> None:
    given = problem([[1.5]], [pool(offer("o", 1.0), [1.0])], [relay("r", [0.0001])])
    guarded = replace(given, relay_outage_reserve=True)
    parts = gap_parts(guarded, solve(guarded), 0.0)
    assert parts.reserve_usd == pytest.approx(solve(guarded).cost_usd - solve(given).cost_usd) and parts.reserve_usd > 730


def test_a_steep_line_does_not_promise_more_than_the_largest_pool_that_was_measured() -> None:
    """Capacity 2 n - 2 was measured up to two replicas: an endless pool of it still takes a replica per unit of load."""
    given = problem([[1.0]], [pool(offer("o", 1.0), [1.0], slope=2.0, intercept=2.0)])
    assert gap_parts(given, solve(given), 0.0).least_usd == pytest.approx(730)


def test_what_is_left_is_never_below_a_bound_on_every_plan() -> None:
    given = problem([[0.5]], [pool(offer("o", 1.0), [1.0])])
    parts = gap_parts(given, solve(given), 0.0, floor_usd=600.0)
    assert parts.least_usd == 600.0 and parts.total_usd == pytest.approx(730)


def test_an_estimate_that_the_plan_does_not_use_takes_nothing_off_its_cost() -> None:
    dear, cheap = pool(offer("o", 1.0), [1.0]), replace(pool(offer("dream", 0.1), [1.0]), measured=False)
    answer = solve(problem([[3.0]], [dear]))
    both = problem([[3.0]], [dear, cheap])
    parts = gap_parts(both, replace(answer, hosts=np.vstack([answer.hosts, [[0]]])), 0.0)
    assert parts.least_usd == pytest.approx(3 * 730)


def test_a_plan_that_leaves_demand_out_has_no_parts() -> None:
    given = replace(problem([[4.5]], [pool(offer("o", 1.0), [1.0])]), budget_usd=800.0)
    parts = gap_parts(given, solve(given), 0.1)
    assert parts.reserve_usd == parts.integrality_usd == parts.pooling_usd == parts.margin_usd == 0
