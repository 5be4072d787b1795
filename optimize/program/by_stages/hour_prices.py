"""What each hour pays of the decisions that hours share: prices of the month's linear relaxation, dealt out to its hours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from optimize.money.amounts import amount_usd, month_usd
from optimize.program.by_stages.month import MonthPrices
from optimize.program.routes import PoolRoute
from optimize.program.rows.accounts import accounts
from optimize.program.rows.build import build
from optimize.program.rows.model import Column, Key, Model, View
from optimize.program.solver import run
from optimize.records import Floats, ProgramInput


def prices_of(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, budget_usd: float | None = None) -> MonthPrices:
    """Duals of the linear relaxation of the month, made feasible, so that they bound whatever the solver's tolerance left.

    Base hosts, units, tiers: what they are worth in each hour. Starts: the dual of the row. Accounts: those of the payment rows. Any
    shares that sum to a price, and any duals of the right sign, give a bound.
    """
    view = View(tuple(range(len(problem.demand.slices))), whole=False, penalty_usd=penalty, month=True, budget_usd=budget_usd)
    model = build(problem, view, routes)
    run(model, 0.0, 0, relax=True)
    duals = model.duals()
    shadow = max(0.0, -duals.get(("budget",), 0.0)) / max(budget_usd or 1.0, 1.0)
    scale = 1.0 / (1.0 + shadow)  # prices in money of the objective: with a budget, all of them count (1 + shadow) times
    calls, constant, tier_usd = account_prices(problem, duals, scale)
    running = {p: on for (p, t), on in model.on.items() if t < 0}
    of_the_month = (model.base, running, model.units, model.tier, model.decisions)
    worth = worth_by_hour(model, [column for columns in of_the_month for column in columns.values()], scale)
    weight_h = problem.demand.weight_h
    base_usd = {route.index: amount_usd(route.usd_per_hour, float(weight_h.sum())) for route in routes if route.index in model.base}
    unit_usd = {a: month_usd(terms.units.usd_per_hour) for a, terms in enumerate(problem.relays) if terms.units is not None}
    nothing = np.zeros(len(weight_h))
    return MonthPrices(
        base_usd={p: shared(worth[model.base[p]], usd, weight_h) for p, usd in base_usd.items()},
        unit_usd={a: shared(worth.get(model.units.get(a), nothing), usd, weight_h) for a, usd in unit_usd.items()},
        tier_usd={a: shared(worth.get(model.tier.get(a), nothing), usd, weight_h) for a, usd in tier_usd.items()},
        on_usd={p: shared(worth[on], 0.0, weight_h) for p, on in running.items()},
        host_usd=start_prices(problem, routes, duals, scale),
        call_usd=calls,
        decision_usd={key: shared(worth[column], model.decision_usd[key], weight_h) for key, column in model.decisions.items()},
        constant=constant,
        budget=shadow,
    )


def shared(worth: Floats, price: float, weight_h: Floats) -> Floats:
    """`worth` by slice, and what it lacks of `price` (or has too much) dealt out by weight, so that the sum is `price`.

    What is left over belongs to rows of the month, which hours have copies of; in equal parts of all that these rows hold together it
    takes nothing from the bound.
    """
    answer: Floats = worth + (price - float(worth.sum())) * weight_h / float(weight_h.sum())
    return answer


def worth_by_hour(model: Model, columns: Iterable[Column], scale: float) -> dict[Column | None, Floats]:
    """Column of the month -> [slices] what the rows of each hour would pay for it: the sum of dual x coefficient, times `scale`."""
    worth: dict[Column | None, Floats] = {column: np.zeros(len(model.problem.demand.slices)) for column in columns}
    for row in model.rows.values() if worth else ():
        if row.dual and row.hour is not None:
            for column, value in row.constraint.items():
                if column in worth:
                    worth[column][row.hour] += row.dual * value * scale
    return worth


def start_prices(problem: ProgramInput, routes: tuple[PoolRoute, ...], duals: dict[Key, float], scale: float) -> dict[int, Floats]:
    """Pool -> [slices] USD on a host: the dual of its start less that of a start in the hour after, which it spares."""
    boot = problem.boot
    if boot is None:
        return {}
    found = {}
    for route in routes:
        if route.boot_usd > 0:
            most = amount_usd(route.boot_usd, boot.times)
            raw = np.array([-duals.get(("start", route.index, t), 0.0) * scale for t in range(len(most))])
            dual = np.clip(raw, 0.0, most)
            usd = dual.copy()
            for t, before in enumerate(boot.previous):
                usd[before] -= dual[t]
            if usd.any():
                found[route.index] = usd
    return found


def account_prices(problem: ProgramInput, duals: dict[Key, float], scale: float) -> tuple[dict[int, float], float, dict[int, float]]:
    """(share on call prices by relay, constant of the bound, price of a tier for the month) of the payment rows.

    A minimum with dual m (0..1) makes calls cheaper by the share m and asks for m x least of the tier bought; a cap with dual k
    makes them dearer by the share k and gives k x cap back.
    """
    calls: dict[int, float] = {}
    tiers: dict[int, float] = {}
    constant = 0.0
    for g, account in enumerate(accounts(problem)):
        top = max(account.least_usd)
        minimum = max(0.0, duals.get(("least_paid", g), 0.0) / top * scale) if account.pays_least else 0.0
        cap = 0.0
        if account.cap_usd is not None:
            cap = max(0.0, -duals.get(("most_paid", g), 0.0)) / max(account.cap_usd, 1e-6) * scale
            constant -= cap * account.cap_usd
        minimum = min(minimum, 1.0 + cap)
        for a, least in zip(account.members, account.least_usd, strict=True):
            calls[a] = cap - minimum
            if account.chooses:
                tiers[a] = minimum * least
            else:
                constant += minimum * least
    return calls, constant, tiers
