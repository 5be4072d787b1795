"""Prices of calls by the hour against brute force: the random small problems again, each relay cheaper in some hours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money import plan_cost_usd
from optimize.program.solve import solve
from optimize.records import ProgramInput
from tests.optimize.program.checker import bill
from tests.optimize.program.optimum import EXACT, proved_optimum
from tests.optimize.program.random_problems import random_problem

CASES = 60
BLOCKS = 3


def by_the_hour(seed: int) -> ProgramInput:
    """The problem where tokens cost a quarter, a half or all of their price; relays on units stay free."""
    given, rng = random_problem(seed), np.random.default_rng(1000 + seed)
    shape = given.demand.mean_rps.shape
    relays = tuple(
        terms if terms.units is not None else replace(terms, hour_factors=np.tile(rng.choice([0.25, 0.5, 1.0], shape[1]), (shape[0], 1)))
        for terms in given.relays
    )
    return replace(given, relays=relays)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_optimum_with_prices_by_the_hour_equals_enumeration(block: int) -> None:
    for seed in range(block * CASES // BLOCKS, (block + 1) * CASES // BLOCKS):
        given = by_the_hour(seed)
        answer = proved_optimum(given, seed)
        assert answer is None or answer.cost_usd == pytest.approx(bill(given, answer)), seed
        assert answer is None or plan_cost_usd(given, answer) == pytest.approx(answer.cost_usd), seed


def test_factors_of_one_change_nothing() -> None:
    for seed in range(20):
        given = random_problem(seed)
        ones = np.ones_like(given.demand.mean_rps)
        flat = replace(given, relays=tuple(terms if terms.units else replace(terms, hour_factors=ones) for terms in given.relays))
        one, other = solve(given, gap=EXACT), solve(flat, gap=EXACT)
        assert one.cost_usd == pytest.approx(other.cost_usd, rel=1e-12) and (one.hosts == other.hosts).all(), seed
        assert (one.relay_flow == other.relay_flow).all(), seed


def test_a_price_that_falls_in_some_hours_never_makes_the_month_dearer() -> None:
    for seed in range(20):
        given, cheaper = random_problem(seed), by_the_hour(seed)
        one, other = solve(given, gap=EXACT), solve(cheaper, gap=EXACT)
        if not one.unserved.any() and not other.unserved.any():
            assert other.cost_usd <= one.cost_usd * (1 + 1e-5), seed
