"""Why a plan costs more than divisible hosts without margin would: the distance split by its causes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optimize.program.fluid import fluid_bound_usd
from optimize.records import GapParts, PoolTerms, ProgramInput, ProgramSolution


def gap_parts(problem: ProgramInput, solution: ProgramSolution, safety: float) -> GapParts:
    """The cost of `solution`, taken apart by linear relaxations of its problem, each with one more cause removed.

    Relaxed: hosts divisible. Then without intercepts and spare hosts. Then with loads as if nothing were kept free. Each step can
    only make the problem cheaper, so no part is negative; a budget that leaves demand unserved has no such parts (all in `least_usd`).
    """
    if solution.unserved.any():
        return GapParts(0.0, 0.0, 0.0, solution.cost_usd)
    divisible = min(fluid_bound_usd(problem), solution.cost_usd)
    pooled = replace(problem, n_plus_one=False, pools=tuple(replace(terms, intercept=0.0) for terms in problem.pools))
    large = min(fluid_bound_usd(pooled), divisible)
    free = replace(pooled, pools=tuple(without_margin(terms, safety) for terms in pooled.pools))
    least = min(fluid_bound_usd(free), large)
    return GapParts(solution.cost_usd - divisible, divisible - large, large - least, least)


def without_margin(terms: PoolTerms, safety: float) -> PoolTerms:
    """The pool with its measured loads, not those planned with."""
    levels = tuple(replace(level, load=np.asarray(level.load * (1.0 - safety))) for level in terms.levels)
    return replace(terms, levels=levels)
