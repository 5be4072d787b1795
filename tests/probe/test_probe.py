"""What a probe finds is what the server does; what it spends stays under every cap."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.probe import attempts
from sim.probe.attempts import Attempt, Caps, Load, Measured, Patience, Prices, Prompt, Reply, Setup, Shape
from sim.probe.find_limits import accepted_rate_rps
from sim.probe.run_load import probe
from sim.probe.summary import summary
from tests.probe.server import Answer, Bucket, Json, Server, serving

ROOT = Path(__file__).resolve().parents[2]
QUICK = Patience(connect_s=2, read_s=2, total_s=4, attempts=3, base_s=0.01, max_wait_s=0.02)


def quiet(_: str) -> None:
    pass


def setup_for(server: Server, **changes: object) -> Setup:
    plain = Setup(
        server.url, "m", shapes=(Shape(40, 4),), patience=QUICK, load=Load(concurrency=(4,), requests_per_level=20), limits="off",
        caps=Caps(requests=1000, tokens=10**6, seconds=30),
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


def run(server: Server, **changes: object) -> Measured:
    return probe(setup_for(server, **changes), "none", quiet)


def test_injected_first_token_and_token_times_are_recovered_within_five_percent() -> None:
    """Against what the server really did: a busy machine adds to what was drawn. Only a probe that says so may be off."""
    rng = np.random.default_rng(5)
    ttft_s, gap_s = 1.0 * np.exp(0.3 * rng.standard_normal(96)), rng.uniform(0.2, 0.3, 96)
    for _ in range(2):
        with serving(lambda n, _: Answer(ttft_s=float(ttft_s[n]), gap_s=float(gap_s[n]))) as server:
            found = run(server, load=Load(concurrency=(24,), requests_per_level=96), shapes=(Shape(40, 3),), patience=Patience())
        said = summary(found)
        assert said["requests"] == {"ok": 96, "failed": 0, "retried": 0, "status": {"200": 96}}
        sent = np.array([seen.sent for seen in server.seen])
        truth = {"ttft_s": sent[:, 0], "tpot_s": (sent[:, 2] - sent[:, 0]) / 2, "e2e_s": sent[:, 2]}
        off = {(name, q): said[name][f"p{q}"] / np.percentile(values, q) - 1 for name, values in truth.items() for q in (50, 95)}
        if max(map(abs, off.values())) <= 0.05:
            return
        assert any("busy" in warning for warning in found.warnings), off
    pytest.skip(f"too busy to measure within 5 %: {off}; {found.warnings}")


def test_injected_request_limit_is_found_within_five_percent() -> None:
    with serving(lambda n, _: Answer(ttft_s=0.005), rpm=Bucket(1800, 15)) as server:
        load = Load(concurrency=(1,), requests_per_level=2, first_rps=30)
        found = run(server, limits="requests", load=load, caps=Caps(2000, 10**7, 30))
    assert found.limits["rpm"] == pytest.approx(1800, rel=0.05)
    assert found.limits["tpm"] is None


def test_injected_token_limit_is_found_within_five_percent() -> None:
    with serving(lambda n, _: Answer(ttft_s=0.005), tpm=Bucket(4000 * 1500, 60_000)) as server:
        load = Load(concurrency=(1,), requests_per_level=2, first_rps=40)
        found = run(server, limits="tokens", load=load, caps=Caps(3000, 10**8, 60))
    assert found.limits["tpm"] == pytest.approx(4000 * 1500, rel=0.05)


def test_a_limit_that_is_not_reached_is_said_to_be_unknown() -> None:
    with serving(lambda n, _: Answer(), rpm=Bucket(600, 600)) as server:
        load = Load(concurrency=(1,), requests_per_level=2, first_rps=10, most_rps=10)
        found = run(server, limits="requests", load=load, caps=Caps(30, 10**7, 30))
    assert found.limits["rpm"] is None and "no steady refusal at 600 a minute" in found.limit_notes[0]


@pytest.mark.parametrize("windows_s", [5.0])
def test_counters_of_fixed_windows_give_the_rate_and_not_the_start_of_the_window(windows_s: float) -> None:
    """10 accepted at the start of each window, then refusals: the rate is 10 a window however long one looks."""
    sent = []
    for k in range(130):
        when = 0.13 + k * 0.2
        outcome = attempts.OK if (when % windows_s) < 2.0 else attempts.THROTTLED
        sent.append(Attempt(k, 1, "limit of requests", 1, when, Prompt("a", 1, 1, 2), Reply(outcome)))
    rate, accepted = accepted_rate_rps(sent)
    assert rate == pytest.approx(10 / windows_s, rel=0.02) and accepted == 40


def test_limits_in_headers_are_believed() -> None:
    told = {"x-ratelimit-limit-requests": "600", "x-ratelimit-limit-tokens": "90000"}
    with serving(lambda n, _: Answer(headers=told)) as server:
        found = run(server, limits="headers")
    assert found.limits == {"rpm": 600.0, "tpm": 90000.0}


@pytest.mark.parametrize("retry_after", [None, "0.2"])
def test_throttled_requests_are_retried_and_wait_as_long_as_retry_after_says(retry_after: str | None) -> None:
    def behave(n: int, _: Json) -> Answer:
        headers = {} if retry_after is None else {"retry-after": retry_after}
        return Answer(status=429, headers=headers) if n % 2 == 0 else Answer()

    with serving(behave) as server:
        found = run(server, load=Load(concurrency=(1,), requests_per_level=3))
    said = summary(found)
    assert said["requests"] == {"ok": 3, "failed": 0, "retried": 3, "status": {"200": 3, "429": 3}}
    assert said["shares"]["throttled"] == 0.5
    waits = [b.when - a.when for a, b in zip(server.seen[::2], server.seen[1::2], strict=True)]
    assert min(waits) >= 0.2 if retry_after else max(waits) < 0.2


def test_a_retry_after_of_an_hour_ends_the_request() -> None:
    with serving(lambda n, _: Answer(status=429, headers={"retry-after": "3600"})) as server:
        found = run(server, load=Load(concurrency=(1,), requests_per_level=2))
    assert len(server.seen) == 2 and summary(found)["requests"]["failed"] == 2


@pytest.mark.parametrize(
    ("answer", "outcome", "attempts"),
    [
        (Answer(status=503), attempts.SERVER, 3),
        (Answer(torn_after=2), attempts.TORN, 3),
        (Answer(hang_s=1.0), attempts.TIMEOUT, 3),
        (Answer(ttft_s=0.3, gap_s=0.3, tokens=40), attempts.TIMEOUT, 3),
        (Answer(status=418), attempts.CLIENT, 1),
        (Answer(raw=b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {nonsense\n\n"), attempts.MALFORMED, 1),
        (Answer(raw=b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"), attempts.TORN, 3),
        (Answer(raw=b"nonsense\r\n\r\n"), attempts.CONNECTION, 3),
        (Answer(tokens=50), attempts.MALFORMED, 1),
    ],
)
def test_every_way_to_fail_has_a_name_and_is_retried_when_that_makes_sense(answer: Answer, outcome: str, attempts: int) -> None:
    patience = replace(QUICK, read_s=0.5, total_s=0.8)
    with serving(lambda n, _: Answer() if n == 0 else answer) as server:
        found = run(server, load=Load(concurrency=(1,), requests_per_level=2), patience=patience)
    assert [a.reply.outcome for a in found.attempts] == ["ok"] + [outcome] * attempts


def test_wrong_token_counts_are_noticed_and_not_used() -> None:
    wrong = {"prompt_tokens": 40_000, "completion_tokens": 9000, "total_tokens": 49_000}
    with serving(lambda n, _: Answer(usage=wrong)) as server:
        found = run(server, caps=Caps(tokens=100_000, seconds=20))
    assert any("cannot be true" in warning for warning in found.warnings)
    assert all(a.input_tokens == 40 and a.output_tokens == 4 for a in found.attempts)
    assert found.stopped == "cap of 100,000 tokens"  # what may be billed counts, believable or not


def test_no_cap_is_exceeded_by_one_request() -> None:
    prices = Prices(1000.0, 2000.0)
    with serving(lambda n, _: Answer(ttft_s=0.002)) as server:
        by_calls = run(server, caps=Caps(requests=17))
        calls = len(server.seen)
        by_tokens = run(server, caps=Caps(tokens=600))
        tokens = sum(s.prompt_tokens + s.body["max_tokens"] for s in server.seen[calls:])
        start = len(server.seen)
        by_money = run(server, caps=Caps(usd=0.5), prices=prices)
        usd = sum(prices.usd(s.prompt_tokens, s.body["max_tokens"]) for s in server.seen[start:])
    assert (calls, by_calls.stopped) == (17, "cap of 17 requests")
    assert 400 < tokens <= 600 and by_tokens.stopped == "cap of 600 tokens" and by_tokens.spent_tokens == tokens
    assert 0.3 < usd <= 0.5 and by_money.spent_usd == pytest.approx(usd) and by_money.stopped == "cap of 0.5 USD"


def test_retries_count_against_the_cap_of_requests() -> None:
    with serving(lambda n, _: Answer(status=500)) as server:
        found = run(server, caps=Caps(requests=10))
    assert len(server.seen) == 10 and found.stopped == "cap of 10 requests"


def test_the_cap_of_seconds_cuts_what_is_open_and_keeps_what_was_measured() -> None:
    with serving(lambda n, _: Answer(hang_s=0 if n < 5 else 30)) as server:
        began = time.perf_counter()
        found = run(server, caps=Caps(seconds=0.6), patience=Patience())
    assert time.perf_counter() - began < 2
    assert found.stopped == "cap of 0.6 seconds"
    assert {a.reply.outcome for a in found.attempts} == {"ok", "cut"}


def test_a_closed_loop_never_has_more_calls_open_than_users() -> None:
    with serving(lambda n, _: Answer(ttft_s=0.01)) as server:
        run(server, load=Load(concurrency=(3,), requests_per_level=30))
    assert server.most_open == 3


def test_open_arrivals_do_not_wait_for_answers_and_a_bound_holds() -> None:
    with serving(lambda n, _: Answer(ttft_s=0.2)) as server:
        free = run(server, load=Load(rates_rps=(50.0,), requests_per_level=20))
        most = server.most_open
        server.most_open = 0
        bound = run(server, load=Load(rates_rps=(100.0,), requests_per_level=20, most_in_flight=4))
    assert most > 6 and server.most_open <= 4
    assert not any("places" in warning for warning in free.warnings) and any("places" in warning for warning in bound.warnings)
    assert summary(bound)["request_s"]["p99"] > 0.6 > summary(bound)["e2e_s"]["p99"]  # the wait is the user's, not the endpoint's


def test_embeddings_are_measured_as_one_answer() -> None:
    with serving(lambda n, _: Answer(ttft_s=0.05)) as server:
        said = summary(run(server, kind="embedding"))
    assert said["requests"]["ok"] == 20 and said["tpot_s"]["p50"] is None
    assert 0.05 <= said["e2e_s"]["p50"] < 0.5
    assert said["tokens"] == {"input": 800, "output": 0, "cached_share": 0.0}


def test_cached_tokens_are_reported() -> None:
    with serving(lambda n, _: Answer(cached_tokens=10)) as server:
        assert summary(run(server))["tokens"]["cached_share"] == pytest.approx(10 / 33)


def test_a_model_that_wants_another_word_for_max_tokens_is_understood() -> None:
    def behave(n: int, body: Json) -> Answer:
        if "max_tokens" in body:
            return Answer(status=400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return Answer(status=400, message="stream_options: not allowed") if "stream_options" in body else Answer(usage={})

    with serving(behave) as server:
        found = run(server, load=Load(concurrency=(1,), requests_per_level=5))
    assert summary(found)["requests"]["ok"] == 5 and len(server.seen) == 7


def test_a_refusal_of_the_first_request_stops_the_probe() -> None:
    with serving(lambda n, _: Answer(status=401, message="no such key")) as server:
        found = run(server, load=Load(concurrency=(1,), requests_per_level=5))
    assert len(server.seen) == 1 and found.stopped == "HTTP 401: no such key"


def test_a_port_where_nobody_listens_is_a_connection_error() -> None:
    with serving(lambda n, _: Answer()) as server:
        pass
    assert {a.reply.outcome for a in run(server, load=Load(concurrency=(1,), requests_per_level=1)).attempts} == {"connection"}


def test_every_problem_of_a_setup_is_told_at_once() -> None:
    bad = Setup("https://user:secret@host/v1?key=secret", "m", caps=Caps(requests=0, usd=1.0), load=Load(concurrency=()))
    with pytest.raises(InputError) as told:
        probe(bad, "none", quiet)
    assert len(told.value.problems) == 4 and "secret" not in str(told.value)


def test_a_price_that_is_no_number_cannot_switch_a_cap_off() -> None:
    for prices in (Prices(float("nan"), 1.0), Prices(1.0, float("inf")), Prices(1.0, 1.0, float("nan"))):
        with pytest.raises(InputError, match="finite"):
            probe(Setup("http://127.0.0.1:9/v1", "m", prices=prices, caps=Caps(usd=1.0)), "none", quiet)


def test_a_server_that_goes_away_ends_the_probe_instead_of_wearing_out_its_caps() -> None:
    gone = Answer(raw=b"")
    with serving(lambda n, _: Answer() if n < 10 else gone) as server:
        found = run(server, load=Load(concurrency=(2,), requests_per_level=500))
    assert found.stopped.startswith("20 connections in a row failed") and len(server.seen) <= 32
    assert summary(found)["requests"]["ok"] == 10


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    """As a person would: the signal comes in the middle; files are there, JSON is whole, exit code 130."""
    with serving(lambda n, _: Answer(ttft_s=0.02)) as server:
        words = [sys.executable, str(ROOT / "cli.py"), "probe", server.url, "--model", "m", "--requests", "5000", "--max-requests", "9000"]
        words += ["--concurrency", "2", "--mix", "30/3", "--out", str(tmp_path), "--json"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 30
        while len(server.seen) < 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in err
    said = json.loads(out)
    assert said["stopped"] == "interrupted" and 15 <= said["requests"]["ok"] < 5000
    assert {path.name for path in tmp_path.iterdir()} == {"probe.json", "requests.csv", "attempts.csv", "relay.yaml"}
