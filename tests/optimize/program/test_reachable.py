"""Demand that no budget could serve is left out before anything is solved, and counted as unserved."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.program.reachable import beyond_reach, least_usd_per_request, within_reach
from optimize.program.solve import solve
from optimize.records import ProgramInput, UnitTerms
from tests.optimize.program.problems import offer, pool, problem, relay

PRICE = 1e-3
HOUR = 365.0  # hours a month of each of two slices


def calls(rate: float, budget: float = 100.0, fixed: float = 0.0) -> ProgramInput:
    return replace(problem([[rate, 1.0]], [], [relay("r", [PRICE])], budget=budget), fixed_usd=fixed)


def most(budget: float) -> float:
    """Requests/s that the whole budget buys in one of the hours."""
    return budget / (PRICE * 3600 * HOUR)


@pytest.mark.parametrize(("times", "kept"), [(999.5, 999.5), (1000.5, 2.0), (1e9, 2.0)])
def test_demand_beyond_a_thousand_times_what_the_budget_buys_is_cut_to_twice_of_it(times: float, kept: float) -> None:
    near = within_reach(calls(times * most(100.0)))
    assert near.demand.mean_rps[0].tolist() == [pytest.approx(kept * most(100.0)), 1.0]


def test_fixed_costs_buy_nothing() -> None:
    near = within_reach(calls(1e6, budget=107.0, fixed=7.0))
    assert near.demand.mean_rps[0, 0] == pytest.approx(2 * most(100.0))


@pytest.mark.parametrize("budget", [math.inf, 0.0, 7.0])
def test_without_a_budget_or_with_nothing_left_of_it_demand_stays(budget: float) -> None:
    far = calls(1e6, budget=budget, fixed=7.0)
    assert within_reach(far) is far
    near = calls(1.0)
    assert within_reach(near) is near


def test_the_cheapest_route_of_each_class_counts() -> None:
    pools = [pool(offer("a", 3.6), [0.5, math.inf, math.inf]), pool(offer("b", 7.2), [0.5, 1.0, math.inf], replicas=4)]
    given = problem([[1.0], [1.0], [1.0]], pools, [relay("r", [1.0, 1e-4, math.inf])])
    assert least_usd_per_request(given).tolist() == [pytest.approx(7.2 * 0.5 / 4 / 3600), 1e-4, math.inf]
    cheap = replace(given.relays[0], hour_factors=np.array([[1.0, 0.5]] * 3))
    assert least_usd_per_request(replace(given, relays=(cheap,)))[1] == pytest.approx(0.5e-4)
    units = replace(given.relays[0], units=UnitTerms(1.0, 1, np.ones(3)))
    assert least_usd_per_request(replace(given, relays=(units,)))[1] == 0.0


def test_what_was_cut_is_unserved_in_the_answer() -> None:
    far = calls(1e6)
    answer = solve(far)
    assert answer.status == "infeasible" and answer.cost_usd <= 100.0 * (1 + 1e-9)
    assert (answer.unserved + answer.relay_flow.sum(axis=0)).tolist() == [[pytest.approx(1e6), pytest.approx(1.0)]]
    near = within_reach(far)
    cut = beyond_reach(far, near, solve(near))
    assert cut.unserved[0, 0] == pytest.approx(1e6 - 2 * most(100.0) + solve(near).unserved[0, 0])
    assert beyond_reach(near, near, answer) is answer
