"""Who causes which cost: the bill by class and hour, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optimize.money import CLASSIFIER, HOUR_S
from optimize.money.amounts import amount_usd, per_unit_usd
from optimize.money.quantities import pool_work
from optimize.records import CostLine, PoolTerms, ProgramInput, ProgramSolution
from optimize.result import Attribution, Floats
from sim.exact import dot

RULE = (
    "By use: each paid hour of a pool is charged to the classes that it serves in that hour, in proportion to the replica-seconds that "
    "they occupy; hours in which it stands idle, in proportion to its use over the month; calls to the class that makes them; what an "
    "account or contract asks for beyond calls, in proportion to its calls; fixed costs, in proportion to requests."
)


def attribution(problem: ProgramInput, solution: ProgramSolution, lines: Sequence[CostLine], demand_duals: Floats | None) -> Attribution:
    """The cost of each class in each hour, by use; it sums to the lines.

    `demand_duals` [classes, slices] USD a month for all requests of a class and hour. A pool of whole hosts costs more than its
    marginal price: the two differ by what rounding up to hosts costs.
    """
    usd = np.zeros_like(problem.demand.mean_rps)
    for line in lines:
        keys = line_keys(problem, solution, line)
        total = float(keys.sum())
        if total <= 0:
            keys = by_requests(problem)
            total = float(keys.sum())
        usd += amount_usd(per_unit_usd(line.per_month_usd, total), keys)
    return Attribution(RULE, usd, marginal(problem, demand_duals))


def marginal(problem: ProgramInput, demand_duals: Floats | None) -> Floats:
    """[classes, slices] USD of one request more; NaN where there are no requests or nothing is known."""
    requests = by_requests(problem)
    if demand_duals is None:
        return np.full_like(requests, np.nan)
    return np.divide(demand_duals, requests, out=np.full_like(requests, np.nan), where=requests > 0)


def by_requests(problem: ProgramInput) -> Floats:
    """[classes, slices] requests a month."""
    answer: Floats = problem.demand.mean_rps * problem.demand.weight_h * HOUR_S
    return answer


def line_keys(problem: ProgramInput, solution: ProgramSolution, line: CostLine) -> Floats:
    """[classes, slices] the proportions in which a line of the bill is charged; zero where no pool or relay of that name has any use."""
    for p, terms in enumerate(problem.pools):
        if line.kind == "gpu" and line.name in (terms.option.id, f"{terms.option.id} starts"):
            return pool_keys(terms, solution.pool_flow[p], np.asarray(solution.billed[p] * problem.demand.weight_h, dtype=np.float64))
    for a, sold in enumerate(problem.relays):
        if line.kind == "relay" and line.name == sold.relay.id:
            return call_keys(problem, solution, a)
        if line.kind == "relay" and line.name in (f"{sold.relay.id} minimum", f"{sold.relay.id} units"):
            flow: Floats = solution.relay_flow[a] * problem.demand.weight_h
            return flow
    if line.name == CLASSIFIER and problem.classifier_usd is not None:
        return amount_usd(problem.classifier_usd[:, None], by_requests(problem))
    return by_requests(problem)


def call_keys(problem: ProgramInput, solution: ProgramSolution, a: int) -> Floats:
    """[classes, slices] list price of the calls to relay `a`."""
    flow, terms = solution.relay_flow[a], problem.relays[a]
    price = np.where(flow.any(axis=1), terms.usd_per_request, 0.0)
    keys: Floats = amount_usd(amount_usd(price[:, None], flow), problem.demand.weight_h)
    keys = keys if terms.hour_factors is None else np.asarray(keys * terms.hour_factors)
    return keys if keys.any() else np.asarray(flow * problem.demand.weight_h)


def pool_keys(terms: PoolTerms, flow: Floats, paid_h: Floats) -> Floats:
    """[classes, slices] paid host-hours of a pool by who uses it; idle hours by use over the month. Zero for a pool without any use.

    A class's use is its replica-seconds at the level that `pool_work` takes: the most loaded one.
    """
    work = np.asarray([pool_work(terms, only(flow, c)) for c in range(len(flow))])
    by_hour = work.sum(axis=0)
    month = dot(work, paid_h)
    if month.sum() <= 0:
        month = work.sum(axis=1)
    if month.sum() <= 0:
        return np.zeros_like(flow)
    idle = (month / month.sum())[:, None]
    share: Floats = np.where(by_hour > 0, np.divide(work, by_hour, out=np.zeros_like(work), where=by_hour > 0), idle)
    return share * paid_h


def only(flow: Floats, c: int) -> Floats:
    """`flow` of class `c` alone."""
    answer: Floats = np.zeros_like(flow)
    answer[c] = flow[c]
    return answer
