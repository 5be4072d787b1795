"""The program hour by hour: with the base hosts fixed, no row joins two hours, so each is a small problem of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from optimize.program.answer import Parts, no_parts, read
from optimize.program.build import build
from optimize.program.model import View
from optimize.program.routes import PoolRoute
from optimize.program.solver import run
from optimize.records import ProgramInput


@dataclass(frozen=True)
class Effort:
    """How hard to try: relative gap and nodes per solver call, and the solver's name."""

    gap: float
    node_limit: int
    solver: str = "highs"


@dataclass(frozen=True)
class Hours:
    """All hours solved.

    parts      values, base hosts included
    usd        [slices] money spent, base excluded;  objective, bound  [slices] in the view's objective
    """

    parts: Parts
    objective: tuple[float, ...]
    bound: tuple[float, ...]
    proven: bool


def solve_hours(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], base: dict[int, int], penalty: float, effort: Effort, price: float = 1.0
) -> Hours:
    """The cheapest hours beside `base` hosts. Unserved demand is only allowed in hours that cannot serve all, or when `price` weighs money.

    Hours with the same demand are solved once. Base hosts cost nothing here: they are paid already.
    """
    parts = no_parts(problem)
    fixed = {route.index: (base.get(route.index, 0),) * 2 for route in routes if not route.elastic}
    free = dict.fromkeys(fixed, 0.0)
    known: dict[bytes, tuple[int, float, float]] = {}
    objective, bound, proven = [], [], True
    for t, weight in enumerate(problem.demand.weight_h):
        key = problem.demand.mean_rps[:, t].tobytes()
        if key not in known:
            view = View((t,), base=fixed, base_usd=free, price=price)
            value, low, found = solve_hour(problem, routes, view, penalty, effort, parts)
            proven &= found
            known[key] = (t, value / weight, low / weight)
        twin, value, low = known[key]
        for array in (parts.hosts, parts.flow, parts.calls, parts.unserved):
            array[..., t] = array[..., twin]
        objective.append(value * weight)
        bound.append(low * weight)
    return Hours(parts, tuple(objective), tuple(bound), proven)


def solve_hour(
    problem: ProgramInput, routes: tuple[PoolRoute, ...], view: View, penalty: float, effort: Effort, parts: Parts
) -> tuple[float, float, bool]:
    """(objective, bound, found) of one hour; its values go to `parts`. First without unserved demand, then at a penalty for it."""
    attempts = [None, penalty] if view.price == 1.0 else [penalty]
    for allowed in attempts:
        model = build(problem, replace(view, penalty_usd=allowed), routes)
        outcome = run(model, effort.gap, effort.node_limit, effort.solver)
        if outcome.found:
            read(model, parts)
            return outcome.objective, outcome.bound, True
        if outcome.bound < math.inf and allowed is not None:
            return math.inf, outcome.bound, False
    return math.inf, -math.inf, False
