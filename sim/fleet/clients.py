"""Clients who react: the next request comes a think time after the answer to the last one (sessions, closed loop).

An event per arrival and per change of a batch, because an answer that ends may bring an arrival. Ties: arrivals at t come in the order of
their index, before segments that end at t; an arrival that such an end brings at once (think time and shift 0) is routed after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from sim.engine import kernel, layout
from sim.engine.state import PoolState
from sim.errors import InputError
from sim.fleet.checks import check_fleet, check_requests
from sim.fleet.clock import Serve, numbers_of, schedule, schedule_arrivals
from sim.fleet.fleet import Fleet, SimulationResult
from sim.fleet.run import Ended, Offer, Run
from sim.requests import Requests

LATE = 2**62  # SimPy priority of changes: behind arrivals of the same time, whose priority is their index
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
    """Turns in which a request waits for the one before it of the same `session_id`; those with -1 do not wait."""
    order = np.argsort(requests.session_id, kind="stable")
    sessions = requests.session_id[order]
    follows = np.flatnonzero((sessions[1:] == sessions[:-1]) & (sessions[1:] >= 0))
    after = np.full(len(requests), FIRST, np.int64)
    after[order[follows + 1]] = order[follows]
    return Turns(after, think_ps)


def simulate_turns(fleet: Fleet, requests: Requests, turns: Turns, seed: int, end_ps: int | None = None) -> SimulationResult:
    """Like `sim.fleet.simulate.simulate`; the log's `arrival_ps` says when each request really came, -1 if `end_ps` was first."""
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
    elif _waited_for(after) < np.count_nonzero(after >= 0):
        problems.append("turns: two requests wait for the same one; at most one may")
    elif (turns.think_ps < 0).any():
        problems.append("turns: a think time is negative; write 0 or more")
    if problems:
        raise InputError(problems)
    first = after == FIRST
    check_requests(requests, requests.arrival_ps[first])


def _waited_for(after: npt.NDArray[np.int64]) -> int:
    """How many different requests others wait for."""
    waited = np.zeros(len(after), bool)
    waited[after[after >= 0]] = True
    return int(np.count_nonzero(waited))


class _Clients:
    """The clients of one run: they send first requests on time and later ones when they have thought."""

    def __init__(self, fleet: Fleet, requests: Requests, turns: Turns, seed: int) -> None:
        self.run = Run(fleet, requests, seed, self._watch, self._ended)
        self.env = self.run.env
        first = np.flatnonzero(turns.after == FIRST)
        self.arrival_ps = np.where(turns.after == FIRST, requests.arrival_ps, FIRST)
        next_turn = np.full(len(requests), FIRST, np.int32)
        waiting = np.flatnonzero(turns.after >= 0)
        next_turn[turns.after[waiting]] = waiting
        self.next_turn, self.think_ps = numbers_of(next_turn), numbers_of(turns.think_ps)
        self.targets = numbers_of(self.run.targets)
        self.serve: list[Serve] = self.run.serve()
        self.arrive: list[Callable[[Any], None]] = [self._arrive]
        schedule_arrivals(self.env, first, requests.arrival_ps, self.run.targets, self.serve)

    def _watch(self, state: PoolState) -> Offer:
        return watched_offer(self.run.env, state, self._ended)

    def _ended(self, request: int, when_ps: int) -> None:
        turn = self.next_turn[request]
        if turn >= 0:
            arrival_ps = when_ps + self.think_ps[turn]
            self.arrival_ps[turn] = arrival_ps
            schedule(self.env, self.arrive, turn, turn, arrival_ps - self.env.now)

    def _arrive(self, event: simpy.Event) -> None:
        turn = event._value
        self.serve[self.targets[turn]](int(self.env.now), turn)


def watched_offer(env: simpy.Environment, state: PoolState, ended: Ended) -> Offer:
    """`kernel.offer` (but for the number of the replica) into a pool that is kept up to date: an event at each time at which the
    batch of a replica may change tells `ended` who has finished. A closure: attribute look-ups would cost a tenth.
    """
    enter: Callable[[int, int, int], int] = partial(kernel.offer_watched, *state.arrays)
    settle: Callable[[int, Any], tuple[int, int]] = partial(kernel.settle, *state.arrays)
    finished = np.zeros(state.pool.replicas + 16, np.int64)
    numbers, size, shift_ps, due = numbers_of(finished), len(finished), state.shift_ps, layout.NEVER
    again = env.schedule

    def offer(now: int, request: int, limit: int) -> int:
        nonlocal due
        wake = enter(now, request, limit)
        if wake == kernel.REJECTED:
            ended(request, now)
        elif wake >= 0 and wake < due:
            due = wake
            schedule(env, callbacks, 0, LATE, wake - now)
        return wake

    def change(event: simpy.Event) -> None:
        nonlocal due
        now = int(env.now)
        if now != due:
            return  # events cannot be withdrawn: an earlier change has overtaken this one
        count = size
        due = layout.NEVER
        while count == size:
            count, wake = settle(now, finished)
            for at in range(count):
                ended(numbers[at], now + shift_ps)
        if wake != layout.NEVER:
            due = wake
            event.callbacks = callbacks  # the same event again: a new one would cost as much as the change
            again(event, LATE, wake - now)  # type: ignore[arg-type]  # SimPy takes any int as priority

    callbacks: list[Callable[[Any], None]] = [change]
    return offer
