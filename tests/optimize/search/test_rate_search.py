"""What a pool sustains: bounded by stability whatever the promise, known only from requests that came, tried down to an idle engine."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from optimize.market.candidates import candidates
from optimize.market.operating_point import OperatingPoint, Probe
from optimize.market.pools import pool_states, slo_rows
from optimize.plan import costs_of
from optimize.records import SloRow
from optimize.search.rate_search import RateSearch, SeedRun, measure, trial_of, try_rate, window_s
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of

SCENARIO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"
FOUR_AT_ONCE = "engine={max_num_seqs: 4}"  # a small engine: it saturates at about one request a second, so that trials are short


@lru_cache
def small_engine(*settings: str) -> tuple[Scenario, Probe]:
    """One L40S that serves four requests at once, asked for its capacity at one class alone."""
    only = ("candidates.offers=[aws.g6e.xlarge]", "candidates.relays=[]", "traffic={rate_rps: 1, minute_noise_cv: 0}")
    scenario = load_scenario(SCENARIO, (*only, FOUR_AT_ONCE, *settings), None)
    demand, slos = demand_of(scenario), slo_rows(scenario)
    options, _ = candidates(scenario, demand)
    state = pool_states(options, costs_of(scenario, options), demand, slos)[0]
    assert state.cost is not None
    return scenario, Probe(state.option, state.cost, (1.0,), 1, slos, 1 / float(state.base[0]), 0.03, rough=True)


def capacity(*rows: SloRow, rough: bool = True) -> OperatingPoint:
    scenario, probe = small_engine()
    return measure(scenario, replace(probe, slos=rows, rough=rough))


def test_every_loose_limit_gives_the_same_capacity() -> None:
    """A day's limit holds for an hour however much more comes than is served: that is no capacity."""
    loose = [
        capacity(SloRow(0, metric, 0.95, limit_s)).rate_rps for metric, limit_s in (("e2e", 300.0), ("ttft", 3_600.0), ("e2e", 86_400.0))
    ]
    assert loose[0] == loose[1] == loose[2] > 0
    assert capacity(SloRow(0, "e2e", 0.95, 10.0)).rate_rps <= loose[0]


def test_capacity_without_a_bound_on_the_wait_is_what_is_served() -> None:
    """Offered three times as much, the engine finishes about as many a second as it is said to sustain."""
    from optimize.market.operating_point import pool_of
    from sim.engine.deployment import PS
    from sim.fleet.simulate import probe as run_pool
    from sim.traffic import at_rates

    scenario, probe = small_engine()
    rate = capacity(SloRow(0, "tpot", 0.95, 100.0)).rate_rps / 0.97
    pool = pool_of(probe.option, probe.cost, 1, 0.0)
    log = run_pool(pool, at_rates(scenario, [3 * rate], seed=9, duration_s=2000.0)).log
    finished = np.count_nonzero((log.finish_ps > 200 * PS) & (log.finish_ps <= 2000 * PS)) / 1800
    assert rate == pytest.approx(finished, rel=0.06)


def test_looser_promise_never_lowers_capacity() -> None:
    rates = [capacity(SloRow(0, "ttft", 0.95, limit_s)).rate_rps for limit_s in (0.2, 1.0, 5.0, 60.0, 600.0)]
    assert rates == sorted(rates)


def test_low_rate_is_tried_before_a_pool_is_given_up() -> None:
    """A limit just above what an idle engine needs is kept at a rate far below the first guess."""
    scenario, probe = small_engine()
    rows = tuple(SloRow(0, "ttft", 0.99, float(limit_s)) for limit_s in np.geomspace(0.01, 1.0, 60))
    alone = try_rate(scenario, replace(probe, slos=rows), 0.005, (1,))
    idle_s = rows[int(np.argmax(alone.attained >= 0.999))].limit_s
    point = capacity(SloRow(0, "ttft", 0.99, idle_s), rough=False)
    assert 0 < point.rate_rps < 0.5 * probe.first_guess_rps
    assert point.miss[0] <= 0.01


def test_limit_below_an_idle_engine_is_no_capacity() -> None:
    assert capacity(SloRow(0, "ttft", 0.95, 0.001)).rate_rps == 0.0


def test_trial_without_a_request_is_unknown_and_not_a_pass() -> None:
    scenario, probe = small_engine()
    rows = (SloRow(0, "ttft", 0.95, 1.0),)
    empty = trial_of(rows, [SeedRun((np.empty(0),), {0: 0.0}, 0)])
    assert np.isnan(empty.attained[0])
    assert not RateSearch(scenario, replace(probe, slos=rows)).sustained(empty)


def test_window_grows_until_a_promise_can_be_known() -> None:
    _, probe = small_engine()
    rare = replace(probe, slos=(SloRow(0, "ttft", 0.99, 1.0),), rough=False)
    assert window_s(rare, 0.05) * 0.05 * 0.01 == pytest.approx(5)  # misses that the promise allows in it
    assert window_s(replace(rare, rough=True), 0.05) * 0.05 * 0.01 == pytest.approx(1)
    assert window_s(rare, 100.0) == window_s(rare, 1000.0)
