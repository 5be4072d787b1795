"""Values of solved models -> ProgramSolution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optimize.money import HOUR_S, plan_cost_usd
from optimize.program.routes import PoolRoute
from optimize.program.rows.accounts import accounts
from optimize.program.rows.escalations import answered_shares
from optimize.program.rows.model import Model
from optimize.records import Floats, Ints, ProgramInput, ProgramSolution
from sim.exact import dot

NOTHING = 1e-9  # share of a class's hour below which a flow is rounding of the solver
NO_HOST = 1e-6  # the same for a flow to a pool without hosts: what an integer that is off by the solver's tolerance lets through
PROVEN = 1e-6


@dataclass
class Parts:
    """A solution that grows hour by hour; flows are shares of the demand of a class in an hour.

    hosts [pools, slices], flow [pools, classes, slices], calls [relays, classes, slices], unserved [classes, slices]
    units [relays] provisioned units;  bought [relays] 1 where a tier is bought or the relay has none
    """

    hosts: Ints
    flow: Floats
    calls: Floats
    unserved: Floats
    units: Ints
    bought: Ints

    def copy(self) -> Parts:
        hosts, units, bought = self.hosts.copy(), self.units.copy(), self.bought.copy()
        return Parts(hosts, self.flow.copy(), self.calls.copy(), self.unserved.copy(), units, bought)

    def hourly(self) -> tuple[Ints, Floats, Floats, Floats]:
        """The arrays that end in the hour."""
        return self.hosts, self.flow, self.calls, self.unserved


def no_parts(problem: ProgramInput) -> Parts:
    """Nothing bought, everything unserved."""
    classes, slices = problem.demand.mean_rps.shape
    pools, relays = len(problem.pools), len(problem.relays)
    return Parts(
        np.zeros((pools, slices), dtype=np.int64),
        np.zeros((pools, classes, slices)),
        np.zeros((relays, classes, slices)),
        (problem.demand.mean_rps > 0).astype(np.float64),
        np.zeros(relays, dtype=np.int64),
        first_tiers(problem),
    )


def first_tiers(problem: ProgramInput) -> Ints:
    """[relays] 1 for relays without tiers and for the cheapest tier of every account."""
    bought: Ints = np.ones(len(problem.relays), dtype=np.int64)
    for account in accounts(problem):
        if account.chooses:
            bought[list(account.members)] = 0
            bought[account.members[int(np.argmin(account.least_usd))]] = 1
    return bought


def read(model: Model, parts: Parts) -> None:
    """Copies the values of a solved model into the hours that it covers."""
    covered = list(model.view.slices)
    parts.hosts[:, covered], parts.flow[:, :, covered], parts.calls[:, :, covered], parts.unserved[:, covered] = 0, 0, 0, 0
    for (p, t), variable in model.hosts.items():
        parts.hosts[p, t] = round(variable.varValue or 0.0)
    for p, variable in model.base.items():
        parts.hosts[p, covered] = round(variable.varValue or 0.0)
    for (p, _, c, t), variable in model.flow.items():
        parts.flow[p, c, t] += _share(variable.varValue)
    for (a, c, t), variable in model.calls.items():
        parts.calls[a, c, t] = _share(variable.varValue)
    for (c, t), variable in model.unserved.items():
        value = _share(variable.varValue)
        parts.unserved[c, t] = value if value > 100 * NOTHING else 0.0
    for a, variable in model.units.items():
        parts.units[a] = round(variable.varValue or 0.0)
    for a, variable in model.tier.items():
        parts.bought[a] = round(variable.varValue or 0.0)
    own, remote = answered_shares(model.problem)
    for t in covered:
        dust = (parts.hosts[:, t] == 0)[:, None] & (parts.flow[:, :, t] < NO_HOST)
        parts.flow[:, :, t] = np.where(dust, 0.0, parts.flow[:, :, t])
        total = (parts.flow[:, :, t] * own).sum(axis=0) + (parts.calls[:, :, t] * remote).sum(axis=0) + parts.unserved[:, t]
        scale = np.divide(1.0, total, out=np.ones_like(total), where=total > 0)
        parts.flow[:, :, t] *= scale
        parts.calls[:, :, t] *= scale
        parts.unserved[:, t] *= scale


def _share(value: float | None) -> float:
    return value if value is not None and value > NOTHING else 0.0


def unserved_requests(problem: ProgramInput, parts: Parts) -> float:
    """Requests a month that go nowhere."""
    return float(dot(parts.unserved * problem.demand.mean_rps, problem.demand.weight_h).sum()) * HOUR_S


def spent_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts, idle: bool = False) -> float:
    """Monthly cost of the parts, without fixed costs; `idle`: with hosts that carry nothing, as in a month without its hours."""
    return plan_cost_usd(problem, draft_of(problem, routes, parts, idle)) - problem.fixed_usd


def draft_of(problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts, idle: bool = False) -> ProgramSolution:
    """The solution without its cost. Pools without flow stand still unless `idle` or where they may be of use: in reserve, or booted."""
    elastic = {route.index for route in routes if route.elastic}
    hosts = parts.hosts.copy()
    kept = idle or problem.relay_outage_reserve or problem.boot is not None
    for p in range(len(hosts)) if not kept else ():
        if p in elastic:
            hosts[p, ~parts.flow[p].any(axis=0)] = 0
        elif not parts.flow[p].any():
            hosts[p] = 0
    demand = problem.demand.mean_rps
    contracts = any(terms.tiers or terms.units is not None for terms in problem.relays)
    tiered = np.array([bool(terms.tiers) for terms in problem.relays], dtype=bool)
    return ProgramSolution(
        hosts=hosts,
        billed=hosts.copy(),
        pool_flow=parts.flow * demand,
        relay_flow=parts.calls * demand,
        unserved=parts.unserved * demand,
        cost_usd=0.0,
        model_bound_usd=0.0,
        status="",
        solver="",
        gap=0.0,
        relay_tier=np.where(tiered & (parts.bought > 0), 0, -1) if contracts else None,
        relay_units=parts.units if contracts else None,
    )


def solution_of(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts, bound_usd: float, gap: float, solver: str
) -> ProgramSolution:
    """The record of a solution; `bound_usd` bounds its cost from below, fixed costs included.

    `status` is about proof: "optimal" or "gap_limit" only where the bound says so; "infeasible" where not all can be served.
    """
    draft = draft_of(problem, routes, parts)
    cost = plan_cost_usd(problem, draft)
    bound = min(max(bound_usd, problem.fixed_usd, 0.0), cost)
    left = (cost - bound) / cost if cost > 0 else 0.0
    status = "optimal" if left <= PROVEN else "gap_limit" if left <= gap * 1.001 + PROVEN else "node_limit"
    if parts.unserved.any():
        status = "infeasible"
    return replace(draft, cost_usd=cost, model_bound_usd=bound, status=status, gap=left, solver=solver)
