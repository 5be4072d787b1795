"""Whether a backlog grows: asked of classes whose promise does not bound the wait, in the busiest hour, over the seeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from optimize.records import SloRow
from optimize.search import stability
from optimize.search.fresh_seeds import seeds_of
from optimize.search.loop import Settled
from optimize.search.simulated_hour import HOUR_S, IN_HOUR_PS
from optimize.search.stability import DRIFT, LOG_DRIFT, SEEDS, grows, pool_drift, wait_growth
from sim.engine.deployment import PS
from sim.scenario.scenario import ConstantTraffic, LogTraffic, Scenario
from tests.optimize.program.problems import offer, pool, problem
from tests.optimize.search.by_hand import settled_of

SHORT, LONG = DRIFT * HOUR_S, DRIFT * HOUR_S + 1


def scenario(log: bool = False) -> Scenario:
    traffic = LogTraffic.__new__(LogTraffic) if log else ConstantTraffic(1.0)
    return cast(Scenario, SimpleNamespace(traffic=traffic, seed=1))


def plan_of(*slos: SloRow, rates: Any = ((2.0, 5.0, 1.0), (1.0, 1.0, 1.0))) -> Settled:
    """Two classes on one pool; the second of three hours is the busiest."""
    return settled_of(problem(rates, [pool(offer("o", 1.0), [0.5, 0.5], [0.0] * len(slos))], [], slos))


def asked(
    monkeypatch: pytest.MonkeyPatch, settled: Settled, drifts: dict[int, tuple[float, ...]], log: bool = False
) -> tuple[bool, set[int], list[int]]:
    """Whether it grows where each class drifts so on each of the seeds; which classes were asked, and in which hours."""
    hours: list[int] = []
    seen: set[int] = set()
    places = {seed: k for k, seed in enumerate(seeds_of(1, SEEDS))}

    def drift(scenario: object, hour: object, c: int, seed: int) -> float:
        seen.add(c)
        return drifts.get(c, (0.0,) * 3)[places[seed]]

    monkeypatch.setattr(stability, "fleet_of", lambda scenario, problem, solution, costs, t: hours.append(t))
    monkeypatch.setattr(stability, "pool_drift", drift)
    return grows(scenario(log), settled.problem, settled.solution, [None]), seen, hours


def test_only_classes_whose_wait_no_short_promise_bounds_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded = plan_of(SloRow(0, "ttft", 0.95, SHORT), SloRow(1, "e2e", 0.95, SHORT))
    assert asked(monkeypatch, bounded, {0: (1.0,) * 3}) == (False, set(), [])
    long = plan_of(SloRow(0, "ttft", 0.95, LONG), SloRow(1, "tpot", 0.95, 0.05))
    assert asked(monkeypatch, long, {}) == (False, {0, 1}, [1])


def test_a_class_without_traffic_and_a_plan_without_hosts_have_no_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = plan_of(rates=((2.0, 5.0), (0.0, 0.0)))
    assert asked(monkeypatch, quiet, {1: (1.0,) * 3})[:2] == (False, {0})
    empty = settled_of(quiet.problem, [[0, 0]])
    assert asked(monkeypatch, empty, {0: (1.0,) * 3}) == (False, set(), [])


def test_the_mean_over_the_seeds_decides_class_by_class(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not asked(monkeypatch, plan_of(), {0: (3 * DRIFT, 0.0, 0.0)})[0]
    assert asked(monkeypatch, plan_of(), {0: (3.1 * DRIFT, 0.0, 0.0)})[0]
    assert asked(monkeypatch, plan_of(), {1: (1.1 * DRIFT,) * 3})[0]
    assert not asked(monkeypatch, plan_of(), {0: (0.9 * DRIFT,) * 3, 1: (0.9 * DRIFT,) * 3})[0]


def test_an_hour_of_a_log_may_end_in_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    between = {0: (0.5 * (DRIFT + LOG_DRIFT),) * 3}
    assert asked(monkeypatch, plan_of(), between)[0] and not asked(monkeypatch, plan_of(), between, log=True)[0]


def test_the_wait_is_compared_at_the_ends_of_the_window_and_nowhere_else() -> None:
    second = 10**12
    arrival = np.arange(100) * second
    flat, hump = np.full(100, 2.0), np.where((arrival >= 40 * second) & (arrival < 60 * second), 50.0, 2.0)
    assert wait_growth(arrival, flat, 0, 100 * second) == wait_growth(arrival, hump, 0, 100 * second) == 0.0
    assert wait_growth(arrival, arrival / second / 10, 0, 100 * second) == pytest.approx((9.45 - 0.45) / 100)
    refused = np.where(np.arange(100) == 95, np.inf, 2.0)
    assert wait_growth(arrival, refused, 0, 100 * second) == 0.0


def test_where_no_one_came_at_an_end_nothing_grows() -> None:
    second = 10**12
    late, early = np.arange(91, 100) * second, np.arange(0, 9) * second
    for arrival in (late, early):
        assert wait_growth(arrival, np.linspace(0.0, 9.0, 9), 0, 100 * second) == 0.0


def test_the_drift_of_a_class_is_that_of_its_own_requests_at_the_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests at a relay (target 1), of another class, or without a first token do not count."""
    start, end = IN_HOUR_PS
    arrival = np.tile(np.linspace(start, end - 1, 100).astype(np.int64), 4)
    kind = np.repeat(np.arange(4), 100)
    wait = np.where(kind == 0, 36.0 * (arrival - start) / (end - start), 3600.0 * (arrival > (start + end) / 2))
    log = SimpleNamespace(
        class_id=np.where(kind == 1, 1, 0),
        target=np.where(kind == 2, 1, 0),
        arrival_ps=arrival,
        first_ps=np.where(kind == 3, -1, arrival + (wait * PS).astype(np.int64)),
    )
    monkeypatch.setattr(stability, "play_hour", lambda *_: (None, SimpleNamespace(log=log)))
    hour = cast(Any, SimpleNamespace(fleet=None, index=1, warmup_keep=1.0, pools=(0,)))
    assert pool_drift(scenario(), hour, 0, 1) == pytest.approx(36.0 * 0.9 / 3600, rel=0.02)
