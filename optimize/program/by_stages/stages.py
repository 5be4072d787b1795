"""Ways to solve the program without a budget: at once, by the hour, or base hosts first and hours after."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from optimize.program.answer import Parts, no_parts, read, spent_usd, unserved_requests
from optimize.program.by_stages.base_hosts import Tried, beside, descend
from optimize.program.by_stages.hour_prices import prices_of
from optimize.program.by_stages.hour_programs import Effort, solve_hour, solve_hours
from optimize.program.by_stages.known_hours import KnownHours
from optimize.program.by_stages.month import Month, MonthPrices, month_of
from optimize.program.by_stages.recombine import beside_month, cheapest, menu_of
from optimize.program.routes import PoolRoute
from optimize.program.rows.accounts import accounts
from optimize.program.rows.build import build
from optimize.program.rows.model import Model, View
from optimize.program.solver import Outcome, run
from optimize.records import ProgramInput
from sim.exact import dot


@dataclass(frozen=True)
class Found:
    """A solution and a proven lower bound on cost plus penalty (fixed costs apart); `way` says how it was found.

    cost_bound   lower bound on the cost of all that leave no more unserved than this solution, where one is known
    """

    parts: Parts
    bound: float
    way: str
    cost_bound: float = 0.0


def all_slices(problem: ProgramInput) -> tuple[int, ...]:
    """Every hour of the program."""
    return tuple(range(len(problem.demand.slices)))


def served_first(problem: ProgramInput, routes: tuple[PoolRoute, ...], view: View, penalty: float, effort: Effort) -> tuple[Model, Outcome]:
    """The view solved with all demand served; where that is impossible, at a penalty for what is not."""
    for allowed in (None, penalty):
        model = build(problem, replace(view, penalty_usd=allowed), routes)
        outcome = run(model, effort.gap, effort.node_limit)
        if outcome.found:
            break
    return model, outcome


def at_once(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, budget_usd: float | None) -> Found:
    """The whole program in one solver call."""
    view = View(all_slices(problem), budget_usd=budget_usd, month=True)
    model, outcome = served_first(problem, routes, view, penalty, effort)
    parts = no_parts(problem)
    if outcome.found:
        read(model, parts)
    return Found(parts, outcome.bound, "at once")


def by_hour(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, memory: KnownHours | None = None
) -> Found:
    """No row joins hours and no budget: they are separate programs and their bounds add up."""
    hours = solve_hours(problem, routes, Month({}), MonthPrices(), penalty, effort, memory=memory)
    return Found(hours.parts, math.fsum(hours.bound), "by hour")


def stage_one(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    penalty: float,
    effort: Effort,
    budget_usd: float | None,
    all_served: bool = True,
) -> tuple[Month, Outcome]:
    """What hours share, as whole numbers, while the hosts of each hour are divisible: a relaxation, so its bound bounds the program.

    `all_served` False: it is not asked first whether all can be served, which under a budget is a dear question with a known answer.
    """
    view = View(all_slices(problem), whole=False, budget_usd=budget_usd, month=True)
    if all_served:
        model, outcome = served_first(problem, routes, view, penalty, effort)
    else:
        model = build(problem, replace(view, penalty_usd=penalty), routes)
        outcome = run(model, effort.gap, effort.node_limit)
    return (month_of(model) if outcome.found else Month({})), outcome


def start_of(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, month: Month
) -> tuple[MonthPrices | None, Tried]:
    """Each hour given the decisions of stage one, and the prices of the month where hours are blind without them."""
    prices = prices_of(problem, routes, penalty) if payments_bind(problem, month) else None
    return prices, beside(problem, routes, month, prices or MonthPrices(), penalty, effort)


def in_two_stages(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    penalty: float,
    effort: Effort,
    first: Outcome,
    prices: MonthPrices | None,
    start: Tried,
) -> Found:
    """What hours share from the relaxation (outcome `first`), then each hour given those (`start`).

    If the gap stays, hours that share the prices of the month give a better bound and say which other bases to try; what they do
    themselves takes part in the last choice between solutions of each hour.
    """
    if start.usd - first.bound <= effort.gap * start.usd:
        return Found(start.parts, first.bound, "in two stages")
    prices = prices_of(problem, routes, penalty) if prices is None else prices
    shared = shared_bound(problem, routes, prices, penalty, effort)
    bound = max(first.bound, shared.usd)
    best = descend(problem, routes, prices, penalty, effort, start, shared.wished, bound / (1 - effort.gap))
    best = put_together(problem, routes, penalty, best, [start.parts, shared.parts])
    return Found(best.parts, bound, "in two stages")


def put_together(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, best: Tried, others: list[Parts]) -> Tried:
    """The best choice, hour by hour, between `best` and those hours of `others` that fit its month."""
    found = [best.parts, *(beside_month(problem, routes, best.month, best.parts, parts) for parts in others)]
    menu = menu_of(problem, routes, found)
    parts = menu.parts(cheapest(menu, penalty))
    usd = spent_usd(problem, routes, parts) + penalty * unserved_requests(problem, parts)
    return Tried(best.month, parts, usd) if usd < best.usd else best


def payments_bind(problem: ProgramInput, month: Month) -> bool:
    """Whether an hour given `month` does not see what a call costs: accounts that pay a minimum or have a cap."""
    return any(
        account.cap_usd is not None
        or any(usd > 0 for a, usd in zip(account.members, account.least_usd, strict=True) if a not in month.unbought)
        for account in accounts(problem)
    )


@dataclass(frozen=True)
class Shared:
    """A lower bound on cost plus penalty, the hours behind it, and the base hosts that they wish for on average."""

    usd: float
    parts: Parts
    wished: dict[int, float]


def shared_bound(problem: ProgramInput, routes: tuple[PoolRoute, ...], prices: MonthPrices, penalty: float, effort: Effort) -> Shared:
    """A lower bound in which elastic hosts are whole.

    Lagrangian relaxation of the rows that join hours: every hour buys its own base hosts, units and tiers at its share of their
    monthly price, and pays `prices` in place of the rows of starts and payments. The bound holds for any such prices.
    """
    parts, total = no_parts(problem), [prices.constant]
    for t in all_slices(problem):
        _, bound, _ = solve_hour(problem, routes, prices.view(t, penalty), penalty, effort, parts)
        total.append(bound)
    weight_h = problem.demand.weight_h
    wished = {p: float(dot(parts.hosts[p], weight_h) / weight_h.sum()) for p in prices.base_usd}
    return Shared(math.fsum(total), parts, wished)
