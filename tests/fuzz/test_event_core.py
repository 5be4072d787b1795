"""The ways to simulate give the same bytes for any fleet: event by event with the work of pools and calls done one by one, event by event
with it gathered, as the proof does, and with arrivals inside the kernel."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from sim.fleet import gathered
from sim.fleet.fleet import Fleet, SimulationResult
from sim.fleet.life.life_terms import Lifecycle
from sim.fleet.life.simulate_life import simulate_lifecycle
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from sim.request_log import RequestLog
from tests.fuzz.random_lives import RELAY, life_case

CASES = 240  # of which a third has a calm relay, a third one with limits and errors


def with_relay(fleet: Fleet, number: int) -> Fleet:
    """The fleet with one more relay that gets a tenth of all requests: calm, or one that throttles and fails; every third has none."""
    if number % 3 == 0:
        return fleet
    relay = RELAY if number % 3 == 1 else replace(RELAY, rpm=600.0, tpm=20_000.0, error_share=0.2, torn_share=0.1)
    shares = np.concatenate([fleet.shares * 0.9, np.full((len(fleet.shares), 1), 0.1)], axis=1)
    return replace(fleet, targets=(*fleet.targets, RelayEndpoint("second", relay)), shares=shares)


def assert_same(first: SimulationResult, second: SimulationResult, number: int) -> None:
    for field in fields(RequestLog):
        assert np.array_equal(getattr(first.log, field.name), getattr(second.log, field.name)), f"case {number}: {field.name}"
    assert first.targets == second.targets and first.end_ps == second.end_ps, f"case {number}"


def test_event_by_event_and_inside_the_kernel_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random pools, routers, priorities, prefix caches, overflow, failover and relays; at least one event per arrival on the event path."""
    monkeypatch.setattr(gathered, "BATCH", 7)  # so that short runs have several batches
    dense = 0
    for number in range(CASES):
        case = life_case(number)
        fleet = with_relay(case.fleet, number)
        played, swept = (simulate(fleet, case.requests, number, case.end_ps, event_per_arrival=by_event) for by_event in (True, False))
        assert_same(played, swept, number)
        if number % 2:
            assert_same(played, simulate_lifecycle(fleet, Lifecycle(()), case.requests, number, case.end_ps).simulation, number)
        arrived = len(case.requests) if case.end_ps is None else int(np.count_nonzero(case.requests.arrival_ps <= case.end_ps))
        assert played.events >= arrived, f"case {number}"
        dense += swept.events < arrived
    assert dense > CASES // 2  # else the two ways are one
