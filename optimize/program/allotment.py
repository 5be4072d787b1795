"""A budget that binds: each hour gets an allotment of it, found by a price on unserved demand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.money import HOUR_S, calls_usd
from optimize.program.answer import Parts, no_parts, unserved_requests
from optimize.program.build import build
from optimize.program.hours import Effort, solve_hour, solve_hours
from optimize.program.model import View
from optimize.program.routes import PoolRoute, relay_classes
from optimize.program.solver import run
from optimize.program.stages import Found, all_slices, base_usd, stage_one
from optimize.records import Floats, ProgramInput

STEPS = 6
LEAST = 1e-2  # of the cheapest cost per request: at such a penalty nothing is worth serving


def within_budget(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, budget_usd: float) -> Found:
    """The least cost plus penalty found inside the budget.

    Base hosts come from stage one under the budget. Then a smaller penalty for unserved demand, the same in every hour, makes the hours
    spend less; the largest one that keeps the budget (by bisection) gives a feasible answer; what is left goes, hour by hour, to
    those that lack most. Bounds (Lagrangian): for each smaller penalty w and the bound b at it (of the hours; with base hosts, of
    stage one) cost + penalty x lack >= (penalty / w) b - (penalty / w - 1) budget, and cost >= b - w lack for all that lack no more.
    """
    base, _, outcome = stage_one(problem, routes, penalty, effort, budget_usd)
    left = budget_usd - base_usd(problem, routes, base)
    parts, rich = no_parts(problem), None
    for route in routes:
        if not route.elastic:
            parts.hosts[route.index] = base.get(route.index, 0)
    low, high = LEAST * cheapest_usd(problem, routes, penalty), penalty
    lines: list[tuple[float, float]] = []
    quick = replace(effort, prove=False)
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        hours = solve_hours(problem, routes, base, middle, quick, served_first=False)
        if hour_usd(problem, routes, hours.parts).sum() <= left:
            low, parts = middle, hours.parts
        else:
            high, rich = middle, hours.parts
        lines.append((middle, math.fsum(hours.bound)))
    if rich is not None:
        _swap_hours(problem, routes, parts, rich, left)
    _spend_rest(problem, routes, base, parts, left, penalty, effort)
    lack = unserved_requests(problem, parts)
    if any(not route.elastic for route in routes):
        weak = View(all_slices(problem), whole=False, penalty_usd=low)
        relaxed = run(build(problem, weak, routes), effort.gap, effort.node_limit, effort.solver)
        return Found(parts, outcome.bound, "by allotments", relaxed.bound - low * lack)
    bound = max([outcome.bound, *(penalty / weak * usd - (penalty / weak - 1.0) * left for weak, usd in lines)])
    return Found(parts, bound, "by allotments", max(usd - weak * lack for weak, usd in lines))


def cheapest_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float) -> float:
    """USD per request of the cheapest route at full use."""
    usd = [penalty]
    for route in routes:
        for level, classes in zip(route.terms.levels, route.served, strict=True):
            usd += [route.usd_per_hour * float(level.load[c]) / (route.per_host * HOUR_S) for c in classes]
    for a, terms in enumerate(problem.relays):
        usd += [float(terms.usd_per_request[c]) for c in relay_classes(problem, a)]
    return max(min(usd), 1e-9 * penalty)


def hour_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts) -> Floats:
    """[slices] money a month that each hour spends beside the base."""
    weight_h, demand = problem.demand.weight_h, problem.demand.mean_rps
    usd = np.zeros(len(weight_h))
    for route in routes:
        if route.elastic:
            usd += parts.hosts[route.index] * weight_h * route.usd_per_hour
    for a, terms in enumerate(problem.relays):
        for t in all_slices(problem):
            usd[t] += calls_usd((parts.calls[a] * demand)[:, [t]], terms.usd_per_request, weight_h[[t]])
    return usd


def hour_lack(problem: ProgramInput, parts: Parts) -> Floats:
    """[slices] requests a month that go nowhere."""
    lack: Floats = (parts.unserved * problem.demand.mean_rps).sum(axis=0) * problem.demand.weight_h
    return lack


def _swap_hours(problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts, richer: Parts, left: float) -> None:
    """Takes hours from `richer` while money lasts, those first that serve most requests per dollar more."""
    more = hour_usd(problem, routes, richer) - hour_usd(problem, routes, parts)
    gain = hour_lack(problem, parts) - hour_lack(problem, richer)
    spare = left - hour_usd(problem, routes, parts).sum()
    order = np.argsort(-gain / np.maximum(more, 1e-9), kind="stable")
    for t in order:
        if gain[t] > 0 and more[t] <= spare:
            copy_hour(parts, richer, int(t))
            spare -= more[t]


def copy_hour(parts: Parts, source: Parts, t: int) -> None:
    """Copies one hour of `source`."""
    for mine, theirs in (
        (parts.hosts, source.hosts),
        (parts.flow, source.flow),
        (parts.calls, source.calls),
        (parts.unserved, source.unserved),
    ):
        mine[..., t] = theirs[..., t]


def _spend_rest(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    base: dict[int, int],
    parts: Parts,
    left: float,
    penalty: float,
    effort: Effort,
) -> None:
    """Hour by hour, those that lack most first: solve again with what the hour spends and all that is left as its allotment."""
    fixed = {route.index: (base.get(route.index, 0),) * 2 for route in routes if not route.elastic}
    free = dict.fromkeys(fixed, 0.0)
    lack = hour_lack(problem, parts)
    for t in sorted(np.flatnonzero(lack > 0), key=lambda t: (-lack[t], t)):
        usd = hour_usd(problem, routes, parts)
        allotment = left - (usd.sum() - usd[t])
        view = View((int(t),), base=fixed, base_usd=free, budget_usd=max(0.0, allotment) * (1 - 1e-9))
        trial = parts.copy()
        _, _, found = solve_hour(problem, routes, view, penalty, effort, trial)
        if found and hour_lack(problem, trial)[t] < lack[t] and hour_usd(problem, routes, trial).sum() <= left:
            copy_hour(parts, trial, int(t))
