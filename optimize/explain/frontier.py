"""How much can be served inside its promises for less money."""

from __future__ import annotations

from dataclasses import replace

from optimize.explain.records import FrontierPoint
from optimize.program.solve import solve
from optimize.records import ProgramInput

PARTS = (0.5, 0.75, 0.9)  # of the least cost of serving everything
GAP = 0.02


def served_for(part: float, problem: ProgramInput, least_usd: float) -> FrontierPoint:
    """The share of requests that a plan inside `part` of `least_usd` serves, as planned."""
    demand = problem.demand
    total = max(float((demand.mean_rps @ demand.weight_h).sum()), 1e-12)
    budget = max(least_usd * part, problem.fixed_usd)
    lost = float((solve(replace(problem, budget_usd=budget), gap=GAP).unserved @ demand.weight_h).sum())
    return FrontierPoint(budget, max(0.0, 1.0 - lost / total))
