"""Hours solved apart and put together, what each hour pays of the month, and budgets that only whole hosts feel."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.program import Size, market
from optimize.program import solve as solve_module
from optimize.program.answer import Parts, no_parts, spent_usd
from optimize.program.by_stages.base_hosts import neighbours
from optimize.program.by_stages.hour_prices import prices_of
from optimize.program.by_stages.hour_programs import Effort
from optimize.program.by_stages.month import Month
from optimize.program.by_stages.recombine import Menu, beside_month, cheapest, menu_of
from optimize.program.by_stages.stages import all_slices, shared_bound
from optimize.program.routes import penalty_usd, pool_routes
from optimize.program.rows.accounts import widened
from optimize.program.rows.build import build
from optimize.program.rows.model import View
from optimize.program.solve import solve
from optimize.program.solver import run
from optimize.records import BootTerms, ProgramInput
from tests.optimize.program.checker import violations
from tests.optimize.program.problems import offer, pool, problem, relay

LEVERS = Size("levers", 3, 2, 3, 6, 3, monthly=0.3, n_plus_one=True, levers=True)
ALL = Size("all", 2, 4, 2, 6, 3, monthly=0.3, n_plus_one=True, levers=True, extras=True)


def menu(rng: np.random.Generator, count: int, ring: bool) -> Menu:
    """A menu of random costs over four hours, the last of which comes before the first where they are a ring."""
    usd, lack = rng.uniform(1, 9, (count, 4)), rng.uniform(0, 3, (count, 4))
    starts = rng.uniform(0, 6, (4, count, count))
    return Menu((), usd, lack, starts, ([(0, 3 if ring else None), (1, 0), (2, 1), (3, 2)],))


@pytest.mark.parametrize("ring", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_choice_from_a_menu_costs_what_the_best_of_all_choices_costs(seed: int, ring: bool) -> None:
    given = menu(np.random.default_rng(seed), 3, ring)
    assert given.starts is not None

    def usd(choice: tuple[int, ...]) -> float:
        steps = [given.starts[t][choice[t - 1], choice[t]] for t in range(0 if ring else 1, 4)]  # type: ignore[index]
        return float(sum(given.usd[k, t] + 2.0 * given.lack[k, t] for t, k in enumerate(choice)) + sum(steps))

    best = min(usd(choice) for choice in itertools.product(range(3), repeat=4))
    assert usd(tuple(cheapest(given, 2.0))) == pytest.approx(best)


def test_a_menu_knows_what_hours_cost_apart_from_the_month() -> None:
    given = market(LEVERS)
    answer = solve(given)
    routes = pool_routes(given)
    parts = no_parts(given)
    parts.hosts[:], parts.unserved[:] = answer.hosts, 0.0
    parts.flow[:], parts.calls[:] = answer.pool_flow / given.demand.mean_rps, answer.relay_flow / given.demand.mean_rps
    found = menu_of(given, routes, [parts])
    assert found.starts is not None
    month = sum(route.usd_per_hour * 730 * int(parts.hosts[route.index].max()) for route in routes if not route.elastic)
    assert month + found.usd.sum() + found.starts.sum() == pytest.approx(spent_usd(given, routes, parts))


@pytest.mark.parametrize("budget", [None, 0.8])
@pytest.mark.parametrize("size", [LEVERS, ALL], ids=lambda size: size.name)
def test_hours_pay_the_whole_month_and_their_bound_lies_between_the_relaxation_and_the_plan(size: Size, budget: float | None) -> None:
    given = market(size)
    answer = solve(given)
    wide = widened(given).problem
    routes = pool_routes(wide)
    penalty = penalty_usd(wide, routes)
    limit = None if budget is None else budget * answer.cost_usd
    prices = prices_of(wide, routes, penalty, limit)
    for route in routes:
        if not route.elastic:
            assert prices.base_usd[route.index].sum() == pytest.approx(route.usd_per_hour * 730)
            assert abs(prices.on_usd[route.index].sum()) < 1e-6
    worth = penalty / (1.0 + prices.budget)
    divisible = run(build(wide, View(all_slices(wide), whole=False, penalty_usd=worth, month=True), routes), 0.0, 0, relax=True)
    bound = shared_bound(wide, routes, prices, worth, Effort(1e-6, 20_000)).usd
    assert divisible.bound * (1 - 1e-6) <= bound <= answer.cost_usd


def test_a_budget_between_what_the_relaxation_and_what_whole_hosts_cost_is_spent_and_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_module, "SMALL", -1)
    given = market(ALL)
    free = solve(given)
    wide = widened(given).problem
    routes = pool_routes(wide)
    view = View(all_slices(wide), whole=False, penalty_usd=penalty_usd(wide, routes), month=True)
    relaxed = run(build(wide, view, routes), 0.0, 0, relax=True).objective
    assert relaxed < 0.995 * free.model_bound_usd
    tight = replace(given, budget_usd=0.5 * (relaxed + free.model_bound_usd))
    answer = solve(tight)
    assert violations(tight, answer) == []
    assert 0 < answer.unserved.sum() < 0.1 * given.demand.mean_rps.sum()
    assert answer.gap <= 0.05 and answer.cost_usd >= 0.97 * tight.budget_usd


def test_more_money_never_leaves_more_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_module, "SMALL", -1)
    given = market(LEVERS)
    full = solve(given).cost_usd
    left = [float(solve(replace(given, budget_usd=share * full)).unserved.sum()) for share in (0.5, 0.9, 0.97, 1.001)]
    assert left == sorted(left, reverse=True) and left[-1] == 0.0


def test_under_n_plus_one_no_base_of_a_single_host_is_proposed() -> None:
    bases = neighbours({1: 2, 2: 0}, {1: 2.4, 2: 0.6}, {1: 2, 2: 2})
    assert {n for base in bases for n in base.values()} == {0, 2, 3}


def closed_tier_or_none(given: ProgramInput) -> tuple[Parts, Parts]:
    """(nothing served, all of the first hour served by relay 0)."""
    nothing, calling = no_parts(given), no_parts(given)
    calling.calls[0, :, 0], calling.unserved[:, 0] = 1.0, 0.0
    return nothing, calling


def test_an_hour_that_calls_a_tier_which_the_month_has_not_bought_is_left_where_it_was() -> None:
    given = problem([[1.0, 1.0]], [], [relay("r", [1e-4], [0.0])], [])
    nothing, calling = closed_tier_or_none(given)
    shut = beside_month(given, (), Month({}, unbought=frozenset({0})), nothing, calling)
    assert shut.unserved.all() and not shut.calls.any()
    free = beside_month(given, (), Month({}), nothing, calling)
    assert free.calls[0, 0, 0] == 1.0 and free.unserved.tolist() == [[0.0, 1.0]]


def test_hosts_that_run_the_same_hour_all_month_never_start() -> None:
    given = problem([[4.0]], [pool(offer("o", 1.0), [1.0])])
    booted = replace(given.pools[0].option.offer, boot_s=600.0)
    pools = tuple(replace(terms, option=replace(terms.option, offer=booted)) for terms in given.pools)
    same = replace(given, pools=pools, boot=BootTerms((0,), np.array([730.0])))
    assert solve(same).cost_usd == pytest.approx(solve(given).cost_usd)
