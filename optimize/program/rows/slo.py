"""Constraint family: miss budgets."""

from __future__ import annotations

import pulp

from optimize.program.rows.escalations import miss_over
from optimize.program.rows.model import Model, Pair
from optimize.records import Escalation


def miss_rows(model: Model) -> None:
    """Per promise i of class c and hour t: sum_pj (m_pij - b_i) x_pjct + sum_a (m_ai - b_i) y_act <= 0, with b_i = 1 - quantile.

    Of the requests that are served, at most the share b_i misses: percentiles do not mix linearly, miss shares do. Where all demand
    is served this is sum m x + sum m y <= (1 - q) d. Unserved requests (z) pay their penalty instead of spending the miss budget, so
    that an impossible budget still has an answer; z > 0 is never `met`. Rows that no route can break are left out.
    """
    slos, demand = model.problem.slos, model.problem.demand.mean_rps
    miss = {(route.index, j): level.miss for route in model.routes for j, level in enumerate(route.terms.levels)}
    members: dict[tuple[int, int], list[tuple[pulp.LpVariable, list[float]]]] = {}
    rows_of: dict[int, list[int]] = {}
    for i, row in enumerate(slos):
        rows_of.setdefault(row.class_index, []).append(i)

    def over(found: Escalation | None, c: int, i: int, share: float) -> float:
        return miss_over(found, c, i, share, 1.0 - slos[i].quantile)

    for (p, j, c, t), variable in model.flow.items():
        found = model.problem.pools[p].option.escalation
        members.setdefault((c, t), []).append((variable, [over(found, c, i, float(miss[p, j][i])) for i in rows_of.get(c, ())]))
    for (a, c, t), variable in model.calls.items():
        shares, found = model.problem.relays[a].miss, model.problem.relays[a].escalation
        members.setdefault((c, t), []).append((variable, [over(found, c, i, float(shares[i])) for i in rows_of.get(c, ())]))
    for (c, t), served in members.items():
        for k, i in enumerate(rows_of.get(c, ())):
            terms: list[Pair] = [(variable, beyond[k]) for variable, beyond in served]
            if demand[c, t] > 0 and any(more > 1e-12 for _, more in terms):
                model.add(f"miss_{i}_{t}", terms, pulp.LpConstraintLE, 0.0)
