"""How requests are offered: a closed loop at rising concurrency, or Poisson arrivals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import numpy as np

from sim.probe.attempts import Prompt
from sim.probe.send import Sender

Tell = Callable[[str], None]
SATURATED = 0.5  # share of failures at which a ramp goes no higher


async def closed_loop(sender: Sender, prompts: Iterator[Prompt], users: int, requests: int) -> float:
    """Share of `requests` answered, when `users` each send the next one as soon as the last is answered."""
    left, answered = requests, 0

    async def user() -> None:
        nonlocal left, answered
        while left > 0 and not sender.stopped:
            left -= 1
            ok = await sender.send(next(prompts), f"concurrency {users}")  # not `answered += await`: that reads before it waits
            answered += ok

    async with asyncio.TaskGroup() as group:
        for _ in range(min(users, requests)):
            group.create_task(user())
    return answered / max(requests, 1)


async def open_arrivals(
    sender: Sender,
    prompts: Iterator[Prompt],
    gaps_s: Iterator[float],
    requests: int,
    level: str,
    most_in_flight: int,
    retries: bool = True,
    enough: Callable[[], bool] = lambda: False,
) -> int:
    """Sends `requests` requests at their own times, whatever the answers; returns how many had to wait for a free place.

    A request that waits keeps the time at which it was due: its latency includes the wait (no coordinated omission)."""
    places, waited = asyncio.Semaphore(most_in_flight), 0

    async def one(prompt: Prompt, due_s: float) -> None:
        try:
            await sender.send(prompt, level, due_s, retries)
        finally:
            places.release()

    due_s = sender.now()
    async with asyncio.TaskGroup() as group:
        for _ in range(requests):
            due_s += next(gaps_s)
            delay_s = due_s - sender.now()
            await asyncio.sleep(max(delay_s, 0.0))
            waited += places.locked()
            await places.acquire()
            if enough() or sender.stopped:
                places.release()
                break
            group.create_task(one(next(prompts), due_s))
    return waited


def poisson(rate_rps: float, rng: np.random.Generator) -> Iterator[float]:
    """Gaps of Poisson arrivals, in seconds."""
    while True:
        yield float(rng.exponential(1.0 / rate_rps))


def even(rate_rps: float) -> Iterator[float]:
    """Gaps of a clockwork, in seconds."""
    while True:
        yield 1.0 / rate_rps
