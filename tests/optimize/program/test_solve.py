"""Truths of the program that need no reference: monotone in budget, candidates and prices; unserved demand; solvers; output."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.program import solve as solve_module
from optimize.program.fluid import fluid_bound_usd
from optimize.program.routes import pool_routes, undominated
from optimize.program.rows.build import build
from optimize.program.rows.model import View
from optimize.program.solve import solve
from optimize.records import ProgramInput, SloRow
from tests.optimize.program.checker import violations
from tests.optimize.program.enumerate_plans import best_usd
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.program.random_problems import dearer, random_problem

EXACT = 1e-6
GOLDEN = Path(__file__).with_name("golden_two_offers.lp")


def two_offers() -> ProgramInput:
    """Two offers, one of them paid by the month with two in stock; one relay; one promise; N+1 off."""
    pools = [
        pool(offer("elastic", 2.0), [0.25, math.inf], [0.02], slope=1.25, intercept=0.5),
        pool(offer("monthly", 1.0, elastic=False, stock=2), [0.4, 0.5], [0.0]),
    ]
    slos = [SloRow(0, "ttft", 0.95, 1.0)]
    return problem([[4.0, 8.0], [1.0, 1.0]], pools, [relay("remote", [3e-4, math.inf], [0.2], rpm=300.0)], slos, budget=9000.0)


def test_lp_text_of_a_two_offer_program_is_the_golden_one(tmp_path: Path) -> None:
    given = two_offers()
    model = build(given, View((0, 1), budget_usd=given.budget_usd, penalty_usd=1.0), pool_routes(given))
    model.prob.writeLP(str(tmp_path / "two.lp"))
    assert (tmp_path / "two.lp").read_text() == GOLDEN.read_text()


def test_two_offer_optimum_equals_enumeration() -> None:
    given = two_offers()
    answer = solve(given, gap=EXACT)
    assert violations(given, answer) == []
    assert answer.cost_usd == pytest.approx(best_usd(given), rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_doubling_every_price_and_the_budget_doubles_the_cost_and_keeps_the_plan(seed: int) -> None:
    given = random_problem(seed)
    one, two = solve(given, gap=EXACT), solve(dearer(given, 2.0), gap=EXACT)
    assert two.cost_usd == pytest.approx(2 * one.cost_usd, rel=1e-5)
    assert np.array_equal(one.hosts, two.hosts)


@pytest.mark.parametrize("seed", range(12))
def test_one_more_candidate_never_raises_the_cost(seed: int) -> None:
    given = random_problem(seed)
    less = replace(given, pools=given.pools[:-1])
    fewer, more = solve(less, gap=EXACT), solve(given, gap=EXACT)
    if not fewer.unserved.any():
        assert more.unserved.sum() == 0
        assert more.cost_usd <= fewer.cost_usd * (1 + 1e-5)


def test_a_larger_budget_never_leaves_more_unserved() -> None:
    given = two_offers()
    full = solve(replace(given, budget_usd=math.inf), gap=EXACT).cost_usd
    left = [solve(replace(given, budget_usd=full * share), gap=EXACT).unserved.sum() for share in (0.0, 0.3, 0.6, 0.9, 1.0, 2.0)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(left))
    assert left[0] == pytest.approx(given.demand.mean_rps.sum())
    assert left[-1] == left[-2] == 0


def test_class_that_nobody_serves_is_unserved_and_the_rest_is_planned() -> None:
    given = problem([[1.0], [2.0]], [pool(offer("o", 1.0), [0.5, math.inf])])
    answer = solve(given)
    assert answer.unserved.tolist() == [[0.0], [2.0]]
    assert answer.hosts.tolist() == [[1]]
    assert violations(given, answer) == []


def test_profile_with_zero_rates_and_no_candidates_at_all_do_not_crash() -> None:
    dead = problem([[1.0, 0.0]], [pool(offer("o", 1.0), [math.inf])])
    for given in (dead, replace(dead, pools=())):
        answer = solve(given)
        assert answer.cost_usd == 0 and answer.unserved.tolist() == [[1.0, 0.0]]
        assert fluid_bound_usd(given) == 0


def test_no_demand_costs_only_the_fixed_costs() -> None:
    given = replace(problem([[0.0, 0.0]], [pool(offer("o", 1.0), [0.5])]), fixed_usd=12.5)
    answer = solve(given)
    assert answer.cost_usd == answer.model_bound_usd == 12.5 and not answer.hosts.any()


@pytest.mark.parametrize("seed", range(8))
def test_cbc_and_highs_agree(seed: int) -> None:
    given = random_problem(seed)
    one, two = solve(given, gap=EXACT), solve(replace(given, solver="cbc"), gap=EXACT)
    assert violations(given, two) == []
    assert two.unserved.sum() == pytest.approx(one.unserved.sum(), abs=1e-4)
    if not one.unserved.any():
        assert two.cost_usd == pytest.approx(one.cost_usd, rel=1e-5)


def test_solvers_write_nothing_to_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    solve(two_offers())
    solve(replace(two_offers(), solver="cbc"))
    fluid_bound_usd(two_offers())
    assert capfd.readouterr().out == ""


def test_same_input_gives_the_same_answer_to_the_last_bit() -> None:
    one, two = solve(random_problem(3)), solve(random_problem(3))
    assert one.pool_flow.tobytes() == two.pool_flow.tobytes() and one.cost_usd == two.cost_usd


def test_an_option_that_this_version_of_highs_does_not_know_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    cost = solve(random_problem(3)).cost_usd
    monkeypatch.setattr("optimize.program.solver.LEAN", {"mip_of_the_next_century": True, "presolve": "off"})
    assert solve(random_problem(3)).cost_usd == pytest.approx(cost, rel=1e-6)
    assert capfd.readouterr().out == ""


def test_what_was_solved_before_changes_nothing() -> None:
    one = [solve(random_problem(seed)).pool_flow.tobytes() for seed in (3, 8, 14)]
    two = [solve(random_problem(seed)).pool_flow.tobytes() for seed in (14, 3, 8)]
    assert one == [two[1], two[2], two[0]]


@pytest.mark.parametrize("seed", range(20))
def test_stages_and_allotments_keep_every_rule_and_their_bound_is_below_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given, best = random_problem(seed), best_usd(random_problem(seed))
    monkeypatch.setattr(solve_module, "SMALL", -1)
    answer = solve(given, gap=EXACT)
    assert violations(given, answer) == []
    if math.isfinite(best):
        assert answer.unserved.sum() == 0
        assert answer.model_bound_usd <= best * (1 + 1e-5) and best <= answer.cost_usd * (1 + 1e-5)
        tight = replace(given, budget_usd=0.7 * best)
        poor = solve(tight, gap=EXACT)
        assert violations(tight, poor) == []
        assert poor.unserved.sum() > 0 or best == 0


@pytest.mark.parametrize("seed", range(30))
def test_leaving_out_dominated_pools_keeps_the_optimum_and_fluid_bounds_it(seed: int) -> None:
    given = random_problem(seed)
    best, routes = best_usd(given), pool_routes(given)
    kept = {route.index for route in undominated(given, routes)}
    narrow = replace(given, pools=tuple(terms for p, terms in enumerate(given.pools) if p in kept))
    assert best_usd(narrow) == pytest.approx(best)
    if math.isfinite(best):
        assert fluid_bound_usd(given) <= best * (1 + 1e-6)


def test_node_limit_is_said_and_never_called_optimal() -> None:
    rng = np.random.default_rng(5)
    pools = [
        pool(offer(f"o{k}", float(rng.uniform(0.5, 3)), elastic=False), [float(x) for x in rng.uniform(0.05, 0.4, 3)], intercept=0.3)
        for k in range(12)
    ]
    given = problem(rng.uniform(1, 9, (3, 6)).tolist(), pools)
    answer = solve(given, gap=0.0, node_limit=1)
    assert violations(given, answer) == []
    assert answer.status == "node_limit" or answer.gap <= 1e-6


@pytest.mark.parametrize("rate", [1e3, 1e6, 1e9, 1e12])
def test_a_budget_is_spent_however_far_the_demand_is_beyond_it(rate: float) -> None:
    pools = [pool(offer("o", 1.0), [0.2]), pool(offer("p", 3.0, elastic=False), [0.05])]
    given = problem([[rate]], pools, [relay("r", [3e-4], rpm=1000.0, hard=False)], budget=10_000.0)
    answer = solve(given)
    assert answer.cost_usd == pytest.approx(10_000.0, rel=1e-6) and answer.status == "infeasible"
    assert rate - answer.unserved.sum() == pytest.approx(85.65, rel=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_a_larger_budget_never_gives_a_worse_plan(seed: int) -> None:
    given = random_problem(seed)
    full = solve(given, gap=EXACT)
    least = sum(terms.committed_usd for terms in given.relays)
    lacks = []
    for share in (0.4, 0.7, 0.9, 1.0, 1.5):
        answer = solve(replace(given, budget_usd=max(least, share * full.cost_usd)), gap=EXACT)
        lacks.append(float((answer.unserved @ given.demand.weight_h).sum()))
    assert all(a >= b - 1e-4 * max(1.0, a) for a, b in itertools.pairwise(lacks))
    assert solve(replace(given, budget_usd=1.5 * full.cost_usd), gap=EXACT).cost_usd == pytest.approx(full.cost_usd, rel=1e-5)
