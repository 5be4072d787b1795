"""View -> PuLP problem: all families of rows in order."""

from __future__ import annotations

from optimize.program.routes import PoolRoute
from optimize.program.rows.accounts import budget_row, choice_rows, payment_rows, payment_variables
from optimize.program.rows.demand import again_rows, demand_rows, miss_rows
from optimize.program.rows.hosts import capacity_rows, linking_rows, running_rows, spot_rows, start_rows, stock_rows
from optimize.program.rows.joining import joining
from optimize.program.rows.model import Model, View, variables
from optimize.program.rows.overflow import overflow_rows
from optimize.program.rows.provisioned_units import unit_rows, unit_variables
from optimize.program.rows.relays import limit_rows, share_rows, vendor_rows
from optimize.program.rows.reserve import reserve_rows
from optimize.records import ProgramInput

FAMILIES = (
    *(demand_rows, capacity_rows, running_rows, linking_rows, miss_rows, limit_rows, share_rows, stock_rows),
    *(spot_rows, vendor_rows, unit_rows, choice_rows, payment_rows, start_rows, reserve_rows, again_rows, overflow_rows, budget_row),
)


def build(problem: ProgramInput, view: View, routes: tuple[PoolRoute, ...]) -> Model:
    """The program over the hours of `view`, objective included."""
    model = variables(problem, view, routes)
    payment_variables(model)
    unit_variables(model)
    families = joining(problem)
    for each in families:
        each.variables(model)
    for family in (*FAMILIES, *(each.rows for each in families)):
        family(model)
    objective = dict(model.money + model.penalty)
    for variable, usd in model.extra:  # of a variable that has a price already
        objective[variable] = objective.get(variable, 0.0) + usd
    model.minimize(objective)
    return model
