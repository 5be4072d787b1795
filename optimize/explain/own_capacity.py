"""What self-hosting would take, measured: the curves over demand rest on pools that the plan itself may not need."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.explain.alternatives import NO_BUDGET, ROUNDS, limited, relay_only_classes
from optimize.records import ProgramInput
from optimize.search.loop import Market, Restriction, Settled, settle

DEMANDS = (1.0, 0.5, 2.0)  # times today's, at which the pools of own GPUs are measured


def with_own_measured(market: Market, settled: Settled) -> ProgramInput:
    """The plan's program; where it measured no pool for some class that own GPUs may serve, those that they would use are measured too.

    Measured roughly, at half, once and twice today's demand; pools that the plan uses keep their terms, and `market` stays as it is.
    """
    problem = settled.problem
    if not unmeasured(problem):
        return problem
    other = replace(market, states=[replace(state, points=dict(state.points)) for state in market.states])
    other.tell("measuring what own GPUs alone would use")
    remote = limited(relay_only_classes(other))
    for factor in DEMANDS:
        demand = replace(market.demand, mean_rps=market.demand.mean_rps * factor)
        settle(other, Restriction("own GPUs alone", keep_relay=remote, budget_usd=NO_BUDGET, demand=demand, gap=0.01, rough=True), ROUNDS)
    known = {state.option.id: state.terms() for state in other.states}
    used = np.asarray(settled.solution.hosts.any(axis=1))
    pools = (terms if used[p] else known.get(terms.option.id, terms) for p, terms in enumerate(problem.pools))
    return replace(problem, pools=tuple(pools))


def unmeasured(problem: ProgramInput) -> bool:
    """Whether some class that pools may serve has no pool that was measured."""
    able = np.zeros(len(problem.class_names), bool)
    known = np.zeros(len(problem.class_names), bool)
    for terms in problem.pools:
        serves = np.array([math.isfinite(load) for load in terms.levels[0].load.tolist()])
        able |= serves
        known |= serves & terms.measured
    return bool((able & ~known).any())
