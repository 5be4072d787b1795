"""The variables of the program over a set of hour slices, and its objective."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pulp

from optimize.money import HOUR_S
from optimize.records import PoolTerms, ProgramInput

PENALTY_FACTOR = 20.0


@dataclass
class Program:
    """A PuLP problem with its variables by index; absent keys are variables that cannot be above zero.

    hosts      n[p, t] hosts that run, integer (continuous when relaxed)
    on         u[p, t] 1 when the pool runs at all; only where a row needs it
    base       R[p] hosts paid in every slice, for offers that do not follow the hour
    pool_flow  x[p, c, j, t] requests/s at load level j;  relay_flow y[a, c, t];  unserved z[c, t]
    """

    problem: ProgramInput
    slices: tuple[int, ...]
    lp: pulp.LpProblem
    hosts: dict[tuple[int, int], pulp.LpVariable]
    on: dict[tuple[int, int], pulp.LpVariable]
    base: dict[int, pulp.LpVariable]
    pool_flow: dict[tuple[int, int, int, int], pulp.LpVariable]
    relay_flow: dict[tuple[int, int, int], pulp.LpVariable]
    unserved: dict[tuple[int, int], pulp.LpVariable]


def penalty_usd(problem: ProgramInput) -> float:
    """Penalty per unserved request: above any price at which a request can be served, so that serving always wins."""
    relay = [
        float(u) for terms in problem.relays for u, e in zip(terms.usd_per_request, terms.eligible, strict=True) if e and math.isfinite(u)
    ]
    pool = [price_per_request(terms, float(load)) for terms in problem.pools for load in terms.levels[0].load if math.isfinite(load)]
    lone = [t.option.offer.usd_per_hour / HOUR_S for t in problem.pools]
    return max([problem.unserved_usd_per_request, *(PENALTY_FACTOR * usd for usd in (*relay, *pool, *lone))])


def price_per_request(terms: PoolTerms, load: float) -> float:
    """USD per request of a full pool: host price x hosts that one request/s occupies / 3600."""
    return terms.option.offer.usd_per_hour * load / (terms.slope * terms.option.replicas_per_host) / HOUR_S


def most_hosts(problem: ProgramInput, p: int, t: int) -> int:
    """Upper bound on hosts of pool `p` in slice `t`: all demand of its classes at the heaviest level, spare included; and its stock."""
    terms, stock = problem.pools[p], problem.pools[p].option.offer.stock
    heaviest = max(
        float(np.sum(np.where(np.isfinite(level.load), level.load, 0.0) * problem.demand.mean_rps[:, t])) for level in terms.levels
    )
    need = (heaviest + terms.intercept) / (terms.slope * terms.option.replicas_per_host)
    bound = math.ceil(need - 1e-9) + (1 if problem.n_plus_one else 0)
    return bound if stock is None else min(bound, stock)


def needs_switch(problem: ProgramInput, terms: PoolTerms) -> bool:
    """Whether an on/off variable is needed: a capacity that does not start at zero, or a spare host."""
    return problem.n_plus_one or terms.intercept > 0


def make_program(problem: ProgramInput, slices: tuple[int, ...], integer: bool) -> Program:
    """Variables and objective: least of hosts x price + requests x price + unserved x penalty, in USD a month."""
    lp = pulp.LpProblem("servemix", pulp.LpMinimize)
    category = pulp.LpInteger if integer else pulp.LpContinuous
    program = Program(problem, slices, lp, {}, {}, {}, {}, {}, {})
    weight, rate = problem.demand.weight_h, problem.demand.mean_rps
    cost: list[tuple[pulp.LpVariable, float]] = []
    for p, terms in enumerate(problem.pools):
        offer = terms.option.offer
        bounds = {t: most_hosts(problem, p, t) for t in slices}
        if not offer.elastic and max(bounds.values()) > 0:
            program.base[p] = pulp.LpVariable(f"R_{p}", 0, max(bounds.values()), category)
            cost.append((program.base[p], offer.usd_per_hour * float(weight[list(slices)].sum())))
        for t in slices:
            if bounds[t] == 0:
                continue
            program.hosts[p, t] = pulp.LpVariable(f"n_{p}_{t}", 0, bounds[t], category)
            if offer.elastic:
                cost.append((program.hosts[p, t], offer.usd_per_hour * float(weight[t])))
            if needs_switch(problem, terms):
                program.on[p, t] = pulp.LpVariable(f"u_{p}_{t}", 0, 1, category)
            for c in terms.option.classes:
                for j, level in enumerate(terms.levels):
                    if math.isfinite(level.load[c]) and rate[c, t] > 0:
                        program.pool_flow[p, c, j, t] = pulp.LpVariable(f"x_{p}_{c}_{j}_{t}", 0, float(rate[c, t]))
    penalty = penalty_usd(problem)
    for c in range(len(rate)):
        for t in slices:
            month_s = HOUR_S * float(weight[t])
            for a, relay in enumerate(problem.relays):
                if relay.eligible[c] and rate[c, t] > 0:
                    program.relay_flow[a, c, t] = pulp.LpVariable(f"y_{a}_{c}_{t}", 0, float(rate[c, t]))
                    cost.append((program.relay_flow[a, c, t], month_s * float(relay.usd_per_request[c])))
            program.unserved[c, t] = pulp.LpVariable(f"z_{c}_{t}", 0, float(rate[c, t]))
            cost.append((program.unserved[c, t], month_s * penalty))
    lp.setObjective(pulp.LpAffineExpression(cost))
    return program
