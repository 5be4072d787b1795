"""The parts of an explanation, for the plan at hand."""

from __future__ import annotations

import numpy as np

from optimize.explain.attribution import attribution
from optimize.explain.bottleneck import bottlenecks, relay_room
from optimize.explain.duals import demand_duals, measured_only, relaxation, shadows
from optimize.explain.no_plan import no_plan, no_plan_given
from optimize.records import CostLine, ProgramInput, ProgramSolution
from optimize.result import NoPlan, Why
from optimize.search.loop import Market, Restriction, Settled


def why_given(problem: ProgramInput, solution: ProgramSolution, lines: tuple[CostLine, ...]) -> Why:
    """The same for capacities that the user measured: there is no engine whose steps could be taken apart."""
    free = relaxation(problem)
    lacking = bool((solution.unserved > 1e-6 * np.maximum(problem.demand.mean_rps, 1e-12)).any())
    bound = relaxation(problem, problem.budget_usd) if lacking and np.isfinite(problem.budget_usd) else free
    return Why(
        shadows=shadows(bound, solution),
        attribution=attribution(problem, solution, lines, demand_duals(bound)),
        no_plan=no_plan_given(problem, solution) if lacking else None,
        notes=relay_room(problem, solution),
    )


def why(settled: Settled, status: str, lines: tuple[CostLine, ...], full: bool, market: Market) -> Why:
    """Why this plan, or why there is none; without its frontier, which `known_and_least` asks for.

    Prices are those of the linear relaxation of what was measured; where the budget leaves requests unserved, of the relaxation inside
    it. `full` also relaxes every promise of a large scenario that has no plan.
    """
    problem, solution = settled.problem, settled.solution
    known = measured_only(problem)
    free = relaxation(known)
    bound = relaxation(known, problem.budget_usd) if np.isfinite(problem.budget_usd) and settled.unserved else free
    market.tell("where pools are narrow")
    return Why(
        shadows=shadows(bound, solution),
        attribution=attribution(problem, solution, lines, demand_duals(bound)),
        bottlenecks=bottlenecks(market, settled),
        no_plan=no_plan(market, settled, status, full) if settled.unserved else None,
        notes=relay_room(problem, solution),
    )


def known_and_least(market: Market, settled: Settled, missing: NoPlan | None) -> tuple[ProgramInput, float | None]:
    """The program of what was measured, and the least cost of serving everything with it; None where nothing serves everything.

    Where there is no plan, pools that this budget does not reach were measured on the way, and more money buys them.
    """
    if missing is None:
        return measured_only(settled.problem), settled.solution.cost_usd
    return measured_only(market.problem(Restriction(), market.pools(Restriction()))), missing.smallest_budget_usd
