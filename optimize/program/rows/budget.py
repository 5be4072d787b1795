"""Constraint family: the monthly budget."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Model


def budget_row(model: Model) -> None:
    """sum over hours of host prices, base hosts and relay calls <= budget (less fixed costs).

    Scaled to 1, so that tolerances mean a share of it. Real money only: the penalty for unserved demand is not spent.
    """
    limit = model.view.budget_usd
    if limit is None:
        return
    scale = max(limit, 1.0)
    model.add("budget", [(v, usd / scale) for v, usd in model.money], pulp.LpConstraintLE, max(limit, 0.0) / scale)
