"""View -> PuLP problem: all constraint families in order."""

from __future__ import annotations

from optimize.program.budget import budget_row
from optimize.program.capacity import capacity_rows, running_rows
from optimize.program.demand import demand_rows
from optimize.program.model import Model, View, variables
from optimize.program.relays import limit_rows, share_rows
from optimize.program.routes import PoolRoute
from optimize.program.slo import miss_rows
from optimize.program.stock import stock_rows
from optimize.records import ProgramInput

FAMILIES = (demand_rows, capacity_rows, running_rows, miss_rows, limit_rows, share_rows, stock_rows, budget_row)


def build(problem: ProgramInput, view: View, routes: tuple[PoolRoute, ...]) -> Model:
    """The program over the hours of `view`."""
    model = variables(problem, view, routes)
    for family in FAMILIES:
        family(model)
    return model
