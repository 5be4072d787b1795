"""What the program may choose between: which pools count, what a host carries, and how many could ever be needed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize.program.routes import largest_share, penalty_usd, pool_routes, relay_classes, spot_availability
from optimize.records import LoadLevel, ProgramInput, SpotTerms
from tests.optimize.program.problems import offer, pool, problem, relay


def one_pool(
    rates: Any = ((2.0, 6.0), (1.0, 0.0)),
    load: tuple[float, ...] = (0.5, math.inf),
    term: str = "on_demand",
    stock: int | None = None,
    **terms: Any,
) -> ProgramInput:
    return problem(rates, [pool(offer("o", 1.0, term=term, stock=stock), load, **terms)])


def most(given: ProgramInput) -> list[int]:
    (route,) = pool_routes(given)
    return [int(each) for each in route.most]


def test_hosts_beyond_all_demand_gain_nothing() -> None:
    assert most(one_pool()) == [1, 3] and most(one_pool(load=(0.5, 2.0))) == [3, 3]
    assert most(one_pool(replicas=2)) == [1, 2] and most(one_pool(slope=0.5)) == [2, 6]
    assert most(one_pool(intercept=0.5)) == [2, 4]
    assert most(one_pool(rates=((2.0, 0.0), (0.0, 0.0)))) == [1, 0]


def test_a_spare_host_and_the_stock_bound_them_too() -> None:
    assert most(replace(one_pool(), n_plus_one=True)) == [2, 4]
    assert most(one_pool(stock=2)) == [1, 2]
    assert pool_routes(one_pool(stock=0)) == ()


def test_the_load_of_the_dearest_level_counts_class_by_class() -> None:
    given = one_pool(load=(0.5, 0.5))
    levels = (LoadLevel(np.array([0.5, 2.0]), np.zeros(0)), LoadLevel(np.array([1.0, math.inf]), np.zeros(0)))
    both = replace(given, pools=(replace(given.pools[0], levels=levels),))
    assert most(both) == [4, 6]


@pytest.mark.parametrize("slope", [0.9, 0.5, 1e-6, 0.0, -1.0])
def test_a_pool_counts_as_long_as_a_host_carries_anything(slope: float) -> None:
    assert len(pool_routes(one_pool(slope=slope))) == int(slope > 0)


def test_a_pool_that_no_class_with_demand_may_use_is_left_out() -> None:
    assert pool_routes(one_pool(load=(math.inf, math.inf))) == ()
    assert pool_routes(one_pool(rates=((0.0, 0.0), (1.0, 1.0)))) == ()


def test_what_a_running_pool_loses_is_its_overhead_and_its_spare_host() -> None:
    (bare,), (spared,) = (
        pool_routes(one_pool(slope=0.8)),
        pool_routes(replace(one_pool(slope=0.8, intercept=0.5, replicas=2), n_plus_one=True)),
    )
    assert (bare.overhead, bare.switched, bare.spare) == (0.0, False, 0)
    assert (spared.overhead, spared.switched, spared.spare) == (pytest.approx(0.5 + 1.6), True, 1)
    (better,) = pool_routes(one_pool(intercept=-0.5))
    assert better.overhead == 0.0, "a pool is never better than its line through nothing"


def test_spot_hosts_are_counted_with_their_availability_and_up_to_their_share() -> None:
    spot = SpotTerms(availability=0.8, max_share=0.5)
    given = replace(one_pool(term="spot"), spot=spot)
    (route,) = pool_routes(given)
    assert route.per_host == pytest.approx(0.8) and most(given) == [1, 2]
    option = given.pools[0].option
    assert (spot_availability(given, option), largest_share(given, option)) == (0.8, 0.5)
    assert largest_share(replace(given, relay_outage_reserve=True), option) == 1.0
    other = replace(one_pool(), spot=spot)
    assert (spot_availability(other, other.pools[0].option), largest_share(other, other.pools[0].option)) == (1.0, 1.0)


def test_a_relay_serves_the_classes_that_it_sells_to_and_that_ask_for_anything() -> None:
    given = problem([[1.0], [0.0], [1.0], [1.0]], [], [relay("r", [1e-3, 1e-3, math.inf, 1e-3])])
    barred = replace(given.relays[0], eligible=np.array([True, True, True, False]))
    assert relay_classes(given, 0) == (0, 3) and relay_classes(replace(given, relays=(barred,)), 0) == (0,)


def test_leaving_a_request_out_costs_ten_times_the_dearest_way_to_serve_one_and_what_is_asked_for_at_least() -> None:
    """A host of $7,200 an hour for two requests/s makes $1 a request; the relay asks $0.5, and $3 in its dear hour."""
    host, calls = pool(offer("o", 7_200.0), [0.5]), relay("r", [0.5])
    hosted = problem([[1.0, 1.0]], [host], [calls])
    assert penalty_usd(hosted, pool_routes(hosted)) == pytest.approx(10.0)
    dear = replace(hosted, relays=(replace(calls, hour_factors=np.array([[1.0, 6.0]])),))
    assert penalty_usd(dear, pool_routes(dear)) == pytest.approx(30.0)
    only = problem([[1.0, 1.0]], [], [calls])
    assert penalty_usd(only, ()) == pytest.approx(5.0)
    assert penalty_usd(replace(only, unserved_usd_per_request=77.0), ()) == 77.0
    monthly = problem([[1.0, 1.0]], [pool(offer("m", 7_200.0, elastic=False), [0.5])], hours=(700.0, 30.0))
    assert penalty_usd(monthly, pool_routes(monthly)) == pytest.approx(10.0 * 730 / 30)
