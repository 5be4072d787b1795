"""Hours inside a budget: each gets an allotment of it, in proportion to what the linear relaxation spends there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optimize.program.answer import Parts, spent_usd
from optimize.program.by_stages.hour_programs import Effort, in_order, running, solve_hour
from optimize.program.by_stages.month import Month, MonthPrices
from optimize.program.by_stages.recombine import hours_lack, hours_usd, menu_of
from optimize.program.routes import PoolRoute
from optimize.records import ProgramInput

ROUNDS = 4
FILLS = 12  # hours that are solved again for what is left of the budget
SMALL_CHANGE = 1e-5  # of the budget: not worth another hour's solution
FINE = 1e-9  # of the budget: kept free, so that rounding does not overspend


@dataclass(frozen=True)
class Task:
    """Hours to be filled given the decisions of a month, inside a budget."""

    problem: ProgramInput
    routes: tuple[PoolRoute, ...]
    month: Month
    prices: MonthPrices
    effort: Effort
    budget_usd: float

    def spent_usd(self, parts: Parts) -> float:
        return spent_usd(self.problem, self.routes, parts)

    @property
    def month_usd(self) -> float:
        """What the decisions of the month cost before any hour spends."""
        return spent_usd(self.problem, self.routes, self.month.parts(self.problem), idle=True)

    @property
    def limit_usd(self) -> float:
        return self.budget_usd * (1 - FINE)


def by_allotments(task: Task, penalty: float) -> Parts | None:
    """Hours inside allotments that sum to what the month leaves of the budget; smaller ones where starts or minimum payments overspend."""
    left = task.limit_usd - task.month_usd
    share = 1.0
    for _ in range(ROUNDS):
        parts = one_pass(task, penalty, share * max(0.0, left))
        spent = task.spent_usd(parts)
        if spent <= task.budget_usd:
            return fill(task, penalty, parts)
        share *= (task.budget_usd / spent) * (task.budget_usd / spent)
    return None


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
        carry += float(parted[t]) - float(hours_usd(problem, task.routes, parts)[t])
    return parts


def fill(task: Task, penalty: float, parts: Parts) -> Parts:
    """Hours that lack, those that lack most first: solved again with what they spend and all that is left."""
    problem, routes = task.problem, task.routes
    lack = hours_lack(problem, parts)
    for t in sorted((int(t) for t in np.flatnonzero(lack > 0)), key=lambda t: (-lack[t], t))[:FILLS]:
        left = task.limit_usd - task.spent_usd(parts)
        if left <= SMALL_CHANGE * task.budget_usd:
            break
        menu = menu_of(problem, routes, [parts])
        spent = float(menu.usd[0, t]) + (0.0 if menu.starts is None else float(menu.starts[t, 0, 0]))
        before = running(parts, routes, problem.boot.previous[t]) if problem.boot is not None else None
        view = replace(task.month.view(routes, task.prices, t, penalty, before), budget_usd=spent + left)
        trial = parts.copy()
        _, _, found = solve_hour(problem, routes, view, penalty, task.effort, trial)
        if found and hours_lack(problem, trial)[t] < lack[t] and task.spent_usd(trial) <= task.budget_usd:
            parts = trial
    return parts
