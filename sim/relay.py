"""A remote API that sells tokens: latency draw, RPM/TPM limits, 429, retry, timeout, token meter.

An attempt goes through these gates, in this order:

    too long for the endpoint   -> REJECTED at once; no attempt is made
    over RPM or TPM             -> 429 after one network round trip; back-off, next attempt
    server error (error_share)  -> error after network + TTFT; charged against the limits, not billed;
                                back-off, next attempt
    accepted                    -> first token after network + TTFT, last after (output - 1) tokens at the
                                speed of this stream

No attempt left: FAILED. `RetryPolicy.timeout_s` counts from the arrival over all attempts (the user's
patience): then TIMED_OUT; tokens that were streamed until then are billed. Outages are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sim.catalog.records import Relay
from sim.engine.deployment import PS
from sim.fleet_records import RelayEndpoint, RetryPolicy, Status, TargetStats
from sim.scenario.records import Slo

if TYPE_CHECKING:
    import simpy

Done = Callable[[int, int, int, int], None]
Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

BURST_S = 10.0
BLOCK = 4096  # random numbers drawn at once: one numpy call per request would cost more than the request


class RateLimit:
    """A token bucket of `per_minute` units that holds `BURST_S` seconds' worth, kept as the integer time at
    which it is full again.

    Vendors publish the rate, not the depth. Anthropic: "token bucket ... continuously replenished up to
    your maximum limit" (60 s deep), and "60 RPM may be enforced as 1 request per second"; OpenAI: "60,000
    requests/minute may be enforced as 1,000 requests/second" (1 s deep). Ten seconds lie between. A request
    larger than the bucket passes when it is full and leaves it in debt, so the rate always holds.

    >>> limit = RateLimit(60.0)     # one per second, ten at once
    >>> sum(limit.fits(0, 1) and limit.take(0, 1) for _ in range(20))
    10
    >>> limit.fits(PS // 2, 1), limit.fits(PS, 1)
    (False, True)
    """

    __slots__ = ("burst_ps", "full_ps", "unit_ps")

    def __init__(self, per_minute: float) -> None:
        self.unit_ps = -int(-60 * PS // per_minute)  # rounded up: never faster than the limit
        self.burst_ps = max(int(BURST_S * PS), self.unit_ps)
        self.full_ps = 0

    def fits(self, now_ps: int, units: int) -> bool:
        """Whether `units` may pass at `now_ps`."""
        debt_ps = self.full_ps - now_ps
        return debt_ps <= 0 or debt_ps + units * self.unit_ps <= self.burst_ps

    def take(self, now_ps: int, units: int) -> bool:
        """Charge `units`; always True, so that it chains after `fits`."""
        self.full_ps = max(self.full_ps, now_ps) + units * self.unit_ps
        return True


class _Call:
    """One request on its way: what its callbacks need."""

    __slots__ = ("arrival_ps", "attempts", "done", "input_tokens", "output_tokens")

    def __init__(self, arrival_ps: int, input_tokens: int, output_tokens: int, done: Done) -> None:
        self.arrival_ps = arrival_ps
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.done = done
        self.attempts = 0


class RelayServer:
    """Serves requests of one endpoint under a SimPy clock in integer picoseconds; one event per attempt, no
    process.

    Latency, errors and back-off have a stream each, spawned from `rng`: a limit that throttles does not
    change which latencies are drawn.
    """

    def __init__(self, endpoint: RelayEndpoint, rng: np.random.Generator) -> None:
        relay, retry = endpoint.relay, endpoint.retry
        self.endpoint = endpoint
        self._deadline_ps = round(retry.timeout_s * PS)
        limits = (relay.rpm, relay.tpm) if endpoint.enforce_limits else (None, None)
        self._rpm, self._tpm = (None if limit is None else RateLimit(limit) for limit in limits)
        latency_rng, error_rng, wait_rng = rng.spawn(3)
        self._latency = _latency_draws(relay, latency_rng)
        self._error = _uniform_draws(error_rng)
        self._wait = _uniform_draws(wait_rng)
        self._requests = self._attempts = self._throttled = 0
        self._billed_input = self._billed_output = 0

    def submit(
        self, env: simpy.Environment, arrival_ps: int, input_tokens: int, output_tokens: int, done: Done
    ) -> None:
        """Start a request now; `done(first_ps, finish_ps, status, attempts)` is called once, at the
        simulated time of its end.

        `first_ps` is -1 when no token came; `finish_ps` is the time of the end, whatever the status.
        `arrival_ps` (<= now) starts the timeout. A request that can never fit ends inside this call.
        """
        self._requests += 1
        call = _Call(arrival_ps, input_tokens, output_tokens, done)
        if input_tokens + output_tokens > self.endpoint.relay.max_context:
            done(-1, int(env.now), int(Status.REJECTED), 0)
        else:
            self._attempt(env, call)

    @property
    def independent(self) -> bool:
        """Whether no request can change what another one meets: no limit binds, and no error makes one come back."""
        return self._rpm is None and self._tpm is None and self.endpoint.relay.error_share == 0.0

    def count(self, requests: int, attempts: int) -> None:
        """Adds requests that `stream_all` has served, or that were too long, to the totals."""
        self._requests += requests
        self._attempts += attempts

    def stream_all(self, arrival_ps: Int64s, inputs: Int64s, outputs: Int64s) -> Int64s:
        """[first_ps, finish_ps, status, attempts] of single attempts that are accepted: `_stream` for all of them, and their bill."""
        draws = np.array(list(islice(self._latency, len(arrival_ps))), np.int64).reshape(-1, 2)
        first_ps, token_ps = arrival_ps + self.endpoint.network_ps + draws[:, 0], draws[:, 1]
        finish_ps = first_ps + (outputs - 1) * token_ps
        deadline_ps = arrival_ps + self._deadline_ps
        late = finish_ps > deadline_ps
        partial = np.where(first_ps > deadline_ps, 0, 1 + (deadline_ps - first_ps) // np.maximum(token_ps, 1))
        streamed = np.where(late, partial, outputs)
        self._billed_input += int(inputs.sum())
        self._billed_output += int(streamed.sum())
        status = np.where(late, int(Status.TIMED_OUT), int(Status.FINISHED))
        first_ps = np.where(late & (partial == 0), -1, first_ps)
        return np.stack([first_ps, np.where(late, deadline_ps, finish_ps), status, np.ones_like(status)])

    def stats(self) -> TargetStats:
        """Totals so far."""
        return TargetStats(
            name=self.endpoint.name,
            requests=self._requests,
            attempts=self._attempts,
            throttled=self._throttled,
            billed_input_tokens=self._billed_input,
            billed_output_tokens=self._billed_output,
        )

    def _attempt(self, env: simpy.Environment, call: _Call) -> None:
        now_ps, network_ps = int(env.now), self.endpoint.network_ps
        self._attempts += 1
        call.attempts += 1
        if not self._admitted(now_ps, call.input_tokens + call.output_tokens):
            self._throttled += 1
            self._retry(env, call, now_ps + network_ps)
            return
        ttft_ps, token_ps = next(self._latency)
        first_ps = now_ps + network_ps + ttft_ps
        if self.endpoint.relay.error_share > 0.0 and next(self._error) < self.endpoint.relay.error_share:
            self._retry(env, call, first_ps)
            return
        self._stream(env, call, first_ps, token_ps)

    def _admitted(self, now_ps: int, tokens: int) -> bool:
        """Charge both limits, or neither. Prompt and answer both count against TPM, at once, as vendors do
        with `max_tokens`. A refused attempt is not charged (OpenAI charges it: optimistic under overload).
        """
        if self._rpm is not None and not self._rpm.fits(now_ps, 1):
            return False
        if self._tpm is not None:
            if not self._tpm.fits(now_ps, tokens):
                return False
            self._tpm.take(now_ps, tokens)
        if self._rpm is not None:
            self._rpm.take(now_ps, 1)
        return True

    def _stream(self, env: simpy.Environment, call: _Call, first_ps: int, token_ps: int) -> None:
        finish_ps = first_ps + (call.output_tokens - 1) * token_ps
        deadline_ps = call.arrival_ps + self._deadline_ps
        output, status = call.output_tokens, Status.FINISHED
        if finish_ps > deadline_ps:
            status, finish_ps = Status.TIMED_OUT, max(deadline_ps, int(env.now))
            output = 0 if first_ps > finish_ps else 1 + (finish_ps - first_ps) // max(token_ps, 1)
            first_ps = first_ps if output else -1
        self._billed_input += call.input_tokens
        self._billed_output += output
        _at(env, finish_ps, lambda: call.done(first_ps, finish_ps, int(status), call.attempts))

    def _retry(self, env: simpy.Environment, call: _Call, told_ps: int) -> None:
        """After the client learns of the failure at `told_ps`: wait uniform(0, min(max_wait, base *
        2**failures)) and try again.
        """
        retry, deadline_ps = self.endpoint.retry, max(call.arrival_ps + self._deadline_ps, int(env.now))
        spent = call.attempts >= retry.attempts
        next_ps = told_ps
        if not spent:
            next_ps += int(next(self._wait) * _ceiling_s(retry, call.attempts - 1) * PS)
        if next_ps > deadline_ps:
            _at(env, deadline_ps, lambda: call.done(-1, deadline_ps, int(Status.TIMED_OUT), call.attempts))
        elif spent:
            _at(env, told_ps, lambda: call.done(-1, told_ps, int(Status.FAILED), call.attempts))
        else:
            _at(env, next_ps, lambda: self._attempt(env, call))


def unthrottled_latency(
    relay: Relay, output_tokens: npt.NDArray[np.integer], rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """(ttft_s, tpot_s, e2e_s) of requests that no limit delays; network not included. An answer of one
    token has TPOT 0.

    TTFT is log-normal (median `ttft_p50_s`), the speed of a stream log-normal (median `tokens_per_s`) and
    constant over the stream. Both are independent of the prompt length and of each other: optimistic for
    prompts far above those that were measured.
    """
    size = len(output_tokens)
    ttft_s = relay.ttft_p50_s * np.exp(relay.ttft_sigma * rng.standard_normal(size))
    tpot_s = np.exp(relay.tokens_sigma * rng.standard_normal(size)) / relay.tokens_per_s
    e2e_s = ttft_s + (output_tokens - 1) * tpot_s
    return ttft_s, np.where(output_tokens > 1, tpot_s, 0.0), e2e_s


def relay_miss(
    relay: Relay,
    slos: Sequence[Slo],
    input_tokens: npt.NDArray[np.integer],
    output_tokens: npt.NDArray[np.integer],
    seed: int,
    network_s: float = 0.0,
    retry: RetryPolicy | None = None,
) -> Floats:
    """[slos] share of the requests with these lengths that miss each limit while no RPM/TPM limit
    throttles; errors are retried.

    Requests that do not fit `max_context`, or whose attempts all fail, miss everything.
    """
    retry, rng, size = retry or RetryPolicy(), np.random.default_rng([seed, 0x51A7]), len(output_tokens)
    ttft_s, tpot_s, e2e_s = unthrottled_latency(relay, output_tokens, rng)
    lost_s, pending = np.full(size, network_s), np.ones(size, dtype=np.bool_)
    for failure in range(retry.attempts if relay.error_share > 0.0 else 0):
        pending &= rng.random(size) < relay.error_share
        error_s, _, _ = unthrottled_latency(relay, output_tokens, rng)
        wait_s = rng.random(size) * _ceiling_s(retry, failure)
        lost_s += np.where(pending, network_s + error_s + wait_s, 0.0)
    never = input_tokens + output_tokens > relay.max_context
    never |= (lost_s + e2e_s > retry.timeout_s) | (pending if relay.error_share > 0.0 else False)
    values = {"ttft": lost_s + ttft_s, "tpot": tpot_s, "e2e": lost_s + e2e_s}
    return np.array([float(np.mean(never | (values[slo.metric] > slo.limit_s))) for slo in slos])


def _ceiling_s(retry: RetryPolicy, failures: int) -> float:
    return min(retry.max_wait_s, retry.base_s * 2.0**failures)


def _latency_draws(relay: Relay, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """(ttft_ps, ps per token) without end."""
    two = np.full(BLOCK, 2)
    while True:
        ttft_s, tpot_s, _ = unthrottled_latency(relay, two, rng)
        ttft_ps, token_ps = (np.rint(seconds * PS).astype(np.int64).tolist() for seconds in (ttft_s, tpot_s))
        yield from zip(ttft_ps, token_ps, strict=True)


def _uniform_draws(rng: np.random.Generator) -> Iterator[float]:
    while True:
        yield from rng.random(BLOCK).tolist()


def _at(env: simpy.Environment, when_ps: int, action: Callable[[], None]) -> None:
    """Run `action` at `when_ps` by a bare timeout: a process per request would be ten times as slow."""
    event = env.timeout(when_ps - int(env.now))
    event.callbacks.append(lambda _: action())
