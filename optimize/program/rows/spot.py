"""Constraint family: how much may stand on spot hosts."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Model, Pair


def spot_rows(model: Model) -> None:
    """Per class c and hour t: sum over spot pools p of x_pjct <= max_share.

    So at least 1 - max_share of every class stands on hosts that nobody takes back, on relays, or is unserved. Spot capacity is
    counted times its availability (see `pool_route`).
    """
    spot = model.problem.spot
    if spot is None or spot.max_share >= 1.0:
        return
    taken = {route.index for route in model.routes if route.terms.option.offer.term == "spot"}
    rows: dict[tuple[int, int], list[Pair]] = {}
    for (p, _, c, t), variable in model.flow.items():
        if p in taken:
            rows.setdefault((c, t), []).append((variable, 1.0))
    for (c, t), terms in rows.items():
        model.add(f"spot_{c}_{t}", terms, pulp.LpConstraintLE, spot.max_share)
