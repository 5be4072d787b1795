"""Constraint family: provisioned throughput, bought in whole units for the month."""

from __future__ import annotations

import math

import numpy as np
import pulp

from optimize.money.amounts import month_usd
from optimize.program.rows.model import Model, Pair
from optimize.records import ProgramInput
from sim.exact import dot


def most_units(problem: ProgramInput, a: int) -> int:
    """Units beyond which nothing is gained: all that the relay may serve at the peak minute; what can be bought."""
    terms, demand = problem.relays[a], problem.demand
    if terms.units is None:
        return 0
    load = dot(np.where(terms.eligible, terms.units.load, 0.0), demand.mean_rps) * demand.peak_factor
    need = max(math.ceil(float(load.max()) - 1e-9), terms.units.least)
    most = need if terms.units.most is None else min(need, terms.units.most)
    return most if most >= terms.units.least else 0


def unit_variables(model: Model) -> None:
    """U_a over the month, or in hours that share its price; other views have units at hand as numbers."""
    view = model.view
    for a, terms in enumerate(model.problem.relays):
        if terms.units is None or a in view.closed or not (view.month or a in view.unit_usd):
            continue
        most = most_units(model.problem, a)
        model.units[a] = model.column("units", 0, most, True, relay=a)
        price = (model.units[a], view.unit_usd.get(a, month_usd(terms.units.usd_per_hour)))
        (model.money if view.month else model.extra).append(price)
        if terms.units.least > 1:
            model.any_units[a] = model.column("any_units", 0, 1, True, relay=a)


def unit_rows(model: Model) -> None:
    """Per relay a with units and hour t, at the peak minute: sum_c f d_ct load_ac y_act <= U_a; U_a >= least_a v_a, U_a <= most_a v_a.

    f = peak minute over hour mean; v_a says whether units are bought at all, written only where the least is above one.
    """
    demand = model.problem.demand
    rows: dict[tuple[int, int], list[Pair]] = {}
    for (a, c, t), variable in model.calls.items():
        units = model.problem.relays[a].units
        if units is not None:
            load = demand.peak_factor * float(demand.mean_rps[c, t] * units.load[c])
            rows.setdefault((a, t), []).append((variable, load))
    for (a, t), terms in rows.items():
        bought = model.units.get(a)
        if bought is None:
            model.add("units", terms, pulp.LpConstraintLE, float(model.view.units.get(a, 0)), relay=a, hour=t)
        else:
            model.add("units", [*terms, (bought, -1.0)], pulp.LpConstraintLE, 0.0, relay=a, hour=t)
    for a, any_units in model.any_units.items():
        units = model.problem.relays[a].units
        assert units is not None
        bought = model.units[a]
        model.add("least_units", [(bought, 1.0), (any_units, -float(units.least))], pulp.LpConstraintGE, 0.0, relay=a)
        model.add("most_units", [(bought, 1.0), (any_units, -float(bought.upBound))], pulp.LpConstraintLE, 0.0, relay=a)
