"""Traffic meets a fleet under one SimPy clock in integer picoseconds -> request log and totals. Owns no policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from sim.engine import kernel, layout
from sim.engine.state import PoolState, request_rows
from sim.fleet_checks import check_fleet, check_pool_record, check_requests
from sim.fleet_records import Fleet, Pool, RequestLog, SimulationResult, Status, TargetStats
from sim.laws import check_log, check_pool
from sim.relay import RelayServer
from sim.router import targets_of
from sim.streams import stream
from sim.traffic.columns import Requests

Serve = Callable[[int, int], Any]  # (now_ps, request)
Int64s = npt.NDArray[np.int64]
BLOCK = 65536  # numbers converted to Python ints at once: fast, and no list as long as the traffic


class _Run:
    """What the targets of one simulation share: rows of the requests, the clock, the ends that relays report."""

    def __init__(self, fleet: Fleet, requests: Requests, seed: int) -> None:
        self.fleet, self.requests = fleet, requests
        self.env = simpy.Environment(initial_time=0)
        self.rows = request_rows(requests)
        self.targets = targets_of(requests, fleet.shares, seed)
        self.ends: list[tuple[int, int, int, int, int]] = []  # request, first_ps, finish_ps, status, attempts
        self.servers: list[PoolState | RelayServer] = []
        for index, target in enumerate(fleet.targets):
            if isinstance(target, Pool):
                self.servers.append(PoolState(target, self.rows, fleet.router == "round_robin"))
            else:
                self.servers.append(RelayServer(target, stream(seed, "relay", index)))

    def serve(self) -> list[Serve]:
        """What an arrival does at each target, `NO_TARGET` (the last) included."""
        serve = [self._serve_pool(s) if isinstance(s, PoolState) else self._serve_relay(s) for s in self.servers]
        plain = list(serve)
        for rule in self.fleet.overflow:
            serve[rule.pool] = self._overflow(rule.pool, rule.relay, rule.outstanding_per_replica, plain[rule.relay])
        return [*serve, self._reject]

    def _serve_pool(self, state: PoolState) -> Serve:
        if state.pool.replicas == 0:
            return self._reject
        offer = partial(kernel.offer, *state.arrays)
        return lambda now, i: offer(now, i, layout.NO_LIMIT)

    def _serve_relay(self, server: RelayServer) -> Serve:
        env, ends, requests = self.env, self.ends, self.requests
        inputs, outputs = requests.input_tokens, requests.output_tokens

        def serve(now: int, i: int) -> None:
            def done(first_ps: int, finish_ps: int, status: int, attempts: int) -> None:
                ends.append((i, first_ps, finish_ps, status, attempts))

            server.submit(env, now, int(inputs[i]), int(outputs[i]), done)

        return serve

    def _overflow(self, pool: int, relay: int, limit: int, divert: Serve) -> Serve:
        state, targets = self.servers[pool], self.targets
        assert isinstance(state, PoolState)
        if state.pool.replicas == 0:
            limit = 0
        offer = partial(kernel.offer, *state.arrays)

        def serve(now: int, i: int) -> None:
            if limit == 0 or offer(now, i, limit) == kernel.FULL:
                targets[i] = relay
                divert(now, i)

        return serve

    def _reject(self, now: int, i: int) -> None:
        self.rows[i]["status"] = Status.REJECTED

    def result(self, end_ps: int | None) -> SimulationResult:
        """Log and totals after the clock has stopped; every law checked."""
        for server in self.servers:
            if isinstance(server, PoolState):
                server.stop(end_ps)
        log = _log(self.requests, self.rows, self.targets, self.servers, self.ends)
        check_log(log, all_ended=end_ps is None)
        stop_ps = end_ps if end_ps is not None else int(max(log.finish_ps.max(initial=0), log.arrival_ps.max(initial=0)))
        stats: list[TargetStats] = []
        for index, server in enumerate(self.servers):
            if isinstance(server, PoolState):
                mine = self.targets == index
                check_pool(server, mine & (log.replica >= 0))
                span_ps = stop_ps if end_ps is not None else stop_ps - server.shift_ps
                stats.append(server.stats(int(np.count_nonzero(mine)), span_ps))
            else:
                stats.append(server.stats())
        return SimulationResult(log, tuple(stats), stop_ps)


def simulate(
    fleet: Fleet, requests: Requests, seed: int, end_ps: int | None = None, *, event_per_arrival: bool = True
) -> SimulationResult:
    """Log and totals of `requests` served by `fleet`.

    Without `end_ps` the run ends when everything has ended. With it, what a target does at `end_ps` still counts (its shift
    by network and tokenising comes on top); requests that are open then, or arrive later, are IN_FLIGHT.
    `event_per_arrival=False` keeps arrivals of pools that no overflow watches inside the kernel: several times as fast,
    with the same result to the last byte.
    Errors: InputError for a fleet or traffic that makes no sense; SimulationError when a law is broken.
    """
    check_fleet(fleet, requests)
    check_requests(requests)
    run = _Run(fleet, requests, seed)
    in_time = requests.arrival_ps <= (layout.NEVER if end_ps is None else end_ps)
    by_event = in_time.copy()
    if not event_per_arrival:
        watched = {rule.pool for rule in fleet.overflow}
        for index, server in enumerate(run.servers):
            if isinstance(server, PoolState) and index not in watched and server.pool.replicas > 0:
                mine = run.targets == index
                by_event &= ~mine
                kernel.offer_all(*server.arrays, requests.arrival_ps, np.flatnonzero(mine & in_time))
    chosen = np.flatnonzero(by_event)
    _schedule_arrivals(run.env, chosen, requests.arrival_ps, run.targets, run.serve())
    run.env.run(until=None if end_ps is None else end_ps + 1)
    return run.result(end_ps)


def probe(pool: Pool, requests: Requests) -> SimulationResult:
    """Log and totals of `requests` served by `pool` alone, least outstanding first; no event core: for capacity measurement."""
    classes = int(requests.class_id.max(initial=0)) + 1
    check_pool_record(pool)
    return simulate(Fleet((pool,), np.ones((classes, 1))), requests, seed=0, event_per_arrival=False)


def _arrivals(chosen: Int64s, arrival_ps: Int64s, targets: npt.NDArray[np.int16]) -> Iterator[tuple[int, int, int]]:
    """(request, target, time to the next arrival) of the chosen requests; turned into Python ints a block at a time."""
    for at in range(0, len(chosen), BLOCK):
        rows = chosen[at : at + BLOCK]
        times = arrival_ps[chosen[at : at + BLOCK + 1]]
        gaps = np.diff(times) if len(times) > len(rows) else np.diff(times, append=times[-1:])
        yield from zip(rows.tolist(), targets[rows].tolist(), gaps.tolist(), strict=True)


def _schedule_arrivals(
    env: simpy.Environment, chosen: Int64s, arrival_ps: Int64s, targets: npt.NDArray[np.int16], serve: list[Serve]
) -> None:
    """One event that is scheduled again for each arrival: a new one each time would cost as much as the arrival."""
    if len(chosen) == 0:
        return
    arrivals, last, schedule = _arrivals(chosen, arrival_ps, targets), int(chosen[-1]), env.schedule

    def arrive(event: simpy.Event) -> None:
        i, target, gap_ps = next(arrivals)
        serve[target](env.now, i)  # type: ignore[arg-type]  # SimPy's clock is an int as long as all delays are
        if i != last:
            event.callbacks = callbacks
            schedule(event, delay=gap_ps)

    callbacks: list[Callable[[Any], None]] = [arrive]
    event = simpy.Event(env)
    event._ok, event._value, event.callbacks = True, None, callbacks
    schedule(event, delay=int(arrival_ps[chosen[0]]))


def _log(
    requests: Requests,
    rows: npt.NDArray[Any],
    targets: npt.NDArray[np.int16],
    servers: list[PoolState | RelayServer],
    ends: list[tuple[int, int, int, int, int]],
) -> RequestLog:
    shift_ps = np.array([s.shift_ps if isinstance(s, PoolState) else 0 for s in servers] + [0], np.int64)[targets]
    first_ps, finish_ps = (np.where(rows[name] >= 0, rows[name] + shift_ps, -1) for name in ("first", "finish"))
    status, attempts = rows["status"].copy(), (rows["replica"] >= 0).astype(np.int32)
    if ends:
        done = np.array(ends, np.int64).T
        first_ps[done[0]], finish_ps[done[0]], status[done[0]], attempts[done[0]] = done[1:]
        finish_ps[done[0]] = np.where(done[3] == Status.REJECTED, -1, done[2])
    return RequestLog(
        arrival_ps=requests.arrival_ps,
        first_ps=first_ps,
        finish_ps=finish_ps,
        class_id=requests.class_id,
        target=targets,
        replica=rows["replica"].copy(),
        status=status,
        input_tokens=requests.input_tokens,
        output_tokens=requests.output_tokens,
        preemptions=rows["preemptions"].copy(),
        attempts=attempts,
    )
