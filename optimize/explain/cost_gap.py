"""What no plan of a market can undercut, and why this one costs more."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.market.context_fit import SAMPLE
from optimize.market.optimistic_load import class_loads
from optimize.program.fluid import fluid_bound_usd
from optimize.program.gap import gap_parts, without_reserve
from optimize.records import Floats, GapParts
from optimize.search.loop import Market, Restriction, Settled
from optimize.search.routing import without_late

LEAST_PEAK = 60 / 61  # a token bucket of one minute lets an hour have a minute's calls more than its limit
SAMPLE_ERRORS = 4.0  # standard errors by which the sampled miss share of a relay may be too large


def least_miss(miss: Floats) -> Floats:
    """[slo rows] what a relay misses at least, where `miss` is the share of a sample."""
    return np.asarray(np.maximum(miss - SAMPLE_ERRORS * np.sqrt(miss * np.maximum(1 - miss, 0.0) / SAMPLE), 0.0))


def fluid_bound(market: Market) -> float:
    """Lower bound on the cost of any plan from these candidates and under this policy, whatever its fleet.

    Every request at its rigorous least load, hosts divisible, no reserve. What the search has learnt to stay on the safe side does not
    count: relays miss as little as their law lets them, and carry in an hour what their limit lets through in its minutes.
    """
    problem = without_reserve(without_late(market.problem(Restriction(), market.states)))
    relays = tuple(replace(terms, miss=least_miss(market.at_first.get(terms.relay.id, terms.miss))) for terms in problem.relays)
    problem = replace(problem, relays=relays, demand=replace(problem.demand, peak_factor=LEAST_PEAK))
    pools = []
    for state, terms in zip(market.states, problem.pools, strict=True):
        if state.cost is None:
            pools.append(terms)
            continue
        load = class_loads(state.option, state.cost, market.demand, market.slos, rigorous=True)
        pools.append(
            replace(terms, levels=(replace(terms.levels[0], load=load, miss=np.zeros(len(market.slos))),), slope=1.0, intercept=0.0)
        )
    return fluid_bound_usd(replace(problem, pools=tuple(pools), budget_usd=math.inf))


def gap_of(settled: Settled, market: Market) -> GapParts:
    """The cost of `settled` by cause, down to what divisible hosts would take; that is never below the fluid bound."""
    market.tell("what of the cost is reserve, margin and whole hosts")
    return gap_parts(settled.problem, settled.solution, market.scenario.policy.safety, fluid_bound(market))


def margin_usd(settled: Settled, parts: GapParts | None, safety: float) -> float | None:
    """What the margin costs a month, as in the parts; None where there is no margin, or nothing of the plan could be measured."""
    measured = any(terms.measured for terms in settled.problem.pools)
    return parts.margin_usd if parts is not None and safety > 0 and measured else None
