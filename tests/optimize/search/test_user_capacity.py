"""The user's own capacities as pools, and what the mix of them saves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.records import ProgramInput
from optimize.search.user_capacity import answered, class_alone, measured_alternatives, offer_terms
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.report import plan_fixture

SCENARIO = plan_fixture.scenario()  # classes chat, records, reasoning, faq
HOST = offer("host", 1.0)


def test_a_request_occupies_what_the_rate_of_the_largest_size_leaves_it() -> None:
    terms = offer_terms(HOST, {1: {0: 2.0, 3: 0.0}, 4: {0: 4.0, 1: 5.0, 3: 0.0}}, SCENARIO, 6)
    assert terms is not None and terms.measured
    assert terms.levels[0].load.tolist() == [0.25, 0.2, math.inf, math.inf] and terms.levels[0].miss.tolist() == [0.0] * 6
    assert (terms.option.id, terms.option.classes, terms.option.replicas_per_host) == ("host:chat+records", (0, 1), 1)


def test_an_offer_that_serves_nothing_has_no_pool() -> None:
    assert offer_terms(HOST, {}, SCENARIO, 6) is None and offer_terms(HOST, {1: {0: 0.0}}, SCENARIO, 6) is None


@pytest.mark.parametrize(
    ("rates", "one", "four"),
    [
        ({4: {0: 4.0}}, 1.0, 4.0),  # a single size: in proportion
        ({1: {0: 3.0}, 4: {0: 4.0}}, 0.75, 4.0),  # one replica alone carries three quarters of its part
        ({1: {0: 3.0, 1: 2.0}, 4: {0: 4.0, 1: 4.0}}, 0.5, 4.0),  # the class that suffers most decides
        ({1: {0: 5.0}, 4: {0: 4.0}}, 1.0, 4.0),  # a small pool is never taken to be better than its part
        ({2: {0: 3.0}, 4: {0: 4.0}}, 0.25, 4.0),  # the line through two sizes
    ],
)
def test_capacity_is_the_line_through_the_smallest_and_the_largest_size(
    rates: dict[int, dict[int, float]], one: float, four: float
) -> None:
    """What `n` replicas carry: slope x n - intercept."""
    terms = offer_terms(HOST, rates, SCENARIO, 6)
    assert terms is not None
    assert [terms.slope * n - terms.intercept for n in (1, 4)] == pytest.approx([one, four])


def two_classes(budget: float = math.inf, relays: bool = True) -> ProgramInput:
    """Class 0 is cheap on `a`, class 1 on `b`; a relay sells both dearly. Two hours of 365 h."""
    pools = [pool(offer("a", 1.0), [0.5, 0.5]), pool(offer("b", 3.0), [math.inf, 0.5])]
    sold = [relay("r", [1e-2, 1e-2])] if relays else []
    return replace(problem([[2.0, 4.0], [2.0, 2.0]], pools, sold, budget=budget), fixed_usd=10.0)


def test_alternatives_are_each_offer_alone_relays_alone_and_a_pool_for_each_class() -> None:
    costs = {each.name: (each.status, each.per_month_usd) for each in measured_alternatives(two_classes())}
    calls = 5.0 * 730 * 3600 * 1e-2
    assert costs == {
        "a alone": ("within_budget", pytest.approx(5 * 365.0 + 10)),
        "b alone": ("infeasible", None),
        "relays alone": ("within_budget", pytest.approx(calls + 10)),
        "pools of its own for each class": ("within_budget", pytest.approx(5 * 365.0 + 10)),
    }
    lost = next(each.note for each in measured_alternatives(two_classes()) if each.name == "b alone")
    assert lost == "60.0% of requests unserved"


def test_an_alternative_may_break_the_budget_and_says_so() -> None:
    found = {each.name: each.status for each in measured_alternatives(two_classes(budget=5 * 365.0 + 10))}
    assert found["a alone"] == "within_budget" and found["relays alone"] == "over_budget"
    assert {each.status for each in measured_alternatives(two_classes(budget=1.0)) if each.per_month_usd is not None} == {"over_budget"}


def test_without_a_relay_there_is_none_to_be_alone_with() -> None:
    (alone,) = [each for each in measured_alternatives(two_classes(relays=False)) if each.name == "relays alone"]
    assert (alone.status, alone.per_month_usd, alone.note) == ("infeasible", None, "there is none")


def test_a_pool_of_its_own_for_each_class_counts_fixed_costs_once() -> None:
    given = two_classes()
    parts = [class_alone(given, c) for c in range(2)]
    assert [part.fixed_usd for part in parts] == [10.0, 0.0]
    assert (parts[0].demand.mean_rps + parts[1].demand.mean_rps == given.demand.mean_rps).all()
    assert not parts[0].demand.mean_rps[1].any() and np.array_equal(given.demand.mean_rps[0], [2.0, 4.0])


def test_half_hosts_of_classes_cost_a_whole_one_each() -> None:
    """Sharing saves a host: half of one for each class."""
    given = problem([[1.0], [1.0]], [pool(offer("a", 1.0), [0.5, 0.5])])
    together = answered("together", [given])
    apart = answered("apart", [class_alone(given, c) for c in range(2)])
    assert (together.per_month_usd, apart.per_month_usd) == (pytest.approx(730.0), pytest.approx(2 * 730.0))
