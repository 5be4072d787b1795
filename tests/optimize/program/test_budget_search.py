"""Budgets that do not serve all: what the stages choose inside them, by hand, and their bounds against the exact program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.program import solve as solve_module
from optimize.program.answer import Parts, no_parts, spent_usd, unserved_requests
from optimize.program.by_stages.allotment import Task, by_allotments, fill, one_pass
from optimize.program.by_stages.budget_search import (
    Tries,
    alike,
    bounded,
    by_worth,
    halved,
    requests,
    something_shared,
    spent_up,
    swapped,
    within_budget,
)
from optimize.program.by_stages.hour_programs import Effort
from optimize.program.by_stages.month import Month, MonthPrices
from optimize.program.by_stages.recombine import menu_of
from optimize.program.routes import pool_routes
from optimize.program.solve import solve
from optimize.records import ProgramInput, UnitTerms
from tests.optimize.program.checker import violations
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.program.random_problems import random_problem

CALL = 1e-4
HOUR = CALL * 3600 * 730 / 3  # a request/s in one of three slices: $87.60


def calls(*factors: float) -> ProgramInput:
    """One, two and four requests/s in three hours; calls cost `factors` times CALL there."""
    sold = replace(relay("r", [CALL]), hour_factors=np.array([factors]))
    return problem([[1.0, 2.0, 4.0]], [], [sold])


def task(given: ProgramInput, budget: float, month: Month | None = None) -> Task:
    return Task(given, pool_routes(given), month or Month({}), MonthPrices(), Effort(1e-7, 20_000, prove=False), budget)


def served(given: ProgramInput, *hours: int) -> Parts:
    """All calls of these hours, none of the others."""
    parts = no_parts(given)
    parts.calls[0, 0, list(hours)], parts.unserved[0, list(hours)] = 1.0, 0.0
    return parts


def hours_of(parts: Parts) -> list[float]:
    """[slices] served share."""
    return [round(float(1 - left), 6) for left in parts.unserved[0]]


# --- choices from a menu


def test_money_goes_first_where_it_serves_most_and_what_no_longer_fits_stays_out() -> None:
    """At half the price the four requests/s of the last hour cost $175.20 like the two before; then one fits, and two do not."""
    given = calls(1.0, 1.0, 0.5)
    menu = menu_of(given, (), [no_parts(given), served(given, 0, 1, 2)])
    found = swapped(task(given, 3.1 * HOUR), menu, np.zeros(3, dtype=np.int64))
    assert hours_of(found) == [1.0, 0.0, 1.0]
    assert hours_of(swapped(task(given, 1.5 * HOUR), menu, np.zeros(3, dtype=np.int64))) == [1.0, 0.0, 0.0]
    assert hours_of(swapped(task(given, 5.01 * HOUR), menu, np.zeros(3, dtype=np.int64))) == [1.0, 1.0, 1.0]
    assert hours_of(swapped(task(given, 0.5 * HOUR), menu, np.zeros(3, dtype=np.int64))) == [0.0, 0.0, 0.0]


def test_hours_that_are_served_are_not_exchanged_for_worse() -> None:
    given = calls(1.0, 1.0, 1.0)
    menu = menu_of(given, (), [served(given, 0, 1), no_parts(given)])
    assert hours_of(swapped(task(given, 3.0 * HOUR), menu, np.zeros(3, dtype=np.int64))) == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("budget", [0.5, 1.5, 2.5, 4.5, 6.5])
def test_prices_on_both_sides_of_the_budget_are_found_and_the_choice_keeps_it(budget: float) -> None:
    """Hours cost 3, 2 and 4 here; the price of a request left out decides which of them are served."""
    given = calls(3.0, 1.0, 1.0)
    asked = task(given, budget * HOUR)
    tries = by_worth(asked, 2 * CALL, 100 * CALL, ())
    assert asked.spent_usd(tries.safe) <= asked.limit_usd and 0 <= tries.low < tries.high <= 100 * CALL
    menu = menu_of(given, (), tries.found)
    choice, worth = halved(asked, tries, menu)
    assert tries.low <= worth <= tries.high
    if choice is not None:
        assert asked.spent_usd(menu.parts(choice)) <= asked.limit_usd
    done = spent_up(asked, tries, menu)
    assert asked.spent_usd(done) == pytest.approx(budget * HOUR, rel=1e-4), "calls can be divided: nothing is left of the budget"


def test_a_budget_of_nothing_is_kept_below_the_price_of_a_call_where_nothing_is_bought() -> None:
    given = calls(1.0, 1.0, 1.0)
    asked = task(given, 0.0)
    tries = by_worth(asked, 50 * CALL, 100 * CALL, ())
    assert 0 < tries.low < CALL <= tries.high and tries.safe.unserved.all()
    assert spent_up(asked, tries, menu_of(given, (), tries.found)).unserved.all()


def test_where_all_is_served_inside_the_budget_one_price_is_enough() -> None:
    given = calls(1.0, 1.0, 1.0)
    tries = by_worth(task(given, 9 * HOUR), 2 * CALL, 100 * CALL, ())
    assert len(tries.found) == 1 and not tries.safe.unserved.any() and (tries.low, tries.high) == (2 * CALL, 100 * CALL)


# --- allotments


def test_what_is_left_goes_to_the_hours_that_lack_most() -> None:
    given = calls(1.0, 1.0, 1.0)
    done = fill(task(given, 5.0 * HOUR), 100 * CALL, no_parts(given))
    assert hours_of(done)[2] == 1.0 and hours_of(done)[1] == pytest.approx(0.5, abs=1e-5) and hours_of(done)[0] == 0.0
    full = served(given, 0, 1, 2)
    assert fill(task(given, 9.0 * HOUR), 100 * CALL, full) is full


def test_hours_are_allotted_by_volume_and_spend_what_the_month_leaves() -> None:
    given = calls(1.0, 1.0, 1.0)
    found = by_allotments(task(given, 3.5 * HOUR), 100 * CALL)
    assert found is not None and spent_usd(given, (), found) == pytest.approx(3.5 * HOUR, rel=1e-6)
    assert hours_of(one_pass(task(given, 3.5 * HOUR), 100 * CALL, 3.5 * HOUR)) == pytest.approx([0.5] * 3, abs=1e-5)
    weighed = Month({}, spent_usd=np.array([0.0, 1.0, 1.0]))
    assert hours_of(one_pass(task(given, 9.9, weighed), 100 * CALL, 4.0 * HOUR)) == pytest.approx([0.0, 1.0, 0.5], abs=1e-5)


def test_what_an_hour_cannot_spend_on_a_whole_host_goes_to_the_next() -> None:
    """A host costs $243 in each of three hours alike; of $300 each is allotted $100, so that the last can buy one."""
    given = problem([[1.0, 1.0, 1.0]], [pool(offer("o", 1.0), [0.5])])
    parts = one_pass(task(given, 300.0), 1.0, 300.0)
    assert parts.hosts.sum() == 1 and parts.hosts[0, 2] == 1
    assert one_pass(task(given, 700.0), 1.0, 700.0).hosts.sum() == 2


def test_what_the_month_has_paid_is_not_there_for_its_hours() -> None:
    pools = [pool(offer("monthly", 0.1, elastic=False), [2.0])]
    given = problem([[1.0, 2.0, 4.0]], pools, [relay("r", [CALL])])
    found = by_allotments(task(given, 73.0 + 2.0 * HOUR, Month({0: 1})), 100 * CALL)
    assert found is not None and found.hosts[0].tolist() == [1, 1, 1]
    assert spent_usd(given, pool_routes(given), found) == pytest.approx(73.0 + 2.0 * HOUR, rel=1e-5)


# --- bounds and months


def test_a_bound_at_one_price_of_a_request_left_out_bounds_cost_and_penalty_inside_the_budget() -> None:
    """Cost plus $2 a request is at least $150: with 20 left out at least $110, and at $10 a request 5 x 150 less 4 x 100."""
    given = problem([[20 / 3600 / 730]], [], [relay("r", [CALL])])
    assert requests(given) == pytest.approx(20.0)
    found = bounded(task(given, 100.0), no_parts(given), 10.0, [(2.0, 150.0), (5.0, 160.0)])
    assert found.bound == pytest.approx(350.0) and found.cost_bound == pytest.approx(110.0)


def test_months_are_alike_if_they_buy_the_same() -> None:
    pools = [pool(offer("monthly", 1.0, elastic=False), [0.5])]
    given = problem([[1.0]], pools, [replace(relay("r", [CALL]), units=UnitTerms(1.0, np.array([0.1])))])
    one = Month({0: 1}, {0: 2}, decided={("k",): 1})
    assert alike(given, one, Month({0: 1}, {0: 2}, decided={("k",): 1}))
    others = (Month({0: 2}, {0: 2}, decided={("k",): 1}), Month({0: 1}, {0: 1}, decided={("k",): 1}), Month({0: 1}, {0: 2}))
    assert not any(alike(given, one, other) for other in others)
    assert all(something_shared(given, month) for month in (Month({0: 1}), Month({}, {0: 1}), Month({}, decided={("k",): 1})))
    assert not something_shared(given, Month({0: 0}, {0: 0}, decided={("k",): 0}))


@pytest.mark.parametrize("seed", [0, 2, 4, 12, 13])
def test_stages_inside_a_budget_come_near_the_exact_program_and_never_bound_above_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = random_problem(seed)
    full = solve(given, gap=1e-6)
    for share in (0.9, 0.6):
        tight = replace(given, budget_usd=share * full.cost_usd)
        monkeypatch.setattr(solve_module, "SMALL", 10**6)
        exact = solve(tight, gap=1e-6)
        monkeypatch.setattr(solve_module, "SMALL", -1)
        monkeypatch.setattr(solve_module, "MEDIUM", -1)
        staged = solve(tight, gap=1e-6)
        assert violations(tight, staged) == []
        lacks = [float((answer.unserved @ given.demand.weight_h).sum()) for answer in (exact, staged)]
        assert lacks[0] * (1 - 1e-4) <= lacks[1] <= 1.15 * lacks[0]
        assert staged.model_bound_usd <= exact.cost_usd * (1 + 1e-5), "the exact one leaves out no more"


def test_hosts_of_the_month_that_cost_more_than_the_budget_are_decided_again() -> None:
    """Eight monthly hosts serve all for $5,840; of $4,500 six are bought, and not none because eight are too dear."""
    given = problem([[16.0, 12.0]], [pool(offer("monthly", 1.0, elastic=False), [0.5])], budget=4_500.0)
    asked = task(given, 4_500.0, Month({0: 8}))
    assert asked.month_usd == 8 * 730.0 and asked.spent_usd(asked.month.parts(given)) == 0.0
    found = within_budget(given, asked.routes, 1.0, asked.effort, 4_500.0, Month({0: 8}))
    assert found.parts.hosts.tolist() == [[6, 6]] and spent_usd(given, asked.routes, found.parts) == 6 * 730.0


def test_what_is_left_out_is_counted_over_the_month() -> None:
    given = calls(1.0, 1.0, 1.0)
    assert unserved_requests(given, served(given, 0, 2)) == pytest.approx(2.0 * 3600 * 730 / 3)
    assert isinstance(by_worth(task(given, 9 * HOUR), 2 * CALL, 100 * CALL, ()), Tries)
