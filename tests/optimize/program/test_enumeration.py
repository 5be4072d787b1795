"""The program against brute force: 200 random small problems in which every constraint family appears."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.program.solve import solve
from optimize.records import ProgramInput, SloRow
from tests.optimize.program.enumerate_plans import best_usd
from tests.optimize.program.problems import offer, pool, problem, relay, violations

EXACT = 1e-6
CASES = 200


def random_problem(seed: int) -> ProgramInput:
    """2-3 pools (some sharing an offer, some not elastic), 2 classes, 3 hours, relays with limits and misses; budget set by the tests."""
    rng = np.random.default_rng(seed)
    rates = np.round(rng.uniform(0.5, 4.0, (2, 3)), 2)
    if rng.random() < 0.2:
        rates[rng.integers(2), rng.integers(3)] = 0.0
    slos = [SloRow(0, "ttft", 0.95, 1.0), SloRow(0, "tpot", 0.9, 0.05), SloRow(1, "ttft", 0.9, 2.0)]

    def misses() -> list[float]:
        return [float(m) for m in np.round(rng.uniform(0, 0.15, 3) * (rng.random(3) < 0.6), 3)]

    pools, sold = [], None
    for k in range(int(rng.integers(2, 4))):
        if sold is None or rng.random() < 0.75:
            stock = int(rng.integers(1, 5)) if rng.random() < 0.4 else None
            sold = offer(f"o{k}", round(float(rng.uniform(0.3, 3.0)), 2), bool(rng.random() < 0.6), stock)
        load = [float(x) for x in np.round(rng.uniform(0.1, 0.9, 2), 3)]
        if rng.random() < 0.4:
            load[int(rng.integers(2))] = math.inf
        intercept = round(float(rng.uniform(0.1, 0.5)), 2) if rng.random() < 0.3 else 0.0
        pools.append(pool(sold, load, misses(), 1.0 + intercept / 4, intercept, int(rng.integers(1, 3))))
    relays = []
    for k in range(int(rng.integers(0, 3))):
        usd = [float(x) for x in np.round(rng.uniform(5e-5, 6e-4, 2), 6)]
        if rng.random() < 0.3:
            usd[int(rng.integers(2))] = math.inf
        rpm = float(rng.integers(60, 400)) if rng.random() < 0.5 else None
        tpm = float(rng.integers(6_000, 40_000)) if rng.random() < 0.3 else None
        relays.append(relay(f"r{k}", usd, misses(), rpm, tpm, bool(rng.random() < 0.7)))
    share = round(float(rng.uniform(0.2, 0.9)), 2) if rng.random() < 0.4 else 1.0
    return problem(rates.tolist(), pools, relays, slos, share=share, n_plus_one=bool(rng.random() < 0.3), hours=(300.0, 250.0, 180.0))


@pytest.mark.parametrize("block", range(10))
def test_the_optimum_equals_enumeration_and_breaks_no_rule(block: int) -> None:
    for seed in range(block * CASES // 10, (block + 1) * CASES // 10):
        given = random_problem(seed)
        answer, best = solve(given, gap=EXACT), best_usd(given)
        assert violations(given, answer) == [], seed
        if math.isinf(best):
            assert answer.unserved.sum() > 0, seed
            continue
        assert answer.unserved.sum() == 0, seed
        assert answer.cost_usd == pytest.approx(best, rel=1e-5), seed
        assert answer.model_bound_usd == pytest.approx(best, rel=1e-4), seed
        assert answer.status == "optimal" or answer.gap < 1e-4


@pytest.mark.parametrize("block", range(4))
def test_a_budget_at_the_optimum_keeps_the_plan_and_one_below_it_leaves_demand_unserved(block: int) -> None:
    for seed in range(block * 10, (block + 1) * 10):
        given = random_problem(seed)
        free = solve(given, gap=EXACT)
        if free.unserved.any() or free.cost_usd == 0:
            continue
        same = solve(replace(given, budget_usd=free.cost_usd * 1.001), gap=EXACT)
        assert same.cost_usd == pytest.approx(free.cost_usd, rel=1e-5)
        less = replace(given, budget_usd=free.cost_usd * 0.8)
        poor = solve(less, gap=EXACT)
        assert violations(less, poor) == [], seed
        assert poor.unserved.sum() > 0
