"""How rates are tried, on an engine of which it is known what it attains: nothing is simulated."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from optimize.market.operating_point import Probe
from optimize.records import PoolOption, SloRow
from optimize.search import rate_search
from optimize.search.rate_search import (
    HALVINGS,
    MARGIN_FACTOR,
    MARGIN_SEEDS,
    MARGIN_STEP,
    MARGIN_STEPS,
    RESOLUTION,
    SEARCH_SEEDS,
    RateSearch,
    SeedRun,
    Trial,
    between,
    measure,
    trial_of,
    warmup_s,
    window_s,
    with_margin,
    with_room,
)
from sim.scenario.scenario import ConstantTraffic, Scenario
from tests.optimize.program.problems import offer

SCENARIO = cast(Scenario, SimpleNamespace(traffic=ConstantTraffic(1.0), seed=1))
ROW = SloRow(0, "ttft", 0.95, 1.0)
OPTION = PoolOption("o:0", offer("o", 1.0), None, 1, (0,))
PROBE = Probe(OPTION, cast(Any, None), (1.0,), 1, (ROW,), 10.0, 0.03)


class Engine:
    """Keeps the promise up to `limit` requests/s, with room up to `calm`; what it was asked is kept."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, limit: float, calm: float = math.inf, drift: float = 0.0, scatter: float = 0.0
    ) -> None:
        self.limit, self.calm, self.drift, self.scatter = limit, calm, drift, scatter
        self.tried: list[tuple[float, int, float]] = []
        monkeypatch.setattr(rate_search, "try_rate", self)

    def __call__(self, scenario: object, probe: Probe, rate: float, seeds: tuple[int, ...], hours: float = 1.0, jobs: int = 1) -> Trial:
        self.tried.append((rate, len(seeds), hours))
        mean = 0.99 if rate <= min(self.limit, self.calm) else 0.951 if rate <= self.limit else 0.90
        spread = 0.004 * np.array([(-1) ** k for k in range(len(seeds))]) if rate > self.calm else self.scatter * np.arange(len(seeds))
        return Trial(np.array([mean]), (mean + spread)[:, None], self.drift, 100)


def test_the_largest_rate_is_found_to_half_a_percent_and_capacity_is_below_it_by_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    Engine(monkeypatch, limit=6.0)
    point = measure(SCENARIO, PROBE)
    assert 6.0 * (1 - RESOLUTION) * 0.97 * 0.999 <= point.rate_rps <= 6.0 * 0.97
    assert point.miss == (pytest.approx(0.01),) and not point.rough


@pytest.mark.parametrize("limit", [0.02, 0.5, 7.0, 40.0, 300.0])
def test_the_boundary_is_found_wherever_it_is(monkeypatch: pytest.MonkeyPatch, limit: float) -> None:
    Engine(monkeypatch, limit)
    assert measure(SCENARIO, PROBE).rate_rps == pytest.approx(0.97 * limit, rel=RESOLUTION + 1e-3)


def test_a_rough_answer_is_that_of_one_seed_to_two_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, limit=6.0)
    point = measure(SCENARIO, replace(PROBE, rough=True))
    assert {seeds for _, seeds, _ in engine.tried} == {1} and point.rough and math.isnan(point.attainment_half_width)
    assert 6.0 * 0.97 * 0.979 <= point.rate_rps <= 6.0 * 0.97
    assert point.requests_simulated == 100 * len(engine.tried)


def test_no_rate_is_tried_twice_with_the_same_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, limit=6.0)
    measure(SCENARIO, PROBE)
    assert len(set(engine.tried)) == len(engine.tried)
    assert {seeds for _, seeds, hours in engine.tried if hours == 1.0} == {1, len(SEARCH_SEEDS)}
    assert {seeds for _, seeds, hours in engine.tried if hours == 2.0} == {len(MARGIN_SEEDS)}


