"""Calls that only meet each other are worked off by compiled code: to the last byte what an event for each attempt gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sim.catalog.relay_records import Law, LoadPoint, Outages, RelayLatency, RetryPolicy
from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.fleet.fleet import FailOver, Fleet, Overflow, SimulationResult
from sim.fleet.simulate import is_compilable, simulate
from sim.relay.calls_at_once import SLOTS, fits_integers
from sim.relay.endpoint import RelayEndpoint
from sim.relay.server import RelayServer
from sim.requests import Requests
from sim.streams import stream
from tests.fleet.test_fleet import real_pool, same
from tests.relay.test_batch import RELAY
from tests.samples import make_requests, random_requests

REQUESTS = random_requests(1, 3000, gap_ps=PS // 30)
SLOW = RelayLatency(Law("lognormal", (0.5, 0.4)), Law("lognormal", (0.02, 0.4)), 0.001, (LoadPoint(1, 1.0, 1.0), LoadPoint(60, 3.0, 2.5)))
FLAT = replace(RELAY, ttft_sigma=0.0, tokens_sigma=0.0)  # 0.5 s, then a token every 25 ms
HASTY = RetryPolicy(first_token_s=0.6, timeout_s=4.0)


def both(endpoint: RelayEndpoint, requests: Requests = REQUESTS, end_ps: int | None = None) -> tuple[SimulationResult, SimulationResult]:
    """With an event for each attempt, and without any."""
    fleet = Fleet((endpoint,), np.ones((1, 1)))
    played = simulate(fleet, requests, 7, end_ps)
    at_once = simulate(fleet, requests, 7, end_ps, event_per_arrival=False)
    assert at_once.events < 3 < played.events
    return played, at_once


@pytest.mark.parametrize("end_ps", [None, 30 * PS, int(REQUESTS.arrival_ps[1000])])
@pytest.mark.parametrize(
    ("change", "retry"),
    [
        ({"rpm": 900.0}, RetryPolicy()),
        ({"tpm": 90_000.0}, RetryPolicy(attempts=1)),
        ({"rpm": 1200.0, "tpm": 150_000.0}, RetryPolicy(budget_share=0.2)),
        ({"error_share": 0.2, "torn_share": 0.3}, RetryPolicy(timeout_s=2.0)),
        ({"outages": Outages(0.1, at_s=5.0)}, RetryPolicy()),
        ({"outages": Outages(0.05, every_h=0.003, hangs=True)}, RetryPolicy(connect_s=1.0)),
        ({"latency": SLOW, "rpm": 900.0}, RetryPolicy()),
        ({"latency": SLOW, "error_share": 0.1, "torn_share": 0.1, "tpm": 200_000.0, "outages": Outages(0.05, every_h=0.005)}, HASTY),
        ({"max_context": 120, "rpm": 600.0}, HASTY),
    ],
)
def test_every_gate_of_a_relay_is_the_same_without_events(change: dict[str, Any], retry: RetryPolicy, end_ps: int | None) -> None:
    played, at_once = both(RelayEndpoint("relay", replace(RELAY, **change), retry, network_ps=PS // 50), end_ps=end_ps)
    assert same(played, at_once)
    assert end_ps is not None or len(set(played.log.status.tolist())) > 1 or played.targets[0].attempts > len(REQUESTS)


def test_what_happens_at_one_time_keeps_its_order() -> None:
    """Arrivals, ends of answers and first tokens stand on a grid; with load, the order of what ends and what begins is seen."""
    rows = [(k // 3 * PS // 40, 1 + k % 50, 1 + k * 7 % 60) for k in range(600)]
    loaded = replace(SLOW, ttft=Law("lognormal", (0.5, 0.0)), tpot=Law("lognormal", (0.025, 0.0)), ttft_s_per_input_token=0.0)
    for change in ({"latency": loaded}, {"rpm": 2400.0}, {"latency": loaded, "tpm": 40_000.0}):
        assert same(*both(RelayEndpoint("relay", replace(FLAT, **change)), make_requests(rows)))


def test_more_calls_under_way_than_there_are_slots_and_draws_at_first() -> None:
    requests = random_requests(2, 9000, gap_ps=PS // 4000)
    played, at_once = both(RelayEndpoint("relay", replace(RELAY, rpm=60_000.0), RetryPolicy(attempts=2)), requests)
    assert same(played, at_once)
    assert played.targets[0].attempts > 4096 > SLOTS and (played.log.finish_ps > requests.arrival_ps[4 * SLOTS]).sum() > 4 * SLOTS


def test_relays_of_an_overflow_need_no_event_and_those_that_pass_on_keep_theirs() -> None:
    requests = random_requests(9, 1500, gap_ps=PS // 250, classes=2)
    limited = RelayEndpoint("relay", replace(RELAY, rpm=3000.0))
    spilling = Fleet((real_pool(2), limited), np.array([[1.0, 0.0], [0.7, 0.3]]), overflow=(Overflow(0, 1, 5),))
    played, at_once = (simulate(spilling, requests, 1, event_per_arrival=each) for each in (True, False))
    assert same(played, at_once) and at_once.events < 3
    passing = Fleet((limited, RelayEndpoint("next", RELAY)), np.array([[1.0, 0.0]] * 2), failover=(FailOver(0, 0, (1,)),))
    played, at_once = (simulate(passing, requests, 1, event_per_arrival=each) for each in (True, False))
    assert same(played, at_once) and at_once.events > len(requests) and at_once.targets[0].failed_over > 0


def test_limits_that_64_bits_cannot_count_keep_their_events() -> None:
    absurd = RelayEndpoint("relay", replace(RELAY, tpm=1e-4))
    server = RelayServer(absurd, stream(1, "relay"))
    assert not fits_integers(server, REQUESTS) and not is_compilable(server, REQUESTS)
    log = simulate(Fleet((absurd,), np.ones((1, 1))), REQUESTS, 7, event_per_arrival=False).log
    assert set(log.status.tolist()) <= {Status.FINISHED, Status.FAILED, Status.TIMED_OUT}


def test_streams_slower_than_every_patience_end_with_it() -> None:
    """A token in 10,000 hours: the product with a million tokens would leave 64 bits."""
    stuck = replace(RELAY, tokens_per_s=1e-8, rpm=900.0, torn_share=0.1)
    played, at_once = both(RelayEndpoint("relay", stuck), make_requests([(k * PS, 10, 100_000) for k in range(50)]))
    assert same(played, at_once) and (played.log.status != Status.FINISHED).all()
