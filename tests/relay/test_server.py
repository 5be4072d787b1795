"""The relay: its latency law, its limits, its retries, its meter."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import simpy

from sim.catalog.facts import Relay, Source
from sim.engine.deployment import PS
from sim.engine.pool import Status, TargetStats
from sim.fleet.fleet import RetryPolicy
from sim.relay.endpoint import RelayEndpoint
from sim.relay.server import BURST_S, RateLimit, RelayServer, relay_miss, unthrottled_latency
from sim.scenario.scenario import Slo
from sim.streams import stream

SOURCE = Source("made up for this test", "2026-11-30")
RELAY = Relay(
    id="r", vendor="v", model="m", usd_per_mtok_input=1.0, usd_per_mtok_output=2.0, usd_per_mtok_cached=None,
    ttft_p50_s=0.5, ttft_sigma=0.4, tokens_per_s=80.0, tokens_sigma=0.2, source=SOURCE, latency_source=SOURCE,
)  # fmt: skip
Row = tuple[int, int, int, int, int]  # arrival, first, finish, status, attempts


def run(
    endpoint: RelayEndpoint, arrivals_ps: list[int], seed: int = 1, tokens: tuple[int, int] = (100, 51)
) -> tuple[list[Row], TargetStats]:
    """Feed requests of equal lengths; rows in the order of their ends."""
    env, server, rows = simpy.Environment(initial_time=0), RelayServer(endpoint, stream(seed, "relay")), []

    def arrive(event: simpy.Event) -> None:
        now = int(env.now)

        def done(first: int, finish: int, status: int, attempts: int) -> None:
            assert status == Status.REJECTED or finish == env.now
            rows.append((now, first, finish, status, attempts))

        server.submit(env, now, *tokens, done)

    for when in arrivals_ps:
        env.timeout(when).callbacks.append(arrive)
    env.run()
    return rows, server.stats()


def every(seconds: float, count: int) -> list[int]:
    return [int(i * seconds * PS) for i in range(count)]


def test_latency_quantiles_are_those_of_the_catalogue_row() -> None:
    rows, _ = run(RelayEndpoint("r", RELAY), every(0.01, 20_000))
    ttft_s = np.array([(first - arrival) / PS for arrival, first, _, _, _ in rows])
    speed = np.array([50 / ((finish - first) / PS) for _, first, finish, _, _ in rows])
    error = 4 / math.sqrt(len(rows))  # four standard errors of a log-mean, in units of sigma
    assert abs(np.mean(np.log(ttft_s)) - math.log(0.5)) < 0.4 * error
    assert abs(np.std(np.log(ttft_s)) - 0.4) < 0.4 * error
    assert abs(np.mean(np.log(speed)) - math.log(80)) < 0.2 * error
    assert np.quantile(ttft_s, 0.95) == pytest.approx(0.5 * math.exp(0.4 * 1.645), rel=0.03)


def test_the_network_is_part_of_the_time_to_first_token() -> None:
    near, _ = run(RelayEndpoint("r", RELAY), [0])
    far, _ = run(RelayEndpoint("r", RELAY, network_ps=PS // 10), [0])
    assert far[0][1] - near[0][1] == PS // 10 == far[0][2] - near[0][2]


@pytest.mark.parametrize("limit", [{"rpm": 600.0}, {"tpm": 600.0 * 151}])
def test_accepted_never_exceed_a_limit_in_any_window(limit: dict[str, float]) -> None:
    relay = replace(RELAY, ttft_sigma=0.0, tokens_sigma=0.0, **limit)  # type: ignore[arg-type]
    rows, stats = run(RelayEndpoint("r", relay, RetryPolicy(attempts=2)), every(1 / 30, 30 * 120))
    accepted = np.sort([first for _, first, _, status, _ in rows if status == Status.FINISHED]) / PS
    for window_s in (1.0, 10.0, 60.0):
        most = np.max(np.searchsorted(accepted, accepted + window_s) - np.arange(len(accepted)))
        assert most <= 10 * (window_s + BURST_S) + 1
    assert len(accepted) >= 0.97 * 10 * 120  # and what the limit allows is used
    assert stats.throttled == stats.attempts - len(accepted)


def test_a_limit_that_was_negotiated_away_does_not_throttle() -> None:
    endpoint = RelayEndpoint("r", replace(RELAY, rpm=1.0, tpm=10.0), enforce_limits=False)
    assert run(endpoint, every(0.01, 100))[1].throttled == 0


def test_requests_are_conserved_and_every_attempt_is_metered() -> None:
    relay = replace(RELAY, rpm=300.0, error_share=0.2)
    rows, stats = run(RelayEndpoint("r", relay, RetryPolicy(attempts=3)), every(0.1, 2000))
    by_status = {status: [row for row in rows if row[3] == status] for status in Status}
    assert len(rows) == stats.requests == 2000
    assert by_status[Status.FINISHED] and by_status[Status.FAILED]
    assert all(row[4] == 3 and row[1] == -1 for row in by_status[Status.FAILED])
    assert sum(row[4] for row in rows) == stats.attempts > 2000
    finished = len(by_status[Status.FINISHED])
    assert (stats.billed_input_tokens, stats.billed_output_tokens) == (100 * finished, 51 * finished)
    assert all(arrival <= first <= finish for arrival, first, finish, _, _ in by_status[Status.FINISHED])


def test_errors_are_retried_at_their_share() -> None:
    _, stats = run(RelayEndpoint("r", replace(RELAY, error_share=0.25)), every(0.01, 8000))
    expected = 8000 * sum(0.25**k for k in range(4))
    assert abs(stats.attempts - expected) < 4 * math.sqrt(8000 * 0.25 / 0.75**2)


def test_back_off_stays_below_its_doubling_ceiling() -> None:
    endpoint = RelayEndpoint("r", replace(RELAY, error_share=1.0, ttft_sigma=0.0), RetryPolicy(attempts=4))
    rows, _ = run(endpoint, every(0.01, 2000))
    waits_s = np.array([(finish - arrival) / PS - 4 * 0.5 for arrival, _, finish, _, _ in rows])
    assert waits_s.min() >= 0 and waits_s.max() <= 0.5 + 1 + 2
    assert np.mean(waits_s) == pytest.approx(3.5 / 2, abs=4 * waits_s.std() / math.sqrt(2000))


def test_a_timeout_cuts_the_stream_and_bills_what_was_streamed() -> None:
    relay = replace(RELAY, ttft_sigma=0.0, tokens_sigma=0.0)
    rows, stats = run(RelayEndpoint("r", relay, RetryPolicy(timeout_s=0.75)), [PS])
    assert rows == [(PS, PS + PS // 2, PS + 3 * PS // 4, Status.TIMED_OUT, 1)]
    assert stats.billed_output_tokens == 1 + 20  # 0.25 s at 80 tokens/s after the first one
    late, _ = run(RelayEndpoint("r", relay, RetryPolicy(timeout_s=0.25)), [0])
    assert late == [(0, -1, PS // 4, Status.TIMED_OUT, 1)]


def test_back_off_beyond_the_timeout_ends_at_the_timeout() -> None:
    endpoint = RelayEndpoint("r", replace(RELAY, error_share=1.0), RetryPolicy(attempts=99, timeout_s=5.0))
    rows, _ = run(endpoint, every(0.1, 50))
    assert {(row[3], row[2] - row[0]) for row in rows} == {(Status.TIMED_OUT, 5 * PS)}


def test_a_request_that_exceeds_the_context_is_rejected_without_an_attempt() -> None:
    rows, stats = run(RelayEndpoint("r", replace(RELAY, max_context=150)), [7])
    assert rows == [(7, -1, 7, Status.REJECTED, 0)]
    assert stats.attempts == 0


def test_a_request_larger_than_the_bucket_passes_and_leaves_a_debt() -> None:
    limit = RateLimit(60.0)
    assert limit.fits(0, 25) and limit.take(0, 25)
    assert not limit.fits(15 * PS, 1)  # 25 units, bucket of 10: room for one again after 16 s
    assert limit.fits(16 * PS, 1)


def test_same_seed_same_rows_and_another_seed_others() -> None:
    endpoint = RelayEndpoint("r", replace(RELAY, rpm=300.0, error_share=0.1))
    assert run(endpoint, every(0.1, 300)) == run(endpoint, every(0.1, 300))
    assert run(endpoint, every(0.1, 300))[0] != run(endpoint, every(0.1, 300), seed=2)[0]


def test_a_limit_does_not_change_the_latencies_that_are_drawn() -> None:
    free, _ = run(RelayEndpoint("r", RELAY), every(1.0, 50))
    limited, _ = run(RelayEndpoint("r", replace(RELAY, rpm=1e6)), every(1.0, 50))
    assert free == limited


def test_miss_shares_agree_with_the_log_normal_law() -> None:
    size = 40_000
    slos = [Slo("ttft", 0.95, 1.0), Slo("tpot", 0.95, 0.015), Slo("e2e", 0.95, 1.3)]
    lengths = np.full(size, 100), np.full(size, 51)
    ttft, tpot, e2e = relay_miss(RELAY, slos, *lengths, seed=3)
    above = lambda z: 0.5 * math.erfc(z / math.sqrt(2))  # noqa: E731
    assert ttft == pytest.approx(above(math.log(1.0 / 0.5) / 0.4), abs=4 * 0.5 / math.sqrt(size))
    assert tpot == pytest.approx(above(math.log(0.015 * 80) / 0.2), abs=4 * 0.5 / math.sqrt(size))
    assert ttft < e2e < 1
    assert relay_miss(RELAY, slos, *lengths, seed=3, network_s=0.2)[0] > ttft


def test_miss_shares_agree_with_the_server_when_answers_fail() -> None:
    relay, size = replace(RELAY, error_share=0.3), 8000
    rows, _ = run(RelayEndpoint("r", relay), every(0.01, size))
    simulated = np.mean([row[3] != Status.FINISHED or row[1] - row[0] > 1.5 * PS for row in rows])
    lengths = np.full(size, 100), np.full(size, 51)
    computed = relay_miss(relay, [Slo("ttft", 0.95, 1.5)], *lengths, seed=5)[0]
    assert computed == pytest.approx(simulated, abs=4 * math.sqrt(2 * 0.25 / size))


def test_one_token_answers_have_no_time_per_output_token() -> None:
    ttft_s, tpot_s, e2e_s = unthrottled_latency(RELAY, np.array([1, 2]), np.random.default_rng(0))
    assert tpot_s[0] == 0 and tpot_s[1] > 0
    assert e2e_s[0] == ttft_s[0] and e2e_s[1] == pytest.approx(ttft_s[1] + tpot_s[1])
