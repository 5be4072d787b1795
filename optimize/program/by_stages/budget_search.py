"""A budget that binds becomes a price on requests left out: hours at a few such prices, and the best of them put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.money import HOUR_S
from optimize.program.answer import Parts, first_tiers, spent_usd, unserved_requests
from optimize.program.by_stages.allotment import Task, by_allotments, fill
from optimize.program.by_stages.hour_prices import prices_of
from optimize.program.by_stages.hour_programs import Effort, solve_hours
from optimize.program.by_stages.month import Month, MonthPrices
from optimize.program.by_stages.recombine import Menu, beside_month, cheapest, menu_of
from optimize.program.by_stages.stages import Found, in_two_stages, payments_bind, shared_bound, stage_one, start_of
from optimize.program.routes import PoolRoute
from optimize.records import Ints, ProgramInput
from sim.exact import dot
from sim.exact import power as raised

KEEN = 1.5  # price of a request left out, relative to what one more costs everywhere, where as much as possible is to be served
MARGINAL = 2.0  # first guess at the price of a request left out, over the mean cost of one that is served
TRIFLE = 1e-6  # of the penalty: the least price tried
ROUGH = 0.01  # gap of stage one where only its decisions count: the bound comes from elsewhere
NEARLY = 0.01  # of the budget: a plan this little above it is worth the search for one inside
PASSES = 8  # prices tried at most
LESS = 0.85  # a price over the one before; the step doubles while all are on one side of the budget
CLOSE = 0.7  # two prices this near to each other, one of which overspends: no further one is tried
FULL = 0.97  # of the budget: hours that spend this much and others that serve all are enough to put together
HALVINGS = 24
COARSE = 0.03  # of the budget: a gap beyond which allotments and stage one are asked as well


def in_stages(problem: ProgramInput, routes: tuple[PoolRoute, ...], penalty: float, effort: Effort, budget_usd: float) -> Found:
    """What hours share first and the hours next to it; inside the budget, with as much served as it buys."""
    month, outcome = stage_one(problem, routes, penalty, effort, None)
    if outcome.bound > budget_usd:  # no solution serves all
        return within_budget(problem, routes, penalty, effort, budget_usd, month)
    prices, start = start_of(problem, routes, penalty, effort, month)
    if start.usd <= budget_usd * (1 + NEARLY):
        found = in_two_stages(problem, routes, penalty, effort, outcome, prices, start)
        if spent_usd(problem, routes, found.parts) <= budget_usd:
            return found
    return within_budget(problem, routes, penalty, effort, budget_usd, month, (start.parts,))


def within_budget(
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    penalty: float,
    effort: Effort,
    budget_usd: float,
    month: Month,
    known: tuple[Parts, ...] = (),
) -> Found:
    """The least cost plus penalty found inside a budget in which `month` and its hours (`known`) do not serve all.

    Bound (Lagrangian): with b a bound on cost + w lack for a price w <= penalty on a request left out, all solutions that leave out no
    more than this one cost at least b - w lack; and with s = penalty / w - 1, cost + penalty lack >= (1 + s) b - s budget.
    """
    guess = min(penalty, max(MARGINAL * budget_usd / max(requests(problem), 1.0), TRIFLE * penalty))
    task = task_of(problem, routes, month, effort, budget_usd, guess)
    if task.month_usd > task.limit_usd:
        month, _ = stage_one(problem, routes, KEEN * guess, replace(effort, gap=max(effort.gap, ROUGH)), budget_usd, all_served=False)
        task, known = replace(task, month=month), ()
    tries = by_worth(task, guess, penalty, known)
    worth = halved(task, tries, menu_of(problem, routes, tries.found))[1]
    bounds, ways = [], [(task, tries)]
    if something_shared(problem, month):
        other, outcome = stage_one(problem, routes, worth, effort, None, all_served=False)
        bounds.append((worth, outcome.bound))
        again = replace(task, month=other)
        if not alike(problem, month, other) and again.month_usd <= task.limit_usd:
            ways.append((again, by_worth(again, worth, penalty, ())))
    shared = shared_bound(problem, routes, prices_of(problem, routes, worth), worth, effort)
    bounds.append((worth, shared.usd))
    found = []
    for each, tried in ways:
        more = beside_month(problem, routes, each.month, tried.safe, shared.parts)
        found.append(spent_up(each, tried, menu_of(problem, routes, [*tried.found, more])))
    parts = min(found, key=lambda parts: unserved_requests(problem, parts))
    answer = bounded(task, parts, penalty, bounds)
    if task.spent_usd(parts) - answer.cost_bound <= COARSE * budget_usd:
        return answer
    allotted = by_allotments(task, KEEN * worth)
    if allotted is not None and unserved_requests(problem, allotted) < unserved_requests(problem, parts):
        parts = allotted
    bounds.append((worth, stage_one(problem, routes, worth, effort, None, all_served=False)[1].bound))
    return bounded(task, parts, penalty, bounds)


def requests(problem: ProgramInput) -> float:
    """Requests a month."""
    return float(dot(problem.demand.mean_rps, problem.demand.weight_h).sum()) * HOUR_S


def task_of(problem: ProgramInput, routes: tuple[PoolRoute, ...], month: Month, effort: Effort, budget_usd: float, worth: float) -> Task:
    """Hours given `month`, with the prices that they are blind without."""
    prices = prices_of(problem, routes, worth) if payments_bind(problem, month) else MonthPrices()
    return Task(problem, routes, month, prices, replace(effort, prove=False), budget_usd)


def alike(problem: ProgramInput, one: Month, other: Month) -> bool:
    """Whether two months decide the same."""
    pairs = zip(bought(one.parts(problem)), bought(other.parts(problem)), strict=True)
    return one.decided == other.decided and all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def bought(parts: Parts) -> tuple[Ints, Ints, Ints]:
    """Base hosts, units and tiers of hours that hold nothing else."""
    return parts.hosts, parts.units, parts.bought


def bounded(task: Task, parts: Parts, penalty: float, bounds: Sequence[tuple[float, float]]) -> Found:
    """`parts` with the best of the bounds that (price on a request left out, bound on cost plus lack at it) give."""
    lack = unserved_requests(task.problem, parts)
    usd = max(penalty / worth * lower - (penalty / worth - 1.0) * task.budget_usd for worth, lower in bounds)
    return Found(parts, usd, "within a budget", max(lower - worth * lack for worth, lower in bounds))


def something_shared(problem: ProgramInput, month: Month) -> bool:
    """Whether base hosts, units or tiers are bought that cost something: with less money, less might be better."""
    tiers = (month.parts(problem).bought != first_tiers(problem)).any()
    return bool(tiers) or any(month.base.values()) or any(month.units.values()) or any(month.decided.values())


@dataclass(frozen=True)
class Tries:
    """Hours at several prices on a request left out, given the same month.

    safe       of those that keep the budget the one at the highest price, `low`; nothing but the month if none does
    low, high  the highest price that keeps the budget, 0 if none; the lowest that does not, at most the penalty
    """

    found: tuple[Parts, ...]
    safe: Parts
    low: float
    high: float


def by_worth(task: Task, weak: float, most: float, known: Sequence[Parts]) -> Tries:
    """Hours at prices on both sides of the budget, near to each other.

    Prices go up from `weak` while the budget holds, down while it does not, then between the two. `known` are hours given the same
    month at a higher price than all.
    """
    found, low, high, worth, power = list(known), 0.0, math.inf, weak, 1
    safe = task.month.parts(task.problem)
    for _ in range(PASSES):
        parts = solve_hours(task.problem, task.routes, task.month, task.prices, worth, task.effort, served_first=False).parts
        found.append(parts)
        spent = task.spent_usd(parts)
        if spent <= task.limit_usd:
            low, safe = worth, parts
            if low >= most or not parts.unserved.any() or (known and spent >= FULL * task.budget_usd):
                break
        else:
            high = worth
        if low > 0 and high < math.inf:
            if low >= CLOSE * high:
                break
            worth = math.sqrt(low * high)
        else:
            worth, power = min(most, worth * raised(LESS, power if low == 0 else -power)), 2 * power
    return Tries(tuple(found), safe, low, min(high, most))


def halved(task: Task, tries: Tries, menu: Menu) -> tuple[Ints | None, float]:
    """(the best choice from `menu` that keeps the budget, the price on a request left out at which the next would not)."""
    low, high = tries.low * raised(LESS, 4), tries.high / LESS
    poor = None
    for worth in (low, *[0.0] * HALVINGS) if low > 0 else ():
        worth = worth or math.sqrt(low * high)
        choice = cheapest(menu, worth)
        if task.spent_usd(menu.parts(choice)) <= task.limit_usd:
            poor, low = choice, worth
        else:
            high = worth
    return poor, min(math.sqrt(low * high) if low > 0 else high, tries.high)


def spent_up(task: Task, tries: Tries, menu: Menu) -> Parts:
    """The best choice inside the budget; what is left of it spent on hours of other solutions, then on hours solved again."""
    choice, worth = halved(task, tries, menu)
    return fill(task, KEEN * worth, tries.safe if choice is None else swapped(task, menu, choice))


def swapped(task: Task, menu: Menu, choice: Ints) -> Parts:
    """The hours of `choice` with better ones from the menu, those first that serve most requests per dollar more, while money lasts."""
    hours = np.arange(len(choice))
    more = menu.usd - menu.usd[choice, hours]
    gain = menu.lack[choice, hours] - menu.lack
    left = task.limit_usd - task.spent_usd(menu.parts(choice))
    for flat in np.argsort(-gain / np.maximum(more, 1e-9), axis=None, kind="stable"):
        k, t = divmod(int(flat), len(choice))
        if gain[k, t] <= 0 or menu.lack[k, t] >= menu.lack[choice[t], t] or menu.usd[k, t] - menu.usd[choice[t], t] > left:
            continue
        trial = choice.copy()
        trial[t] = k
        spent = task.spent_usd(menu.parts(trial))
        if spent <= task.limit_usd:
            choice, left = trial, task.limit_usd - spent
    return menu.parts(choice)
