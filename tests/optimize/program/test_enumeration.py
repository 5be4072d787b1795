"""The program against brute force: 200 random small problems in which every constraint family appears."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from optimize.program.solve import solve
from tests.optimize.program.checker import violations
from tests.optimize.program.enumerate_plans import best_usd, size
from tests.optimize.program.optimum import EXACT, proved_optimum
from tests.optimize.program.random_problems import families, random_problem

CASES = 200
BLOCKS = 10
RARE = 12  # problems of the 200 in which the rarest family appears, at least
PENALTY = 1.0
LARGEST = 120


def test_every_constraint_family_appears_in_the_random_problems() -> None:
    seen: Counter[str] = Counter()
    for seed in range(CASES):
        seen += families(random_problem(seed))
    assert len(seen) == 24
    assert min(seen.values()) >= RARE, seen


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_optimum_equals_enumeration_and_breaks_no_rule(block: int) -> None:
    for seed in range(block * CASES // BLOCKS, (block + 1) * CASES // BLOCKS):
        answer = proved_optimum(random_problem(seed), seed)
        assert answer is None or answer.status == "optimal" or answer.gap < 1e-4


@pytest.mark.parametrize("block", range(4))
def test_a_budget_at_the_optimum_keeps_the_plan_and_one_below_it_leaves_out_what_enumeration_leaves_out(block: int) -> None:
    for seed in range(block * 16, (block + 1) * 16):
        given = random_problem(seed)
        free = solve(given, gap=EXACT)
        committed = sum(terms.committed_usd for terms in given.relays)
        if free.unserved.any() or free.cost_usd * 0.8 <= committed or size(given) > LARGEST:
            continue
        same = solve(replace(given, budget_usd=free.cost_usd * 1.001), gap=EXACT)
        assert same.cost_usd == pytest.approx(free.cost_usd, rel=1e-5)
        less = replace(given, budget_usd=free.cost_usd * 0.8, unserved_usd_per_request=PENALTY)
        poor = solve(less, gap=EXACT)
        assert violations(less, poor) == [], seed
        lack = float((poor.unserved @ given.demand.weight_h).sum()) * 3600
        best = best_usd(less, penalty=PENALTY, budget=less.budget_usd)
        assert poor.cost_usd + PENALTY * lack == pytest.approx(best, rel=1e-4), seed
        assert lack > 0
