"""Relay requests without an event each are those with one, to the last byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.catalog.facts import Relay, Source
from sim.engine import layout
from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.fleet.fleet import Fleet, RetryPolicy
from sim.fleet.life.life_terms import Lifecycle
from sim.fleet.life.simulate_life import simulate_lifecycle
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from tests.fleet.test_fleet import same
from tests.samples import random_requests

SOURCE = Source("made up for this test", "2026-11-30")
RELAY = Relay(
    id="r", vendor="v", model="m", usd_per_mtok_input=1.0, usd_per_mtok_output=2.0, usd_per_mtok_cached=None,
    ttft_p50_s=0.5, ttft_sigma=0.4, tokens_per_s=40.0, tokens_sigma=0.5, source=SOURCE, latency_source=SOURCE,
)  # fmt: skip
REQUESTS = random_requests(1, 6000, gap_ps=PS // 30, classes=2)


def both(endpoint: RelayEndpoint, end_ps: int | None = None) -> tuple[object, object]:
    """With calls submitted one by one, and drawn at once without events; drawn at once with events is the same as the latter."""
    fleet = Fleet((endpoint, RelayEndpoint("other", RELAY)), np.array([[0.6, 0.3], [0.2, 0.8]]))
    one_by_one = simulate_lifecycle(fleet, Lifecycle(()), REQUESTS, 7, end_ps).simulation
    at_once = simulate(fleet, REQUESTS, 7, end_ps, event_per_arrival=False)
    by_event = simulate(fleet, REQUESTS, 7, end_ps)
    assert same(by_event, at_once)
    arrived = int(np.count_nonzero(REQUESTS.arrival_ps <= (layout.NEVER if end_ps is None else end_ps)))
    assert by_event.events > arrived
    return one_by_one, at_once


@pytest.mark.parametrize("end_ps", [None, 20 * PS, int(REQUESTS.arrival_ps[1000])])
@pytest.mark.parametrize("timeout_s", [600.0, 2.0, 0.4])
def test_patience_meter_and_cut_are_the_same_without_events(end_ps: int | None, timeout_s: float) -> None:
    endpoint = RelayEndpoint("relay", RELAY, RetryPolicy(timeout_s=timeout_s), network_ps=PS // 50)
    left, right = both(endpoint, end_ps)
    assert same(left, right)  # type: ignore[arg-type]
    if timeout_s < 1:
        assert np.count_nonzero(right.log.status == Status.TIMED_OUT) > 100  # type: ignore[attr-defined]


def test_requests_that_are_too_long_are_refused_without_a_draw() -> None:
    limit = int(np.median(REQUESTS.input_tokens + REQUESTS.output_tokens))
    left, right = both(RelayEndpoint("relay", replace(RELAY, max_context=limit)))
    assert same(left, right)  # type: ignore[arg-type]
    assert np.count_nonzero(right.log.status == Status.REJECTED) > 1000  # type: ignore[attr-defined]


@pytest.mark.parametrize("change", [{"rpm": 300.0}, {"tpm": 90_000.0}, {"error_share": 0.1}])
def test_limits_and_errors_are_the_same_as_events_and_without(change: dict[str, float]) -> None:
    left, right = both(RelayEndpoint("relay", replace(RELAY, **change)))  # type: ignore[arg-type]
    assert same(left, right)  # type: ignore[arg-type]
    assert right.targets[0].attempts > right.targets[0].requests  # type: ignore[attr-defined]
