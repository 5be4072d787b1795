"""Constraint family: every request goes somewhere."""

from __future__ import annotations

import pulp

from optimize.program.rows.escalations import answered, miss_over
from optimize.program.rows.model import Column, Model, Pair
from optimize.records import Escalation


def demand_rows(model: Model) -> None:
    """Per class c and hour t: sum_pj x_pjct + sum_a y_act + z_ct = 1 (shares of the demand d_ct).

    Where answers can be in vain, x and y count with the share whose answer counts: see `again`.

    Without z where the view demands that all is served; a class without any route then makes the problem infeasible, as it should.
    """
    rows: dict[tuple[int, int], list[Pair]] = {
        (c, t): [] for t in model.view.slices for c in range(len(model.problem.demand.mean_rps)) if model.problem.demand.mean_rps[c, t] > 0
    }
    for (p, _, c, t), variable in model.flow.items():
        rows[c, t].append((variable, answered(model.problem.pools[p].option.escalation, c)))
    for (a, c, t), variable in model.calls.items():
        rows[c, t].append((variable, answered(model.problem.relays[a].escalation, c)))
    for (c, t), variable in model.unserved.items():
        rows[c, t].append((variable, 1.0))
    for (c, t), terms in rows.items():
        if not terms:
            terms.append((model.column("no_route", 0, 0, False, class_=c, hour=t), 1.0))
        model.add("demand", terms, pulp.LpConstraintEQ, 1.0, class_=c, hour=t)


def miss_rows(model: Model) -> None:
    """Per promise i of class c and hour t: sum_pj (m_pij - b_i) x_pjct + sum_a (m_ai - b_i) y_act <= 0, with b_i = 1 - quantile.

    Of the requests that are served, at most the share b_i misses: percentiles do not mix linearly, miss shares do. Where all demand
    is served this is sum m x + sum m y <= (1 - q) d. Unserved requests (z) pay their penalty instead of spending the miss budget, so
    that an impossible budget still has an answer; z > 0 is never `met`. Rows that no route can break are left out.
    """
    slos, demand = model.problem.slos, model.problem.demand.mean_rps
    miss = {(route.index, j): level.miss for route in model.routes for j, level in enumerate(route.terms.levels)}
    members: dict[tuple[int, int], list[tuple[Column, list[float]]]] = {}
    rows_of: dict[int, list[int]] = {}
    for i, row in enumerate(slos):
        rows_of.setdefault(row.class_index, []).append(i)

    def over(found: Escalation | None, c: int, i: int, share: float) -> float:
        return miss_over(found, c, i, share, 1.0 - slos[i].needed)

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
                model.add("miss", terms, pulp.LpConstraintLE, 0.0, promise=i, hour=t)


def again_rows(model: Model) -> None:
    """Per class c and hour t: sum_k m_kc x_kct <= sum over the strongest k of x_kct, over pools and relays k.

    m_kc is the share of what k is sent that comes back; flows of the strongest hold first and second answers. With the demand row,
    sum (1 - m) x + z = 1, every request ends with one answer that counts, and each second answer has its capacity and its price.
    """
    rows: dict[tuple[int, int], list[Pair]] = {}
    sends: set[tuple[int, int]] = set()
    for found, c, t, variable in routed_flows(model):
        if found.share[c] > 0 or found.strongest[c]:
            rows.setdefault((c, t), []).append((variable, float(found.share[c]) - float(found.strongest[c])))
            if found.share[c] > 0:
                sends.add((c, t))
    for c, t in rows:
        if (c, t) in sends:
            model.add("again", rows[c, t], pulp.LpConstraintLE, 0.0, class_=c, hour=t)


def routed_flows(model: Model) -> list[tuple[Escalation, int, int, Column]]:
    """Flow variables of targets that know of escalations: (what, class, slice, variable)."""
    pools, relays = model.problem.pools, model.problem.relays
    found = [(pools[p].option.escalation, c, t, variable) for (p, _, c, t), variable in model.flow.items()]
    found += [(relays[a].escalation, c, t, variable) for (a, c, t), variable in model.calls.items()]
    return [(each, c, t, variable) for each, c, t, variable in found if each is not None]
