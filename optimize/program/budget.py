"""Money spent stays inside the budget; what it cannot pay for is unserved, never hidden."""

from __future__ import annotations

import math

import pulp

from optimize.money import HOUR_S
from optimize.program.variables import Program


def spend(program: Program) -> list[tuple[pulp.LpVariable, float]]:
    """Terms of the monthly cost of the program's slices, penalty left out, fixed costs left out."""
    problem, weight = program.problem, program.problem.demand.weight_h
    parts = [
        (base, problem.pools[p].option.offer.usd_per_hour * float(weight[list(program.slices)].sum())) for p, base in program.base.items()
    ]
    for (p, t), n in program.hosts.items():
        if problem.pools[p].option.offer.elastic:
            parts.append((n, problem.pools[p].option.offer.usd_per_hour * float(weight[t])))
    for (a, c, t), y in program.relay_flow.items():
        parts.append((y, HOUR_S * float(weight[t]) * float(problem.relays[a].usd_per_request[c])))
    return parts


def add_budget(program: Program, budget_usd: float) -> None:
    """hosts x price + requests x price <= budget, in USD a month over the program's slices."""
    parts = spend(program)
    if math.isfinite(budget_usd) and parts:
        program.lp.addConstraint(pulp.LpAffineExpression(parts) <= max(0.0, budget_usd), "budget")
