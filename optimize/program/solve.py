"""The program solved: at once where it is small, hour by hour where hours do not depend on each other, in two stages otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from optimize.program.answer import solution_of, spent_usd, unserved_requests
from optimize.program.by_stages.budget_search import in_stages
from optimize.program.by_stages.hour_programs import MANY_NODES, Effort
from optimize.program.by_stages.known_hours import KnownHours
from optimize.program.by_stages.month import joined
from optimize.program.by_stages.stages import Found, at_once, by_hour
from optimize.program.reachable import beyond_reach, within_reach
from optimize.program.routes import PoolRoute, penalty_usd
from optimize.program.rows.accounts import narrowed, widened
from optimize.program.substitutes import usable, worth_trying
from optimize.records import ProgramInput, ProgramSolution

TINY = 24  # integers up to which the optimum itself costs no more than an answer inside the gap
EXACT = 1e-7
USUAL_GAP = 0.005
SMALL = 300  # integers up to which one exact program is the fastest way
MEDIUM = 600  # integers up to which one program is tried where the stages leave a gap
MEDIUM_NODES = 2_000
NODE_LIMIT = MANY_NODES
FINER = 0.02


def solve(
    problem: ProgramInput,
    *,
    gap: float = USUAL_GAP,
    node_limit: int = NODE_LIMIT,
    memory: KnownHours | None = None,
    exact: bool | None = None,
) -> ProgramSolution:
    """The cheapest solution found, with a proven bound on its cost.

    Everything is served if that is possible inside the budget; if not, cost plus penalty for unserved demand is least, and the budget
    still holds. `gap` is relative, `node_limit` is per solver call; the clock stops nothing, so equal input gives equal output.
    `memory` holds hours of the program before, where they do not depend on each other: those that stand are not solved again.
    `exact`: a tiny program is solved to its optimum, even inside `gap`. By default that is so unless `gap` is wider than usual.
    """
    exact = gap <= USUAL_GAP if exact is None else exact
    wide = widened(problem)
    near = within_reach(wide.problem)
    answer = solve_wide(near, Effort(gap, node_limit), memory, exact)
    return narrowed(wide, problem, beyond_reach(wide.problem, near, answer))


def solve_wide(problem: ProgramInput, effort: Effort, memory: KnownHours | None = None, exact: bool = True) -> ProgramSolution:
    """`solve` for a problem whose relays have one tier each."""
    if memory is not None:
        memory.turn_to(problem)
    routes = usable(problem)
    penalty = penalty_usd(problem, routes)
    problem, routes = worth_trying(problem, routes)

    def record(found: Found) -> ProgramSolution:
        bound = max(found.bound - penalty * unserved_requests(problem, found.parts), found.cost_bound) + problem.fixed_usd
        return solution_of(problem, routes, found.parts, bound, effort.gap, f"{problem.solver} {found.way}")

    budget = max(0.0, problem.budget_usd - problem.fixed_usd)
    if exact and (len(routes) if not joined(problem, routes) else integers(problem, routes)) <= TINY:
        effort = replace(effort, gap=min(effort.gap, EXACT))
    if not joined(problem, routes):
        found = by_hour(problem, routes, penalty, effort, memory)
        solution = record(found)
        if solution.model_bound_usd <= problem.budget_usd < solution.cost_usd:  # the gap may hide a plan inside the budget
            solution = record(by_hour(problem, routes, penalty, replace(effort, gap=effort.gap * FINER)))
    elif integers(problem, routes) <= SMALL:
        solution = record(at_once(problem, routes, penalty, effort, None))
    else:
        return proved(record, in_stages(problem, routes, penalty, effort, budget), problem, routes, penalty, effort, budget)
    if solution.cost_usd <= problem.budget_usd * (1 + 1e-9):
        return solution
    small = integers(problem, routes) <= SMALL
    return record((at_once if small else in_stages)(problem, routes, penalty, effort, budget))


def proved(
    record: Callable[[Found], ProgramSolution],
    found: Found,
    problem: ProgramInput,
    routes: tuple[PoolRoute, ...],
    penalty: float,
    effort: Effort,
    budget: float,
) -> ProgramSolution:
    """What the stages found; where they leave a gap in a program that is not large, the whole in one solver call beside it.

    Of the two solutions the better one, under the better of the two bounds: both bound cost plus penalty of every solution.
    """
    staged = record(found)
    if staged.gap <= effort.gap or integers(problem, routes) > MEDIUM:
        return staged
    limited = replace(effort, node_limit=min(effort.node_limit, MEDIUM_NODES))
    whole = at_once(problem, routes, penalty, limited, budget if math.isfinite(budget) else None)
    if not math.isfinite(whole.bound):  # inside the tolerances of the solver the budget is beyond reach
        return staged
    best = min((whole, found), key=lambda each: spent_usd(problem, routes, each.parts) + penalty * unserved_requests(problem, each.parts))
    return record(replace(best, bound=max(whole.bound, found.bound)))


def integers(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> int:
    """Whole-numbered variables of the program over all hours."""
    slices = len(problem.demand.slices)
    return sum((slices if route.elastic else 1) * (2 if route.switched else 1) for route in routes)
