"""The volume at which the answer changes kind: from relays to own GPUs for most requests, or back."""

from __future__ import annotations

import math
from dataclasses import replace

from optimize.program.solve import solve
from optimize.records import Flip, ProgramInput, ProgramSolution
from optimize.search.few_hours import in_few_hours
from optimize.search.loop import ROUGH_NODES, Market, Restriction, Settled
from sim.exact import dot

RANGE = (0.1, 10.0)  # times today's demand
STEPS = 4  # halvings of a decade in logarithms: to within 15 %
GAP = 0.01
MOST = 0.5


def own_share(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Share of all requests that own hosts serve."""
    weight_h = problem.demand.weight_h
    return float(dot(solution.pool_flow.sum(axis=(0, 1)), weight_h) / dot(problem.demand.mean_rps.sum(axis=0), weight_h))


def own_share_at(problem: ProgramInput, factor: float) -> float:
    """The same in the plan for another demand."""
    scaled = replace(problem, demand=replace(problem.demand, mean_rps=problem.demand.mean_rps * factor))
    return own_share(scaled, solve(scaled, gap=GAP, node_limit=ROUGH_NODES))


def volume_flips(settled: Settled, market: Market) -> list[Flip]:
    """Less and more demand at which most requests move to the other side, among all pools measured so far, without a budget.

    Nothing where only one side may serve at all.
    """
    market.tell("at which volume does the answer flip?")
    restriction = in_few_hours(market, Restriction("volume", keep_pool=lambda state: bool(state.points), budget_usd=math.inf, rough=True))
    problem = market.problem(restriction, market.pools(restriction))
    if not problem.pools or not problem.relays:
        return []
    now = own_share(settled.problem, settled.solution)
    found = [flip for edge in RANGE if (flip := towards(problem, now, edge)) is not None]
    if found:
        return found
    winner = "own GPUs" if now > MOST else "relays"
    words = f"volume: from {RANGE[0]:g} to {RANGE[1]:g} times today's demand most requests go to {winner}"
    return [Flip("volume", 1.0, None, words)]


def towards(problem: ProgramInput, now: float, edge: float) -> Flip | None:
    """The flip between today's demand and `edge` times it; None where the answer is of one kind at both ends."""
    inside, outside = 1.0, edge
    if (own_share_at(problem, edge) > MOST) == (now > MOST):
        return None
    for _ in range(STEPS):
        middle = math.sqrt(inside * outside)
        if (own_share_at(problem, middle) > MOST) == (now > MOST):
            inside = middle
        else:
            outside = middle
    at = math.sqrt(inside * outside)
    winner, side = ("relays" if now > MOST else "own GPUs"), ("below" if edge < 1 else "above")
    words = f"volume: {side} about {at:.2g} times today's demand most requests go to {winner} (today {now:.0%} on own GPUs)"
    return Flip(f"volume {side}", 1.0, at, words)
