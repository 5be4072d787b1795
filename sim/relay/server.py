"""A remote API that sells tokens: latency, load, RPM/TPM limits, 429, retry, timeout, outage, token meter.

An attempt goes through these gates, in this order:

    too long for the endpoint   -> REJECTED at once; no attempt is made
    outage                      -> refused after one network round trip, or hangs until the connect time-out
    over RPM or TPM             -> 429 after one network round trip; back-off, next attempt
    server error (error_share)  -> error after network + TTFT; charged against the limits, not billed;
                                back-off, next attempt
    accepted                    -> first token after network + TTFT, last after (output - 1) tokens at the
                                speed of this stream
    breaks off (torn_share, an outage that begins, no token within `first_token_s`)
                                -> what came until then is billed and lost; back-off, next attempt

No attempt left, or no retry left in the budget: FAILED. `RetryPolicy.timeout_s` counts from the arrival over
all attempts (the user's patience): then TIMED_OUT; tokens that were streamed until then are billed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import PS
from sim.engine.pool import Status, TargetStats
from sim.relay.call_rules import MOST_PS, NO_PATIENCE, call_rules
from sim.relay.endpoint import RelayEndpoint
from sim.relay.latency_draw import first_draws, relay_miss, single_draws, uniform_draws, unthrottled_latency
from sim.relay.limits import BURST_S, RateLimit, RetryBudget
from sim.relay.relay_draws import relay_draws

if TYPE_CHECKING:
    import simpy

__all__ = ["BURST_S", "RateLimit", "RelayServer", "relay_miss", "unthrottled_latency"]

Done = Callable[[int, int, int, int], None]
Int64s = npt.NDArray[np.int64]


class _Call:
    """One request on its way: what its callbacks need."""

    __slots__ = ("arrival_ps", "attempts", "done", "input_tokens", "output_tokens")

    def __init__(self, arrival_ps: int, input_tokens: int, output_tokens: int, done: Done) -> None:
        self.arrival_ps = arrival_ps
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.done = done
        self.attempts = 0


class _Meter:
    """Totals of one endpoint."""

    def __init__(self) -> None:
        self.requests = self.attempts = self.throttled = self.errors = self.unreachable = self.cut = self.failed_over = 0
        self.billed_input = self.billed_output = self.lost_input = self.lost_output = 0

    def bill(self, input_tokens: int, output_tokens: int, lost: bool) -> None:
        self.billed_input += input_tokens
        self.billed_output += output_tokens
        if lost:
            self.lost_input += input_tokens
            self.lost_output += output_tokens


class RelayServer:
    """Serves requests of one endpoint under a SimPy clock in integer picoseconds; one event per attempt, no
    process.

    Latency, errors, back-off, torn answers and outages have a stream each, spawned from `rng`: a limit that
    throttles does not change which latencies are drawn.
    """

    def __init__(self, endpoint: RelayEndpoint, rng: np.random.Generator) -> None:
        relay, retry = endpoint.relay, endpoint.relay.retry or endpoint.retry
        self.endpoint, self.rules, self.draws = endpoint, call_rules(endpoint), relay_draws(relay, rng)
        limits = (relay.rpm, relay.tpm) if endpoint.enforce_limits else (None, None)
        self.limits = tuple(None if limit is None else RateLimit(limit) for limit in limits)  # of calls, of tokens
        self.budget = None if retry.budget_share is None else RetryBudget(retry.budget_share)
        self._latency = single_draws(self.draws.latency)
        self._error, self._wait, self._torn = (uniform_draws(self.draws.uniform[name]) for name in ("error", "wait", "torn"))
        self._in_flight = 0
        self._meter = _Meter()

    def submit(self, env: simpy.Environment, arrival_ps: int, input_tokens: int, output_tokens: int, done: Done) -> None:
        """Start a request now; `done(first_ps, finish_ps, status, attempts)` is called once, at the
        simulated time of its end.

        `first_ps` is -1 when no token came; `finish_ps` is the time of the end, whatever the status.
        `arrival_ps` (<= now) starts the timeout. A request that can never fit ends inside this call.
        """
        self._meter.requests += 1
        call = _Call(arrival_ps, input_tokens, output_tokens, done)
        if input_tokens + output_tokens > self.endpoint.relay.max_context:
            done(-1, int(env.now), int(Status.REJECTED), 0)
        else:
            if self.budget is not None:
                self.budget.earn()
            self._attempt(env, call)

    @property
    def independent(self) -> bool:
        """Whether no request can change what another one meets: no limit binds, load does not count, and nothing makes one come back."""
        relay, rules = self.endpoint.relay, self.rules
        unfailing = relay.error_share == 0.0 and relay.torn_share == 0.0 and relay.outages is None and rules.patience_ps == NO_PATIENCE
        return self.limits == (None, None) and unfailing and rules.load.shape[1] == 0

    def count(self, requests: int, totals: dict[str, int]) -> None:
        """Adds requests that were not submitted, and what came of them, to the totals."""
        self._meter.requests += requests
        for name, total in totals.items():
            setattr(self._meter, name, getattr(self._meter, name) + total)

    def stream_all(self, arrival_ps: Int64s, inputs: Int64s, outputs: Int64s) -> Int64s:
        """[first_ps, finish_ps, status, attempts] of single attempts that are accepted: `_stream` for all of them, and their bill.

        Once, instead of `submit`: the draws begin with a new block.
        """
        rules, draws = self.rules, first_draws(self.draws.latency, len(arrival_ps))
        counted = np.minimum(np.maximum(inputs - rules.free_tokens, 0), 1 + MOST_PS // max(rules.token_ps, 1))
        first_ps, token_ps = arrival_ps + rules.network_ps + draws[:, 0] + counted * rules.token_ps, draws[:, 1]
        deadline_ps = arrival_ps + rules.deadline_ps
        following = (deadline_ps - first_ps) // np.maximum(token_ps, 1)  # tokens after the first that come in time; below 0: not even that
        late = np.where(token_ps > 0, outputs - 1 > following, first_ps > deadline_ps)
        finish_ps = first_ps + np.where(late, 0, outputs - 1) * token_ps  # a product that no time could hold is late
        partial = np.where(first_ps > deadline_ps, 0, 1 + following)
        streamed = np.where(late, partial, outputs)
        self._meter.bill(int(inputs[~late].sum()), int(streamed[~late].sum()), lost=False)
        self._meter.bill(int(inputs[late].sum()), int(streamed[late].sum()), lost=True)
        status = np.where(late, int(Status.TIMED_OUT), int(Status.FINISHED))
        first_ps = np.where(late & (partial == 0), -1, first_ps)
        return np.stack([first_ps, np.where(late, deadline_ps, finish_ps), status, np.ones_like(status)])

    def pass_on(self) -> None:
        """A request that failed here is taken over by another target."""
        self._meter.failed_over += 1

    def stats(self) -> TargetStats:
        """Totals so far."""
        meter = self._meter
        return TargetStats(
            name=self.endpoint.name,
            requests=meter.requests,
            attempts=meter.attempts,
            throttled=meter.throttled,
            errors=meter.errors,
            unreachable=meter.unreachable,
            cut=meter.cut,
            failed_over=meter.failed_over,
            billed_input_tokens=meter.billed_input,
            billed_output_tokens=meter.billed_output,
            lost_input_tokens=meter.lost_input,
            lost_output_tokens=meter.lost_output,
        )

    def _attempt(self, env: simpy.Environment, call: _Call) -> None:
        now_ps, relay, rules = int(env.now), self.endpoint.relay, self.rules
        self._meter.attempts += 1
        call.attempts += 1
        if self.draws.outages.down(now_ps):
            self._meter.unreachable += 1
            self._retry(env, call, now_ps + rules.refused_ps)
            return
        if not self._admitted(now_ps, call.input_tokens + call.output_tokens):
            self._meter.throttled += 1
            self._retry(env, call, now_ps + rules.network_ps)
            return
        ttft_ps, token_ps = rules.loaded_ps(*next(self._latency), self._in_flight + 1)
        first_ps = now_ps + rules.network_ps + ttft_ps + rules.prompt_ps(call.input_tokens)
        if relay.error_share > 0.0 and next(self._error) < relay.error_share:
            self._meter.errors += 1
            self._retry(env, call, first_ps)
            return
        self._stream(env, call, first_ps, token_ps)

    def _admitted(self, now_ps: int, tokens: int) -> bool:
        """Charge both limits, or neither. Prompt and answer both count against TPM, at once, as vendors do
        with `max_tokens`. A refused attempt is not charged (OpenAI charges it: optimistic under overload).
        """
        rpm, tpm = self.limits
        if rpm is not None and not rpm.fits(now_ps, 1):
            return False
        if tpm is not None:
            if not tpm.fits(now_ps, tokens):
                return False
            tpm.take(now_ps, tokens)
        if rpm is not None:
            rpm.take(now_ps, 1)
        return True

    def _stream(self, env: simpy.Environment, call: _Call, first_ps: int, token_ps: int) -> None:
        """The answer until its end, the user's patience or the point at which it breaks off, whichever is first."""
        finish_ps = first_ps + self.rules.following(call.output_tokens, token_ps) * token_ps
        deadline_ps = max(call.arrival_ps + self.rules.deadline_ps, int(env.now))
        broken_ps = self._breaks_off(int(env.now), first_ps, finish_ps)
        end_ps = min(finish_ps, deadline_ps, broken_ps)
        whole = end_ps == finish_ps and broken_ps > finish_ps
        output = call.output_tokens if whole else 0 if first_ps > end_ps else 1 + (end_ps - first_ps) // max(token_ps, 1)
        self._meter.bill(call.input_tokens, min(output, call.output_tokens), lost=not whole)
        self._in_flight += 1

        def end() -> None:
            self._in_flight -= 1
            if whole:
                call.done(first_ps, finish_ps, int(Status.FINISHED), call.attempts)
            elif end_ps == deadline_ps:
                call.done(first_ps if output else -1, deadline_ps, int(Status.TIMED_OUT), call.attempts)
            else:
                self._meter.cut += 1
                self._retry(env, call, end_ps)

        _at(env, end_ps, end)

    def _breaks_off(self, now_ps: int, first_ps: int, finish_ps: int) -> int:
        """When an accepted answer is lost; after `finish_ps` when it is not."""
        never = finish_ps + 1
        broken_ps = min(self.draws.outages.begin_ps, never)
        share, patience_ps = self.endpoint.relay.torn_share, self.rules.patience_ps
        if share > 0.0 and (at := next(self._torn)) < share:  # at / share is uniform again: where in the answer
            broken_ps = min(broken_ps, first_ps + int(at / share * (finish_ps - first_ps)))
        if patience_ps != NO_PATIENCE and first_ps > now_ps + patience_ps:
            broken_ps = min(broken_ps, now_ps + patience_ps)
        return broken_ps

    def _retry(self, env: simpy.Environment, call: _Call, told_ps: int) -> None:
        """After the client learns of the failure at `told_ps`: wait uniform(0, min(max_wait, base *
        2**failures)) and try again.
        """
        ceilings_s, deadline_ps = self.rules.ceilings_s, max(call.arrival_ps + self.rules.deadline_ps, int(env.now))
        spent = call.attempts >= len(ceilings_s) or (self.budget is not None and not self.budget.spend())
        next_ps = told_ps
        if not spent:
            next_ps += int(next(self._wait) * float(ceilings_s[call.attempts - 1]) * PS)
        if next_ps > deadline_ps:
            _at(env, deadline_ps, lambda: call.done(-1, deadline_ps, int(Status.TIMED_OUT), call.attempts))
        elif spent:
            _at(env, told_ps, lambda: call.done(-1, told_ps, int(Status.FAILED), call.attempts))
        else:
            _at(env, next_ps, lambda: self._attempt(env, call))


def _at(env: simpy.Environment, when_ps: int, action: Callable[[], None]) -> None:
    """Run `action` at `when_ps` by a bare timeout: a process per request would be ten times as slow."""
    event = env.timeout(when_ps - int(env.now))
    event.callbacks.append(lambda _: action())
