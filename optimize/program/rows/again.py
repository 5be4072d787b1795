"""Constraint family: what a weaker model answered in vain, the strongest tier of the class answers again."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Model, Pair
from optimize.records import Escalation


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
            model.add(f"again_{c}_{t}", rows[c, t], pulp.LpConstraintLE, 0.0)


def routed_flows(model: Model) -> list[tuple[Escalation, int, int, pulp.LpVariable]]:
    """Flow variables of targets that know of escalations: (what, class, slice, variable)."""
    pools, relays = model.problem.pools, model.problem.relays
    found = [(pools[p].option.escalation, c, t, variable) for (p, _, c, t), variable in model.flow.items()]
    found += [(relays[a].escalation, c, t, variable) for (a, c, t), variable in model.calls.items()]
    return [(each, c, t, variable) for each, c, t, variable in found if each is not None]
