"""Base hosts of the month: other numbers are tried, and the best of them is found where the first guess is off."""

from __future__ import annotations

import math

import numpy as np
import pytest

from optimize.program.by_stages.base_hosts import Tried, beside, descend, held, neighbours, promising
from optimize.program.by_stages.hour_programs import Effort
from optimize.program.by_stages.month import Month, MonthPrices
from optimize.program.routes import penalty_usd, pool_routes
from optimize.records import ProgramInput
from tests.optimize.program.problems import offer, pool, problem

EFFORT = Effort(1e-6, 20_000)


def market(slices: int) -> ProgramInput:
    """A cheap host that is paid all month and one at three times the price by the hour; demand of a day that swings."""
    rate = 6 + 5 * np.sin(np.arange(slices) / slices * 2 * math.pi)
    pools = [pool(offer("monthly", 1.0, elastic=False), [0.5]), pool(offer("hourly", 3.0), [0.5])]
    return problem([rate.tolist()], pools)


def tried(given: ProgramInput, base: int) -> Tried:
    routes = pool_routes(given)
    return beside(given, routes, Month({0: base}), MonthPrices(), penalty_usd(given, routes), EFFORT)


def found(given: ProgramInput, start: int, wished: float, enough: float = 0.0) -> Tried:
    routes = pool_routes(given)
    return descend(given, routes, MonthPrices(), penalty_usd(given, routes), EFFORT, tried(given, start), {0: wished}, enough)


@pytest.mark.parametrize(("slices", "off"), [(4, 1e-6), (13, 0.03)])  # of many hours a sample says what is worth trying
@pytest.mark.parametrize(("start", "wished"), [(0, 2.6), (6, 2.6), (3, 0.4), (5, 5.0)])
def test_the_best_base_is_found_from_any_start(slices: int, off: float, start: int, wished: float) -> None:
    given = market(slices)
    best = min(tried(given, n).usd for n in range(8))
    assert found(given, start, wished).usd == pytest.approx(best, rel=off)


def test_what_is_good_enough_is_not_bettered() -> None:
    given = market(4)
    start = tried(given, 6)
    assert found(given, 6, 2.6, enough=start.usd).month.base == {0: 6}


@pytest.mark.parametrize("slices", [12, 13, 24])
def test_a_sample_of_the_hours_speaks_for_a_better_base_and_against_a_worse_one(slices: int) -> None:
    given = market(slices)
    routes, usd = pool_routes(given), [tried(given, n).usd for n in range(8)]
    best = int(np.argmin(usd))
    good, bad = tried(given, best), tried(given, 7)

    def speaks_for(base: int, known: Tried) -> bool:
        return promising(given, routes, Month({0: base}), MonthPrices(), penalty_usd(given, routes), EFFORT, known)

    assert speaks_for(best, bad) and not speaks_for(7, good) and not speaks_for(0, good)


def test_few_hours_are_all_tried_whatever_a_sample_would_say() -> None:
    given = market(4)
    routes = pool_routes(given)
    assert promising(given, routes, Month({0: 7}), MonthPrices(), penalty_usd(given, routes), EFFORT, tried(given, 3))


def test_steps_towards_the_wish_come_first_and_bases_without_hosts_are_the_same() -> None:
    bases = neighbours({1: 1, 2: 3}, {1: 2.5, 2: 0.0}, {1: 1, 2: 1})
    assert bases[0] == {1: 2, 2: 2}, "a host exchanged is two steps towards the wish"
    assert {1: 2, 2: 3} in bases[1:3] and {1: 1, 2: 2} in bases[1:3] and {1: 0, 2: 3} in bases
    assert not any(base[2] > 3 for base in bases), "no hour wishes for more of these"
    assert held({1: 0, 2: 3}) == held({2: 3}) == {(2, 3)} and held({}) == frozenset()
