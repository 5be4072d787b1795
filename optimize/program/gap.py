"""Why a plan costs more than divisible hosts without reserve and margin would: the distance split by its causes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.program.fluid import fluid_bound_usd
from optimize.program.solve import solve
from optimize.records import GapParts, PoolTerms, ProgramInput, ProgramSolution


def gap_parts(problem: ProgramInput, solution: ProgramSolution, safety: float, floor_usd: float = 0.0) -> GapParts:
    """The cost of `solution`, taken apart by solving its problem again, each time with one more cause removed.

    First the reserve, then the margin, both with whole hosts: what policy asks for is priced as it would be saved. Then hosts are made
    divisible, and at last every replica carries what it does in the largest pool measured. Pools that were never measured, and that
    the plan does not use, stay out: what an estimate promises is no part of this cost. No step is dearer than the one before, and
    none is below `floor_usd`, a bound on every plan. A plan that leaves demand unserved has no such parts (all in `least_usd`).
    """
    cost = solution.cost_usd
    if solution.unserved.any():
        return GapParts(reserve_usd=0.0, integrality_usd=0.0, pooling_usd=0.0, margin_usd=0.0, least_usd=cost)
    known = tuple(terms for p, terms in enumerate(problem.pools) if terms.measured or solution.hosts[p].any())
    lean = without_reserve(replace(problem, pools=known, budget_usd=math.inf))  # the plan keeps its budget, and so does what costs less
    unguarded = _cheapest(lean, cost) if problem.n_plus_one or problem.relay_outage_reserve else cost
    bare = replace(lean, pools=tuple(without_margin(terms, safety) for terms in lean.pools))
    full = _cheapest(bare, unguarded) if safety > 0 and any(terms.measured for terms in known) else unguarded
    divisible = _relaxed(bare, full, floor_usd)
    large = replace(bare, pools=tuple(without_overhead(terms) for terms in bare.pools))
    least = _relaxed(large, divisible, floor_usd)
    return GapParts(
        reserve_usd=cost - unguarded,
        integrality_usd=full - divisible,
        pooling_usd=divisible - least,
        margin_usd=unguarded - full,
        least_usd=least,
    )


def without_reserve(problem: ProgramInput) -> ProgramInput:
    """The problem without spare hosts and without what the rest keeps for a relay that is out."""
    return replace(problem, n_plus_one=False, relay_outage_reserve=False)


def without_margin(terms: PoolTerms, safety: float) -> PoolTerms:
    """The pool with its measured loads, not those planned with; an estimate holds no margin."""
    if not terms.measured:
        return terms
    levels = tuple(replace(level, load=np.asarray(level.load * (1.0 - safety))) for level in terms.levels)
    return replace(terms, levels=levels)


def without_overhead(terms: PoolTerms) -> PoolTerms:
    """The pool at any size as efficient as at the largest that was measured: a slope above 1 only makes up for the intercept."""
    return replace(terms, slope=min(terms.slope, 1.0), intercept=0.0)


def _cheapest(problem: ProgramInput, at_most_usd: float) -> float:
    """Cost of the problem with whole hosts."""
    answer = solve(problem)
    return at_most_usd if answer.unserved.any() else min(answer.cost_usd, at_most_usd)


def _relaxed(problem: ProgramInput, at_most_usd: float, floor_usd: float) -> float:
    """Cost of the problem with divisible hosts."""
    return min(max(fluid_bound_usd(problem), floor_usd), at_most_usd)
