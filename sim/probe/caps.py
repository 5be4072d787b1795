"""The ledger: nothing is sent unless its worst case fits under every cap."""

from __future__ import annotations

import asyncio

from sim.probe.attempts import Caps, Prices


class CapReached(Exception):
    """No further call fits; the text names the cap."""


class Ledger:
    """Spent and reserved calls, tokens and dollars. A call reserves the most that it may cost before it is sent and is settled
    at what it did cost; what is unknown stays at the most. So no cap is ever exceeded, not by one call.

    When an endpoint counts more than can be true, later calls reserve that much more.

    >>> ledger = Ledger(Caps(requests=2, tokens=100), None)
    >>> ledger.fits(60, 30), ledger.take(60, 30), ledger.fits(60, 30)
    (True, 90, False)
    >>> ledger.settle(90, 20, 10, 0)
    >>> ledger.fits(40, 30)
    True
    """

    def __init__(self, caps: Caps, prices: Prices | None) -> None:
        self.caps, self.prices = caps, prices
        self.requests = self.open = self.tokens = self.reserved_tokens = 0
        self.usd = self.reserved_usd = 0.0
        self.stretch = 1.0
        self._settled = asyncio.Condition()

    def fits(self, most_input: int, most_output: int) -> bool:
        """Whether a call of at most these tokens may be sent now."""
        return self._why_not(most_input, most_output) == ""

    def _why_not(self, most_input: int, most_output: int) -> str:
        tokens = self._most(most_input, most_output)
        if self.requests + 1 > self.caps.requests:
            return f"cap of {self.caps.requests:,} requests"
        if self.tokens + self.reserved_tokens + tokens > self.caps.tokens:
            return f"cap of {self.caps.tokens:,} tokens"
        if self.caps.usd is not None and self.usd + self.reserved_usd + self._most_usd(most_input, most_output) > self.caps.usd:
            return f"cap of {self.caps.usd:g} USD"
        return ""

    def _most(self, most_input: int, most_output: int) -> int:
        return int((most_input + most_output) * self.stretch) + 1 if self.stretch > 1 else most_input + most_output

    def _most_usd(self, most_input: int, most_output: int) -> float:
        return 0.0 if self.prices is None else self.prices.usd(most_input, most_output) * self.stretch

    def take(self, most_input: int, most_output: int) -> int:
        """Reserve; returns the tokens reserved, which `settle` wants back."""
        tokens = self._most(most_input, most_output)
        self.requests += 1
        self.open += 1
        self.reserved_tokens += tokens
        self.reserved_usd += self._most_usd(most_input, most_output)
        return tokens

    def settle(self, reserved: int, input_tokens: int, output_tokens: int, cached_tokens: int, reserved_usd: float = 0.0) -> None:
        """The call has ended: what it reserved is given back, what it cost is spent."""
        self.open -= 1
        self.reserved_tokens -= reserved
        self.reserved_usd = max(self.reserved_usd - reserved_usd, 0.0) if self.open else 0.0
        self.tokens += input_tokens + output_tokens
        if self.prices is not None:
            self.usd += self.prices.usd(input_tokens, output_tokens, cached_tokens)
        if input_tokens + output_tokens > reserved:
            self.stretch *= (input_tokens + output_tokens) / reserved

    async def reserve(self, most_input: int, most_output: int) -> tuple[int, float]:
        """Tokens and dollars reserved for one call; waits while calls in flight may still give some back. Raises CapReached."""
        async with self._settled:
            while why := self._why_not(most_input, most_output):
                if not self.open or why.endswith("requests"):
                    raise CapReached(why)
                await self._settled.wait()
            usd = self._most_usd(most_input, most_output)
            return self.take(most_input, most_output), usd

    async def settled(self) -> None:
        """Tell those who wait."""
        async with self._settled:
            self._settled.notify_all()
