"""What holds for the whole month: base hosts, provisioned units, tiers of accounts; and prices that stand in for rows that join hours."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optimize.money import HOURS_PER_MONTH
from optimize.program.accounts import accounts
from optimize.program.answer import Parts, no_parts
from optimize.program.build import build
from optimize.program.model import Model, View
from optimize.program.routes import PoolRoute
from optimize.program.solver import run
from optimize.records import Floats, ProgramInput


@dataclass(frozen=True)
class Month:
    """Decisions that hours share.

    base       pool -> hosts in every hour;  units  relay -> provisioned units;  closed  relays of tiers not bought
    allotment  account with a cap -> [slices] USD that each hour may pay it
    spent_usd  [slices] what each hour spends on its own hosts and calls, in the relaxation that decided this
    """

    base: dict[int, int]
    units: dict[int, int] = field(default_factory=dict)
    closed: frozenset[int] = frozenset()
    allotment: dict[int, Floats] = field(default_factory=dict)
    spent_usd: Floats = field(default_factory=lambda: np.zeros(0))

    def view(
        self, routes: tuple[PoolRoute, ...], prices: MonthPrices, t: int, penalty: float | None, before: dict[int, int] | None = None
    ) -> View:
        """Hour `t` beside these decisions, which are paid already; `before` are the hosts of the hour before, where hosts start."""
        fixed = {route.index: (self.base.get(route.index, 0),) * 2 for route in routes if not route.elastic}
        return View(
            (t,),
            base=fixed,
            base_usd=dict.fromkeys(fixed, 0.0),
            penalty_usd=penalty,
            closed=self.closed,
            units=self.units,
            call_usd=prices.call_usd,
            before=before,
            allotment={g: float(usd[t]) for g, usd in self.allotment.items()},
        )

    def parts(self, problem: ProgramInput) -> Parts:
        """Nothing but these decisions."""
        parts = no_parts(problem)
        for p, n in self.base.items():
            parts.hosts[p] = n
        for a, n in self.units.items():
            parts.units[a] = n
        for account in accounts(problem):
            for a in account.members if account.chooses else ():
                parts.bought[a] = a not in self.closed
        return parts


@dataclass(frozen=True)
class MonthPrices:
    """MonthPrices (duals of the linear relaxation) in place of the rows that join hours, and the constant that belongs to them.

    base_usd, unit_usd, tier_usd   pool, relay -> [slices] what each hour pays of the price of a base host, a unit, a tier
    host_usd   pool -> [slices] USD on a host because of starts;  call_usd  relay -> share of its prices (minimum: < 0, cap: > 0)
    budget     shadow price: USD of objective per USD of budget
    """

    base_usd: dict[int, Floats] = field(default_factory=dict)
    unit_usd: dict[int, Floats] = field(default_factory=dict)
    tier_usd: dict[int, Floats] = field(default_factory=dict)
    host_usd: dict[int, Floats] = field(default_factory=dict)
    call_usd: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0
    budget: float = 0.0

    def view(self, t: int, penalty: float) -> View:
        """Hour `t` that buys its own base hosts, units and tiers at its share of their prices."""
        return View(
            (t,),
            base_usd={p: float(usd[t]) for p, usd in self.base_usd.items()},
            unit_usd={a: float(usd[t]) for a, usd in self.unit_usd.items()},
            tier_usd={a: float(usd[t]) for a, usd in self.tier_usd.items()},
            host_usd={(p, t): float(usd[t]) for p, usd in self.host_usd.items()},
            call_usd=self.call_usd,
            penalty_usd=penalty,
        )


def joined(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> bool:
    """Whether any row joins hours, the budget apart."""
    contracts = any(terms.units is not None for terms in problem.relays) or bool(accounts(problem))
    return contracts or any(not route.elastic or route.boot_usd > 0 for route in routes)


def month_of(model: Model) -> Month:
    """The decisions of a solved model of the month; what an account with a cap has left is allotted by demand."""
    problem = model.problem
    base = {p: round(v.varValue or 0.0) for p, v in model.base.items()}
    units = {a: round(v.varValue or 0.0) for a, v in model.units.items()}
    closed = frozenset(a for a, v in model.tier.items() if (v.varValue or 0.0) < 0.5)
    volume = problem.demand.mean_rps.sum(axis=0) * problem.demand.weight_h
    allotment = {}
    for g, account in enumerate(accounts(problem)):
        if account.cap_usd is not None:
            spent = np.zeros(len(volume))
            for (a, _, t), variable, usd in model.calls_usd:
                if a in account.members:
                    spent[t] += usd * (variable.varValue or 0.0)
            left = max(0.0, account.cap_usd * (1 - 1e-9) - spent.sum())
            allotment[g] = spent * min(1.0, account.cap_usd / max(spent.sum(), 1e-9)) + left * volume / max(volume.sum(), 1e-9)
    return Month(base, units, closed, allotment, hourly_usd(model))


def hourly_usd(model: Model) -> Floats:
    """[slices] what a solved model spends in each hour on elastic hosts, their starts and calls."""
    problem = model.problem
    usd: Floats = np.zeros(len(problem.demand.slices))
    by_index = {route.index: route for route in model.routes}
    for (p, t), variable in model.hosts.items():
        usd[t] += by_index[p].usd_per_hour * float(problem.demand.weight_h[t]) * (variable.varValue or 0.0)
    for (p, t), variable in model.starts.items():
        assert problem.boot is not None
        usd[t] += by_index[p].boot_usd * float(problem.boot.times[t]) * (variable.varValue or 0.0)
    for (_, _, t), variable, price in model.calls_usd:
        usd[t] += price * (variable.varValue or 0.0)
    return usd


def prices_of(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, budget_usd: float | None = None) -> MonthPrices:
    """Duals of the linear relaxation of the month, made feasible, so that they bound whatever the solver's tolerance left.

    Base hosts: what a host is worth in each hour (dual of its capacity row). Starts: the dual of the row. Accounts: those of the
    payment rows. Any shares that sum to a price, and any duals of the right sign, give a bound.
    """
    view = View(tuple(range(len(problem.demand.slices))), whole=False, penalty_usd=penalty, month=True, budget_usd=budget_usd)
    model = build(problem, view, routes)
    run(model, 0.0, 0, relax=True)
    duals = {name: float(row.pi or 0.0) for name, row in model.prob._constraints.items()}
    shadow = max(0.0, -duals.get("budget", 0.0)) / max(budget_usd or 1.0, 1.0)
    scale = 1.0 / (1.0 + shadow)  # prices in money of the objective: with a budget, all of them count (1 + shadow) times
    calls, constant, tiers = account_prices(problem, duals, scale)
    return MonthPrices(
        base_usd=base_prices(problem, routes, duals, scale),
        unit_usd=unit_prices(problem, duals, scale),
        tier_usd=tiers,
        host_usd=start_prices(problem, routes, duals, scale),
        call_usd=calls,
        constant=constant,
        budget=shadow,
    )


def shared(worth: Floats, price: float, weight_h: Floats) -> Floats:
    """`price` by slice, as near to `worth` as sums to it."""
    total = float(worth.sum())
    kept: Floats = worth * min(1.0, price / total) if total > 0 else worth
    rest: Floats = (price - float(kept.sum())) * weight_h / float(weight_h.sum())
    return kept + rest


def base_prices(problem: ProgramInput, routes: tuple[PoolRoute, ...], duals: dict[str, float], scale: float) -> dict[int, Floats]:
    """Pool -> [slices] USD of the monthly price of a base host that each hour carries."""
    weight_h, slices = problem.demand.weight_h, range(len(problem.demand.slices))
    outages = range(len(problem.relays) if problem.relay_outage_reserve else 0)
    shares = {}
    for route in routes:
        if not route.elastic:
            names = [[f"capacity_{route.index}_{t}", *(f"outage_{g}_pool_{route.index}_{t}" for g in outages)] for t in slices]
            worth = np.array([sum(max(0.0, -duals.get(name, 0.0)) for name in each) for each in names]) * route.per_host * scale
            shares[route.index] = shared(worth, route.usd_per_hour * float(weight_h.sum()), weight_h)
    return shares


def unit_prices(problem: ProgramInput, duals: dict[str, float], scale: float) -> dict[int, Floats]:
    """Relay -> [slices] USD of the monthly price of a unit that each hour carries."""
    weight_h, shares = problem.demand.weight_h, {}
    for a, terms in enumerate(problem.relays):
        if terms.units is not None:
            worth = np.array([max(0.0, -duals.get(f"units_{a}_{t}", 0.0)) for t in range(len(weight_h))]) * scale
            shares[a] = shared(worth, terms.units.usd_per_hour * HOURS_PER_MONTH, weight_h)
    return shares


def start_prices(problem: ProgramInput, routes: tuple[PoolRoute, ...], duals: dict[str, float], scale: float) -> dict[int, Floats]:
    """Pool -> [slices] USD on a host: the dual of its start less that of a start in the hour after, which it spares."""
    boot = problem.boot
    if boot is None:
        return {}
    found = {}
    for route in routes:
        if route.boot_usd > 0:
            most = route.boot_usd * boot.times
            raw = np.array([-duals.get(f"start_{route.index}_{t}", 0.0) * scale for t in range(len(most))])
            dual = np.clip(raw, 0.0, most)
            usd = dual.copy()
            for t, before in enumerate(boot.previous):
                usd[before] -= dual[t]
            if usd.any():
                found[route.index] = usd
    return found


def account_prices(problem: ProgramInput, duals: dict[str, float], scale: float) -> tuple[dict[int, float], float, dict[int, Floats]]:
    """(share on call prices by relay, constant of the bound, tier prices by hour) of the payment rows.

    A minimum with dual m (0..1) makes calls cheaper by the share m and asks for m x least of the tier bought; a cap with dual k
    makes them dearer by the share k and gives k x cap back.
    """
    weight_h = problem.demand.weight_h
    calls: dict[int, float] = {}
    tiers: dict[int, Floats] = {}
    constant = 0.0
    for g, account in enumerate(accounts(problem)):
        top = max(account.least_usd)
        minimum = max(0.0, duals.get(f"least_paid_{g}", 0.0) / top * scale) if account.pays_least else 0.0
        cap = 0.0
        if account.cap_usd is not None:
            cap = max(0.0, -duals.get(f"most_paid_{g}", 0.0)) / max(account.cap_usd, 1e-6) * scale
            constant -= cap * account.cap_usd
        minimum = min(minimum, 1.0 + cap)
        for a, least in zip(account.members, account.least_usd, strict=True):
            calls[a] = cap - minimum
            if account.chooses:
                tiers[a] = minimum * least * weight_h / weight_h.sum()
            else:
                constant += minimum * least
    return calls, constant, tiers
