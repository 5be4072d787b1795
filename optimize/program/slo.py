"""Promises: among the requests that are served, the share that misses stays inside the budget of its quantile."""

from __future__ import annotations

import pulp

from optimize.program.variables import Program


def add_slo(program: Program) -> None:
    """sum (m - (1-q)) x + sum (m - (1-q)) y <= 0 for every promise and slice.

    Percentiles of a mixture do not mix linearly, miss shares do. Unserved demand is outside this row, or an impossible budget would make
    the program infeasible instead of saying who is left out; a plan with unserved demand is never `met`.
    """
    flows = class_flows(program)
    for i, row in enumerate(program.problem.slos):
        allowed = 1 - row.quantile
        for t in program.slices:
            parts = [(x, miss[i] - allowed) for x, miss in flows.get((row.class_index, t), [])]
            if any(excess > 1e-12 for _, excess in parts):
                program.lp.addConstraint(pulp.LpAffineExpression(parts) <= 0, f"slo_{i}_{t}")


def class_flows(program: Program) -> dict[tuple[int, int], list[tuple[pulp.LpVariable, list[float]]]]:
    """(class, slice) -> each flow variable with its miss shares by promise."""
    flows: dict[tuple[int, int], list[tuple[pulp.LpVariable, list[float]]]] = {}
    pool_miss = {(p, j): level.miss.tolist() for p, terms in enumerate(program.problem.pools) for j, level in enumerate(terms.levels)}
    for (p, c, j, t), x in program.pool_flow.items():
        flows.setdefault((c, t), []).append((x, pool_miss[p, j]))
    relay_miss = [terms.miss.tolist() for terms in program.problem.relays]
    for (a, c, t), y in program.relay_flow.items():
        flows.setdefault((c, t), []).append((y, relay_miss[a]))
    return flows
