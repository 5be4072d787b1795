"""What a relay does beyond its price row: measured laws, load, outages, torn answers, retry budgets, failing over."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sim.catalog.loader import load_catalog
from sim.catalog.relay_records import Law, LoadPoint, Outages, RelayLatency, RetryPolicy
from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.errors import InputError
from sim.fleet.fleet import FailOver, Fleet, SimulationResult
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from sim.relay.latency_draw import relay_miss
from sim.relay.law import law_quantiles
from sim.relay.outages import OutageClock, outage_share
from sim.scenario.scenario import Slo
from sim.streams import stream
from tests.relay.test_server import RELAY, every, run
from tests.samples import make_cost, make_pool, make_requests

FLAT = replace(RELAY, ttft_sigma=0.0, tokens_sigma=0.0)  # 0.5 s, then 80 tokens/s: 51 tokens end after 1.125 s


def through(fleet: Fleet, count: int, gap_s: float, end_ps: int | None = None) -> SimulationResult:
    return simulate(fleet, make_requests([(t, 100, 51) for t in every(gap_s, count)]), seed=3, end_ps=end_ps, event_per_arrival=False)


def conserved(result: SimulationResult) -> None:
    """Requests of all targets = arrivals + those that were handed on; calls in the log = calls that the relays have metered."""
    handed_on = sum(stats.failed_over for stats in result.targets)
    assert sum(stats.requests for stats in result.targets) == len(result.log) + handed_on
    to_pools = int(np.count_nonzero(result.log.replica >= 0))
    assert int(result.log.attempts.sum()) == sum(stats.attempts for stats in result.targets) + to_pools
    assert np.bincount(result.log.status).sum() == len(result.log)


@pytest.mark.parametrize(
    "law",
    [
        Law("lognormal", (0.4, 0.5)),
        Law("shifted_lognormal", (0.2, 0.3, 0.8)),
        Law("loglogistic", (0.4, 0.2)),
        Law("lognormal_pareto", (0.4, 0.3, 0.9, 2.5)),
        Law("empirical", (), ((0.0, 0.1), (0.5, 0.4), (0.9, 1.0), (1.0, 6.0))),
    ],
)
def test_first_tokens_follow_the_measured_law_tail_included(law: Law) -> None:
    relay = replace(RELAY, latency=RelayLatency(law, Law("lognormal", (0.01, 0.1))))
    rows, _ = run(RelayEndpoint("r", relay), every(0.001, 20_000))
    seconds = np.array([(first - arrival) / PS for arrival, first, _, _, _ in rows])
    at = np.array([0.05, 0.5, 0.95, 0.99])
    share_below = [float(np.mean(seconds <= x)) for x in law_quantiles(law, at)]
    assert share_below == pytest.approx(at.tolist(), abs=4 * 0.5 / math.sqrt(20_000))


def test_latency_grows_with_calls_in_flight_and_with_the_prompt() -> None:
    latency = RelayLatency(
        Law("lognormal", (0.5, 1e-6)), Law("lognormal", (0.01, 1e-6)), 0.001, (LoadPoint(1, 1.0, 1.0), LoadPoint(11, 2.0, 3.0))
    )
    relay = replace(RELAY, latency=latency)
    alone, _ = run(RelayEndpoint("r", relay), [0])
    crowd, _ = run(RelayEndpoint("r", relay), [0] * 11)
    slowest = max(crowd, key=lambda row: row[2])
    assert alone[0][1] / PS == pytest.approx(0.5 + 0.1, rel=1e-4)
    assert slowest[1] / PS == pytest.approx(1.0 + 0.1, rel=1e-4)
    assert (slowest[2] - slowest[1]) / PS == pytest.approx(50 * 0.03, rel=1e-4)


def test_without_a_measured_profile_the_first_token_of_a_long_prompt_comes_as_late_as_its_model_is_large() -> None:
    relay = replace(FLAT, max_context=200_000, prefill_s_per_token=5e-5)
    endpoint = RelayEndpoint("r", relay)
    requests = make_requests([(0, 1000, 1), (0, 101_000, 1)])
    for event_per_arrival in (True, False):
        log = simulate(Fleet((endpoint,), np.ones((1, 1))), requests, seed=3, event_per_arrival=event_per_arrival).log
        assert ((log.first_ps - log.arrival_ps) / PS).tolist() == pytest.approx([0.5, 0.5 + 5.0])
    promise = Slo("ttft", 0.95, 3.0)
    assert relay_miss(relay, (promise,), requests.input_tokens, requests.output_tokens, seed=1).tolist() == [0.5]
    catalog = load_catalog()
    slopes = [catalog.relays[name].prefill_s_per_token for name in ("deepinfra.llama-3.1-8b-turbo", "deepinfra.llama-3.3-70b-turbo")]
    assert 0 < 5 * slopes[0] < slopes[1]


def test_an_outage_refuses_calls_and_cuts_answers_that_were_under_way() -> None:
    relay = replace(FLAT, outages=Outages(minutes=1, at_s=10.0))
    rows, stats = run(RelayEndpoint("r", relay, RetryPolicy(attempts=2, base_s=0.1)), every(0.5, 60))
    failed = [row for row in rows if row[3] == Status.FAILED]
    assert failed and all(arrival >= 8 * PS for arrival, *_ in failed)
    assert stats.cut == 2  # those that came at 9 and 9.5 s end at 10.125 and 10.625 s
    assert stats.lost_input_tokens == 200 and stats.lost_output_tokens == (1 + 40) + (1 + 0)
    assert stats.unreachable > len(failed) and stats.throttled == 0


def test_an_endpoint_that_hangs_costs_the_connect_timeout() -> None:
    relay = replace(FLAT, outages=Outages(minutes=1, at_s=0.0, hangs=True))
    rows, _ = run(RelayEndpoint("r", relay, RetryPolicy(attempts=1, connect_s=3.0)), [PS])
    assert rows == [(PS, -1, 4 * PS, Status.FAILED, 1)]


def test_the_outage_process_is_down_for_its_share_of_the_time() -> None:
    outages = Outages(minutes=6, every_h=0.9)
    clock = OutageClock(outages, stream(1, "outage"))
    hours = 4000
    down = np.mean([clock.down(int(t * 60 * PS)) for t in range(0, hours * 60)])
    assert outage_share(outages) == pytest.approx(0.1)
    assert down == pytest.approx(0.1, abs=4 * 0.1 * math.sqrt(2 / hours))  # spells of exponential length: cv about sqrt(2 / spells)


def test_torn_answers_are_billed_and_asked_for_again() -> None:
    relay, size = replace(FLAT, torn_share=0.2), 5000
    rows, stats = run(RelayEndpoint("r", relay), every(0.01, size))
    assert stats.cut == stats.attempts - sum(row[3] == Status.FINISHED for row in rows)
    assert stats.attempts == pytest.approx(size / 0.8, rel=0.02)
    assert stats.lost_input_tokens == 100 * stats.cut
    assert stats.lost_output_tokens == pytest.approx(stats.cut * 26, rel=0.05)  # broken off anywhere: half an answer on average
    assert stats.billed_output_tokens - stats.lost_output_tokens == 51 * sum(row[3] == Status.FINISHED for row in rows)


def test_a_first_token_that_is_too_late_is_given_up_and_its_prompt_paid() -> None:
    relay = replace(FLAT, retry=RetryPolicy(attempts=2, base_s=0.0, first_token_s=0.3))
    rows, stats = run(RelayEndpoint("r", relay), [0])
    assert rows == [(0, -1, round(0.6 * PS), Status.FAILED, 2)]
    assert (stats.billed_input_tokens, stats.billed_output_tokens, stats.lost_input_tokens) == (200, 0, 200)


def test_a_retry_budget_bounds_what_an_outage_multiplies() -> None:
    relay = replace(FLAT, outages=Outages(minutes=600, at_s=0.0))
    _, free = run(RelayEndpoint("r", relay, RetryPolicy(attempts=5)), every(0.01, 1000))
    _, bound = run(RelayEndpoint("r", relay, RetryPolicy(attempts=5, budget_share=0.1)), every(0.01, 1000))
    assert free.attempts == 5000
    assert 1000 + 10 < bound.attempts <= 1000 + 10 + 100


def test_failed_requests_go_to_the_next_relay_and_then_to_the_fleet() -> None:
    dead = replace(FLAT, outages=Outages(minutes=600, at_s=0.0), retry=RetryPolicy(attempts=2))
    narrow = replace(FLAT, rpm=60.0, retry=RetryPolicy(attempts=1))
    pool = make_pool(make_cost(base_ps=PS // 100))
    targets = (RelayEndpoint("dead", dead), RelayEndpoint("narrow", narrow), pool)
    fleet = Fleet(targets, np.array([[0.8, 0.0, 0.2]]), failover=(FailOver(0, 0, (1, 2)),))
    result = through(fleet, 500, 0.1)
    conserved(result)
    first, second, third = result.targets
    assert first.attempts == 2 * first.requests and first.failed_over == first.requests
    assert second.failed_over == second.throttled > 300 and second.requests == first.requests
    assert third.requests == second.failed_over + (500 - first.requests)
    assert (result.log.status == Status.FINISHED).all()
    served_late = result.log.first_ps - result.log.arrival_ps
    assert (result.log.attempts[result.log.target == 1] == 3).all() and served_late.min() >= 0


def test_without_anyone_to_take_over_a_failed_request_is_a_miss() -> None:
    dead = replace(FLAT, outages=Outages(minutes=600, at_s=0.0))
    result = through(Fleet((RelayEndpoint("dead", dead),), np.array([[1.0]])), 50, 0.1)
    conserved(result)
    assert (result.log.status == Status.FAILED).all() and (result.log.first_ps == -1).all()


def test_a_chain_that_leads_back_is_refused() -> None:
    fleet = Fleet((RelayEndpoint("r", FLAT),), np.array([[1.0]]), failover=(FailOver(0, 0, (0,)),))
    with pytest.raises(InputError, match="failover: from target 0"):
        through(fleet, 1, 1.0)


def test_what_the_program_is_told_agrees_with_the_simulated_relay() -> None:
    law = RelayLatency(Law("loglogistic", (0.5, 0.25)), Law("lognormal", (0.012, 0.2)), 0.0005)
    relay, size = replace(RELAY, latency=law, torn_share=0.1, error_share=0.05), 8000
    rows, _ = run(RelayEndpoint("r", relay), every(0.01, size))
    simulated = np.mean([row[3] != Status.FINISHED or row[1] - row[0] > 1.2 * PS for row in rows])
    computed = relay_miss(relay, [Slo("ttft", 0.95, 1.2)], np.full(size, 100), np.full(size, 51), seed=5)[0]
    assert computed == pytest.approx(simulated, abs=0.02)  # a torn answer costs more time than an error: a small part of the share
