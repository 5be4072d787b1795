"""What happens on the SimPy clock: arrivals in order, each an event, and other callbacks at their time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

Int64s = npt.NDArray[np.int64]
Serve = Callable[[int, int], Any]  # (now_ps, request)
BLOCK = 65536  # numbers converted to Python ints at once: fast, and no list as long as the traffic


def numbers_of(column: npt.NDArray[Any]) -> memoryview[int]:
    """The same memory, read as Python ints in half the time that numpy scalars take."""
    return memoryview(np.ascontiguousarray(column))  # type: ignore[arg-type]


def schedule(env: simpy.Environment, callbacks: list[Callable[[Any], None]], value: int, priority: int, delay_ps: float) -> None:
    """Call `callbacks` with an event of this value after the delay."""
    event = simpy.Event(env)
    event._ok, event._value, event.callbacks = True, value, callbacks
    env.schedule(event, priority, delay_ps)  # type: ignore[arg-type]  # SimPy takes any int as priority


def schedule_arrivals(
    env: simpy.Environment, chosen: Int64s, arrival_ps: Int64s, targets: npt.NDArray[np.int16], serve: list[Serve]
) -> None:
    """One event that is scheduled again for each arrival: a new one each time would cost as much as the arrival.

    Its priority is the index of the request, so that arrivals at one time come in that order, whoever sends them.
    """
    if len(chosen) == 0:
        return
    arrivals, last, again = _arrivals(chosen, arrival_ps, targets), int(chosen[-1]), env.schedule

    def arrive(event: simpy.Event) -> None:
        i, target, after, gap_ps = next(arrivals)
        serve[target](env.now, i)  # type: ignore[arg-type]  # SimPy's clock is an int as long as all delays are
        if i != last:
            event.callbacks = callbacks
            again(event, after, gap_ps)  # type: ignore[arg-type]  # SimPy takes any int as priority
        else:
            callbacks.clear()  # it holds this function, which holds the fleet: otherwise they would not be freed at once

    callbacks: list[Callable[[Any], None]] = [arrive]
    schedule(env, callbacks, 0, int(chosen[0]), int(arrival_ps[chosen[0]]))


def _arrivals(chosen: Int64s, arrival_ps: Int64s, targets: npt.NDArray[np.int16]) -> Iterator[tuple[int, int, int, int]]:
    """(request, target, next request, time to its arrival) of the chosen requests; turned into Python ints a block at a time."""

    def block(at: int) -> Iterator[tuple[int, int, int, int]]:
        rows, after = chosen[at : at + BLOCK], chosen[at + 1 : at + BLOCK + 1]
        if len(after) < len(rows):
            after = np.append(after, rows[-1])
        gaps = arrival_ps[after] - arrival_ps[rows]
        return zip(rows.tolist(), targets[rows].tolist(), after.tolist(), gaps.tolist(), strict=True)

    return chain.from_iterable(map(block, range(0, len(chosen), BLOCK)))
