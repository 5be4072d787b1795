"""A budget that binds: each hour gets an allotment of it, found by the linear relaxation; its shadow price gives the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from optimize.money import HOUR_S
from optimize.money.contracts import slice_usd
from optimize.program.answer import Parts, spent_usd, unserved_requests
from optimize.program.hours import Effort, in_order, running, solve_hour, solve_hours
from optimize.program.month import Month, MonthPrices
from optimize.program.routes import PoolRoute
from optimize.program.shares import prices_of
from optimize.program.stages import Found, all_slices, beside, shared_bound, stage_one
from optimize.records import Floats, ProgramInput

KEEN = 1.5  # penalty of an hour inside its allotment, relative to what a request more costs everywhere
ROUNDS = 4
STEPS = 14
ROUGH = 0.01  # gap of stage one where only its decisions count: the bound comes from elsewhere
LESS = 0.85  # penalty of a step over that of the step before
SMALL_CHANGE = 1e-5  # of the budget: not worth another hour's solution
FINE = 1e-9  # of the budget: kept free, so that rounding does not overspend


def within_budget(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, budget_usd: float) -> Found:
    """The least cost plus penalty found inside the budget.

    What hours share comes from stage one under the budget, at little more than the shadow price of a request. Two ways to divide the
    rest, of which the better counts: the relaxation's spending by hour as allotments; or a smaller penalty for unserved demand, the
    same in every hour, with which the hours spend less.
    Bounds (Lagrangian): at the shadow price s of the budget, a lack of one request is worth w = penalty / (1 + s); with a bound b on
    cost + w lack, cost + penalty lack >= (1 + s) b - s budget, and cost >= b - w lack for all that lack no more.
    """
    prices = prices_of(problem, routes, penalty, budget_usd)
    weak = penalty / (1.0 + prices.budget)
    if prices.budget <= 0:
        month, outcome = stage_one(problem, routes, penalty, effort, budget_usd)
        free = beside(problem, routes, month, prices, penalty, effort)
        if spent_usd(problem, routes, free.parts) <= budget_usd:
            return Found(free.parts, outcome.bound, "in two stages")
    else:
        rough = replace(effort, gap=max(effort.gap, ROUGH))
        month, _ = stage_one(problem, routes, KEEN * weak, rough, budget_usd, all_served=False)
    task = Task(problem, routes, month, prices, replace(effort, prove=False), budget_usd)
    found = [parts for parts in (by_allotments(task, KEEN * weak), by_penalty(task, weak)) if parts is not None]
    parts = min(found, key=lambda each: unserved_requests(problem, each)) if found else month.parts(problem)
    lack = unserved_requests(problem, parts)
    lower = stage_one(problem, routes, weak, effort, None, all_served=False)[1].bound
    if spent_usd(problem, routes, parts) - (lower - weak * lack) > effort.gap * budget_usd:
        lower = max(lower, shared_bound(problem, routes, prices, weak, effort)[0])
    bound = (1 + prices.budget) * lower - prices.budget * budget_usd
    return Found(parts, bound, "by allotments", lower - weak * lack)


@dataclass(frozen=True)
class Task:
    """Hours to be filled beside the decisions of a month, inside a budget."""

    problem: ProgramInput
    routes: tuple[PoolRoute, ...]
    month: Month
    prices: MonthPrices
    effort: Effort
    budget_usd: float

    def spent_usd(self, parts: Parts) -> float:
        return spent_usd(self.problem, self.routes, parts)

    @property
    def limit_usd(self) -> float:
        return self.budget_usd * (1 - FINE)


def by_allotments(task: Task, penalty: float) -> Parts | None:
    """Hours inside allotments that sum to what the month leaves of the budget; smaller ones where starts or minimum payments overspend."""
    left = task.limit_usd - task.spent_usd(task.month.parts(task.problem))
    share = 1.0
    for _ in range(ROUNDS):
        parts = one_pass(task, penalty, share * max(0.0, left))
        spent = task.spent_usd(parts)
        if spent <= task.budget_usd:
            return fill(task, penalty, parts)
        share *= (task.budget_usd / spent) ** 2
    return None


def by_penalty(task: Task, weak: float) -> Parts | None:
    """Hours at the largest of falling penalties that keeps the budget; then, while money lasts, hours as they are at the one before."""
    rich = None
    for step in range(-1, STEPS):
        penalty = weak * LESS**step
        parts = solve_hours(task.problem, task.routes, task.month, task.prices, penalty, task.effort, served_first=False).parts
        if task.spent_usd(parts) <= task.limit_usd:
            return fill(task, KEEN * weak, parts if rich is None else swapped(task, parts, rich))
        rich = parts
    return None


def swapped(task: Task, parts: Parts, richer: Parts) -> Parts:
    """`parts` with hours of `richer`, those first that serve most requests per dollar more, while the budget holds."""
    slices = all_slices(task.problem)
    more = np.array([hour_usd(task.problem, task.routes, richer, t) - hour_usd(task.problem, task.routes, parts, t) for t in slices])
    gain = hour_lack(task.problem, parts) - hour_lack(task.problem, richer)
    for t in np.argsort(-gain / np.maximum(more, 1e-9), kind="stable"):
        if gain[t] > 0:
            trial = parts.copy()
            for mine, theirs in zip(trial.hourly(), richer.hourly(), strict=True):
                mine[..., t] = theirs[..., t]
            if task.spent_usd(trial) <= task.limit_usd:
                parts = trial
    return parts


def one_pass(task: Task, penalty: float, left: float) -> Parts:
    """Hour by hour inside its part of `left`, in proportion to the relaxation's spending; what an hour leaves goes to the next."""
    problem, month = task.problem, task.month
    parts, total = month.parts(problem), float(month.spent_usd.sum())
    volume = problem.demand.mean_rps.sum(axis=0) * problem.demand.weight_h
    parted = month.spent_usd * (left / total) if total > 0 else volume * (left / max(volume.sum(), 1e-9))
    carry = 0.0
    order = in_order(problem, task.routes)
    for t, previous in order if problem.boot is not None else sorted(order, key=lambda each: (parted[each[0]], each[0])):
        before = None if previous is None else running(parts, task.routes, previous)
        view = month.view(task.routes, task.prices, t, penalty, before)
        view = replace(view, budget_usd=max(0.0, float(parted[t]) + carry))
        solve_hour(problem, task.routes, view, penalty, task.effort, parts)
        carry += float(parted[t]) - hour_usd(problem, task.routes, parts, t)
    return parts


