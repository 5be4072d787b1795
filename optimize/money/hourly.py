"""The lines of a bill over the hours of the month: what each costs in an hour of each slice."""

from __future__ import annotations

import numpy as np

from optimize.money import CLASSIFIER
from optimize.money.amounts import amount_usd
from optimize.money.contracts import paid_request_usd
from optimize.records import CostLine, Floats
from optimize.result import Plan
from sim.exact import dot


def hourly_usd(plan: Plan) -> tuple[tuple[CostLine, Floats], ...]:
    """(line, [slices] USD of one hour of the slice): hours times these sum to the line.

    Hosts and their starts cost when they are paid, calls when they are made; minimum payments, provisioned units and fixed costs are
    the same in every hour.
    """
    return tuple((line, _spread(plan, line)) for line in plan.lines)


def _spread(plan: Plan, line: CostLine) -> Floats:
    """The amount of a line over the slices, in proportion to what causes it."""
    cause = _cause(plan, line)
    whole = float(dot(cause, plan.demand.weight_h))
    if whole <= 0:
        cause, whole = np.ones(len(plan.demand.slices)), float(plan.demand.weight_h.sum())
    return amount_usd(cause, line.per_month_usd / whole)


def _cause(plan: Plan, line: CostLine) -> Floats:
    """[slices] what the line follows; zeros: nothing."""
    for p, terms in enumerate(plan.program.pools):
        if line.name in (terms.option.id, f"{terms.option.id} starts"):
            return np.asarray(plan.solution.billed[p], dtype=np.float64)
    for a, sold in enumerate(plan.program.relays):
        if line.name == sold.relay.id:
            tier = -1 if plan.solution.relay_tier is None else int(plan.solution.relay_tier[a])
            usd, flow = paid_request_usd(sold, tier), plan.solution.relay_flow[a]
            each = usd if usd.ndim == 2 else usd[:, None]
            return np.asarray(np.where(flow > 0, np.where(np.isfinite(each), each, 0.0) * flow, 0.0).sum(axis=0))
    if line.name == CLASSIFIER:
        return np.asarray(plan.demand.mean_rps.sum(axis=0))
    return np.zeros(len(plan.demand.slices))