def test_strides_downwards_double_until_a_rate_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    Engine(monkeypatch, limit=10.0 * math.exp(-0.005 * 700))
    search = RateSearch(SCENARIO, PROBE)
    steps: list[int] = []
    real = search.sustains
    monkeypatch.setattr(search, "sustains", lambda step, seeds: (steps.append(step), real(step, seeds))[1])
    assert search.bracket(-72, 96, (1,)) == (-744, -360) and steps == [-72, -168, -360, -744]
    steps.clear()
    assert search.bracket(-744, 96, (1,)) == (-744, -648) and steps == [-744, -648]


def test_an_engine_that_never_keeps_the_promise_has_no_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, limit=0.0)
    point = measure(SCENARIO, PROBE)
    assert (point.rate_rps, point.miss) == (0.0, (0.0,)) and min(rate for rate, _, _ in engine.tried) < 0.01


def test_a_wait_that_grows_is_no_capacity_however_well_the_promise_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    Engine(monkeypatch, limit=6.0, drift=0.011)
    assert measure(SCENARIO, PROBE).rate_rps == 0.0
    Engine(monkeypatch, limit=6.0, drift=0.01)
    assert measure(SCENARIO, PROBE).rate_rps > 5.0


def test_the_half_width_is_students_of_six_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    Engine(monkeypatch, limit=6.0, scatter=0.001)
    spread = 0.001 * float(np.std(np.arange(6), ddof=1))
    assert measure(SCENARIO, PROBE).attainment_half_width == pytest.approx(2.571 * spread / math.sqrt(6))


# --- room for a fresh week


def search_of(monkeypatch: pytest.MonkeyPatch, limit: float, calm: float) -> tuple[RateSearch, Engine]:
    engine = Engine(monkeypatch, limit, calm)
    return RateSearch(SCENARIO, PROBE), engine


def test_rates_go_down_in_small_steps_until_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    search, engine = search_of(monkeypatch, limit=6.0, calm=6.0 * 0.97 * 0.96)
    rate, _ = with_margin(search, 6.0)
    assert rate == pytest.approx(6.0 * 0.97 * (1 - 3 * MARGIN_STEP)) and len(engine.tried) == 4


def test_beyond_the_small_steps_the_long_one_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    last = 6.0 * 0.97 * (1 - (MARGIN_STEPS - 1) * MARGIN_STEP)
    long = last * MARGIN_FACTOR
    calm = math.sqrt(math.sqrt(long * last) * last)
    search, engine = search_of(monkeypatch, limit=6.0, calm=calm * 1.0001)
    rate, trial = with_margin(search, 6.0)
    assert long < rate <= calm * 1.0001 and rate == pytest.approx(calm, rel=1e-3) and len(engine.tried) == MARGIN_STEPS + 1 + HALVINGS
    assert trial.attained[0] == pytest.approx(0.99)


def test_without_room_at_any_rate_the_largest_that_keeps_the_promise_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    search, _ = search_of(monkeypatch, limit=6.0, calm=0.0)
    assert with_margin(search, 6.0)[0] == pytest.approx(6.0 * 0.97)
    none, _ = search_of(monkeypatch, limit=0.0, calm=0.0)
    assert with_margin(none, 6.0)[0] == 0.0


def test_between_a_rate_with_room_and_one_without_it_stays_on_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    search, _ = search_of(monkeypatch, limit=6.0, calm=3.0)
    low = search.long_trial(2.0)
    rate, trial = between(search, 2.0, 4.5, low)
    assert rate == 3.0 or 2.7 < rate <= 3.0
    assert trial is search.trials[rate, len(MARGIN_SEEDS)]
    tight, _ = search_of(monkeypatch, limit=6.0, calm=2.0)
    assert between(tight, 2.0, 4.5, low) == (2.0, low)


def test_room_is_what_ten_seeds_that_scatter_so_would_leave() -> None:
    calm, wild = (Trial(np.array([0.96]), np.array([[0.96 - d], [0.96 + d]] * 3), 0.0, 1) for d in (0.0005, 0.02))
    assert with_room(calm, PROBE) and not with_room(wild, PROBE)
    short = Trial(np.array([0.9499]), np.full((6, 1), 0.9499), 0.0, 1)
    assert not with_room(short, PROBE) and with_room(replace(short, by_seed=np.full((6, 1), 0.9501)), PROBE)
    absent = Trial(np.array([math.nan]), np.full((6, 1), math.nan), 0.0, 1)
    assert with_room(absent, PROBE)


