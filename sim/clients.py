"""Clients who react: the next request comes a think time after the answer to the last one (sessions, closed loop).

An event per arrival and per change of a batch, because an answer that ends may bring an arrival. Ties: arrivals at t come before
segments that end at t; an arrival that such an end brings at once (think time and shift 0) is routed after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from sim.engine import kernel, layout
from sim.engine.state import PoolState
from sim.errors import InputError
from sim.fleet import schedule_arrivals
from sim.fleet_checks import check_fleet, check_requests
from sim.fleet_records import Fleet, SimulationResult
from sim.run import Ended, Offer, Run, Serve
from sim.traffic.columns import Requests

LATE = 2  # SimPy priority behind arrivals of the same time
FIRST = -1


@dataclass(frozen=True)
class Turns:
    """Who waits for whom. Request i comes `think_ps[i]` after the client knows that request `after[i]` has ended, however it
    ended; where `after` is -1 it comes at its own arrival time. At most one request waits for another; both int64.
    """

    after: npt.NDArray[np.int64]
    think_ps: npt.NDArray[np.int64]


def closed_loop(requests: Requests, users: int, think_ps: int) -> Turns:
    """Turns of `users` who each send every `users`-th request; the first ones come at their arrival times.

    >>> none = np.zeros(5, np.int64)
    >>> five = Requests(none, none.astype(np.int16), none.astype(np.int32), none.astype(np.int32), none, none.astype(np.int32))
    >>> closed_loop(five, users=2, think_ps=0).after.tolist()
    [-1, -1, 0, 1, 2]
    """
    size = len(requests)
    return Turns(np.maximum(np.arange(size) - users, FIRST), np.full(size, think_ps, np.int64))


def session_turns(requests: Requests, think_ps: npt.NDArray[np.int64]) -> Turns:
    """Turns in which a request waits for the one before it of the same `session_id`; those with -1 wait for nobody."""
    order = np.argsort(requests.session_id, kind="stable")
    sessions = requests.session_id[order]
    follows = np.flatnonzero((sessions[1:] == sessions[:-1]) & (sessions[1:] >= 0))
    after = np.full(len(requests), FIRST, np.int64)
    after[order[follows + 1]] = order[follows]
    return Turns(after, think_ps)


def simulate_turns(fleet: Fleet, requests: Requests, turns: Turns, seed: int, end_ps: int | None = None) -> SimulationResult:
    """Like `sim.fleet.simulate`; the log's `arrival_ps` says when each request really came, -1 if `end_ps` was first."""
    _check(requests, turns)
    check_fleet(fleet, requests)
    clients = _Clients(fleet, requests, turns, seed)
    clients.env.run(until=None if end_ps is None else end_ps + 1)
    arrival_ps = clients.arrival_ps
    if end_ps is not None:
        arrival_ps[arrival_ps > end_ps] = FIRST
    return clients.run.result(arrival_ps, end_ps)


def _check(requests: Requests, turns: Turns) -> None:
    size, after = len(requests), turns.after
    problems = []
    if len(after) != size or len(turns.think_ps) != size:
        problems.append(f"turns: {len(after)} and {len(turns.think_ps)} entries for {size} requests; write one per request")
    elif (after >= np.arange(size)).any() or (after < FIRST).any():
        problems.append("turns: a request waits for a later one or for one that does not exist; write an earlier index or -1")
    elif len(np.unique(after[after >= 0])) < np.count_nonzero(after >= 0):
        problems.append("turns: two requests wait for the same one; at most one may")
    elif (turns.think_ps < 0).any():
        problems.append("turns: a think time is negative; write 0 or more")
    if problems:
        raise InputError(problems)
    first = after == FIRST
    check_requests(replace(requests, arrival_ps=requests.arrival_ps[first]))


class _Clients:
    """The clients of one run: they send first requests on time and later ones when they have thought."""

    def __init__(self, fleet: Fleet, requests: Requests, turns: Turns, seed: int) -> None:
        self.run = Run(fleet, requests, seed, self._watch, self._ended)
        self.env = self.run.env
        first = np.flatnonzero(turns.after == FIRST)
        self.arrival_ps = np.where(turns.after == FIRST, requests.arrival_ps, FIRST)
        self.next_turn = np.full(len(requests), FIRST, np.int64)
        waiting = np.flatnonzero(turns.after >= 0)
        self.next_turn[turns.after[waiting]] = waiting
        self.think_ps = turns.think_ps
        self.serve: list[Serve] = self.run.serve()
        schedule_arrivals(self.env, first, requests.arrival_ps, self.run.targets, self.serve)

    def _watch(self, state: PoolState) -> Offer:
        return _Watch(self.run.env, state, self._ended).offer

    def _ended(self, request: int, when_ps: int) -> None:
        turn = int(self.next_turn[request])
        if turn >= 0:
            event = simpy.Event(self.env)
            event._ok, event._value = True, turn
            event.callbacks.append(self._arrive)
            self.env.schedule(event, delay=when_ps + int(self.think_ps[turn]) - int(self.env.now))

    def _arrive(self, event: simpy.Event) -> None:
        turn, now = event._value, int(self.env.now)
        self.arrival_ps[turn] = now
        self.serve[self.run.targets[turn]](now, turn)


class _Watch:
    """Keeps one pool up to date: an event at each time at which the batch of a replica may change."""

    def __init__(self, env: simpy.Environment, state: PoolState, ended: Ended) -> None:
        self.env, self.ended, self.shift_ps = env, ended, state.shift_ps
        self.due = layout.NEVER
        self.rows = np.zeros(state.pool.replicas * (state.pool.limits.max_num_seqs + 1), np.int64)
        self.enter: Callable[[int, int, int], int] = partial(kernel.offer_watched, *state.arrays)
        self.settle: Callable[[int, Any], tuple[int, int]] = partial(kernel.settle, *state.arrays)

    def offer(self, now: int, request: int, limit: int) -> int:
        """`kernel.offer` (but for the replica), and the next change is awaited."""
        answer = self.enter(now, request, limit)
        if answer >= 0:
            self._await(answer)
        elif answer == kernel.REJECTED:
            self.ended(request, now)
        return answer

    def _await(self, wake: int) -> None:
        if wake < self.due:
            self.due = wake
            event = simpy.Event(self.env)
            event._ok, event._value = True, None
            event.callbacks.append(self._change)
            self.env.schedule(event, priority=LATE, delay=wake - self.env.now)  # type: ignore[arg-type]  # SimPy takes any int

    def _change(self, event: simpy.Event) -> None:
        """Events cannot be withdrawn: one that an earlier change has overtaken does nothing."""
        now = int(self.env.now)
        if now != self.due:
            return
        self.due = layout.NEVER
        count = len(self.rows)
        while count == len(self.rows):  # steps that cost nothing can end more requests at once than run at once
            count, wake = self.settle(now, self.rows)
            for request in self.rows[:count].tolist():
                self.ended(request, now + self.shift_ps)
        if wake != layout.NEVER:
            self._await(wake)
