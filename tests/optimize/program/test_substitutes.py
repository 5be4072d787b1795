"""Hosts that no optimum has: the bounds of `with_fewer_hosts`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.program.routes import PoolRoute, breakable, pool_routes, undominated
from optimize.program.solve import solve
from optimize.program.substitutes import with_fewer_hosts, without_dear_calls
from optimize.records import ProgramInput, SloRow, SpotTerms
from tests.optimize.program.enumerate_plans import best_usd
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.program.random_problems import random_problem

SLOS = (SloRow(0, "ttft", 0.95, 1.0),)


def bounds(given: ProgramInput) -> dict[str, list[int]]:
    """Offer -> [slices] most hosts, pools that are kept."""
    routes = with_fewer_hosts(given, undominated(given, pool_routes(given)))
    return {route.terms.option.offer.id: route.most.tolist() for route in routes}


def small_and_large(**other: object) -> ProgramInput:
    """One small host carries 1 request/s for 1 USD, one large 5 for 3.5; the small one is what is left over for."""
    pools = [pool(offer("small", 1.0), [1.0], [0.0]), pool(offer("large", 3.5), [0.2], [0.0])]
    return replace(problem([[20.0, 2.0]], pools, slos=SLOS), **other)  # type: ignore[arg-type]


def test_four_small_hosts_are_never_bought_where_one_large_host_costs_less() -> None:
    given = small_and_large()
    assert bounds(given) == {"small": [3, 2], "large": [4, 0]}
    assert solve(given).hosts.tolist() == [[0, 2], [4, 0]]


def test_large_pool_that_starts_at_a_price_or_can_run_out_or_only_is_spot_stands_in_for_nobody() -> None:
    given = small_and_large()
    scarce = replace(given, pools=(given.pools[0], pool(offer("large", 3.5, stock=9), [0.2], [0.0])))
    spot = replace(given, pools=(given.pools[0], pool(offer("large", 3.5, term="spot"), [0.2], [0.0])))
    assert bounds(scarce)["small"] == bounds(spot)["small"] == [20, 2]


def test_misses_keep_a_pool_only_where_somebody_breaks_the_promise() -> None:
    given = small_and_large()
    near = replace(given, pools=(given.pools[0], pool(offer("large", 3.5), [0.2], [0.04])))
    assert bounds(near)["small"] == [3, 2] and breakable(near, pool_routes(near)) == frozenset()
    beyond = replace(near, relays=(relay("r", [1.0], [0.2], rpm=1.0),))
    assert bounds(beyond)["small"] == [20, 2] and breakable(beyond, pool_routes(beyond)) == {0}


def test_pool_that_costs_more_than_calls_is_left_out_unless_calls_are_limited() -> None:
    given = small_and_large()
    cheap = replace(given, relays=(relay("r", [1.1 / 3600 / 5], [0.0], hard=False),))
    assert bounds(cheap) == {}
    between = replace(given, relays=(relay("r", [0.9 / 3600], [0.0], hard=False),))
    assert bounds(between) == {"large": [4, 0]}
    limited = [
        replace(between, relays=(relay("r", [0.9 / 3600], [0.0], rpm=10.0),)),
        replace(between, relays=(replace(between.relays[0], spend_cap_usd=10.0),)),
        replace(between, max_relay_share=0.9),
        replace(between, vendor_shares={"*": 0.5}),
        replace(between, relay_outage_reserve=True),
    ]
    assert all(bounds(each)["small"] == [3, 2] for each in limited)


def test_hosts_that_cost_nothing_keep_their_bound_and_are_used_first() -> None:
    given = small_and_large()
    calls = (relay("r", [0.0], [0.0], hard=False),)
    free = replace(given, pools=(pool(offer("small", 0.0), [1.0], [0.0]), given.pools[1]))
    assert bounds(free) == {"small": [20, 2]} and solve(free).cost_usd == 0
    assert bounds(replace(free, relays=calls)) == {"small": [20, 2]}


def test_dearer_relays_are_not_called_unless_they_miss_less_or_have_an_account() -> None:
    asks = [relay("first", [2e-4], [0.0], hard=False), relay("same", [2e-4], [0.0], hard=False), relay("dear", [3e-4], [0.0], hard=False)]
    given = replace(small_and_large(), relays=tuple(asks))

    def called(each: ProgramInput) -> list[bool]:
        return [bool(terms.eligible[0]) for terms in without_dear_calls(each, breakable(each, ())).relays]

    assert called(given) == [True, False, False]
    missing = replace(given, relays=(relay("cheap", [1e-4], [0.2], hard=False), *asks))
    assert called(missing) == [True, True, False, False]
    committed = replace(given, relays=(*asks[:2], replace(asks[2], committed_usd=100.0)))
    assert called(committed) == [True, False, True]
    assert called(replace(given, max_relay_share=0.5)) == [True, True, True]
    dear_by_day = replace(asks[0], hour_factors=np.array([[1.0, 2.0]]))
    assert called(replace(given, relays=(dear_by_day, asks[2]))) == [True, True]


def test_bounds_appear_in_the_random_problems_and_keep_their_optimum() -> None:
    lowered = 0
    for seed in range(60):
        given = random_problem(seed)
        before: tuple[PoolRoute, ...] = undominated(given, pool_routes(given))
        after = {route.index: route for route in with_fewer_hosts(given, before)}
        assert all((after[route.index].most <= route.most).all() for route in before if route.index in after)
        lowered += any(route.index not in after or (after[route.index].most < route.most).any() for route in before)
        best = best_usd(given)
        answer = solve(given, gap=1e-6)
        assert math.isinf(best) or answer.cost_usd == pytest.approx(best, rel=1e-5), seed
    assert lowered >= 2


def market(seed: int) -> ProgramInput:
    """Five to ten elastic offers of very different price, some scarce or spot, pools of some classes, relays with and without limits."""
    rng = np.random.default_rng(seed)
    pools = []
    for k in range(int(rng.integers(5, 11))):
        price, term = float(np.exp(rng.uniform(-1.0, 3.2))), "spot" if rng.random() < 0.2 else "on_demand"
        sold = offer(f"o{k}", price, stock=int(rng.integers(1, 6)) if rng.random() < 0.15 else None, term=term)
        load = rng.uniform(0.05, 0.4, 3) * np.exp(rng.normal(0.0, 0.8, 3)) / price ** rng.uniform(0.6, 1.1)
        served = rng.random(3) < 0.6
        served[int(rng.integers(3))] = True
        intercept = float(rng.uniform(0.05, 0.6)) if rng.random() < 0.4 else 0.0
        misses = rng.uniform(0.0, 0.08, 3) * (rng.random(3) < 0.6)
        pools.append(pool(sold, np.where(served, load, np.inf).tolist(), misses.tolist(), 1 + intercept / 4, intercept))
    relays = []
    for a in range(int(rng.integers(0, 4))):
        usd = np.where(rng.random(3) < 0.7, np.exp(rng.uniform(-10.5, -7.0, 3)), np.inf)
        misses = rng.uniform(0.0, 0.1, 3) * (rng.random(3) < 0.5)
        relays.append(relay(f"r{a}", usd.tolist(), misses.tolist(), float(rng.integers(50, 900)), hard=bool(rng.random() < 0.5)))
    slos = [SloRow(c, "ttft", 0.95, 1.0) for c in range(3)]
    share = 0.6 if rng.random() < 0.2 else 1.0
    given = problem(rng.uniform(0.5, 15.0, (3, 2)).tolist(), pools, relays, slos, share=share, n_plus_one=bool(rng.random() < 0.3))
    return replace(given, spot=SpotTerms(0.5, 0.8), relay_outage_reserve=bool(rng.random() < 0.15))


@pytest.mark.parametrize("block", range(4))
def test_markets_cost_the_same_with_and_without_the_bounds(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(15 * block, 15 * block + 15)
    with_bounds = [solve(market(seed), gap=1e-7) for seed in seeds]
    monkeypatch.setattr("optimize.program.solve.worth_trying", lambda given, routes: (given, routes))
    monkeypatch.setattr("optimize.program.routes.no_worse", lambda *_: False)
    for seed, one in zip(seeds, with_bounds, strict=True):
        other = solve(market(seed), gap=1e-7)
        assert one.cost_usd == pytest.approx(other.cost_usd, rel=1e-6), seed
        assert one.unserved.sum() == pytest.approx(other.unserved.sum(), abs=1e-6), seed
        assert one.model_bound_usd <= other.cost_usd * (1 + 1e-6), seed
