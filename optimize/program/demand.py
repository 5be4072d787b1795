"""Every request goes somewhere, or is counted as unserved."""

from __future__ import annotations

import pulp

from optimize.program.variables import Program


def add_demand(program: Program) -> None:
    """sum_pj x[p,c,j,t] + sum_a y[a,c,t] + z[c,t] = d[c,t] for every class and slice."""
    terms: dict[tuple[int, int], list[tuple[pulp.LpVariable, float]]] = {key: [(z, 1)] for key, z in program.unserved.items()}
    for (_, c, _, t), x in program.pool_flow.items():
        terms[c, t].append((x, 1))
    for (_, c, t), y in program.relay_flow.items():
        terms[c, t].append((y, 1))
    for (c, t), parts in terms.items():
        rate = float(program.problem.demand.mean_rps[c, t])
        program.lp.addConstraint(pulp.LpAffineExpression(parts) == rate, f"demand_{c}_{t}")
