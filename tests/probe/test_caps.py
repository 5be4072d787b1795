"""The ledger under any history: what was promised to the caps holds at every moment."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.probe.attempts import Caps, Prices
from sim.probe.caps import CapReached, Ledger

CALLS = st.lists(st.tuples(st.integers(1, 500), st.integers(0, 200), st.floats(0, 1), st.floats(0, 1), st.booleans()), max_size=60)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(CALLS, st.integers(1, 40), st.integers(1, 8000), st.floats(0.0001, 0.02))
def test_no_history_of_calls_exceeds_a_cap(
    calls: list[tuple[int, int, float, float, bool]], requests: int, tokens: int, usd: float
) -> None:
    """Each call costs at most what it reserved; some end at once, others stay open."""
    ledger, open_calls = Ledger(Caps(requests, tokens, 1.0, usd), Prices(1.0, 4.0)), []

    async def history() -> None:
        for most_in, most_out, used_in, used_out, ends in calls:
            if open_calls and (ends or not ledger.fits(most_in, most_out)):
                (reserved, dollars), into, out = open_calls.pop()
                ledger.settle(reserved, into, out, 0, dollars)
            if ledger.fits(most_in, most_out):
                taken = await ledger.reserve(most_in, most_out)
                open_calls.append((taken, int(most_in * used_in), int(most_out * used_out)))
            assert ledger.requests <= requests
            assert ledger.tokens + ledger.reserved_tokens <= tokens
            assert ledger.usd + ledger.reserved_usd <= usd * (1 + 1e-9)

    asyncio.run(history())


def test_a_call_waits_for_what_others_may_give_back_and_then_goes() -> None:
    async def scene() -> list[str]:
        ledger, said = Ledger(Caps(10, 100), None), []
        first = await ledger.reserve(60, 20)

        async def second() -> None:
            await ledger.reserve(40, 10)
            said.append("second goes")

        task = asyncio.create_task(second())
        await asyncio.sleep(0.01)
        said.append("first ends")
        ledger.settle(first[0], 10, 5, 0, first[1])
        await ledger.settled()
        await task
        return said

    assert asyncio.run(scene()) == ["first ends", "second goes"]


def test_nothing_open_and_nothing_left_ends_the_waiting() -> None:
    async def scene() -> str:
        ledger = Ledger(Caps(10, 100), None)
        try:
            await ledger.reserve(90, 20)
        except CapReached as cap:
            return str(cap)
        return ""

    assert asyncio.run(scene()) == "cap of 100 tokens"


def test_an_endpoint_that_counts_more_than_can_be_makes_later_calls_reserve_more() -> None:
    ledger = Ledger(Caps(10, 10_000), None)
    reserved = ledger.take(100, 100)
    ledger.settle(reserved, 1000, 1000, 0)
    assert ledger.tokens == 2000 and ledger.take(100, 100) == 2001
