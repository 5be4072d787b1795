"""The fluid bound: hosts divisible, every request at its least load, every hour paid for itself."""

from __future__ import annotations

from dataclasses import replace

from optimize.program.rows import add_rows
from optimize.program.solver import run
from optimize.program.variables import make_program
from optimize.records import ProgramInput


def fluid_bound_usd(problem: ProgramInput) -> float:
    """A monthly cost that no plan on these loads can be below; loose. Offers that are paid in every hour are taken as if they followed it."""
    pools = tuple(replace(t, option=replace(t.option, offer=replace(t.option.offer, elastic=True)), intercept=0.0) for t in problem.pools)
    relaxed = replace(problem, pools=pools, n_plus_one=False)
    total = problem.fixed_usd
    for t in range(len(problem.demand.slices)):
        program = make_program(relaxed, (t,), integer=False)
        add_rows(program)
        total += run(program.lp, 0.0).objective
    return total
