"""An hour with many pools: few of them go to the solver, and the answer is the one that all of them together give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pulp
import pytest

from optimize.program.answer import no_parts
from optimize.program.by_stages import hour_programs
from optimize.program.by_stages.hour_programs import Effort, in_order, running, solve_hour, solve_hours
from optimize.program.by_stages.month import Month, MonthPrices
from optimize.program.by_stages.pool_pricing import price_pools, stock_duals
from optimize.program.routes import penalty_usd, pool_routes
from optimize.program.rows.build import build
from optimize.program.rows.model import View
from optimize.program.solve import solve
from optimize.program.solver import run
from optimize.records import BootTerms, ProgramInput, SloRow, SpotTerms
from tests.optimize.program.checker import violations
from tests.optimize.program.problems import offer, pool, problem, relay

EXACT = Effort(1e-7, 20_000)


def market(seed: int, pools: int = 20, slices: int = 2, n_plus_one: bool = False) -> ProgramInput:
    """Pools none of which replaces another, with a promise that some of them miss; a dear relay for one class of two."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(pools):
        load = rng.uniform(0.05, 0.6, 2)
        usd = float(rng.uniform(0.8, 1.2) / load.mean())
        term = "spot" if k % 5 == 4 else "on_demand"
        sold = offer(f"o{k}", usd, stock=2 if k % 4 == 3 else None, term=term)
        made.append(pool(sold, [float(x) for x in load], [float(rng.uniform(0.0, 0.12)), 0.0], intercept=0.1, slope=1.05))
    given = problem(
        rng.uniform(2.0, 9.0, (2, slices)).tolist(),
        made,
        [relay("r", [9e-4, math.inf], [0.01, 0.0], rpm=120.0)],
        [SloRow(0, "ttft", 0.95, 1.0), SloRow(1, "ttft", 0.95, 1.0)],
        n_plus_one=n_plus_one,
    )
    return replace(given, spot=SpotTerms(0.5, 0.8))


