"""Values of solved models -> ProgramSolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimize.money import HOUR_S, plan_cost_usd
from optimize.program.model import Model
from optimize.program.routes import PoolRoute
from optimize.records import Floats, Ints, ProgramInput, ProgramSolution

NOTHING = 1e-9  # share of a class's hour below which a flow is rounding of the solver
NO_HOST = 1e-6  # the same for a flow to a pool without hosts: what an integer that is off by the solver's tolerance lets through
PROVEN = 1e-6


@dataclass
class Parts:
    """A solution that grows hour by hour; flows are shares of the demand of a class in an hour.

    hosts [pools, slices], flow [pools, classes, slices], calls [relays, classes, slices], unserved [classes, slices]
    """

    hosts: Ints
    flow: Floats
    calls: Floats
    unserved: Floats

    def copy(self) -> Parts:
        return Parts(self.hosts.copy(), self.flow.copy(), self.calls.copy(), self.unserved.copy())


def no_parts(problem: ProgramInput) -> Parts:
    """Nothing bought, everything unserved."""
    classes, slices = problem.demand.mean_rps.shape
    pools, relays = len(problem.pools), len(problem.relays)
    return Parts(
        np.zeros((pools, slices), dtype=np.int64),
        np.zeros((pools, classes, slices)),
        np.zeros((relays, classes, slices)),
        (problem.demand.mean_rps > 0).astype(np.float64),
    )


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
    for t in covered:
        dust = (parts.hosts[:, t] == 0)[:, None] & (parts.flow[:, :, t] < NO_HOST)
        parts.flow[:, :, t] = np.where(dust, 0.0, parts.flow[:, :, t])
        total = parts.flow[:, :, t].sum(axis=0) + parts.calls[:, :, t].sum(axis=0) + parts.unserved[:, t]
        scale = np.divide(1.0, total, out=np.ones_like(total), where=total > 0)
        parts.flow[:, :, t] *= scale
        parts.calls[:, :, t] *= scale
        parts.unserved[:, t] *= scale


def _share(value: float | None) -> float:
    return value if value is not None and value > NOTHING else 0.0


def unserved_requests(problem: ProgramInput, parts: Parts) -> float:
    """Requests a month that go nowhere."""
    return float(((parts.unserved * problem.demand.mean_rps) @ problem.demand.weight_h).sum()) * HOUR_S


def solution_of(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts, bound_usd: float, gap: float, solver: str
) -> ProgramSolution:
    """The record of a solution; `bound_usd` bounds its cost from below, fixed costs included.

    `status` is about proof: "optimal" or "gap_limit" only where the bound says so; "infeasible" where not all can be served.
    Elastic pools without flow stand still; all others keep their hosts in every hour and pay for them.
    """
    elastic = {route.index for route in routes if route.elastic}
    hosts = parts.hosts.copy()
    for p in elastic:
        hosts[p, ~parts.flow[p].any(axis=0)] = 0
    for p in range(len(hosts)):
        if p not in elastic and not parts.flow[p].any():
            hosts[p] = 0
    demand = problem.demand.mean_rps
    draft = ProgramSolution(
        hosts=hosts,
        billed=hosts.copy(),
        pool_flow=parts.flow * demand,
        relay_flow=parts.calls * demand,
        unserved=parts.unserved * demand,
        cost_usd=0.0,
        model_bound_usd=0.0,
        status="",
        solver=solver,
        gap=0.0,
    )
    cost = plan_cost_usd(problem, draft)
    bound = min(max(bound_usd, problem.fixed_usd, 0.0), cost)
    left = (cost - bound) / cost if cost > 0 else 0.0
    status = "optimal" if left <= PROVEN else "gap_limit" if left <= gap * 1.001 + PROVEN else "node_limit"
    if parts.unserved.any():
        status = "infeasible"
    return ProgramSolution(**{**draft.__dict__, "cost_usd": cost, "model_bound_usd": bound, "status": status, "gap": left})
