"""What hours share: decisions that are paid already, shares of their prices, and hours that fit next to a month."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize.program.answer import no_parts
from optimize.program.by_stages.hour_programs import hour_key
from optimize.program.by_stages.month import Month, MonthPrices, joined
from optimize.program.by_stages.recombine import beside_month
from optimize.program.routes import pool_routes
from optimize.program.rows.model import View
from optimize.program.rows.provisioned_units import most_units
from optimize.records import BootTerms, ProgramInput, UnitTerms
from tests.optimize.program.problems import offer, pool, problem, relay


def given(**changes: Any) -> ProgramInput:
    """A pool that follows the hour, one that does not, a relay and one on units; one class in two hours."""
    pools = [pool(offer("a", 1.0), [0.5]), pool(offer("b", 1.0, elastic=False), [0.5])]
    calls = [relay("r", [1e-3]), replace(relay("u", [0.0]), units=UnitTerms(2.0, np.array([0.5])))]
    return replace(problem([[2.0, 4.0]], pools, calls), **changes)


def test_an_hour_given_the_month_has_its_hosts_paid_and_is_not_the_month() -> None:
    month = Month({1: 3}, {1: 2}, frozenset({0}), {("contract", 0): 1}, {0: np.array([5.0, 7.0])})
    view = month.view(pool_routes(given()), MonthPrices(call_usd={0: 0.1}), 1, 9.0, {0: 4})
    assert (view.slices, view.month, view.whole, view.budget_usd) == ((1,), False, True, None)
    assert (view.base, view.base_usd, view.units, view.closed) == ({1: (3, 3)}, {1: 0.0}, {1: 2}, frozenset({0}))
    assert (view.decided, view.allotment, view.penalty_usd, view.before, view.call_usd) == (
        {("contract", 0): 1},
        {0: 7.0},
        9.0,
        {0: 4},
        {0: 0.1},
    )
    assert Month({}).view(pool_routes(given()), MonthPrices(), 0, None).base == {1: (0, 0)}


def test_an_hour_that_decides_for_itself_pays_its_share_of_each_price() -> None:
    usd = np.array([1.0, 2.0])
    prices = MonthPrices({1: usd}, {1: usd * 2}, {0: usd * 3}, {1: usd * 4}, {0: usd * 5}, {0: 0.2}, {("contract", 0): usd * 6})
    view = prices.view(1, 9.0)
    assert (view.slices, view.month, view.base_usd, view.unit_usd, view.tier_usd, view.on_usd) == (
        (1,),
        False,
        {1: 2.0},
        {1: 4.0},
        {0: 6.0},
        {1: 8.0},
    )
    assert (view.host_usd, view.call_usd, view.decision_usd, view.penalty_usd) == ({(0, 1): 10.0}, {0: 0.2}, {("contract", 0): 12.0}, 9.0)
    assert (MonthPrices().budget, MonthPrices().constant) == (0.0, 0.0)


def test_parts_of_a_month_hold_its_decisions_alone() -> None:
    parts = Month({1: 3}, {1: 2}).parts(given())
    assert parts.hosts.tolist() == [[0, 0], [3, 3]] and parts.units.tolist() == [0, 2] and parts.unserved.tolist() == [[1.0, 1.0]]


def test_hours_are_joined_by_hosts_of_the_month_units_and_paid_starts() -> None:
    free = replace(given(), pools=given().pools[:1], relays=given().relays[:1])
    assert not joined(free, pool_routes(free)) and joined(given(), pool_routes(given()))
    units = replace(free, relays=given().relays[1:])
    assert joined(units, pool_routes(units))
    starts = replace(free, boot=BootTerms((1, 0), np.ones(2)))
    assert joined(starts, pool_routes(starts))


# --- hours of another solution


def fitted(month: Month, base: int = 1, used: float = 0.5, calls: float = 0.0, problem: ProgramInput | None = None) -> list[bool]:
    """Which hours are taken from a solution with so many hosts of the month, of which the second hour calls relays."""
    problem = problem or given()
    mine, other = no_parts(problem), no_parts(problem)
    other.hosts[1] = base
    other.hosts[0] = 7
    other.calls[1, 0, 1], other.calls[0, 0, 1] = used, calls
    found = beside_month(problem, pool_routes(problem), month, mine, other)
    assert found.hosts[1].tolist() == [month.base.get(1, 0)] * 2, "hosts of the month are those of the month"
    return [bool(each == 7) for each in found.hosts[0]]


def test_an_hour_fits_next_to_a_month_with_the_hosts_and_units_that_it_needs() -> None:
    """Half of four requests/s at half a unit each and 1.2 times as much at the peak: 1.2 units."""
    assert fitted(Month({1: 1}, {1: 2})) == [True, True]
    assert fitted(Month({1: 1}, {1: 1})) == [True, False]
    assert fitted(Month({1: 1}, {1: 2}), base=2) == [False, False]
    assert fitted(Month({}, {1: 2}), base=1) == [False, False]


def test_an_hour_that_calls_a_tier_that_was_not_bought_does_not_fit() -> None:
    assert fitted(Month({1: 1}, {1: 2}, frozenset({0})), calls=0.1) == [True, False]
    assert fitted(Month({1: 1}, {1: 2}), calls=0.1) == [True, True]


def test_under_a_reserve_or_a_cap_nothing_is_known_to_fit() -> None:
    assert fitted(Month({1: 1}, {1: 2}), problem=given(relay_outage_reserve=True)) == [False, False]
    assert fitted(Month({1: 1}, {1: 2}, allotment={0: np.ones(2)})) == [False, False]


# --- hours that are alike


def test_hours_are_alike_unless_what_came_before_or_what_they_may_spend_differs() -> None:
    assert hour_key(View((0,))) == hour_key(View((1,))) == b""
    keys = {
        hour_key(View((t,), before=before, allotment=allotment)) for t in (0, 1) for before in ({}, {0: 1}) for allotment in ({}, {0: 5.0})
    }
    assert len(keys) == 8 and b"" not in keys
    assert hour_key(View((0,), allotment={0: 5.0})) != hour_key(View((0,), allotment={0: 6.0}))


# --- provisioned units


@pytest.mark.parametrize(
    ("least", "most", "bought"),
    [(1, None, 3), (2, None, 3), (5, None, 5), (1, 2, 2), (3, 3, 3), (4, 3, 0), (1, 300, 3), (300, 300, 300), (300, 299, 0)],
)
def test_units_are_as_many_as_the_peak_minute_needs_within_what_is_sold(least: int, most: int | None, bought: int) -> None:
    """Four requests/s at half a unit each, 1.2 times as much at the peak: 2.4 units."""
    units = UnitTerms(2.0, np.array([0.5]), least, most)
    both = given()
    assert most_units(replace(both, relays=(both.relays[0], replace(both.relays[1], units=units))), 1) == bought
    assert most_units(both, 0) == 0