@pytest.mark.parametrize("n_plus_one", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_few_pools_give_the_cost_of_all_however_few_are_tried_first(seed: int, n_plus_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = market(seed, n_plus_one=n_plus_one)
    monkeypatch.setattr(hour_programs, "DIRECT", 1000)
    whole = solve(given, gap=1e-7)
    assert not whole.unserved.any()
    monkeypatch.setattr(hour_programs, "DIRECT", 0)
    for near, fewest in ((0.03, 8), (0.0, 1), (0.5, 0)):
        monkeypatch.setattr(hour_programs, "NEAR", near)
        monkeypatch.setattr(hour_programs, "FEWEST", fewest)
        answer = solve(given, gap=1e-7)
        assert violations(given, answer) == []
        assert answer.cost_usd == pytest.approx(whole.cost_usd, rel=1e-5)
        assert whole.cost_usd * (1 - 1e-4) <= answer.model_bound_usd <= whole.cost_usd * (1 + 1e-5)


@pytest.mark.parametrize("n_plus_one", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_a_pool_that_is_made_to_run_adds_at_least_what_it_is_priced_at(seed: int, n_plus_one: bool) -> None:
    given = market(seed, slices=1, n_plus_one=n_plus_one)
    routes = pool_routes(given)
    view = View((0,), penalty_usd=penalty_usd(given, routes))
    prices = price_pools(given, routes, view)
    best = run(build(given, view, routes), 1e-7, 20_000)
    assert prices.feasible and prices.bound <= best.objective
    forced = {}
    for route in routes:
        model = build(given, view, routes)
        model.add("at_least_one", [(model.hosts[route.index, 0], 1.0)], pulp.LpConstraintGE, 1.0 + route.spare, hour=0)
        forced[route.index] = run(model, 1e-7, 20_000).objective
    assert set(prices.extra) == set(forced)
    assert all(prices.bound + prices.extra[p] <= usd * (1 + 1e-6) for p, usd in forced.items())
    assert sum(prices.bound + extra > best.objective for extra in prices.extra.values()) >= 5, "prices rule out pools"


def test_pools_that_share_a_scarce_stock_bear_its_price() -> None:
    """One host of the cheap offer is left, which two pools would like to have; a dear one stands in for what is missing."""
    cheap = offer("cheap", 1.0, stock=1)
    pools = [pool(cheap, [0.5, math.inf]), pool(cheap, [math.inf, 0.5]), pool(offer("dear", 5.0), [0.5, 0.5])]
    given = problem([[4.0], [4.0]], pools)
    model = build(given, View((0,), whole=False), pool_routes(given))
    run(model, 0.0, 0, relax=True)
    found = stock_duals(model, model.duals())
    assert found[0] == found[1] == pytest.approx(-4.0 * 730) and 2 not in found


def test_an_hour_that_pools_alone_cannot_serve_is_impossible_until_a_penalty_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hour_programs, "DIRECT", 0)
    given = problem([[9.0]], [pool(offer("o", 1.0, stock=1), [0.5])])
    routes, parts = pool_routes(given), no_parts(given)
    assert not price_pools(given, routes, View((0,))).feasible
    usd, bound, found = solve_hour(given, routes, View((0,)), 1.0, EXACT, parts)
    assert found and bound <= usd == pytest.approx(730 + 7 * 3600 * 730, rel=1e-6)
    assert parts.unserved[0, 0] == pytest.approx(7 / 9) and parts.hosts[0, 0] == 1


# --- hours after each other


def test_hours_alike_are_solved_once_and_each_counts_by_its_length() -> None:
    given = problem([[4.0, 8.0, 4.0]], [pool(offer("o", 1.0), [0.4])], hours=(500.0, 130.0, 100.0))
    routes = pool_routes(given)
    found = solve_hours(given, routes, Month({}), MonthPrices(), 1.0, EXACT)
    assert found.parts.hosts.tolist() == [[2, 4, 2]] and found.parts.flow[0, 0].tolist() == [1.0, 1.0, 1.0]
    assert found.objective == pytest.approx((2 * 500.0, 4 * 130.0, 2 * 100.0)) and found.bound == pytest.approx(found.objective)


def test_hours_with_other_prices_are_not_alike() -> None:
    dear = relay("r", [1e-4])
    calls = replace(dear, hour_factors=np.array([[1.0, 9.0]]))
    given = problem([[2.0, 2.0]], [pool(offer("o", 1.5), [0.5])], [calls])
    answer = solve(given, gap=1e-7)
    assert answer.relay_flow[0, 0].tolist() == [2.0, 0.0] and answer.hosts.tolist() == [[0, 1]]


def test_hours_begin_at_the_quietest_where_hosts_start_and_each_knows_the_one_before() -> None:
    given = problem([[4.0, 1.0, 8.0, 2.0, 3.0]], [pool(offer("o", 1.0), [0.4])])
    assert in_order(given, pool_routes(given)) == [(t, None) for t in range(5)]
    booted = replace(given, boot=BootTerms((2, 0, 1, 4, 3), np.full(5, 30.0)))  # a ring of three hours and one of two
    assert in_order(booted, pool_routes(booted)) == [(1, None), (2, 1), (0, 2), (3, None), (4, 3)]
    free = replace(booted, boot=BootTerms((2, 0, 1, 4, 3), np.full(5, 30.0), charged=False))
    assert in_order(free, pool_routes(free)) == [(t, None) for t in range(5)]


def test_what_runs_in_an_hour_are_the_elastic_pools_that_have_hosts() -> None:
    pools = [pool(offer("a", 1.0), [0.4]), pool(offer("b", 1.0, elastic=False), [0.3]), pool(offer("c", 1.2), [0.3])]
    given = problem([[4.0, 4.0]], pools)
    parts = no_parts(given)
    parts.hosts[:] = [[0, 2], [3, 3], [1, 0]]
    routes = pool_routes(given)
    assert running(parts, routes, 0) == {2: 1} and running(parts, routes, 1) == {0: 2}
