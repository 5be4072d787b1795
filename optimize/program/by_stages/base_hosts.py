"""Which base hosts to buy for the month: other numbers tried, where the gap stays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optimize.program.answer import Parts, spent_usd, unserved_requests
from optimize.program.by_stages.hour_programs import Effort, running, solve_hour, solve_hours
from optimize.program.by_stages.month import Month, MonthPrices
from optimize.program.by_stages.recombine import menu_of
from optimize.program.routes import PoolRoute
from optimize.records import ProgramInput

TRIALS = 12  # bases tried where the gap stays
PATIENCE = 5  # of these in a row without a better one
SAMPLE = 3  # every third hour says whether a base is worth the others
FEW_HOURS = 12  # all are tried at once


@dataclass(frozen=True)
class Tried:
    """Decisions of a month, the hours given them, and cost plus penalty of the whole."""

    month: Month
    parts: Parts
    usd: float


def beside(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], month: Month, prices: MonthPrices, penalty: float, effort: Effort
) -> Tried:
    """All hours given the decisions of `month`, and cost plus penalty of the whole."""
    parts = solve_hours(problem, routes, month, prices, penalty, effort).parts
    usd = spent_usd(problem, routes, parts) + penalty * unserved_requests(problem, parts)
    return Tried(month, parts, usd)


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
    better; a base that a sample of the hours speaks against is not tried in the others. No proof: the bound does not come from here.
    """
    quick = replace(effort, prove=False)
    fewest = {route.index: 1 + route.spare for route in routes}
    best, seen, vain = start, {held(start.month.base)}, 0
    queue = [{p: runnable(round(n), fewest[p], round(n)) for p, n in wished.items()}, dict.fromkeys(wished, 0)]
    for trial in range(TRIALS):
        while not queue or held(queue[0]) in seen:
            queue = queue[1:] or [each for each in neighbours(best.month.base, wished, fewest) if held(each) not in seen]
            if not queue:
                return best
        if best.usd <= enough_usd or vain == PATIENCE:
            break
        seen.add(held(queue[0]))
        month = replace(start.month, base=queue.pop(0))
        vain += 1
        if promising(problem, routes, month, prices, penalty, quick, best):
            tried = beside(problem, routes, month, prices, penalty, quick)
            if tried.usd < best.usd * (1 - 1e-9):
                best, vain = tried, 0
                queue = queue if trial == 0 else []  # none at all is tried in any case; after that, neighbours of the better base
    return best


def promising(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], month: Month, prices: MonthPrices, penalty: float, effort: Effort, best: Tried
) -> bool:
    """Whether every third hour, by volume, speaks for the base of `month` rather than that of `best`; yes where hours are few.

    An estimate: each of these hours next to its neighbours in `best`, their difference taken for that of all hours.
    """
    demand, boot = problem.demand, problem.boot
    chosen = np.argsort(demand.mean_rps.sum(axis=0), kind="stable")[1::SAMPLE]
    if len(demand.slices) < FEW_HOURS:
        return True
    parts = best.parts.copy()
    for t in map(int, chosen):
        before = None if boot is None else running(best.parts, routes, boot.previous[t])
        trial = month.parts(problem)
        solve_hour(problem, routes, month.view(routes, prices, t, None, before), penalty, effort, trial)
        for mine, theirs in zip(parts.hourly(), trial.hourly(), strict=True):
            mine[..., t] = theirs[..., t]
    menu = menu_of(problem, routes, [best.parts, parts])
    usd = menu.usd + penalty * menu.lack
    if menu.starts is not None:
        usd = usd + menu.starts[:, 0, :].T
    more = float((usd[1] - usd[0])[chosen].sum()) * float(demand.weight_h.sum() / demand.weight_h[chosen].sum())
    paid = [spent_usd(problem, routes, each.parts(problem), idle=True) for each in (best.month, month)]
    return more + paid[1] - paid[0] < 0


def held(counts: dict[int, int]) -> frozenset[tuple[int, int]]:
    """The pools that have hosts, with their number."""
    return frozenset((p, n) for p, n in counts.items() if n > 0)


def runnable(count: int, fewest: int, step: int) -> int:
    """`count`, or where too few hosts to run at all remain: none after a step down, the fewest after a step up.

    >>> runnable(1, 2, 1), runnable(1, 2, -1), runnable(3, 2, -1), runnable(-1, 1, -1)
    (2, 0, 3, 0)
    """
    if count >= fewest:
        return count
    return fewest if step > 0 and count > 0 else 0


def neighbours(counts: dict[int, int], wished: dict[int, float], fewest: dict[int, int]) -> list[dict[int, int]]:
    """Bases one step away, steps towards the wish first."""
    order = sorted(wished, key=lambda p: (-wished[p], p))
    bought = [p for p in order if counts.get(p, 0) > 0]
    wanted = [p for p in order if wished[p] > 0]
    steps = [{p: 1} for p in wanted] + [{p: -1} for p in bought] + [{p: -1, q: 1} for p in bought for q in wanted if p != q]
    steps.sort(key=lambda step: sum(abs(counts.get(p, 0) + n - wished[p]) - abs(counts.get(p, 0) - wished[p]) for p, n in step.items()))
    return [{p: runnable(counts.get(p, 0) + step.get(p, 0), fewest[p], step.get(p, 0)) for p in wished} for step in steps]
