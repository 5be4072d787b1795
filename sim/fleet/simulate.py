"""Traffic meets a fleet under one SimPy clock in integer picoseconds -> request log and totals. Owns no policy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sim.engine import kernel, layout
from sim.engine.offer_limited import overflow_all
from sim.engine.pool import Pool
from sim.engine.routers import DEFAULT
from sim.engine.state import PoolState
from sim.fleet.cascade import simulate_cascade
from sim.fleet.checks import check_fleet, check_pool_record, check_requests
from sim.fleet.clock import schedule_arrivals
from sim.fleet.fleet import Fleet, SimulationResult
from sim.fleet.gathered import GatheredCalls, GatheredPool
from sim.fleet.run import Run
from sim.relay.batched_calls import submit_all
from sim.relay.calls_at_once import CallsAtOnce, fits_integers
from sim.relay.server import RelayServer
from sim.requests import Requests

Int64s = npt.NDArray[np.int64]


def simulate(fleet: Fleet, requests: Requests, seed: int, end_ps: int | None = None, *, event_per_arrival: bool = True) -> SimulationResult:
    """Log and totals of `requests` served by `fleet`.

    Without `end_ps` the run ends when everything has ended. With it, what a target does at `end_ps` still counts (its shift
    by network and tokenising comes on top); requests that are open then, or arrive later, are IN_FLIGHT.
    `event_per_arrival=False` keeps arrivals of pools and of relays inside compiled code, unless pools overflow into other pools or a relay
    passes on what it fails: several times as fast, with the same result to the last byte.
    Errors: InputError for a fleet or traffic that makes no sense; SimulationError when a law is broken.
    """
    check_fleet(fleet, requests)
    check_requests(requests)
    if fleet.cascade is not None:
        return simulate_cascade(fleet, requests, seed, lambda f, r: simulate(f, r, seed, end_ps, event_per_arrival=event_per_arrival))
    run = Run(fleet, requests, seed)
    in_time = requests.arrival_ps <= (layout.NEVER if end_ps is None else end_ps)
    if event_per_arrival:
        alone = {k: np.flatnonzero((run.targets == k) & in_time) for k in unwatched(fleet, run, is_independent)}
        play(run, np.flatnonzero(in_time), alone, end_ps)
        return run.result(requests.arrival_ps, end_ps)
    in_time[spill_all(fleet, run, in_time)] = False
    alone = {k: np.flatnonzero((run.targets == k) & in_time) for k in unwatched(fleet, run, is_compilable)}
    alone |= {rule.to: np.flatnonzero((run.targets == rule.to) & in_time) for rule in fleet.overflow if spills_at_once(fleet, run)}
    for k, chosen in alone.items():
        serve_all(run, run.servers[k], chosen, end_ps)
        in_time[chosen] = False
    play(run, np.flatnonzero(in_time), {}, end_ps)
    return run.result(requests.arrival_ps, end_ps)


def unwatched(fleet: Fleet, run: Run, easy: Callable[[RelayServer, Requests], bool]) -> list[int]:
    """The targets of which their own arrivals are all that matters: pools that no other target's requests may come to or leave for, and
    relays that are `easy` and pass on nothing that can fail."""
    watched = {rule.pool for rule in fleet.overflow} | {rule.to for rule in fleet.overflow}
    watched |= {target for rule in fleet.failover for target in rule.to}
    passing = {rule.relay for rule in fleet.failover}

    def alone(k: int, server: PoolState | RelayServer) -> bool:
        if isinstance(server, RelayServer):
            return easy(server, run.requests) and (server.independent or k not in passing)
        return server.pool.replicas > 0

    return [k for k, server in enumerate(run.servers) if k not in watched and alone(k, server)]


def is_independent(server: RelayServer, requests: Requests) -> bool:
    """Whether the calls of a relay can be drawn before the clock starts."""
    return server.independent


def is_compilable(server: RelayServer, requests: Requests) -> bool:
    """Whether the calls of a relay need no event."""
    return server.independent or fits_integers(server, requests)


def spills_at_once(fleet: Fleet, run: Run) -> bool:
    """Whether overflow needs no event: every pool with a rule passes on to a relay, and none fails over."""
    targets = [run.servers[rule.to] for rule in fleet.overflow]
    easy = all(isinstance(server, RelayServer) and is_compilable(server, run.requests) for server in targets)
    return bool(targets) and easy and not fleet.failover and all(p.pool.replicas > 0 for p in run.servers if isinstance(p, PoolState))


def spill_all(fleet: Fleet, run: Run, in_time: npt.NDArray[np.bool_]) -> Int64s:
    """The rows that pools with a rule of overflow have taken; those that they leave are the relay's from here on."""
    taken = [np.zeros(0, np.int64)]
    for rule in fleet.overflow if spills_at_once(fleet, run) else ():
        chosen, server = np.flatnonzero((run.targets == rule.pool) & in_time), run.servers[rule.pool]
        assert isinstance(server, PoolState)
        full = overflow_all(server.arrays, run.requests.arrival_ps, chosen, rule.outstanding_per_replica)
        run.targets[full] = rule.to
        taken.append(np.setdiff1d(chosen, full, assume_unique=True))
    return np.concatenate(taken)


def play(run: Run, chosen: Int64s, alone: dict[int, Int64s], end_ps: int | None) -> None:
    """Every request of `chosen` arrives as an event of the clock, which runs to `end_ps`; the work of targets `alone` is gathered."""
    requests, serve = run.requests, run.serve()
    pools, calls = [], []
    for k, mine in alone.items():
        server = run.servers[k]
        if isinstance(server, RelayServer):
            calls.append(GatheredCalls(run.env, server, mine, requests))
            serve[k] = calls[-1].serve()
        else:
            pools.append(GatheredPool(server, requests.arrival_ps))
            serve[k] = pools[-1].serve()
    schedule_arrivals(run.env, chosen, requests.arrival_ps, run.targets, serve)
    run.env.run(until=None if end_ps is None else end_ps + 1)
    for pool in pools:
        pool.close()
    run.ended_at_once += [each.ended for each in calls]


def serve_all(run: Run, server: PoolState | RelayServer, chosen: Int64s, end_ps: int | None) -> None:
    """Serves the requests `chosen` of a target that is `unwatched` without an event for each."""
    if isinstance(server, RelayServer) and server.independent:
        run.ended_at_once.append(submit_all(server, chosen, run.requests, end_ps))
    elif isinstance(server, RelayServer):
        run.ended_at_once.append(CallsAtOnce(server, chosen, run.requests, end_ps).ends())
    else:
        kernel.offer_all(*server.arrays, run.requests.arrival_ps, chosen)


def probe(pool: Pool, requests: Requests, router: str = DEFAULT, priorities: tuple[int, ...] = ()) -> SimulationResult:
    """Log and totals of `requests` served by `pool` alone; no event core: for capacity measurement."""
    classes = int(requests.class_id.max(initial=0)) + 1
    check_pool_record(pool)
    return simulate(Fleet((pool,), np.ones((classes, 1)), router, priorities=priorities), requests, seed=0, event_per_arrival=False)
