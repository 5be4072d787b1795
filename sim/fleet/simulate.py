"""Traffic meets a fleet under one SimPy clock in integer picoseconds -> request log and totals. Owns no policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from sim.engine import kernel, layout
from sim.engine.pool import Pool
from sim.engine.routers import DEFAULT
from sim.engine.state import PoolState
from sim.fleet.cascade import simulate_cascade
from sim.fleet.checks import check_fleet, check_pool_record, check_requests
from sim.fleet.fleet import Fleet, SimulationResult
from sim.fleet.run import Run, Serve
from sim.relay.batched_calls import submit_all
from sim.relay.server import RelayServer
from sim.requests import Requests

Int64s = npt.NDArray[np.int64]
BLOCK = 65536  # numbers converted to Python ints at once: fast, and no list as long as the traffic


def simulate(fleet: Fleet, requests: Requests, seed: int, end_ps: int | None = None, *, event_per_arrival: bool = True) -> SimulationResult:
    """Log and totals of `requests` served by `fleet`.

    Without `end_ps` the run ends when everything has ended. With it, what a target does at `end_ps` still counts (its shift
    by network and tokenising comes on top); requests that are open then, or arrive later, are IN_FLIGHT.
    `event_per_arrival=False` keeps arrivals of pools that no overflow watches inside the kernel, and those of relays whose requests
    do not meet: several times as fast, with the same result to the last byte.
    Errors: InputError for a fleet or traffic that makes no sense; SimulationError when a law is broken.
    """
    check_fleet(fleet, requests)
    check_requests(requests)
    if fleet.cascade is not None:
        return simulate_cascade(fleet, requests, seed, lambda f, r: simulate(f, r, seed, end_ps, event_per_arrival=event_per_arrival))
    run = Run(fleet, requests, seed)
    in_time = requests.arrival_ps <= (layout.NEVER if end_ps is None else end_ps)
    by_event = in_time.copy()
    if not event_per_arrival:
        watched = {rule.pool for rule in fleet.overflow} | {rule.to for rule in fleet.overflow}
        watched |= {target for rule in fleet.failover for target in rule.to}
        for index, server in enumerate(run.servers):
            mine = run.targets == index
            if index in watched or not serve_all(run, server, np.flatnonzero(mine & in_time), end_ps):
                continue
            by_event &= ~mine
    chosen = np.flatnonzero(by_event)
    schedule_arrivals(run.env, chosen, requests.arrival_ps, run.targets, run.serve())
    run.env.run(until=None if end_ps is None else end_ps + 1)
    return run.result(requests.arrival_ps, end_ps)


def serve_all(run: Run, server: PoolState | RelayServer, chosen: Int64s, end_ps: int | None) -> bool:
    """Serves the requests `chosen` without an event for each, where their arrivals are all that matters; else False."""
    requests = run.requests
    if isinstance(server, RelayServer):
        if server.independent:
            run.ended_at_once.append(submit_all(server, chosen, requests, end_ps))
        return server.independent
    if server.pool.replicas > 0:
        kernel.offer_all(*server.arrays, requests.arrival_ps, chosen)
    return server.pool.replicas > 0


def probe(pool: Pool, requests: Requests, router: str = DEFAULT, priorities: tuple[int, ...] = ()) -> SimulationResult:
    """Log and totals of `requests` served by `pool` alone; no event core: for capacity measurement."""
    classes = int(requests.class_id.max(initial=0)) + 1
    check_pool_record(pool)
    return simulate(Fleet((pool,), np.ones((classes, 1)), router, priorities=priorities), requests, seed=0, event_per_arrival=False)


def _arrivals(chosen: Int64s, arrival_ps: Int64s, targets: npt.NDArray[np.int16]) -> Iterator[tuple[int, int, int, int]]:
    """(request, target, next request, time to its arrival) of the chosen requests; turned into Python ints a block at a time."""
    for at in range(0, len(chosen), BLOCK):
        rows, after = chosen[at : at + BLOCK], chosen[at + 1 : at + BLOCK + 1]
        if len(after) < len(rows):
            after = np.append(after, rows[-1])
        gaps = arrival_ps[after] - arrival_ps[rows]
        yield from zip(rows.tolist(), targets[rows].tolist(), after.tolist(), gaps.tolist(), strict=True)


def schedule_arrivals(
    env: simpy.Environment, chosen: Int64s, arrival_ps: Int64s, targets: npt.NDArray[np.int16], serve: list[Serve]
) -> None:
    """One event that is scheduled again for each arrival: a new one each time would cost as much as the arrival.

    Its priority is the index of the request, so that arrivals at one time come in that order, whoever sends them.
    """
    if len(chosen) == 0:
        return
    arrivals, last, schedule = _arrivals(chosen, arrival_ps, targets), int(chosen[-1]), env.schedule

    def arrive(event: simpy.Event) -> None:
        i, target, after, gap_ps = next(arrivals)
        serve[target](env.now, i)  # type: ignore[arg-type]  # SimPy's clock is an int as long as all delays are
        if i != last:
            event.callbacks = callbacks
            schedule(event, after, gap_ps)  # type: ignore[arg-type]  # SimPy takes any int as priority
        else:
            callbacks.clear()  # it holds this function, which holds the fleet: otherwise they would not be freed at once

    callbacks: list[Callable[[Any], None]] = [arrive]
    event = simpy.Event(env)
    event._ok, event._value, event.callbacks = True, None, callbacks
    schedule(event, int(chosen[0]), int(arrival_ps[chosen[0]]))  # type: ignore[arg-type]
