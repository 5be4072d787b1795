"""Variables of the program over some of its hours, and the PuLP problem that the families of rows fill."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pulp

from optimize.money import HOUR_S
from optimize.money.amounts import amount_usd, scaled_usd
from optimize.money.contracts import hour_factor
from optimize.program.routes import PoolRoute
from optimize.program.rows.names import Names, names_of
from optimize.records import ProgramInput

Column = Any  # pulp.LpVariable, whose `varValue` is None until a solver has found one
Pair = tuple[Column, float]
Key = tuple[int | str, ...]


@dataclass(frozen=True)
class View:
    """Which part of the program is written down.

    slices       hours in it
    whole        elastic hosts are whole numbers (False: the relaxation in which they are divisible)
    base         pool -> (least, most) hosts of an offer that cannot follow the hour; pools that lack are bounded by demand alone
    base_usd     pool -> monthly USD per such host where it is not the full price (hours that share its price)
    budget_usd   limit on the cost of these hours, None for no limit
    penalty_usd  per unserved request, None: everything must be served
    month        the rows that join hours are written: starts of hosts, payments of accounts
    closed       relays that may not be called;  units  relay -> provisioned units at hand
    unit_usd     relay -> USD per unit, tier_usd  relay -> USD for its tier: choices that hours share the price of
    on_usd       pool -> USD on running at all, base pools: likewise
    host_usd     (pool, slice) -> USD per host, call_usd  relay -> share of its prices: added to the objective only, in place of rows
    allotment    account -> USD that these hours may pay it
    before       pool -> hosts in the hour before, where known: those beyond them start
    decided      further decisions of the month (`joining`) at their values;  decision_usd  the same at an hour's share of their price
    """

    slices: tuple[int, ...]
    whole: bool = True
    base: dict[int, tuple[int, int]] = field(default_factory=dict)
    base_usd: dict[int, float] = field(default_factory=dict)
    budget_usd: float | None = None
    penalty_usd: float | None = None
    month: bool = False
    closed: frozenset[int] = frozenset()
    units: dict[int, int] = field(default_factory=dict)
    unit_usd: dict[int, float] = field(default_factory=dict)
    on_usd: dict[int, float] = field(default_factory=dict)
    tier_usd: dict[int, float] = field(default_factory=dict)
    host_usd: dict[tuple[int, int], float] = field(default_factory=dict)
    call_usd: dict[int, float] = field(default_factory=dict)
    allotment: dict[int, float] = field(default_factory=dict)
    before: dict[int, int] | None = None
    decided: dict[Key, int] = field(default_factory=dict)
    decision_usd: dict[Key, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A row of the program and the hour that it belongs to; None: it joins hours."""

    constraint: Any  # pulp.LpConstraint
    hour: int | None

    @property
    def dual(self) -> float:
        """USD of the objective per unit of the right-hand side, 0 where there is none."""
        return float(self.constraint.pi or 0.0)


