"""A lower bound with everything divisible: hosts, hours and flows."""

from __future__ import annotations

from optimize.program.answer import no_parts, read, unserved_requests
from optimize.program.routes import penalty_usd, pool_routes
from optimize.program.rows.accounts import widened
from optimize.program.rows.build import build
from optimize.program.rows.model import View
from optimize.program.solver import run
from optimize.records import ProgramInput


def fluid_bound_usd(problem: ProgramInput) -> float:
    """Monthly cost below which no solution of `problem` can fall, by its linear relaxation.

    Given the least loads that any batching allows, and no miss shares, it bounds every plan under the simulator. Where demand cannot
    all be served, it bounds the cost of serving the most. Hosts of offers that cannot follow the hour are divisible too.
    """
    problem = widened(problem).problem
    routes = pool_routes(problem)
    penalty = penalty_usd(problem, routes)
    slices = tuple(range(len(problem.demand.slices)))
    model = build(problem, View(slices, whole=False, penalty_usd=penalty, month=True), routes)
    outcome = run(model, 0.0, 0, relax=True)
    parts = no_parts(problem)
    read(model, parts)
    return max(0.0, outcome.bound - penalty * unserved_requests(problem, parts)) + problem.fixed_usd
