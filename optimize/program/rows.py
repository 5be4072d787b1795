"""All constraint families of the program, in order."""

from __future__ import annotations

from optimize.program.capacity import add_capacity
from optimize.program.demand import add_demand
from optimize.program.relays import add_relay_limits, add_relay_share
from optimize.program.slo import add_slo
from optimize.program.stock import add_stock
from optimize.program.variables import Program


def add_rows(program: Program) -> None:
    """Every family but the budget, which couples hours and is added by the caller where it binds."""
    add_demand(program)
    add_capacity(program)
    add_slo(program)
    add_relay_limits(program)
    add_relay_share(program)
    add_stock(program)
