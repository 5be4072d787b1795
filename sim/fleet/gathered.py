"""Arrivals that are events of the clock and whose work is done together: of a target that nothing else looks at, the log is the same.

To tell the compiled kernel of one arrival from Python takes some microseconds, to tell it of many takes hardly more. So the
arrivals of a pool that no overflow, no failover and no change of the fleet watches wait in a list, and the kernel works off a batch
of them at once. Calls of relays that nothing delays are drawn at once too; each ends by an event of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from sim.engine import kernel
from sim.engine.pool import Status
from sim.engine.state import PoolState
from sim.fleet.clock import Serve, numbers_of, schedule
from sim.relay.batched_calls import submit_all
from sim.relay.server import RelayServer
from sim.requests import Requests

Int64s = npt.NDArray[np.int64]
BATCH = 8192  # arrivals of a pool that wait for the kernel


class GatheredPool:
    """The arrivals of one pool: `serve` is told of each, `close` works off those that still wait."""

    def __init__(self, state: PoolState, arrival_ps: Int64s) -> None:
        self._state, self._arrival_ps = state, arrival_ps
        self._waiting: list[int] = []

    def serve(self) -> Serve:
        """What an arrival does."""
        waiting, close = self._waiting, self.close

        def arrive(now: int, i: int) -> None:
            waiting.append(i)
            if len(waiting) == BATCH:
                close()

        return arrive

    def close(self) -> None:
        """The kernel has taken every arrival so far."""
        kernel.offer_all(*self._state.arrays, self._arrival_ps, np.array(self._waiting, np.int64))
        self._waiting.clear()


class GatheredCalls:
    """The calls of one relay that is `independent`, all drawn at the start; each ends by an event. `ended` [5, n] once the run is over."""

    def __init__(self, env: simpy.Environment, server: RelayServer, chosen: Int64s, requests: Requests) -> None:
        self._env, self._calls = env, submit_all(server, chosen, requests, None)
        self._ended: list[int] = []

    def serve(self) -> Serve:
        """What an arrival does: the calls come in the order in which they were chosen."""
        ends = iter(zip(range(self._calls.shape[1]), self._calls[2].tolist(), strict=True))
        env, ended, rejected = self._env, self._ended, int(Status.REJECTED)
        status = numbers_of(self._calls[3])
        callbacks: list[Callable[[Any], None]] = [lambda event: ended.append(event._value)]

        def arrive(now: int, i: int) -> None:
            call, finish_ps = next(ends)
            if status[call] == rejected:
                ended.append(call)
            else:
                schedule(env, callbacks, call, 1, finish_ps - now)

        return arrive

    @property
    def ended(self) -> Int64s:
        """The calls that have ended, as `submit_all` has them."""
        return self._calls[:, self._ended]
