"""A pool carries what was measured, and no more."""

from __future__ import annotations

import pulp

from optimize.program.variables import Program, most_hosts


def add_capacity(program: Program) -> None:
    """sum_cj load[c,j] x[p,c,j,t] <= slope * replicas_per_host * (n[p,t] - spare * u[p,t]) - intercept * u[p,t]

    with spare = 1 under N+1, else 0; n[p,t] <= bound * u[p,t] where u exists; n[p,t] <= R[p] for offers that are paid in every hour.
    """
    loads: dict[tuple[int, int], list[tuple[pulp.LpVariable, float]]] = {key: [] for key in program.hosts}
    for (p, c, j, t), x in program.pool_flow.items():
        if (p, t) in loads:
            loads[p, t].append((x, float(program.problem.pools[p].levels[j].load[c])))
        else:
            program.lp.addConstraint(x <= 0, f"no_hosts_{p}_{c}_{j}_{t}")
    for (p, t), parts in loads.items():
        terms = program.problem.pools[p]
        per_host = terms.slope * terms.option.replicas_per_host
        row = [*parts, (program.hosts[p, t], -per_host)]
        if (p, t) in program.on:
            spare = per_host if program.problem.n_plus_one else 0.0
            row.append((program.on[p, t], spare + terms.intercept))
            bound = most_hosts(program.problem, p, t)
            program.lp.addConstraint(program.hosts[p, t] - bound * program.on[p, t] <= 0, f"on_{p}_{t}")
        program.lp.addConstraint(pulp.LpAffineExpression(row) <= 0, f"capacity_{p}_{t}")
        if p in program.base:
            program.lp.addConstraint(program.hosts[p, t] - program.base[p] <= 0, f"base_{p}_{t}")
