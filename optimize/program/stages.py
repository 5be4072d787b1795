"""Ways to solve the program without a budget: at once, by the hour, or base hosts first and hours after."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from optimize.program.answer import Parts, no_parts, read
from optimize.program.build import build
from optimize.program.hours import Effort, Hours, solve_hour, solve_hours
from optimize.program.model import Model, View
from optimize.program.routes import PoolRoute
from optimize.program.solver import Outcome, run
from optimize.records import Floats, ProgramInput

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
class Base:
    """Base hosts by pool, the hours beside them, and cost plus penalty of the whole."""

    counts: dict[int, int]
    hours: Hours
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
    view = View(all_slices(problem), budget_usd=budget_usd)
    model, outcome = served_first(problem, routes, view, penalty, effort)
    parts = no_parts(problem)
    if outcome.found:
        read(model, parts)
    return Found(parts, outcome.bound, "at once")


def by_hour(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort) -> Found:
    """Only elastic offers, no budget: the hours are separate programs and their bounds add up."""
    hours = solve_hours(problem, routes, {}, penalty, effort)
    return Found(hours.parts, math.fsum(hours.bound), "by hour")


def stage_one(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, budget_usd: float | None
) -> tuple[dict[int, int], Model, Outcome]:
    """Base hosts as whole numbers while the hosts of each hour are divisible: a relaxation, so its bound bounds the program."""
    view = View(all_slices(problem), whole=False, budget_usd=budget_usd)
    model, outcome = served_first(problem, routes, view, penalty, effort)
    base = {p: round(v.varValue or 0.0) for p, v in model.base.items()} if outcome.found else {}
    return base, model, outcome


def in_two_stages(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort) -> Found:
    """Base hosts from the relaxation, then each hour beside them.

    If the gap stays, hours that share the base's price give a better bound and say which other bases to try.
    """
    base, _, outcome = stage_one(problem, routes, penalty, effort, None)
    hours, total = beside(problem, routes, base, penalty, effort)
    bound = outcome.bound
    if total - bound <= effort.gap * total:
        return Found(hours.parts, bound, "in two stages")
    shared, wished = shared_prices(problem, routes, penalty, effort)
    bound = max(bound, shared)
    start = Base(base, hours, total)
    best = descend(problem, routes, penalty, effort, start, wished, bound / (1 - effort.gap))
    return Found(best.hours.parts, bound, "in two stages")


def descend(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    penalty: float,
    effort: Effort,
    start: Base,
    wished: dict[int, float],
    enough_usd: float,
) -> Base:
    """The best of `start`, the base that the hours wish for, none, and neighbours: a host more, a host less, one exchanged for another.

    Only pools that some hour wishes for are added. Stops at `enough_usd`, after TRIALS bases, or after PATIENCE in a row that are no
    better; each costs one solution of all hours, without proof: the bound does not come from here.
    """
    quick = replace(effort, prove=False)
    best, seen, vain = start, {held(start.counts)}, 0
    queue = [dict.fromkeys(wished, 0)]
    counts = {p: round(n) for p, n in wished.items()}
    for _ in range(TRIALS):
        while held(counts) in seen:
            if not queue:
                queue = [each for each in neighbours(best.counts, wished) if held(each) not in seen]
            if not queue:
                return best
            counts = queue.pop(0)
        if best.usd <= enough_usd or vain == PATIENCE:
            break
        seen.add(held(counts))
        hours, usd = beside(problem, routes, counts, penalty, quick)
        vain += 1
        if usd < best.usd * (1 - 1e-9):
            best, vain = Base(counts, hours, usd), 0
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
    problem: ProgramInput, routes: tuple[PoolRoute, ...], base: dict[int, int], penalty: float, effort: Effort
) -> tuple[Hours, float]:
    """All hours beside `base`, and cost plus penalty of the whole."""
    hours = solve_hours(problem, routes, base, penalty, effort)
    return hours, math.fsum(hours.objective) + base_usd(problem, routes, base)


def base_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], base: dict[int, int]) -> float:
    """Monthly cost of the base hosts."""
    hours = float(problem.demand.weight_h.sum())
    return math.fsum(base.get(route.index, 0) * route.usd_per_hour * hours for route in routes if not route.elastic)


def shared_prices(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort) -> tuple[float, dict[int, float]]:
    """A lower bound in which elastic hosts are whole, and the base hosts that its hours wish for on average.

    Lagrangian relaxation of "the base is the same in every hour": every hour buys its own base hosts at its share of their monthly
    price. The shares of a pool sum to its price, so the bound holds for any shares; those used are what a host is worth in each hour
    to the linear relaxation (duals of the capacity rows).
    """
    shares = price_shares(problem, routes, penalty)
    parts, total = no_parts(problem), []
    for t in all_slices(problem):
        view = View((t,), base_usd={p: float(usd[t]) for p, usd in shares.items()}, penalty_usd=penalty)
        _, bound, _ = solve_hour(problem, routes, view, penalty, effort, parts)
        total.append(bound)
    weight_h = problem.demand.weight_h
    wished = {p: float(parts.hosts[p] @ weight_h / weight_h.sum()) for p in shares}
    return math.fsum(total), wished


def price_shares(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float) -> dict[int, Floats]:
    """Pool -> [slices] USD of its monthly price that each hour carries."""
    view = View(all_slices(problem), whole=False, penalty_usd=penalty)
    model = build(problem, view, routes)
    run(model, 0.0, 0, relax=True)
    rows = model.prob._constraints
    weight_h = problem.demand.weight_h
    shares = {}
    for route in routes:
        if route.elastic:
            continue
        price = route.usd_per_hour * float(weight_h.sum())
        names = [f"capacity_{route.index}_{t}" for t in all_slices(problem)]
        worth = np.array([max(0.0, -float(rows[name].pi)) * route.per_host if name in rows else 0.0 for name in names])
        if worth.sum() > price:
            worth *= price / worth.sum()
        shares[route.index] = worth + (price - worth.sum()) * weight_h / weight_h.sum()
    return shares
