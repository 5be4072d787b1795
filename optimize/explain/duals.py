"""What a little more of each scarce thing is worth, by the linear relaxation of the measured program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pulp

from optimize.money import HOUR_S
from optimize.money.amounts import amount_usd, per_unit_usd
from optimize.program.routes import PoolRoute, penalty_usd, pool_route
from optimize.program.rows.accounts import Wide, widened
from optimize.program.rows.build import build
from optimize.program.rows.hosts import stock_rows_of
from optimize.program.rows.model import Key, Model, View
from optimize.program.solver import run
from optimize.program.substitutes import usable
from optimize.records import ProgramInput, ProgramSolution
from optimize.result import Floats, Shadow
from sim.exact import dot

LEAST_SHARE = 1e-6  # of all requests: below this nothing is unserved
LEAST_USD = 0.005  # a month, for one unit: below this a price is the solver's tolerance
RPM, TPM, BUDGET_USD, POINT = 1000.0, 1e6, 1000.0, 0.01  # what people raise such limits by
UNSERVED_PART = 0.5  # of the penalty, which is at least ten times what any request costs: from there on a price is penalty


@dataclass(frozen=True)
class Relaxation:
    """The measured program with divisible hosts, solved.

    offers     ids of those with a stock
    objective  USD a month, penalty for unserved demand included;  unserved  requests a month
    """

    problem: ProgramInput
    wide: Wide
    duals: dict[Key, float]
    offers: tuple[str, ...]
    objective: float
    unserved: float
    penalty_usd: float
    budget_usd: float | None

    def total(self, rows: Iterable[Key]) -> float:
        """Sum of duals."""
        return sum(self.duals.get(key, 0.0) for key in rows)

    @property
    def requests(self) -> float:
        """Requests a month."""
        return float(dot(self.problem.demand.mean_rps, self.problem.demand.weight_h).sum()) * HOUR_S

    @property
    def lacking(self) -> bool:
        """Whether requests stay unserved, so that prices of rows are penalties and no money."""
        return self.unserved > LEAST_SHARE * self.requests


def points(share: float) -> str:
    """A share in points, as exactly as the relaxation is worth.

    >>> points(0.00999), points(0.111), points(0.000123)
    ('1', '11.1', '0.012')
    """
    return f"{round(100 * share, 1):g}" if share >= 0.001 else f"{100 * share:.2g}"


def shadow(found: Relaxation, name: str, amount: float, unit: str, worth: float, what: str, today: str) -> list[Shadow]:
    """What `amount` more of something is worth by the objective: money, or where requests are unserved the share that it serves.

    The penalty of an unserved request is at least ten times what any request costs, so there its count is what the objective gains.
    """
    if worth <= LEAST_USD:
        return []
    if not found.lacking:
        return [Shadow(name, amount, unit, worth, f"{what} saves up to ${worth:,.2f} a month ({today})")]
    share = min(per_unit_usd(worth, found.penalty_usd), found.unserved) / found.requests
    if share <= LEAST_SHARE:
        return []
    words = f"{what} serves up to {points(share)} points more of all requests ({today})"
    return [Shadow(name, amount, unit, 0.0, words, share)]


def measured_only(problem: ProgramInput) -> ProgramInput:
    """The program without pools that were not measured: their loads are optimistic."""
    return replace(problem, pools=tuple(terms for terms in problem.pools if terms.measured))


def relaxation(problem: ProgramInput, budget_usd: float | None = None) -> Relaxation:
    """Linear relaxation over all hours, with every stock as a row of its own, so that it has a price."""
    wide = widened(problem)
    inside = wide.problem
    routes = usable(inside)
    penalty = penalty_usd(inside, routes)
    slices = tuple(range(len(inside.demand.slices)))
    spare = None if budget_usd is None else max(0.0, budget_usd - problem.fixed_usd)
    view = View(slices, whole=False, penalty_usd=penalty, month=True, budget_usd=spare)
    model = build(inside, view, tuple(unbounded(inside, route) for route in routes))
    offers = stock_rows_alone(model)
    for variable in (*model.flow.values(), *model.calls.values(), *model.unserved.values()):
        variable.upBound = 2.0  # 1 follows from the rows of demand; as a bound it would take its part of their price
    outcome = run(model, 0.0, 0, relax=True)
    duals = model.duals()
    demand = inside.demand
    left = sum((v.varValue or 0.0) * demand.mean_rps[c, t] * demand.weight_h[t] * HOUR_S for (c, t), v in model.unserved.items())
    return Relaxation(problem, wide, duals, offers, outcome.objective + problem.fixed_usd, float(left), penalty, budget_usd)


def unbounded(problem: ProgramInput, route: PoolRoute) -> PoolRoute:
    """The route with hosts bounded by demand, not by stock."""
    option = route.terms.option
    if option.offer.stock is None:
        return route
    free = replace(route.terms, option=replace(option, offer=replace(option.offer, stock=None)))
    most = pool_route(replace(problem, pools=(free,)), 0)
    return route if most is None else replace(route, most=most.most)


def stock_rows_alone(model: Model) -> tuple[str, ...]:
    """Adds the stock rows that the program writes as bounds (offers of one pool), under the names of the family; the offers."""
    offers: dict[str, list[PoolRoute]] = {}
    for route in model.routes:
        if route.terms.option.offer.stock is not None:
            offers.setdefault(route.terms.option.offer.id, []).append(route)
    for name, members in offers.items():
        if len(members) > 1:
            continue
        (route,) = members
        for index in stock_rows_of(model, members):
            hosts = model.hosts_of(route, index.get("hour", model.view.slices[0]))
            if hosts is not None:
                stock = float(route.terms.option.offer.stock or 0)
                model.add("stock", [(hosts, 1.0)], pulp.LpConstraintLE, stock, offer=name, **index)
    return tuple(offers)


def demand_duals(found: Relaxation) -> Floats:
    """[classes, slices] USD a month that the demand of a class in an hour costs at the margin; NaN where one request more goes unserved."""
    demand = found.problem.demand
    classes, slices = demand.mean_rps.shape
    usd = np.array([[found.duals.get(("demand", c, t), 0.0) for t in range(slices)] for c in range(classes)])
    penalty = amount_usd(found.penalty_usd, demand.mean_rps * demand.weight_h * HOUR_S)
    return np.where(found.lacking & (usd > UNSERVED_PART * penalty), np.nan, usd)


def shadows(found: Relaxation, solution: ProgramSolution) -> tuple[Shadow, ...]:
    """Everything scarce that has a price, dearest first."""
    answer = [*stock_shadows(found), *limit_shadows(found, solution), *policy_shadows(found)]
    answer.sort(key=lambda each: (-each.saves_usd, -each.serves_share, each.name))
    return (*budget_shadow(found), *answer)


def stock_shadows(found: Relaxation) -> list[Shadow]:
    """One host more of each offer that is sold out in some hour."""
    by_id = {terms.option.offer.id: terms.option.offer for terms in found.problem.pools}
    answer = []
    for name in found.offers:
        saves = max(0.0, -found.total(key for key in found.duals if key[:2] == ("stock", name)))
        offer = by_id[name]
        gpus = f"{offer.gpus} x {offer.gpu}" if offer.gpus > 1 else offer.gpu
        what = f"one more {name} host ({gpus}) in stock"
        answer += shadow(found, f"stock of {name}", 1.0, "host", saves, what, f"today {offer.stock}")
    return answer


def limit_shadows(found: Relaxation, solution: ProgramSolution) -> list[Shadow]:
    """More requests and tokens a minute at each relay of which a limit binds."""
    slices = range(len(found.problem.demand.slices))
    answer = []
    for v, (a, tier) in enumerate(zip(found.wide.origin, found.wide.tier, strict=True)):
        bought = -1 if solution.relay_tier is None else int(solution.relay_tier[a])
        terms = found.wide.problem.relays[v]
        if not terms.hard_limits or tier != bought:
            continue
        for kind, limit, more, unit in (("rpm", terms.rpm, RPM, "RPM"), ("tpm", terms.tpm, TPM, "TPM")):
            if limit is None or limit <= 0:
                continue
            saves = max(0.0, -found.total((kind, v, t) for t in slices)) / max(limit, 1.0) * more
            what = f"+{more:,.0f} {unit} at {terms.relay.id}"
            answer += shadow(found, f"{unit} of {terms.relay.id}", more, unit, saves, what, f"today {limit:,.0f}")
    return answer


def policy_shadows(found: Relaxation) -> list[Shadow]:
    """One point more of the share that relays, or one vendor of them, may serve."""
    names = [key for key in found.duals if key[0] == "relay_share"]
    saves = max(0.0, -found.total(names)) * POINT
    today = f"policy.max_relay_share today {found.problem.max_relay_share:.0%}"
    return shadow(found, "max_relay_share", POINT, "share", saves, "one point more for relays in every hour", today)


def budget_shadow(found: Relaxation) -> list[Shadow]:
    """What $1,000 more a month serves (less where less serves all), where the budget leaves requests; nothing where it does not."""
    limit = found.budget_usd
    if limit is None or found.unserved <= 0:
        return []
    price = max(0.0, -found.duals.get(("budget",), 0.0)) / max(limit - found.problem.fixed_usd, 1.0)
    if price <= 0:
        return []
    each = (1.0 + price) / found.penalty_usd  # requests per USD
    more = min(BUDGET_USD, found.unserved / each)
    served = more * each / found.requests
    words = f"+${more:,.0f} of budget raises the share that is served by up to {100 * served:.3g} points (today ${limit:,.0f})"
    return [Shadow("budget", more, "USD", 0.0, words, served)]