@dataclass
class Model:
    """A PuLP problem, and its variables and rows by what they mean.

    columns   variables in the order of their making: solvers are given them so
    rows      (family, index, ...) -> row, for instance ("capacity", pool, hour)
    hosts     (pool, slice) -> hosts, elastic pools;  base pool -> hosts in every hour, all other pools
    on        (pool, slice) or (pool, -1) for a base pool -> runs at all; only for pools whose running has a price
    flow      (pool, level, class, slice) -> share of the class's demand in that hour
    calls     (relay, class, slice), unserved (class, slice): likewise
    units     relay -> provisioned units, any_units relay -> whether there are any;  tier  relay -> bought;  topup account -> USD
    starts    (pool, slice) -> hosts that start
    decisions  (kind, index) -> further decisions of the month, see `joining`;  decision_usd  what each costs a month
    money     terms of the monthly cost in USD;  extra, penalty  further terms of the objective
    calls_usd  terms of `money` for calls, by key
    """

    problem: ProgramInput
    view: View
    routes: tuple[PoolRoute, ...]
    names: Names
    prob: Any  # pulp.LpProblem
    columns: list[Column] = field(default_factory=list)
    rows: dict[Key, Row] = field(default_factory=dict)
    hosts: dict[tuple[int, int], Column] = field(default_factory=dict)
    base: dict[int, Column] = field(default_factory=dict)
    on: dict[tuple[int, int], Column] = field(default_factory=dict)
    flow: dict[tuple[int, int, int, int], Column] = field(default_factory=dict)
    calls: dict[tuple[int, int, int], Column] = field(default_factory=dict)
    unserved: dict[tuple[int, int], Column] = field(default_factory=dict)
    units: dict[int, Column] = field(default_factory=dict)
    any_units: dict[int, Column] = field(default_factory=dict)
    tier: dict[int, Column] = field(default_factory=dict)
    topup: dict[int, Column] = field(default_factory=dict)
    starts: dict[tuple[int, int], Column] = field(default_factory=dict)
    decisions: dict[Key, Column] = field(default_factory=dict)
    decision_usd: dict[Key, float] = field(default_factory=dict)
    money: list[Pair] = field(default_factory=list)
    extra: list[Pair] = field(default_factory=list)
    penalty: list[Pair] = field(default_factory=list)
    calls_usd: list[tuple[tuple[int, int, int], Column, float]] = field(default_factory=list)

    def column(self, kind: str, low: float, most: float, integer: bool, **index: int) -> Column:
        """A new variable between bounds."""
        category = pulp.LpInteger if integer else pulp.LpContinuous
        variable = self.prob.add_variable(self.names.of(kind, index), low, most, category)
        self.columns.append(variable)
        return variable

    def decision(self, kind: str, most: int, usd: float = 0.0, **index: int) -> Column:
        """A whole number of the month up to `most`, which costs `usd` each: a variable, or in hours apart what `joining` says."""
        key: Key = (kind, *index.values())
        value = self.view.decided.get(key)
        low, high = (0, most) if value is None else (value, value)
        variable = self.column(kind, low, high, True, **index)
        self.decisions[key], self.decision_usd[key] = variable, usd
        if self.view.month and usd:
            self.money.append((variable, usd))
        elif self.view.decision_usd.get(key):
            self.extra.append((variable, self.view.decision_usd[key]))
        return variable

    def add(self, family: str, terms: Iterable[Pair], sense: int, rhs: float, **index: int | str) -> None:
        """A new row: sum of coefficient x variable <=, = or >= `rhs`. A row without terms is left out."""
        listed = list(terms)
        if not listed:
            return
        expression = pulp.LpAffineExpression(listed)
        assert len(expression) == len(listed), f"{family}: a row holds a variable twice"
        name = self.names.of(family, index)
        if self.prob.get_constraint_by_name(name) is not None:
            name = f"{name}~{len(self.rows)}"
        constraint = pulp.LpConstraint(expression, sense, rhs=rhs)
        self.prob.addConstraint(constraint, name)
        hour = index.get("hour")
        self.rows[family, *index.values()] = Row(constraint, hour if isinstance(hour, int) else None)

    def minimize(self, usd: dict[Column, float]) -> None:
        """Sets the objective."""
        self.prob.setObjective(pulp.LpAffineExpression(usd))

    def duals(self) -> dict[Key, float]:
        """Dual of every row after a solution, 0 where there is none."""
        return {key: row.dual for key, row in self.rows.items()}

    def hosts_of(self, route: PoolRoute, t: int) -> Column | None:
        """The variable that counts the hosts of a pool in slice `t`; None where it cannot run."""
        return self.hosts.get((route.index, t)) if route.elastic else self.base.get(route.index)

    def on_of(self, route: PoolRoute, t: int) -> Column | None:
        """The variable that says whether a pool runs in slice `t`."""
        return self.on.get((route.index, t if route.elastic else -1))


