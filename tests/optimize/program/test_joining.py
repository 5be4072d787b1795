"""A family of rows that joins hours, added by what `joining` asks for alone: at most so many relays are under contract.

Exact against every choice of relays, where the program is solved whole and where it is taken apart.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pulp
import pytest

from optimize.program import solve as solve_module
from optimize.program.by_stages.hour_prices import prices_of
from optimize.program.by_stages.hour_programs import Effort
from optimize.program.by_stages.stages import shared_bound
from optimize.program.routes import penalty_usd, pool_routes
from optimize.program.rows import joining as joining_module
from optimize.program.rows.joining import Joining, Needed
from optimize.program.rows.model import Model, Pair
from optimize.program.solve import solve
from optimize.records import Floats, Ints, ProgramInput, ProgramSolution, SloRow
from tests.optimize.program.checker import violations
from tests.optimize.program.problems import offer, pool, problem, relay

MOST = 3
EXACT = 1e-7


def asked(problem: ProgramInput) -> bool:
    return len(problem.relays) > MOST


def variables(model: Model) -> None:
    """k_a = 1: relay a is under contract."""
    for a in range(len(model.problem.relays)):
        model.decision("contract", 1, relay=a)


def rows(model: Model) -> None:
    """Per relay a and hour t: sum_c d_ct y_act <= k_a sum_c d_ct; sum_a k_a <= MOST."""
    demand = model.problem.demand.mean_rps
    found: dict[tuple[int, int], list[Pair]] = {}
    for (a, c, t), variable in model.calls.items():
        found.setdefault((a, t), []).append((variable, float(demand[c, t] / demand[:, t].sum())))
    for (a, t), terms in found.items():
        contract = model.decisions["contract", a]
        model.add("contract", [*terms, (contract, -1.0)], pulp.LpConstraintLE, 0.0, relay=a, hour=t)
    contracts = [(model.decisions["contract", a], 1.0) for a in range(len(model.problem.relays))]
    model.add("contracts", contracts, pulp.LpConstraintLE, float(MOST))


def needed(problem: ProgramInput, calls: Floats, hosts: Ints) -> Needed:
    return {("contract", a): calls[a].any(axis=0).astype(float) for a in range(len(problem.relays))}


FAMILY = Joining(asked, variables, rows, needed, frozenset({"relays"}))


@pytest.fixture
def at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining_module, "families", lambda: (FAMILY,))


def given(seed: int, monthly: bool) -> ProgramInput:
    """Three classes, six relays that each serve two of them, pools that serve the first class alone; one hour is an outlier."""
    rng = np.random.default_rng(seed)
    rates = np.outer(rng.uniform(2, 6, 3), [1.0, 0.4, 1.7, 0.9])
    relays = []
    for k in range(6):
        usd = [float(x) if c != k % 3 else math.inf for c, x in enumerate(rng.uniform(1e-4, 4e-4, 3))]
        relays.append(relay(f"r{k}", usd, rng.uniform(0, 0.08, 1).tolist()))
    pools = [
        pool(offer(f"o{k}", float(rng.uniform(1, 3)), elastic=not (monthly and k == 0)), [0.25, math.inf, math.inf], [0.02])
        for k in range(2)
    ]
    return problem(rates.tolist(), pools, relays, [SloRow(0, "ttft", 0.95, 1.0)])


def only(problem: ProgramInput, kept: tuple[int, ...]) -> ProgramInput:
    """The problem with calls of some relays alone."""
    relays = [terms if a in kept else replace(terms, eligible=np.zeros_like(terms.eligible)) for a, terms in enumerate(problem.relays)]
    return replace(problem, relays=tuple(relays))


def best_usd(problem: ProgramInput) -> float:
    """The cheapest over every choice of relays, each without the family."""
    tried = [solve(only(problem, kept), gap=EXACT) for kept in itertools.combinations(range(len(problem.relays)), MOST)]
    return min(answer.cost_usd for answer in tried if not answer.unserved.any())


def called(answer: ProgramSolution) -> int:
    return int(answer.relay_flow.any(axis=(1, 2)).sum())


CASES = [(seed, monthly) for seed in range(4) for monthly in (False, True)]


@pytest.mark.parametrize(("seed", "monthly"), CASES)
@pytest.mark.parametrize("small", [solve_module.SMALL, -1], ids=["whole", "in_stages"])
def test_at_most_three_relays_costs_what_the_best_three_cost(seed: int, monthly: bool, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = given(seed, monthly)
    best = best_usd(case)
    monkeypatch.setattr(joining_module, "families", lambda: (FAMILY,))
    monkeypatch.setattr(solve_module, "SMALL", small)
    answer = solve(case, gap=EXACT)
    assert called(answer) <= MOST and violations(case, answer) == []
    assert answer.cost_usd == pytest.approx(best, rel=1e-6) and answer.model_bound_usd <= best * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_stages_alone_keep_the_limit_and_bound_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = given(seed, True)
    best = best_usd(case)
    monkeypatch.setattr(joining_module, "families", lambda: (FAMILY,))
    monkeypatch.setattr(solve_module, "SMALL", -1)
    monkeypatch.setattr(solve_module, "MEDIUM", -1)
    answer = solve(case, gap=EXACT)
    assert called(answer) <= MOST and violations(case, answer) == []
    assert answer.model_bound_usd <= best * (1 + 1e-6) and best * (1 - 1e-6) <= answer.cost_usd <= 1.05 * best
    poor = solve(replace(case, budget_usd=0.8 * best), gap=EXACT)
    assert called(poor) <= MOST and poor.cost_usd <= 0.8 * best * (1 + 1e-9) and poor.unserved.any()


@pytest.mark.usefixtures("at_most")
def test_hours_that_decide_for_themselves_pay_the_price_of_a_decision_together() -> None:
    case = given(1, True)
    routes = pool_routes(case)
    penalty = penalty_usd(case, routes)
    prices = prices_of(case, routes, penalty)
    assert set(prices.decision_usd) == {("contract", a) for a in range(6)}
    assert all(abs(usd.sum()) < 1e-6 for usd in prices.decision_usd.values())
    assert shared_bound(case, routes, prices, penalty, Effort(EXACT, 1000)).usd <= solve(case, gap=EXACT).cost_usd * (1 + 1e-6)


def test_a_file_with_a_family_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(isinstance(family, Joining) for family in joining_module.families())
