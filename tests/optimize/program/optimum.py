"""The optimum of a small problem, held against enumeration and the checker of rules."""

from __future__ import annotations

import math

import pytest

from optimize.program.solve import solve
from optimize.records import ProgramInput, ProgramSolution
from tests.optimize.program.checker import violations
from tests.optimize.program.enumerate_plans import best_usd

EXACT = 1e-6


def proved_optimum(given: ProgramInput, seed: int) -> ProgramSolution | None:
    """The answer, which breaks no rule and costs what enumeration finds; None where no plan serves everything and it says so."""
    answer, best = solve(given, gap=EXACT), best_usd(given)
    assert violations(given, answer) == [], seed
    if math.isinf(best):
        assert answer.unserved.sum() > 0, seed
        return None
    assert answer.unserved.sum() == 0, seed
    assert answer.cost_usd == pytest.approx(best, rel=1e-5), seed
    assert answer.model_bound_usd == pytest.approx(best, rel=1e-4), seed
    return answer
