"""Constraint family: no vendor of relays becomes indispensable."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Model, Pair


def vendor_rows(model: Model) -> None:
    """Per vendor v and hour t: sum over its relays a and classes c of d_ct y_act <= share_v sum_c d_ct.

    Vendors without a share of their own have that of "*", else none. Provisioned units count as well: they run at the vendor.
    """
    shares, demand = model.problem.vendor_shares, model.problem.demand.mean_rps
    if not shares:
        return
    rows: dict[tuple[str, int], list[Pair]] = {}
    for (a, c, t), variable in model.calls.items():
        vendor = model.problem.relays[a].relay.vendor
        if shares.get(vendor, shares.get("*", 1.0)) < 1.0:
            rows.setdefault((vendor, t), []).append((variable, float(demand[c, t] / demand[:, t].sum())))
    names = {vendor: k for k, vendor in enumerate(dict.fromkeys(vendor for vendor, _ in rows))}
    for (vendor, t), terms in rows.items():
        model.add(f"vendor_{names[vendor]}_{t}", terms, pulp.LpConstraintLE, shares.get(vendor, shares.get("*", 1.0)))