# --- trials


def test_a_promise_of_a_class_that_is_not_sent_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    two = replace(PROBE, mix=(1.0, 0.0), slos=(ROW, SloRow(1, "ttft", 0.95, 1.0)))
    found = Trial(np.array([0.96, math.nan]), np.zeros((1, 2)), 0.0, 1)
    assert RateSearch(SCENARIO, two).sustained(found)
    assert not RateSearch(SCENARIO, replace(two, mix=(0.5, 0.5))).sustained(found)
    refused = replace(PROBE, slos=(SloRow(0, "ttft", 0.9, 1.0, refused=0.06),))
    assert not RateSearch(SCENARIO, refused).sustained(replace(found, attained=np.array([0.95])))


def test_seeds_are_pooled_and_a_seed_without_requests_stands_for_none() -> None:
    rows = (ROW, SloRow(1, "ttft", 0.5, 1.0))
    runs = [SeedRun((np.array([0.5, 2.0]), None), {0: 0.02, 1: 0.0}, 2), SeedRun((np.array([0.5] * 6), None), {0: 0.0, 1: 0.03}, 6)]
    found = trial_of(rows, [*runs, SeedRun((np.empty(0), None), {0: 0.01, 1: 0.0}, 0)])
    assert found.attained[0] == pytest.approx(7 / 8) and math.isnan(found.attained[1])
    assert found.by_seed[:, 0] == pytest.approx([0.5, 1.0, 7 / 8]) and np.isnan(found.by_seed[:, 1]).all()
    assert (found.drift, found.requests) == (pytest.approx(0.01), 8)


def test_windows_are_ten_to_thirty_minutes_and_the_same_for_every_rate_above_a_few() -> None:
    slow, quick = replace(PROBE, first_guess_rps=1.0), replace(PROBE, first_guess_rps=1000.0)
    assert (window_s(slow, 100.0), window_s(quick, 100.0), window_s(PROBE, 100.0)) == (1800.0, 600.0, 1800.0)
    assert window_s(replace(PROBE, first_guess_rps=150.0), 100.0) == 1000.0
    assert window_s(slow, 0.01) == pytest.approx(5 / 0.05 / 0.01)
    assert window_s(replace(slow, rough=True), 0.01) == pytest.approx(1 / 0.05 / 0.01), "a rough look is content with fewer of a rare class"
    sure = replace(slow, slos=(SloRow(0, "ttft", 1.0, 1.0), SloRow(1, "ttft", 0.99, 1.0)), mix=(1.0, 0.0))
    assert window_s(sure, 0.01) == 1800.0, "a promise for every request, and one of a class that is not sent, ask for no longer window"
    rare = replace(slow, slos=(SloRow(0, "ttft", 1 - 1e-9, 1.0),))
    assert window_s(rare, 100.0) == pytest.approx(2_000_000 / 100)


def test_only_prefix_caches_take_long_to_warm_up() -> None:
    def probe(caching: bool) -> Probe:
        limits = SimpleNamespace(prefix_caching=caching)
        return replace(PROBE, option=replace(OPTION, deployment=cast(Any, SimpleNamespace(limits=limits))))

    assert (warmup_s(probe(True)), warmup_s(probe(False)), warmup_s(PROBE)) == (600.0, 120.0, 120.0)


def test_rates_are_steps_of_half_a_percent_from_the_first_guess() -> None:
    search = RateSearch(SCENARIO, PROBE)
    assert search.rate(0) == 10.0 and search.rate(1) == pytest.approx(10 * math.exp(0.005), rel=1e-5)
    assert search.rate(search.lowest) <= 10.0 * 1e-3 and search.lowest % 4 == 0
