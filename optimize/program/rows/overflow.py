"""Constraint family: what a pool lets overflow is taken by the relay that it names."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Column, Model, Pair


def overflow_rows(model: Model) -> None:
    """Per pools that overflow to relay a, class c and hour t: sum_pj s_pj x_pjct <= y_act.

    s_pj are the requests that overflow at level j per request that the pool itself serves, as measured. x and y are shares of the demand
    of the class, so that bill, limits and promises of the relay count what overflows like any other call. Without such a call in the
    program only levels at which nothing overflows are left.
    """
    rows: dict[tuple[str, int, int], list[Pair]] = {}
    for route in model.routes:
        spill = route.terms.option.overflow
        if spill is None:
            continue
        for (p, j, c, t), variable in model.flow.items():
            if p == route.index and route.terms.levels[j].spill > 0:
                rows.setdefault((spill.relay, c, t), []).append((variable, route.terms.levels[j].spill))
    for (relay, c, t), terms in rows.items():
        taken = [(variable, -1.0) for variable in _calls(model, relay, c, t)]
        model.add("overflow", [*terms, *taken], pulp.LpConstraintLE, 0.0, out=relay, class_=c, hour=t)


def _calls(model: Model, relay: str, c: int, t: int) -> list[Column]:
    """The calls of the relay, one variable for each of its tiers."""
    found = [model.calls.get((a, c, t)) for a, terms in enumerate(model.problem.relays) if terms.relay.id == relay]
    return [variable for variable in found if variable is not None]
