"""Demand so far beyond the budget that the solver's tolerances would swallow what the budget does buy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.money import HOUR_S
from optimize.money.amounts import amount_usd, load_usd
from optimize.money.contracts import cheapest_and_dearest
from optimize.program.routes import pool_routes, relay_classes
from optimize.records import Floats, ProgramInput, ProgramSolution

FAR = 1000.0  # times what the budget could ever serve: beyond, the rest is left out before anything is solved
ROOM = 2.0


def within_reach(problem: ProgramInput) -> ProgramInput:
    """The problem with demand cut to twice what the whole budget buys of a class in an hour, where it asks for a thousand times as much.

    Flows are shares of demand, and a share of 1e-8 is less than a solver distinguishes from none. What is cut could not be served.
    """
    budget, demand = problem.budget_usd - problem.fixed_usd, problem.demand
    if not math.isfinite(budget) or budget <= 0:
        return problem
    usd = least_usd_per_request(problem)
    with np.errstate(divide="ignore"):
        most = budget / (amount_usd(usd[:, None], HOUR_S) * demand.weight_h[None, :])
    cut = np.where(demand.mean_rps > FAR * most, ROOM * most, demand.mean_rps)
    return problem if (cut == demand.mean_rps).all() else replace(problem, demand=replace(demand, mean_rps=cut))


def least_usd_per_request(problem: ProgramInput) -> Floats:
    """[classes] cost of a request on the cheapest route at full use; inf where there is none."""
    usd: Floats = np.full(len(problem.demand.mean_rps), np.inf)
    for route in pool_routes(problem):
        for level, classes in zip(route.terms.levels, route.served, strict=True):
            for c in classes:
                usd[c] = min(usd[c], load_usd(route.usd_per_hour, float(level.load[c]), route.per_host))
    for a, terms in enumerate(problem.relays):
        for c in relay_classes(problem, a):
            usd[c] = min(usd[c], 0.0 if terms.units is not None else cheapest_and_dearest(terms, c)[0])
    return usd


def beyond_reach(given: ProgramInput, near: ProgramInput, answer: ProgramSolution) -> ProgramSolution:
    """The answer to the given problem: what was cut is unserved."""
    if near is given:
        return answer
    return replace(answer, unserved=answer.unserved + given.demand.mean_rps - near.demand.mean_rps, status="infeasible")
