"""The program hour by hour: with the base hosts fixed, no row joins two hours, so each is a small problem of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pulp

from optimize.program.answer import Parts, read
from optimize.program.by_stages.known_hours import KnownHours
from optimize.program.by_stages.month import Month, MonthPrices
from optimize.program.by_stages.pool_pricing import Prices, price_pools
from optimize.program.routes import PoolRoute
from optimize.program.rows.build import build
from optimize.program.rows.joining import touched
from optimize.program.rows.model import Model, View
from optimize.program.solver import Outcome, run
from optimize.records import ProgramInput

NEAR = 0.03  # of the relaxation's cost: pools whose first host adds more are tried only if the gap asks for it
MANY_NODES = 20_000  # as many as a solver call may take at all
DIRECT = 14  # pools up to which an hour is solved with all of them: pricing them costs more than it spares
FEWEST = 8  # pools tried in any case: where few hosts run, or base hosts carry nearly all, one host is much of the cost of an hour


@dataclass(frozen=True)
class Effort:
    """How hard to try: relative gap and nodes per solver call, and whether a bound is worth a second call."""

    gap: float
    node_limit: int
    prove: bool = True


@dataclass(frozen=True)
class Hours:
    """All hours solved.

    parts      values, base hosts included
    objective, bound  [slices] in the view's objective
    """

    parts: Parts
    objective: tuple[float, ...]
    bound: tuple[float, ...]


def solve_hours(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    month: Month,
    prices: MonthPrices,
    penalty: float,
    effort: Effort,
    served_first: bool = True,
    memory: KnownHours | None = None,
) -> Hours:
    """The cheapest hours given the decisions of `month`. With `served_first`, demand is left unserved only in hours that cannot serve all.

    Hours with the same demand and prices are solved once, and those that `memory` has not at all. What is paid by the month costs
    nothing here.
    """
    parts = month.parts(problem)
    known: dict[bytes, tuple[int, float, float]] = {}
    objective, bound = np.zeros(len(problem.demand.slices)), np.zeros(len(problem.demand.slices))
    weight_h = problem.demand.weight_h
    for t, previous in in_order(problem, routes):
        weight = float(weight_h[t])
        before = None if previous is None else running(parts, routes, previous)
        view = month.view(routes, prices, t, None if served_first else penalty, before)
        key = problem.demand.mean_rps[:, t].tobytes() + price_key(problem, t) + hour_key(view)
        if key not in known:
            recalled = memory.recalled(problem, t, effort.gap, parts) if memory is not None else None
            if recalled is None:
                value, low, _ = solve_hour(problem, routes, view, penalty, effort, parts)
                recalled = value / weight, low / weight
            if memory is not None:
                memory.learn(problem, t, effort.gap, parts, *recalled)
            known[key] = (t, *recalled)
        twin, value, low = known[key]
        for array in parts.hourly():
            array[..., t] = array[..., twin]
        objective[t], bound[t] = value * weight, low * weight
    return Hours(parts, tuple(map(float, objective)), tuple(map(float, bound)))


def in_order(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> list[tuple[int, int | None]]:
    """Slices with the one before each, where hosts start: around the ring from its quietest hour, which starts from nothing known."""
    slices = range(len(problem.demand.slices))
    if problem.boot is None or not any(route.boot_usd > 0 for route in routes):
        return [(t, None) for t in slices]
    volume, after = problem.demand.mean_rps.sum(axis=0), {before: t for t, before in enumerate(problem.boot.previous)}
    order: list[tuple[int, int | None]] = []
    left = set(slices)
    while left:
        t, before = min(left, key=lambda t: (volume[t], t)), None
        while t in left:
            order.append((t, before))
            left.discard(t)
            t, before = after.get(t, t), t
    return order


def running(parts: Parts, routes: tuple[PoolRoute, ...], t: int) -> dict[int, int]:
    """Pool -> hosts in slice `t`, elastic pools that have any."""
    return {route.index: int(parts.hosts[route.index, t]) for route in routes if route.elastic and parts.hosts[route.index, t]}


def price_key(problem: ProgramInput, t: int) -> bytes:
    """The prices of calls in hour `t` next to those of other hours, as bytes; empty where relays cost the same all day."""
    return b"".join(terms.hour_factors[:, t].tobytes() for terms in problem.relays if terms.hour_factors is not None)


def hour_key(view: View) -> bytes:
    """What an hour is told besides its demand, as bytes: hours with the same key have the same answer, if their weights agree too."""
    if view.before is None and not view.allotment:
        return b""
    return repr((view.slices, view.before, view.allotment)).encode()


def solve_hour(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], view: View, penalty: float, effort: Effort, parts: Parts
) -> tuple[float, float, bool]:
    """(objective, bound, found) of one hour; its values go to `parts`. Where the view names no penalty, first with
    all demand served."""
    attempts = [None, penalty] if view.penalty_usd is None else [view.penalty_usd]
    for allowed in attempts:
        objective, bound, found = priced_hour(problem, routes, replace(view, penalty_usd=allowed), effort, parts)
        if found or (bound < math.inf and allowed is not None):
            return objective, bound, found
    return math.inf, -math.inf, False


def priced_hour(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], view: View, effort: Effort, parts: Parts
) -> tuple[float, float, bool]:
    """The hour solved with the pools that the relaxation prices near its optimum; with more of them until the bound is inside the gap.

    Few pools go to the solver all at once.
    """
    if sum(route.elastic for route in routes) <= DIRECT or "pools" in touched(problem):
        model = build(problem, view, routes)
        outcome = tried(model, effort)
        if outcome.found:
            read(model, parts)
        return outcome.objective, outcome.bound, outcome.found
    prices = price_pools(problem, routes, view)
    if not prices.feasible:
        return math.inf, prices.bound, False
    near = {p for p, usd in prices.extra.items() if usd <= NEAR * abs(prices.bound)}
    near |= set(sorted(prices.extra, key=lambda p: (prices.extra[p], p))[:FEWEST])
    kept = tuple(route for route in routes if route.index in near or route.index not in prices.extra)
    model = build(problem, view, kept)
    outcome = tried(model, effort)
    if outcome.found:
        read(model, parts)
    beyond = min((usd for p, usd in prices.extra.items() if p not in near), default=math.inf)
    bound = min(outcome.bound, prices.bound + beyond)
    if outcome.found and (not effort.prove or bound >= outcome.objective * (1 - effort.gap)):
        return outcome.objective, bound, True
    return others_tried(problem, routes, view, effort, parts, prices, near, outcome)


def tried(model: Model, effort: Effort) -> Outcome:
    """What the solver finds; with MANY_NODES where fewer found nothing, which says nothing of whether all can be served."""
    outcome = run(model, effort.gap, effort.node_limit)
    if not outcome.found and math.isfinite(outcome.bound) and effort.node_limit < MANY_NODES:
        return run(model, effort.gap, MANY_NODES)
    return outcome


def others_tried(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    view: View,
    effort: Effort,
    parts: Parts,
    prices: Prices,
    near: set[int],
    before: Outcome,
) -> tuple[float, float, bool]:
    """Like `priced_hour`, after `before` found what the pools in `near` can do: asks whether one of the others can beat that.

    The question is a program with "one of the others runs" as a row and the known cost as cutoff: mostly a quick no. Pools that add
    more than the distance between `before` and the relaxation stay out of it.
    """
    reach = before.objective - prices.bound if before.found else math.inf
    others = {p for p, usd in prices.extra.items() if p not in near and usd <= reach}
    left_out = min((usd for p, usd in prices.extra.items() if p not in near | others), default=math.inf)
    bound = min(before.bound, prices.bound + left_out)
    if not others:
        return before.objective, bound, before.found
    kept = tuple(route for route in routes if route.index in near | others or route.index not in prices.extra)
    model = build(problem, view, kept)
    one = [(variable, 1.0) for (p, _), variable in model.hosts.items() if p in others]
    model.add("one_of_the_others", one, pulp.LpConstraintGE, 1.0, hour=view.slices[0])
    cutoff = before.objective * (1 - effort.gap) if before.found else None
    outcome = run(model, effort.gap, effort.node_limit, cutoff=cutoff)
    if outcome.found and outcome.objective < before.objective:
        read(model, parts)
    found = before.found or outcome.found
    return min(before.objective, outcome.objective), min(bound, outcome.bound), found
