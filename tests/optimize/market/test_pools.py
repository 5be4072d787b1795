"""What the program is told of a pool, and which measurements it still lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize.market.operating_point import OperatingPoint
from optimize.market.pools import SIZES, PoolState, pool_states, rounded_mix, rounded_size, slo_rows
from optimize.records import PoolOption, ProgramSolution, SloRow
from sim.scenario.scenario import ConstantTraffic, Slo
from sim.traffic import demand as demand_of
from tests.optimize.program.problems import offer
from tests.samples import make_cost
from tests.traffic.scenarios import request_class, scenario

SLOS = (SloRow(0, "ttft", 0.95, 1.0), SloRow(1, "ttft", 0.95, 1.0))
HALF = (0.5, 0.5)


def state(base: tuple[float, ...] = (0.1, 0.3), replicas_per_host: int = 1) -> PoolState:
    """A pool for two classes that would carry 5 requests/s per replica at an even mix."""
    option = PoolOption("pool:a+b", offer("o", 1.0), None, replicas_per_host, (0, 1))
    return PoolState(option, make_cost(), np.array(base), SLOS)


def point(rate_rps: float, *miss: float) -> OperatingPoint:
    return OperatingPoint(rate_rps, miss or (0.0, 0.0), 0.01, 1000)


def solution(hosts: list[int], flow: list[list[float]]) -> ProgramSolution:
    """One pool; `flow` [classes][slices]."""
    rates = np.array([flow])
    counts = np.array([hosts])
    none = np.zeros((0, *rates.shape[1:]))
    return ProgramSolution(counts, counts, rates, none, np.zeros(rates.shape[1:]), 0.0, 0.0, "optimal", "test", 0.0)


# --- mixes and sizes


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=6).filter(lambda rates: sum(rates) > 1e-3))
@settings(max_examples=200, deadline=None)
def test_rounded_mix_sums_to_one_and_keeps_every_class_that_is_sent_something(rates: list[float]) -> None:
    mix = rounded_mix(np.array(rates))
    assert sum(mix) == pytest.approx(1.0, abs=1e-3)
    for rate, share in zip(rates, mix, strict=True):
        assert (share > 0) == (rate / sum(rates) > 1e-9)


def test_rounded_mix_does_not_depend_on_the_size_of_the_flow() -> None:
    flow = np.array([3.0, 1.0, 0.0])
    assert rounded_mix(flow) == rounded_mix(1000 * flow) == (0.75, 0.25, 0.0)


def test_nearby_flows_ask_the_same_question() -> None:
    assert rounded_mix(np.array([0.501, 0.499])) == rounded_mix(np.array([0.49, 0.51])) == HALF


@given(st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_rounded_size_is_measured_and_never_above_the_pool(replicas: int) -> None:
    size = rounded_size(replicas)
    assert size in SIZES and size <= max(1, replicas)
    assert not any(size < other <= replicas for other in SIZES)


# --- terms


def test_unmeasured_pool_is_offered_at_its_optimistic_load() -> None:
    terms = state().terms()
    assert not terms.measured and (terms.slope, terms.intercept) == (1.0, 0.0)
    assert terms.levels[0].load.tolist() == [0.1, 0.3] and not terms.levels[0].miss.any()


def test_measured_rate_becomes_the_load_that_fills_the_replicas_at_that_mix() -> None:
    pool = state()
    pool.points[(4, HALF)] = point(10.0, 0.02, 0.04)
    terms = pool.terms()
    carried = float(terms.levels[0].load @ np.array([5.0, 5.0]))  # 10 requests/s, half each
    assert terms.measured and carried == pytest.approx(4.0)
    assert terms.levels[0].miss.tolist() == [0.02, 0.04]


def test_line_through_two_sizes_gives_both_measured_rates_back() -> None:
    pool = state()
    pool.points[(1, HALF)] = point(2.0)  # a lone replica carries 2/s, one of eight 4/s
    pool.points[(8, HALF)] = point(32.0)
    terms = pool.terms()
    load = terms.levels[0].load @ np.array(HALF)
    for size, rate in ((1, 2.0), (8, 32.0)):
        assert (terms.slope * size - terms.intercept) / load == pytest.approx(rate)


def test_larger_pool_that_carries_less_per_replica_gets_no_bonus() -> None:
    pool = state()
    pool.points[(1, HALF)] = point(4.0)
    pool.points[(8, HALF)] = point(24.0)  # 3/s per replica: noise, or a router that mixes badly
    terms = pool.terms()
    load = terms.levels[0].load @ np.array(HALF)
    assert terms.intercept == 0.0
    assert terms.slope * 8 / load <= 24.0 + 1e-9 and terms.slope * 1 / load <= 4.0


def test_worst_mix_measured_sets_the_load() -> None:
    pool = state()
    pool.points[(8, HALF)] = point(32.0)
    alone = pool.terms().levels[0].load
    pool.points[(8, (0.9, 0.1))] = point(4.0)
    both = pool.terms().levels[0].load
    assert (both > alone).all()
    assert both @ np.array([0.9, 0.1]) * 4.0 == pytest.approx(8.0)


def test_pool_that_measured_zero_can_serve_nobody() -> None:
    pool = state()
    pool.points[(8, HALF)] = point(0.0)
    assert np.isinf(pool.terms().levels[0].load).all()


def test_pool_that_fails_at_the_small_size_has_no_capacity_there() -> None:
    pool = state()
    pool.points[(1, HALF)] = point(0.0)
    pool.points[(8, HALF)] = point(32.0)
    terms = pool.terms()
    load = float(terms.levels[0].load @ np.array(HALF))
    assert terms.slope * 1 - terms.intercept <= 1e-9
    assert (terms.slope * 8 - terms.intercept) / load == pytest.approx(32.0)


def test_correction_raises_the_load_measured_or_not() -> None:
    pool = state()
    before = pool.terms().levels[0].load
    pool.correction = 1.25
    assert pool.terms().levels[0].load == pytest.approx(1.25 * before)
    pool.points[(8, HALF)] = point(40.0)
    assert pool.terms().levels[0].load @ np.array(HALF) == pytest.approx(1.25 * 8 / 40.0)


def test_given_terms_are_taken_as_they_are() -> None:
    pool = state()
    pool.given = replace(pool.terms(), slope=0.5)
    pool.points[(8, HALF)] = point(1.0)
    assert pool.terms() == pool.given
    pool.lead_s, pool.linger_s = 300.0, 900.0  # how long hosts are held is learnt of given capacity too
    assert pool.terms() == replace(pool.given, lead_s=300.0, linger_s=900.0)
    pool.correction = 1.25  # and so is what its proof contradicts
    assert pool.terms().levels[0].load.tolist() == (1.25 * pool.given.levels[0].load).tolist()
    assert pool.wanted(solution([3], [[1.0], [1.0]]), 0, 0.03) == []


# --- wanted


def test_unused_pool_needs_no_measurement() -> None:
    assert state().wanted(solution([0, 0], [[0.0, 0.0], [0.0, 0.0]]), 0, 0.03) == []
    assert state().wanted(solution([2, 2], [[0.0, 0.0], [0.0, 0.0]]), 0, 0.03) == []  # a spare that gets no traffic


def test_used_pool_is_probed_at_its_smallest_and_largest_size_and_its_own_mix() -> None:
    pool = state(replicas_per_host=2)
    probes = pool.wanted(solution([1, 5, 0], [[3.0, 6.0, 0.0], [1.0, 2.0, 0.0]]), 0, 0.03)
    assert [probe.replicas for probe in probes] == [2, 8]
    assert {probe.mix for probe in probes} == {(0.75, 0.25)} and {probe.safety for probe in probes} == {0.03}
    assert [probe.first_guess_rps for probe in probes] == pytest.approx([2 / 0.15, 8 / 0.15])


def test_what_was_measured_is_not_asked_again() -> None:
    pool = state()
    used = solution([1, 9], [[1.0, 9.0], [1.0, 9.0]])
    assert [probe.replicas for probe in pool.wanted(used, 0, 0.0)] == [1, 8]
    pool.points[(8, HALF)] = point(40.0)
    assert [probe.replicas for probe in pool.wanted(used, 0, 0.0)] == [1]
    pool.points[(1, HALF)] = point(4.0)
    assert pool.wanted(used, 0, 0.0) == []


def test_mix_close_to_a_measured_one_counts_as_measured_and_a_far_one_does_not() -> None:
    pool = state()
    pool.points[(8, HALF)] = point(40.0)
    assert pool.wanted(solution([8], [[0.6], [0.4]]), 0, 0.0) == []
    far = pool.wanted(solution([8], [[0.8], [0.2]]), 0, 0.0)
    assert [probe.mix for probe in far] == [(0.8, 0.2)]


def test_mix_with_another_set_of_classes_is_measured_however_close() -> None:
    pool = state()
    pool.points[(8, (0.95, 0.05))] = point(40.0)
    asked = pool.wanted(solution([8], [[1.0], [0.0]]), 0, 0.0)
    assert [probe.mix for probe in asked] == [(1.0, 0.0)]


# --- promises, states


def test_class_without_promises_gets_one_that_bounds_its_backlog() -> None:
    promised = replace(request_class("a", 0.5), slo=(Slo("ttft", 0.95, 1.0), Slo("tpot", 0.9, 0.05)))
    free = replace(request_class("b", 0.5), slo=())
    rows = slo_rows(scenario(ConstantTraffic(1.0), promised, free))
    assert rows == (SloRow(0, "ttft", 0.95, 1.0), SloRow(0, "tpot", 0.9, 0.05), SloRow(1, "e2e", 0.95, 600.0))


def test_measured_capacity_has_no_pool_state() -> None:
    given_scenario = scenario(ConstantTraffic(1.0), request_class("a", 1.0))
    with pytest.raises(ValueError, match="given terms"):
        pool_states((state().option,), {}, demand_of(given_scenario), SLOS)
