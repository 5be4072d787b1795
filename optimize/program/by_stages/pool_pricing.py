"""What the first host of a pool would add to the cost of an hour, by the prices of the linear relaxation: most pools need not be tried."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from optimize.money.amounts import amount_usd
from optimize.program.routes import PoolRoute
from optimize.program.rows.build import build
from optimize.program.rows.escalations import again_worth, answered, miss_over
from optimize.program.rows.model import Key, Model, View
from optimize.program.solver import run
from optimize.records import ProgramInput


@dataclass(frozen=True)
class Prices:
    """Linear relaxation of one hour: `bound` on its objective, and per elastic pool the least that running it adds to that bound."""

    bound: float
    extra: dict[int, float]
    feasible: bool


def price_pools(problem: ProgramInput, routes: tuple[PoolRoute, ...], view: View) -> Prices:
    """Solves the relaxation of an hour and prices its elastic pools.

    Lagrangian bound: with duals u_c of demand (less those of spot rows), s_i <= 0 of miss rows and k <= 0 of stock, a share of class c
    is worth v_c = u_c + sum_i s_i (m_i - b_i); a unit of capacity of pool p is then worth at most w_p = max_jc v_c / (load d_c), and n
    hosts that run add at least n (price - k - per_host w_p) + overhead w_p. The bound is rigorous for any duals with non-negative
    additions, so a pool that adds more than the distance to a known solution is in no better one.
    """
    (t,) = view.slices
    model = build(problem, replace(view, whole=False), routes)
    outcome = run(model, 0.0, 0, relax=True)
    if not outcome.found:
        return Prices(math.inf, {}, False)
    duals = model.duals()
    stock = stock_duals(model, duals)
    extra = {}
    for route in routes:
        if route.elastic and (route.index, t) in model.hosts:
            worth = capacity_worth(problem, route, t, duals)
            usd = amount_usd(route.usd_per_hour, float(problem.demand.weight_h[t])) + view.host_usd.get((route.index, t), 0.0)
            each = usd - stock.get(route.index, 0.0) - route.per_host * worth
            least = 1 + route.spare
            count = least if each >= 0 else int(route.most[t])
            extra[route.index] = each * count + route.overhead * worth
    return Prices(outcome.bound, extra, True)


def capacity_worth(problem: ProgramInput, route: PoolRoute, t: int, duals: dict[Key, float]) -> float:
    """What one replica's worth of load of a pool is worth in hour `t`: that of the best class to serve with it."""
    demand, slos, best = problem.demand.mean_rps, problem.slos, outage_worth(problem, route, t, duals)
    spot, found = route.terms.option.offer.term == "spot", route.terms.option.escalation
    for level, classes in zip(route.terms.levels, route.served, strict=True):
        for c in classes:
            if demand[c, t] <= 0:
                continue
            value = duals.get(("demand", c, t), 0.0) * answered(found, c) + again_worth(found, c, t, duals)
            value += duals.get(("spot", c, t), 0.0) if spot else 0.0
            for i in np.flatnonzero([row.class_index == c for row in slos]):
                value += duals.get(("miss", int(i), t), 0.0) * miss_over(found, c, int(i), float(level.miss[i]), 1.0 - slos[i].needed)
            load = float(level.load[c] * demand[c, t])
            best = max(best, value / load) if load > 0 else math.inf
    return best


def outage_worth(problem: ProgramInput, route: PoolRoute, t: int, duals: dict[Key, float]) -> float:
    """What one replica's worth of load is worth as a reserve: the sum over relays that may be out, each at its best class."""
    if not problem.relay_outage_reserve:
        return 0.0
    load = np.min([level.load for level in route.terms.levels], axis=0) * problem.demand.mean_rps[:, t]
    worth = 0.0
    for g in range(len(problem.relays)):
        values = [(duals.get(("outage", g, c, t), 0.0), float(load[c])) for c in route.terms.option.classes]
        worth += max((value / each for value, each in values if value > 0 and 0 < each < math.inf), default=0.0)
    return worth


def stock_duals(model: Model, duals: dict[Key, float]) -> dict[int, float]:
    """Pool -> dual (<= 0) of the stock row that it stands in."""
    pools = {variable: p for (p, _), variable in model.hosts.items()}
    answer: dict[int, float] = {}
    for key, row in model.rows.items():
        if key[0] == "stock":
            answer |= {pools[v]: duals[key] for v in row.constraint if v in pools}
    return answer