def fill(task: Task, penalty: float, parts: Parts) -> Parts:
    """Hours that lack, those that lack most first: solved again with what they spend and all that is left."""
    problem, routes = task.problem, task.routes
    lack = hour_lack(problem, parts)
    for t in sorted((int(t) for t in np.flatnonzero(lack > 0)), key=lambda t: (-lack[t], t)):
        left = task.limit_usd - task.spent_usd(parts)
        if left <= SMALL_CHANGE * task.budget_usd:
            break
        view = replace(task.month.view(routes, task.prices, t, penalty), budget_usd=hour_usd(problem, routes, parts, t) + left)
        trial = parts.copy()
        _, _, found = solve_hour(problem, routes, view, penalty, task.effort, trial)
        if found and hour_lack(problem, trial)[t] < lack[t] and task.spent_usd(trial) <= task.budget_usd:
            parts = trial
    return parts


def hour_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts, t: int) -> float:
    """What hour `t` spends on elastic hosts and calls."""
    weight_h = float(problem.demand.weight_h[t])
    usd = math.fsum(float(parts.hosts[route.index, t]) * weight_h * route.usd_per_hour for route in routes if route.elastic)
    calls = parts.calls[:, :, t] * problem.demand.mean_rps[:, t]
    price = np.array([np.where(flow > 0, slice_usd(terms, t), 0.0) for flow, terms in zip(calls, problem.relays, strict=True)])
    return usd + float((calls * price).sum()) * HOUR_S * weight_h if len(calls) else usd


def hour_lack(problem: ProgramInput, parts: Parts) -> Floats:
    """[slices] requests a month that go nowhere."""
    lack: Floats = (parts.unserved * problem.demand.mean_rps).sum(axis=0) * problem.demand.weight_h
    return lack
