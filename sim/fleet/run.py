"""What the targets of one simulation share: the clock, the requests' rows, who serves whom, and the log at the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from sim.engine import kernel, layout
from sim.engine.links import PoolLinks, pool_links
from sim.engine.pool import Pool, Status, TargetStats
from sim.engine.routers import ROUTERS
from sim.engine.rows import request_rows
from sim.engine.state import PoolState
from sim.errors import InputError
from sim.fleet.clock import Serve
from sim.fleet.fleet import Fleet, SimulationResult
from sim.fleet.laws import check_log, check_pool
from sim.fleet.shares import targets_of
from sim.relay.server import RelayServer
from sim.request_log import RequestLog
from sim.requests import Requests
from sim.streams import stream
from sim.traffic.model_tokens import counted_by_target

Offer = Callable[[int, int, int], int]  # (now_ps, request, limit) -> kernel.REJECTED, kernel.FULL or another number
Ended = Callable[[int, int], None]  # (request, when its client knows)

PIECE = 65536


def plain_offer(state: PoolState) -> Offer:
    """Offers to a pool without an observer: it is advanced when the next request comes."""
    return partial(kernel.offer, *state.arrays)


def nobody_waits(request: int, when_ps: int) -> None:
    """Clients that do not react to the end of a request."""


class Run:
    """One simulation: `serve()` says what an arrival does at each target, `result()` is its log once the clock has stopped.

    `offer_to` makes the way into a pool; `ended` hears of each request that a relay, or no target, has ended. `moving`: what one
    pool had may come to another. `targets` of the requests where the fleet's shares do not say it.
    """

    def __init__(
        self,
        fleet: Fleet,
        requests: Requests,
        seed: int,
        offer_to: Callable[[PoolState], Offer] = plain_offer,
        ended: Ended = nobody_waits,
        moving: bool = False,
        targets: npt.NDArray[np.int16] | None = None,
    ) -> None:
        if fleet.cascade is not None:
            raise InputError("routing.classifier: not simulated with fleet life or clients that wait for answers; leave it out for that")
        affinity = ROUTERS[fleet.router].keeps_sessions
        levels = len(set(fleet.priorities)) or 1
        self.targets = targets_of(requests, fleet.shares, seed, whole_sessions=affinity) if targets is None else targets
        requests = counted_by_target(requests, self.targets, fleet.token_factors)
        self.fleet, self.requests = fleet, requests
        self.offer_to, self.ended = offer_to, ended
        self.env = simpy.Environment(initial_time=0)
        self.rows = request_rows(requests, fleet.priorities)
        self.ends: list[tuple[int, int, int, int, int]] = []  # request, first_ps, finish_ps, status, attempts
        self.attempts_before: dict[int, int] = {}  # request -> attempts at relays that failed it
        self.into_pools: list[Serve] = []
        self.ended_at_once: list[npt.NDArray[np.int64]] = []  # the same as columns
        self.servers: list[PoolState | RelayServer] = []
        links = self._links(moving)
        for index, target in enumerate(fleet.targets):
            if isinstance(target, Pool):
                self.servers.append(PoolState(target, self.rows, fleet.router, links.get(index), fleet.affinity_slack, levels))
            else:
                self.servers.append(RelayServer(target, stream(seed, "relay", index)))

    def _links(self, moving: bool) -> dict[int, PoolLinks]:
        """The records of each pool that needs them. Where a relay passes on what it fails, that too moves to a pool."""
        everywhere = ROUTERS[self.fleet.router].keeps_sessions or len(set(self.fleet.priorities)) > 1
        pools = {i: pool for i, pool in enumerate(self.fleet.targets) if isinstance(pool, Pool)}
        need = [i for i, pool in pools.items() if everywhere or pool.limits.prefix_caching]
        if not need:
            return {}
        replicas = [pools[i].replicas for i in need]
        moving = moving or bool(self.fleet.failover) or self._spills
        return dict(zip(need, pool_links(self.requests, self.targets, replicas, moving), strict=True))

    @property
    def _spills(self) -> bool:
        """Whether one pool overflows into another."""
        return any(isinstance(self.fleet.targets[rule.to], Pool) for rule in self.fleet.overflow)

    def serve(self) -> list[Serve]:
        """What an arrival does at each target, and last what it does without one."""
        offers = [self.offer_to(s) if isinstance(s, PoolState) and s.pool.replicas > 0 else None for s in self.servers]
        serve = [self._serve(server, offer) for server, offer in zip(self.servers, offers, strict=True)]
        plain = list(serve)
        self.into_pools = plain
        for rule in self.fleet.overflow:
            serve[rule.pool] = self._overflow(offers[rule.pool], rule.to, rule.outstanding_per_replica, serve)
        return [*serve, self._reject]

    def _serve(self, server: PoolState | RelayServer, offer: Offer | None) -> Serve:
        if isinstance(server, RelayServer):
            return self._serve_relay(self.servers.index(server))
        if offer is None:
            return self._reject
        return lambda now, i: offer(now, i, layout.NO_LIMIT)

    def _serve_relay(self, relay: int) -> Serve:
        next_for = {rule.class_id: rule.to for rule in self.fleet.failover if rule.relay == relay}
        classes = self.requests.class_id
        return lambda now, i: self._call_relay(relay, now, i, next_for.get(int(classes[i]), ()) if next_for else ())

    def _call_relay(self, relay: int, arrival_ps: int, i: int, rest: tuple[int, ...]) -> None:
        """Sends request `i`, which came at `arrival_ps`, to a relay; to the first of `rest` if the relay fails it."""
        server = self.servers[relay]
        assert isinstance(server, RelayServer)

        def done(first_ps: int, finish_ps: int, status: int, attempts: int) -> None:
            if rest and status == Status.FAILED:
                server.pass_on()
                self.attempts_before[i] = self.attempts_before.get(i, 0) + attempts
                self.targets[i] = rest[0]
                if isinstance(self.servers[rest[0]], RelayServer):
                    self._call_relay(rest[0], arrival_ps, i, rest[1:])
                else:
                    self.into_pools[rest[0]](finish_ps, i)
                return
            self.ends.append((i, first_ps, finish_ps, status, attempts))
            self.ended(i, finish_ps)

        server.submit(self.env, arrival_ps, int(self.requests.input_tokens[i]), int(self.requests.output_tokens[i]), done)

    def _overflow(self, offer: Offer | None, to: int, limit: int, ways: list[Serve]) -> Serve:
        def serve(now: int, i: int) -> None:
            if offer is None or limit == 0 or offer(now, i, limit) == kernel.FULL:
                self.targets[i] = to
                ways[to](now, i)

        return serve

    def _reject(self, now: int, i: int) -> None:
        self.rows[i]["status"] = Status.REJECTED
        self.ended(i, now)

    def _ends(self) -> npt.NDArray[np.int64]:
        """[5, n] of `ends`: all requests that relays have ended."""
        if len(self.ended_at_once) == 1 and not self.ends:  # no second copy of what may be as long as the traffic
            return self.ended_at_once[0]
        return np.concatenate([np.array(self.ends, np.int64).reshape(-1, 5).T, *self.ended_at_once], axis=1)

    def result(self, arrival_ps: npt.NDArray[np.int64], end_ps: int | None) -> SimulationResult:
        """Log and totals, every law checked; `arrival_ps` is -1 for requests that never came."""
        for server in self.servers:
            if isinstance(server, PoolState):
                server.stop(end_ps)
        self.into_pools = []  # they hold this run: a finished one would wait, with all its arrays, for the garbage collector
        log = _log(self.requests, arrival_ps, self.rows, self.targets, self.servers, self._ends())
        for i, attempts in self.attempts_before.items():
            log.attempts[i] += attempts
        check_log(log, all_ended=end_ps is None)
        stop_ps = end_ps if end_ps is not None else int(max(log.finish_ps.max(initial=0), arrival_ps.max(initial=0)))
        arrived = (arrival_ps >= 0) & (arrival_ps <= stop_ps)
        stats: list[TargetStats] = []
        for index, server in enumerate(self.servers):
            if isinstance(server, PoolState):
                mine = (self.targets == index) & arrived
                check_pool(server, log, mine & (log.replica >= 0))
                span_ps = stop_ps if end_ps is not None else stop_ps - server.shift_ps
                stats.append(server.stats(int(np.count_nonzero(mine)), span_ps))
            else:
                stats.append(server.stats())
        return SimulationResult(log, tuple(stats), stop_ps, events_of(self.env))


def events_of(env: simpy.Environment) -> int:
    """How many events have happened, the end of the run included: those that were scheduled, without those that still wait.

    To be asked once, when the run is over: SimPy numbers what it schedules, and the question takes a number. Counting each event would
    slow the clock down.

    >>> env = simpy.Environment()
    >>> waits = [env.timeout(1), env.timeout(2), env.timeout(9)]
    >>> env.run(until=5)
    >>> events_of(env)
    3
    """
    return next(env._eid) - len(env._queue)


def _delay(times_ps: npt.NDArray[np.int64], targets: npt.NDArray[np.int16], shifts_ps: npt.NDArray[np.int64]) -> None:
    """Add to each time that is not -1 the shift of its target; in pieces, for no temporary as long as the traffic."""
    for at in range(0, len(times_ps), PIECE):
        piece = times_ps[at : at + PIECE]
        np.add(piece, shifts_ps[targets[at : at + PIECE]], out=piece, where=piece >= 0)


def _found(cached: npt.NDArray[np.int32], mine: npt.NDArray[np.bool_], hits: npt.NDArray[np.int32]) -> None:
    """What requests that are `mine` found in a cache; -1 in `hits` is nothing. In pieces, too."""
    for at in range(0, len(cached), PIECE):
        piece = slice(at, min(at + PIECE, len(cached)))
        np.maximum(hits[piece], 0, out=cached[piece], where=mine[piece])


def _log(
    requests: Requests,
    arrival_ps: npt.NDArray[np.int64],
    rows: npt.NDArray[Any],
    targets: npt.NDArray[np.int16],
    servers: list[PoolState | RelayServer],
    done: npt.NDArray[np.int64],
) -> RequestLog:
    shifts_ps = np.array([s.shift_ps if isinstance(s, PoolState) else 0 for s in servers] + [0], np.int64)
    first_ps, finish_ps = rows["first"].copy(), rows["finish"].copy()
    _delay(first_ps, targets, shifts_ps)
    _delay(finish_ps, targets, shifts_ps)
    status, attempts = rows["status"].copy(), (rows["replica"] >= 0).astype(np.int32)
    cached = np.zeros(len(rows), np.int32)
    for index, server in enumerate(servers):
        if isinstance(server, PoolState) and server.links is not None:
            _found(cached, targets == index, server.links["hit"])
    first_ps[done[0]], finish_ps[done[0]], status[done[0]], attempts[done[0]] = done[1:]
    finish_ps[done[0]] = np.where(done[3] == Status.REJECTED, -1, done[2])
    return RequestLog(
        arrival_ps=arrival_ps,
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
        cached_tokens=cached,
    )
