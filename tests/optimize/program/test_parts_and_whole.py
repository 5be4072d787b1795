"""Hours, stages and allotments against the whole program in one solver call, on problems too large to enumerate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from optimize.program import solve as solve_module
from optimize.program.answer import solution_of, unserved_requests
from optimize.program.by_stages.hour_programs import Effort
from optimize.program.by_stages.stages import Found, at_once
from optimize.program.routes import penalty_usd, pool_routes
from optimize.program.solve import solve
from optimize.records import ProgramInput, SloRow
from tests.optimize.program.checker import violations
from tests.optimize.program.problems import offer, pool, problem, relay

GAP = 0.005
DEEP = 200_000
NEAR = 0.01
NEAR_BUDGET = 0.15  # of cost plus penalty, nearly all of it penalty: allotments are a heuristic, and their bound says so


def quick_and_slow(quick: list[int], slow: list[int]) -> list[ParameterSet | int]:
    return [*quick, *(pytest.param(seed, marks=pytest.mark.slow) for seed in slow)]


def medium(seed: int, monthly: bool, n_plus_one: bool = False) -> ProgramInput:
    """Five offers with two pools each, three classes, eight hours of a day's wave, two relays with limits."""
    rng = np.random.default_rng(seed)
    wave = 1 + 0.7 * np.sin(np.arange(8) / 8 * 2 * np.pi)
    rates = np.outer(rng.uniform(4, 20, 3), wave)
    slos = [SloRow(c, "ttft", 0.95, 1.0) for c in range(3)]
    pools = []
    for k in range(5):
        price = float(rng.uniform(0.6, 5.0))
        sold = offer(f"o{k}", price, elastic=not (monthly and k < 2), stock=6 if k == 4 else None)
        load = rng.uniform(0.08, 0.3, 3) / price**0.9
        own = [float(x) if c == k % 3 else math.inf for c, x in enumerate(load)]
        intercept = float(rng.uniform(0.1, 0.4)) if k % 2 else 0.0
        pools.append(pool(sold, own, rng.uniform(0, 0.06, 3).tolist(), 1 + intercept / 8, intercept))
        pools.append(pool(sold, (1.1 * load).tolist(), rng.uniform(0, 0.05, 3).tolist()))
    relays = [relay(f"r{a}", rng.uniform(1e-4, 5e-4, 3).tolist(), rng.uniform(0, 0.08, 3).tolist(), rpm=500.0) for a in range(2)]
    return problem(rates.tolist(), pools, relays, slos, share=0.6, n_plus_one=n_plus_one)


def whole(given: ProgramInput, budget_usd: float | None = None) -> tuple[float, float]:
    """(cost, proven lower bound) of serving everything, or of cost plus penalty under a budget, in one solver call."""
    routes = pool_routes(given)
    penalty = penalty_usd(given, routes)
    found = at_once(given, routes, penalty, Effort(GAP, DEEP), budget_usd)
    answer = solution_of(given, routes, found.parts, 0.0, GAP, "")
    return answer.cost_usd + penalty * unserved_requests(given, found.parts), found.bound


@pytest.mark.parametrize("seed", quick_and_slow([1], [0, 2, 3]))
@pytest.mark.parametrize("n_plus_one", [False, True])
def test_hour_by_hour_costs_what_the_whole_costs(seed: int, n_plus_one: bool) -> None:
    given = medium(seed, monthly=False, n_plus_one=n_plus_one)
    answer = solve(given, gap=GAP)
    cost, bound = whole(given)
    assert "by hour" in answer.solver and not answer.unserved.any()
    assert violations(given, answer) == []
    assert answer.cost_usd <= cost * (1 + GAP) and answer.model_bound_usd <= cost * (1 + 1e-6)
    assert bound <= answer.cost_usd * (1 + 1e-6)


@pytest.mark.parametrize("seed", quick_and_slow([1, 3], [0, 2, 5, 6, 7]))
def test_base_hosts_before_hours_are_near_the_whole_and_the_bound_is_below_both(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = medium(seed, monthly=True)
    monkeypatch.setattr(solve_module, "SMALL", -1)
    proved = solve(given, gap=GAP)
    monkeypatch.setattr(solve_module, "MEDIUM", -1)
    answer = solve(given, gap=GAP)
    cost, bound = whole(given)
    assert "two stages" in answer.solver and not answer.unserved.any()
    assert violations(given, answer) == []
    assert answer.model_bound_usd <= cost * (1 + 1e-6) and bound <= answer.cost_usd * (1 + 1e-6)
    assert answer.cost_usd <= cost * (1 + NEAR)
    assert answer.model_bound_usd <= proved.model_bound_usd <= min(cost, answer.cost_usd) * (1 + 1e-6)
    assert bound <= proved.cost_usd * (1 + 1e-6) and proved.cost_usd <= answer.cost_usd and proved.gap <= GAP
    assert violations(given, proved) == []


def test_a_cheaper_plan_of_the_stages_stays_under_the_better_bound_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    given = medium(1, monthly=True)
    monkeypatch.setattr(solve_module, "SMALL", -1)
    monkeypatch.setattr(solve_module, "MEDIUM", -1)
    staged = solve(given, gap=GAP)
    monkeypatch.setattr(solve_module, "MEDIUM", 600)

    def dear(*args: object) -> Found:
        """The whole with one host more than it takes in every hour and pool that it uses."""
        found = at_once(*args)  # type: ignore[arg-type]
        hosts = found.parts.hosts.copy()
        hosts[hosts.any(axis=1)] += 1
        return replace(found, parts=replace(found.parts, hosts=hosts))

    monkeypatch.setattr(solve_module, "at_once", dear)
    answer = solve(given, gap=GAP)
    assert answer.cost_usd == staged.cost_usd and answer.model_bound_usd > staged.model_bound_usd


@pytest.mark.parametrize("monthly", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", quick_and_slow([0], [1, 2, 3]))
def test_allotments_of_a_binding_budget_are_near_the_whole(seed: int, monthly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = medium(seed, monthly)
    given = replace(given, budget_usd=0.8 * solve(given, gap=GAP).cost_usd)
    monkeypatch.setattr(solve_module, "SMALL", -1)
    answer = solve(given, gap=GAP)
    assert "within a budget" in answer.solver and answer.status == "infeasible"
    assert violations(given, answer) == []
    penalty = penalty_usd(given, pool_routes(given))
    lack = float((answer.unserved @ given.demand.weight_h).sum()) * 3600
    target, bound = whole(given, given.budget_usd)
    mine = answer.cost_usd + penalty * lack
    assert bound <= mine * (1 + 1e-6)
    assert mine <= target * (1 + NEAR_BUDGET)
