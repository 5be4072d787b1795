"""One request with its retries: every attempt under the caps, with back-off and jitter, honouring Retry-After."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import numpy as np

from sim.probe import attempts
from sim.probe.attempts import Attempt, Patience, Prompt, Reply
from sim.probe.caps import CapReached, Ledger

GONE = 20  # attempts in a row without a connection after which no answer is expected
Call = Callable[[Prompt], Awaitable[Reply]]


class Sender:
    """Sends requests and keeps every attempt; `retries` False records a failure and leaves it at that."""

    def __init__(self, call: Call, ledger: Ledger, patience: Patience, rng: np.random.Generator, learn: Callable[[str], bool]) -> None:
        self.call, self.ledger, self.patience, self.rng, self.learn = call, ledger, patience, rng, learn
        self.attempts: list[Attempt] = []
        self.arrivals: dict[int, float] = {}
        self.in_flight = 0
        self.began = time.perf_counter()
        self.stopped = ""  # why nothing more is sent
        self.refused = False  # the endpoint takes no request of this kind
        self._unreachable = 0  # attempts in a row without a connection
        self._next = 0
        self._answered = False

    def now(self) -> float:
        """Seconds since the probe began."""
        return time.perf_counter() - self.began

    async def send(self, prompt: Prompt, level: str, due_s: float | None = None, retries: bool = True) -> bool:
        """Whether the request was answered in the end. A cap, or a refusal before any answer, stops the probe: see `stopped`."""
        request, self._next = self._next, self._next + 1
        number = 0
        while not self.stopped:
            number += 1
            try:
                reserved = await self.ledger.reserve(prompt.most_input_tokens, prompt.output_tokens)
            except CapReached as cap:
                self.stopped = self.stopped or str(cap)
                break
            self.arrivals.setdefault(request, self.now() if due_s is None else due_s)
            attempt = await self._attempt(request, number, level, prompt, reserved)
            outcome = attempt.reply.outcome
            self._unreachable = self._unreachable + 1 if outcome == attempts.CONNECTION else 0
            if self._unreachable >= GONE:
                self.stopped = self.stopped or f"{GONE} connections in a row failed: {attempt.reply.note}"
            if outcome == attempts.OK:
                self._answered = True
                return True
            if outcome == attempts.CLIENT:
                if self.learn(attempt.reply.note):
                    continue
                if not self._answered:
                    self.stopped, self.refused = f"HTTP {attempt.reply.status}: {attempt.reply.note}", True
                break
            wait_s = self.wait_s(number, attempt.reply.retry_after_s)
            spent = number >= self.patience.attempts or wait_s > self.patience.longest_retry_after_s
            if not retries or spent or outcome not in attempts.RETRIED:
                break
            await asyncio.sleep(wait_s)
        return False

    def wait_s(self, failures: int, retry_after_s: float | None) -> float:
        """uniform(0, min(max_wait, base x 2**(failures - 1))), on top of what Retry-After asks for."""
        ceiling = min(self.patience.max_wait_s, self.patience.base_s * 2.0 ** (failures - 1))
        return (retry_after_s or 0.0) + float(self.rng.random()) * ceiling

    async def _attempt(self, request: int, number: int, level: str, prompt: Prompt, reserved: tuple[int, float]) -> Attempt:
        started_s = self.now()
        self.in_flight += 1
        in_flight = self.in_flight
        reply = Reply(attempts.CUT, note="cut off at the end of the probe")
        try:
            reply = await self.call(prompt)
        finally:
            self.in_flight -= 1
            attempt = Attempt(request, number, level, in_flight, started_s, prompt, reply)
            self.attempts.append(attempt)
            self._settle(attempt, reserved)
        await self.ledger.settled()
        return attempt

    def _settle(self, attempt: Attempt, reserved: tuple[int, float]) -> None:
        """Charge what the endpoint claims, at least what we saw; what ended without a count is charged at the most it can have cost.

        Refusals, throttling and errors before any text are free at the vendors that say anything about it."""
        reply, prompt = attempt.reply, attempt.prompt
        into, out = max(reply.claimed_input, 0), max(reply.claimed_output, reply.pieces if prompt.output_tokens else 0)
        free = reply.outcome in (attempts.THROTTLED, attempts.CLIENT, attempts.SERVER, attempts.CONNECTION) and not reply.pieces
        if not free and not reply.claimed_input:
            into, out = prompt.most_input_tokens, max(prompt.output_tokens, out)
        cached = min(reply.cached_tokens, into)
        self.ledger.settle(reserved[0], 0 if free else into, 0 if free else out, cached, reserved[1])