def variables(problem: ProgramInput, view: View, routes: tuple[PoolRoute, ...]) -> Model:
    """An empty problem with the variables of hosts and flows in the view, bounds from peak demand.

    Flows are shares of a class's demand in an hour, so that their bounds and the solver's tolerances mean the same at every rate.
    """
    model = Model(problem, view, routes, names_of(problem, routes, view.slices), pulp.LpProblem("servemix", pulp.LpMinimize))
    for route in routes:
        _hosts(model, route)
        _flows(model, route)
    _calls(model)
    if view.penalty_usd is not None:
        _unserved(model)
    return model


def _hosts(model: Model, route: PoolRoute) -> None:
    p, weight_h, view = route.index, model.problem.demand.weight_h, model.view
    if not route.elastic:
        least, most = view.base.get(p, (0, int(route.most.max())))
        if most <= 0:
            return
        variable = model.column("base", least, most, True, pool=p)
        usd = view.base_usd.get(p, amount_usd(route.usd_per_hour, float(weight_h.sum())))
        model.base[p] = variable
        model.money.append((variable, usd))
        if route.switched:
            model.on[p, -1] = model.column("on", int(least > 0), 1, True, pool=p)
            if p in view.on_usd:
                model.extra.append((model.on[p, -1], view.on_usd[p]))
        return
    for t in view.slices:
        if route.most[t] <= 0:
            continue
        variable = model.column("hosts", 0, int(route.most[t]), view.whole, pool=p, hour=t)
        model.hosts[p, t] = variable
        model.money.append((variable, amount_usd(route.usd_per_hour, float(weight_h[t]))))
        if (p, t) in view.host_usd:
            model.extra.append((variable, view.host_usd[p, t]))
        if (view.month or view.before is not None) and route.boot_usd > 0:
            assert model.problem.boot is not None
            model.starts[p, t] = model.column("starts", 0, int(route.most[t]), False, pool=p, hour=t)
            model.money.append((model.starts[p, t], amount_usd(route.boot_usd, float(model.problem.boot.times[t]))))
        if route.switched:
            model.on[p, t] = model.column("on", 0, 1, view.whole, pool=p, hour=t)


def _flows(model: Model, route: PoolRoute) -> None:
    p, demand = route.index, model.problem.demand.mean_rps
    for j, classes in enumerate(route.served):
        for t in model.view.slices:
            if model.hosts_of(route, t) is None:
                continue
            for c in classes:
                if demand[c, t] > 0:
                    model.flow[p, j, c, t] = model.column("x", 0, 1, False, pool=p, level=j, class_=c, hour=t)


def _calls(model: Model) -> None:
    demand, weight_h = model.problem.demand.mean_rps, model.problem.demand.weight_h
    for a, terms in enumerate(model.problem.relays):
        for c in np.flatnonzero(terms.eligible & np.isfinite(terms.usd_per_request)).tolist() if a not in model.view.closed else ():
            usd = amount_usd(float(terms.usd_per_request[c]), HOUR_S)
            for t in model.view.slices:
                if demand[c, t] > 0:
                    variable = model.column("y", 0, 1, False, relay=a, class_=c, hour=t)
                    model.calls[a, c, t] = variable
                    paid = scaled_usd(amount_usd(usd, float(weight_h[t] * demand[c, t])), hour_factor(terms, c, t))
                    model.money.append((variable, paid))
                    model.calls_usd.append(((a, c, t), variable, paid))
                    if model.view.call_usd.get(a):
                        model.extra.append((variable, scaled_usd(paid, model.view.call_usd[a])))


def _unserved(model: Model) -> None:
    demand, weight_h = model.problem.demand.mean_rps, model.problem.demand.weight_h
    usd = (model.view.penalty_usd or 0.0) * HOUR_S
    for t in model.view.slices:
        for c in np.flatnonzero(demand[:, t] > 0):
            variable = model.column("z", 0, 1, False, class_=int(c), hour=t)
            model.unserved[int(c), t] = variable
            model.penalty.append((variable, amount_usd(usd, float(weight_h[t] * demand[c, t]))))
