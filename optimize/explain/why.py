"""The parts of an explanation, for the plan at hand."""

from __future__ import annotations

import numpy as np

from optimize.explain.attribution import attribution
from optimize.explain.bottleneck import bottlenecks, relay_room
from optimize.explain.duals import demand_duals, measured_only, relaxation, shadows
from optimize.explain.frontier import frontier
from optimize.explain.no_plan import no_plan
from optimize.explain.records import Why
from optimize.records import CostLine, ProgramInput, ProgramSolution
from optimize.search import Market, Restriction, Settled


def why_given(problem: ProgramInput, solution: ProgramSolution, lines: tuple[CostLine, ...]) -> Why:
    """The same for capacities that the user measured: there is no engine whose steps could be taken apart."""
    free = relaxation(problem)
    lacking = bool((solution.unserved > 1e-6 * np.maximum(problem.demand.mean_rps, 1e-12)).any())
    bound = relaxation(problem, problem.budget_usd) if lacking and np.isfinite(problem.budget_usd) else free
    return Why(
        shadows=shadows(bound, solution),
        attribution=attribution(problem, solution, lines, demand_duals(bound)),
        notes=relay_room(problem, solution),
    )


def why(market: Market, settled: Settled, status: str, lines: tuple[CostLine, ...], full: bool) -> Why:
    """Why this plan, or why there is none.

    Prices are those of the linear relaxation of what was measured; where the budget leaves requests unserved, of the relaxation inside
    it. `full` also relaxes every promise of a large scenario that has no plan.
    """
    problem, solution = settled.problem, settled.solution
    known = measured_only(problem)
    free = relaxation(known)
    bound = relaxation(known, problem.budget_usd) if np.isfinite(problem.budget_usd) and settled.unserved else free
    missing = no_plan(market, settled, status, full) if settled.unserved else None
    if missing is not None:  # pools that this budget does not reach were measured on the way, and more money buys them
        known = measured_only(market.problem(Restriction(), market.pools(Restriction())))
    least = missing.smallest_budget_usd if missing is not None else solution.cost_usd
    market.tell("what less money would serve, and where pools are narrow")
    return Why(
        shadows=shadows(bound, solution),
        attribution=attribution(problem, solution, lines, demand_duals(bound)),
        bottlenecks=bottlenecks(market, settled),
        no_plan=missing,
        frontier=frontier(known, least) if least is not None else (),
        notes=relay_room(problem, solution),
    )
