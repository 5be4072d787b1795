"""What holds for the whole month: base hosts, provisioned units, tiers of accounts; and prices that stand in for rows that join hours."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optimize.money.amounts import amount_usd
from optimize.program.answer import Parts, no_parts
from optimize.program.routes import PoolRoute
from optimize.program.rows.accounts import accounts
from optimize.program.rows.joining import joining
from optimize.program.rows.model import Key, Model, View
from optimize.records import Floats, ProgramInput


@dataclass(frozen=True)
class Month:
    """Decisions that hours share.

    base       pool -> hosts in every hour;  units  relay -> provisioned units;  unbought  relays that are tiers not bought
    decided    further decisions, see `joining`
    allotment  account with a cap -> [slices] USD that each hour may pay it
    spent_usd  [slices] what each hour spends on its own hosts and calls, in the relaxation that decided this
    """

    base: dict[int, int]
    units: dict[int, int] = field(default_factory=dict)
    unbought: frozenset[int] = frozenset()
    decided: dict[Key, int] = field(default_factory=dict)
    allotment: dict[int, Floats] = field(default_factory=dict)
    spent_usd: Floats = field(default_factory=lambda: np.zeros(0))

    def view(
        self, routes: tuple[PoolRoute, ...], prices: MonthPrices, t: int, penalty: float | None, before: dict[int, int] | None = None
    ) -> View:
        """Hour `t` given these decisions, which are paid already; `before` are the hosts of the hour before, where hosts start."""
        fixed = {route.index: (self.base.get(route.index, 0),) * 2 for route in routes if not route.elastic}
        return View(
            (t,),
            base=fixed,
            base_usd=dict.fromkeys(fixed, 0.0),
            penalty_usd=penalty,
            closed=self.unbought,
            decided=self.decided,
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
                parts.bought[a] = a not in self.unbought
        return parts


@dataclass(frozen=True)
class MonthPrices:
    """MonthPrices (duals of the linear relaxation) in place of the rows that join hours, and the constant that belongs to them.

    base_usd, unit_usd, tier_usd   pool, relay -> [slices] what each hour pays of the price of a base host, a unit, a tier
    on_usd     pool -> [slices] on whether a base pool runs; sums to nothing
    host_usd   pool -> [slices] USD on a host because of starts;  call_usd  relay -> share of its prices (minimum: < 0, cap: > 0)
    decision_usd  further decision of the month -> [slices] what each hour pays of its price
    budget     shadow price: USD of objective per USD of budget
    """

    base_usd: dict[int, Floats] = field(default_factory=dict)
    unit_usd: dict[int, Floats] = field(default_factory=dict)
    tier_usd: dict[int, Floats] = field(default_factory=dict)
    on_usd: dict[int, Floats] = field(default_factory=dict)
    host_usd: dict[int, Floats] = field(default_factory=dict)
    call_usd: dict[int, float] = field(default_factory=dict)
    decision_usd: dict[Key, Floats] = field(default_factory=dict)
    constant: float = 0.0
    budget: float = 0.0

    def view(self, t: int, penalty: float) -> View:
        """Hour `t` that buys its own base hosts, units and tiers at its share of their prices."""
        return View(
            (t,),
            base_usd={p: float(usd[t]) for p, usd in self.base_usd.items()},
            unit_usd={a: float(usd[t]) for a, usd in self.unit_usd.items()},
            tier_usd={a: float(usd[t]) for a, usd in self.tier_usd.items()},
            on_usd={p: float(usd[t]) for p, usd in self.on_usd.items()},
            host_usd={(p, t): float(usd[t]) for p, usd in self.host_usd.items()},
            call_usd=self.call_usd,
            decision_usd={key: float(usd[t]) for key, usd in self.decision_usd.items()},
            penalty_usd=penalty,
        )


def joined(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> bool:
    """Whether any row joins hours, the budget apart."""
    if joining(problem):
        return True
    contracts = any(terms.units is not None for terms in problem.relays) or bool(accounts(problem))
    return contracts or any(not route.elastic or route.boot_usd > 0 for route in routes)


def month_of(model: Model) -> Month:
    """The decisions of a solved model of the month; what an account with a cap has left is allotted by demand."""
    problem = model.problem
    base = {p: round(v.varValue or 0.0) for p, v in model.base.items()}
    units = {a: round(v.varValue or 0.0) for a, v in model.units.items()}
    unbought = frozenset(a for a, v in model.tier.items() if (v.varValue or 0.0) < 0.5)
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
    decided = {key: round(v.varValue or 0.0) for key, v in model.decisions.items()}
    return Month(base, units, unbought, decided, allotment, hourly_usd(model))


def hourly_usd(model: Model) -> Floats:
    """[slices] what a solved model spends in each hour on elastic hosts, their starts and calls."""
    problem = model.problem
    usd: Floats = np.zeros(len(problem.demand.slices))
    by_index = {route.index: route for route in model.routes}
    for (p, t), variable in model.hosts.items():
        usd[t] += amount_usd(by_index[p].usd_per_hour, float(problem.demand.weight_h[t])) * (variable.varValue or 0.0)
    for (p, t), variable in model.starts.items():
        assert problem.boot is not None
        usd[t] += amount_usd(by_index[p].boot_usd, float(problem.boot.times[t])) * (variable.varValue or 0.0)
    for (_, _, t), variable, price in model.calls_usd:
        usd[t] += price * (variable.varValue or 0.0)
    return usd
