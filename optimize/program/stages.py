"""Ways to solve the program without a budget: at once, by the hour, or base hosts first and hours after."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from optimize.program.answer import Parts, no_parts, read, spent_usd, unserved_requests
from optimize.program.build import build
from optimize.program.hours import Effort, solve_hour, solve_hours
from optimize.program.model import Model, View
from optimize.program.month import Month, MonthPrices, month_of
from optimize.program.routes import PoolRoute
from optimize.program.shares import prices_of
from optimize.program.solver import Outcome, run
from optimize.records import ProgramInput

TRIALS = 12  # bases tried where the gap stays
PATIENCE = 5  # of these in a row without a better one


@dataclass(frozen=True)
class Found:
    """A solution and a proven lower bound on cost plus penalty (fixed costs apart); `way` says how it was found.

    cost_bound   lower bound on the cost of all that leave no more unserved than this solution, where one is known
    """

    parts: Parts
    bound: float
    way: str
    cost_bound: float = 0.0


@dataclass(frozen=True)
class Tried:
    """Decisions of a month, the hours beside them, and cost plus penalty of the whole."""

    month: Month
    parts: Parts
    usd: float


def all_slices(problem: ProgramInput) -> tuple[int, ...]:
    """Every hour of the program."""
    return tuple(range(len(problem.demand.slices)))


def served_first(problem: ProgramInput, routes: tuple[PoolRoute, ...], view: View, penalty: float, effort: Effort) -> tuple[Model, Outcome]:
    """The view solved with all demand served; where that is impossible, at a penalty for what is not."""
    for allowed in (None, penalty):
        model = build(problem, replace(view, penalty_usd=allowed), routes)
        outcome = run(model, effort.gap, effort.node_limit, effort.solver)
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


def by_hour(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort) -> Found:
    """No row joins hours and no budget: they are separate programs and their bounds add up."""
    hours = solve_hours(problem, routes, Month({}), MonthPrices(), penalty, effort)
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

    `all_served` False: nobody asks first whether all can be served, which under a budget is a dear question with a known answer.
    """
    view = View(all_slices(problem), whole=False, budget_usd=budget_usd, month=True)
    if all_served:
        model, outcome = served_first(problem, routes, view, penalty, effort)
    else:
        model = build(problem, replace(view, penalty_usd=penalty), routes)
        outcome = run(model, effort.gap, effort.node_limit, effort.solver)
    return (month_of(model) if outcome.found else Month({})), outcome


def in_two_stages(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, first: tuple[Month, Outcome]
) -> Found:
    """What hours share from the relaxation (`first`), then each hour beside it.

    If the gap stays, hours that share the prices of the month give a better bound and say which other bases to try.
    """
    month, outcome = first
    priced = hours_need_prices(problem, routes)
    prices = prices_of(problem, routes, penalty) if priced else MonthPrices()
    start = beside(problem, routes, month, prices, penalty, effort)
    if start.usd - outcome.bound <= effort.gap * start.usd:
        return Found(start.parts, outcome.bound, "in two stages")
    prices = prices if priced else prices_of(problem, routes, penalty)
    lower, wished = shared_bound(problem, routes, prices, penalty, effort)
    bound = max(outcome.bound, lower)
    best = descend(problem, routes, prices, penalty, effort, start, wished, bound / (1 - effort.gap))
    return Found(best.parts, bound, "in two stages")


def hours_need_prices(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> bool:
    """Whether hours are blind without prices: starts and payments reach them in no other way."""
    paid = any(terms.tiers or terms.committed_usd > 0 or terms.spend_cap_usd is not None for terms in problem.relays)
    return paid or any(route.boot_usd > 0 for route in routes)


def descend(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    prices: MonthPrices,
    penalty: float,
    effort: Effort,
    start: Tried,
    wished: dict[int, float],
    enough_usd: float,
) -> Tried:
    """The best of `start`, the base that the hours wish for, none, and neighbours: a host more, a host less, one exchanged for another.

    Only pools that some hour wishes for are added. Stops at `enough_usd`, after TRIALS bases, or after PATIENCE in a row that are no
    better; each costs one solution of all hours, without proof: the bound does not come from here.
    """
    quick = replace(effort, prove=False)
    best, seen, vain = start, {held(start.month.base)}, 0
    queue = [dict.fromkeys(wished, 0)]
    counts = {p: round(n) for p, n in wished.items()}
    for _ in range(TRIALS):
        while held(counts) in seen:
            if not queue:
                queue = [each for each in neighbours(best.month.base, wished) if held(each) not in seen]
            if not queue:
                return best
            counts = queue.pop(0)
        if best.usd <= enough_usd or vain == PATIENCE:
            break
        seen.add(held(counts))
        tried = beside(problem, routes, replace(start.month, base=counts), prices, penalty, quick)
        vain += 1
        if tried.usd < best.usd * (1 - 1e-9):
            best, vain = tried, 0
            queue = queue if len(seen) == 2 else []  # none at all is tried in any case; after that, neighbours of the better base
    return best


def held(counts: dict[int, int]) -> frozenset[tuple[int, int]]:
    """The pools that have hosts, with their number."""
    return frozenset((p, n) for p, n in counts.items() if n > 0)


def neighbours(counts: dict[int, int], wished: dict[int, float]) -> list[dict[int, int]]:
    """Bases one step away, steps towards the wish first."""
    order = sorted(wished, key=lambda p: (-wished[p], p))
    bought = [p for p in order if counts.get(p, 0) > 0]
    wanted = [p for p in order if wished[p] > 0]
    steps = [{p: 1} for p in wanted] + [{p: -1} for p in bought] + [{p: -1, q: 1} for p in bought for q in wanted if p != q]
    steps.sort(key=lambda step: sum(abs(counts.get(p, 0) + n - wished[p]) - abs(counts.get(p, 0) - wished[p]) for p, n in step.items()))
    return [{p: counts.get(p, 0) + step.get(p, 0) for p in wished} for step in steps]


def beside(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], month: Month, prices: MonthPrices, penalty: float, effort: Effort
) -> Tried:
    """All hours beside the decisions of `month`, and cost plus penalty of the whole."""
    parts = solve_hours(problem, routes, month, prices, penalty, effort).parts
    usd = spent_usd(problem, routes, parts) + penalty * unserved_requests(problem, parts)
    return Tried(month, parts, usd)


def shared_bound(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], prices: MonthPrices, penalty: float, effort: Effort
) -> tuple[float, dict[int, float]]:
    """A lower bound in which elastic hosts are whole, and the base hosts that its hours wish for on average.

    Lagrangian relaxation of the rows that join hours: every hour buys its own base hosts, units and tiers at its share of their
    monthly price, and pays `prices` in place of the rows of starts and payments. The bound holds for any such prices.
    """
    parts, total = no_parts(problem), [prices.constant]
    for t in all_slices(problem):
        _, bound, _ = solve_hour(problem, routes, prices.view(t, penalty), penalty, effort, parts)
        total.append(bound)
    weight_h = problem.demand.weight_h
    wished = {p: float(parts.hosts[p] @ weight_h / weight_h.sum()) for p in prices.base_usd}
    return math.fsum(total), wished
