"""The replicas of one pool through a run: which of them serve, what becomes of the requests of those that stop."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import partial

import numpy as np
import simpy

from sim.engine import kernel, layout
from sim.engine.evict import MASK, evict
from sim.engine.pool import Status
from sim.engine.routers import ROUTERS
from sim.engine.state import PoolState
from sim.errors import SimulationError
from sim.fleet.clients import LATE
from sim.fleet.clock import schedule
from sim.fleet.life.life_terms import Change, LifeTotals, PoolRules
from sim.fleet.life.states import SERVING, Service, State
from sim.fleet.run import Offer, Run, plain_offer
from sim.streams import stream

AFTER_ALL = LATE + 1  # SimPy priority of changes of the fleet: after arrivals and changes of batches at the same instant
ROUNDED_UP = 1 - 1e-9  # shares that sum to this leave no request out
NOBODY = np.zeros(0, np.int64)
FIRST_TO_GO = (State.BOOTING, State.DOWN, State.NOTICED, State.UP)  # these count as replicas that the pool has
QUEUED = 0  # answer of an offer that found a place outside the pool


class PoolLife:
    """States of the replicas of a pool, its waiting requests, and its way in.

    `serve` (set once the run knows it) sends a request of this pool as the fleet sends any.
    """

    def __init__(self, run: Run, state: PoolState, rules: PoolRules, changes: list[Change], seed: int) -> None:
        self.run, self.env, self.pool, self.rules = run, run.env, state, rules
        size = state.pool.replicas
        start = size if rules.start is None else rules.start
        self.states = [State.UP if r < start else State.OFF for r in range(size)]
        self.epochs = [0] * size  # a boot that was scheduled in another epoch of its replica is void
        self.doomed = [0] * size  # number of the notice that a replica is under; 0: none
        self.notices = 0
        for r in range(start, size):
            state.front[layout.OUTSTANDING, r] += MASK
        self.serve: Callable[[int, int], object] = lambda now, i: None
        self.waiting: list[int] = []
        self.diverted: set[int] = set()
        self.elsewhere = [targets_at.tolist() for targets_at in np.cumsum(np.array(rules.fallback, float), axis=-1)]
        self.draw = stream(seed, "fleet life", "elsewhere", rules.pool)
        self.limbo = 0  # taken back, not sent again yet
        self.restarts = np.zeros(len(run.requests), np.int32)
        self.service = Service(state, rules.pool)
        self.lost = self.waited = self.failed = 0
        self.changes_left = sum(change.kind == "scale" for change in changes)
        for change in changes:
            self._later(change.at_ps, partial(self._change, change))

    def _later(self, delay_ps: int, action: Callable[[simpy.Event], None]) -> None:
        schedule(self.env, [action], 0, AFTER_ALL, delay_ps)

    # The way in

    def offer(self) -> Offer:
        """Offers to the replicas that are UP; without one a request goes elsewhere, else it waits, else it fails."""
        enter, states, table = plain_offer(self.pool), self.states, self.pool.table
        round_robin = ROUTERS[self.run.fleet.router].takes_turns

        def offer(now: int, i: int, limit: int) -> int:
            if State.UP not in states:
                return kernel.FULL if limit != layout.NO_LIMIT else self._without_replica(now, i)
            if round_robin:
                while states[table[layout.NEXT]] is not State.UP:
                    table[layout.NEXT] = (table[layout.NEXT] + 1) % len(states)
            return enter(now, i, min(limit, MASK))

        return offer

    def _without_replica(self, now: int, i: int) -> int:
        to = self._elsewhere(i)
        if to is not None:
            self.diverted.add(i)
            self.run.targets[i] = to
            relay = not isinstance(self.run.servers[to], PoolState)  # its patience counts from the arrival
            self.run.into_pools[to](int(self.run.requests.arrival_ps[i]) if relay else now, i)
        elif self._hopeful():
            self.waited += 1
            self.waiting.append(i)
        else:
            self._fail(now, i)
        return QUEUED

    def _elsewhere(self, i: int) -> int | None:
        """The target that takes over request i, if one does; at most once, for that target may send it back here."""
        if not self.elsewhere or i in self.diverted:
            return None
        edges = self.elsewhere[self.run.requests.class_id[i]]
        to = bisect_right(edges, self.draw.random() * ROUNDED_UP)
        return to if to < len(edges) else None

    def _fail(self, now: int, i: int) -> None:
        self.failed += 1
        self.run.ends.append((i, -1, now, int(Status.FAILED), 0))
        self.run.ended(i, now)

    def _hopeful(self) -> bool:
        """Whether a replica may come up again."""
        repaired = (State.DOWN, State.NOTICED) if self.rules.repair_ps is not None else ()
        return self.changes_left > 0 or any(state in (State.BOOTING, *repaired) for state in self.states)

    def _settle_waiting(self) -> None:
        """Requests that wait go to the replicas that are up; they fail if none will come."""
        if not self.waiting or (State.UP not in self.states and self._hopeful()):
            return
        waiting, self.waiting = self.waiting, []
        enter = self.serve if State.UP in self.states else self._fail
        for i in waiting:
            enter(int(self.env.now), i)

    # What happens to replicas

    def _change(self, change: Change, _: simpy.Event) -> None:
        self._end_drains()
        if change.kind == "scale":
            self.changes_left -= 1
            self._scale(change.replicas)
        else:
            for r in self._hit(change):
                self._lose(r) if change.kind == "fail" else self._reclaim(r)
        self._settle_waiting()

    def _hit(self, change: Change) -> list[int]:
        """Replicas that a loss meets."""
        if change.first is not None:
            return [r for r in range(change.first, change.first + change.replicas) if r < len(self.states)]
        serving = [r for r, state in enumerate(self.states) if state in SERVING]
        return serving[: change.replicas] if change.kind == "fail" else serving[len(serving) - min(change.replicas, len(serving)) :]

    def _scale(self, wanted: int) -> None:
        """`wanted` replicas, those under repair included; drains are called off before others boot, lowest numbers first."""
        have = sum(state in FIRST_TO_GO for state in self.states)
        for r, state in enumerate(self.states):
            if have < wanted and state is State.DRAINING and not self.doomed[r]:
                self._enter(r, State.UP)
                have += 1
        for r, state in enumerate(self.states):
            if have < wanted and state is State.OFF:
                self._boot(r, self.rules.boot_ps)
                have += 1
        for kind in FIRST_TO_GO:
            for r in reversed(range(len(self.states))):
                if have > wanted and self.states[r] is kind:
                    self._enter(r, State.DRAINING if kind in SERVING else State.OFF)
                    have -= 1

    def _end_drains(self) -> None:
        """Replicas that have nothing left to drain are OFF; this needs no event before something else happens to the pool."""
        if State.DRAINING not in self.states:
            return
        kernel.settle(*self.pool.arrays, int(self.env.now), NOBODY)
        for r, state in enumerate(self.states):
            if state is State.DRAINING and self.pool.front[layout.OUTSTANDING, r] == MASK:
                self._take_back(r)  # nothing but its prefix cache
                self.doomed[r] = 0
                self._enter(r, State.OFF)

    def _boot(self, r: int, wait_ps: int, state: State = State.BOOTING, taken: int = 0) -> None:
        self._enter(r, state, taken)
        epoch = self.epochs[r]

        def up(_: simpy.Event) -> None:
            if self.epochs[r] == epoch:
                self._enter(r, State.UP)
                self._settle_waiting()

        self._later(wait_ps, up)

    def _reclaim(self, r: int) -> None:
        """Notice: the replica finishes what it can until it is lost."""
        if self.states[r] not in SERVING:
            self._lose(r)
            return
        if self.doomed[r]:
            return
        self.notices += 1
        self.doomed[r] = number = self.notices
        if self.states[r] is State.UP:
            self._enter(r, State.NOTICED)

        def gone(_: simpy.Event) -> None:
            self._end_drains()
            if self.doomed[r] == number:
                self._lose(r)
                self._settle_waiting()

        self._later(self.rules.notice_ps, gone)

    def _lose(self, r: int) -> None:
        """The replica is gone with all that it held; its requests are sent again. Nothing happens to one that is OFF or DOWN."""
        state = self.states[r]
        if state in (State.OFF, State.DOWN):
            return
        taken = self._take_back(r) if state in SERVING else []
        self.lost += 1
        self.doomed[r] = 0
        if state is State.DRAINING:
            self._enter(r, State.OFF, len(taken))
        elif self.rules.repair_ps is None:
            self._enter(r, State.DOWN, len(taken))
        else:
            self._boot(r, self.rules.repair_ps, State.DOWN, len(taken))
        if taken:
            self._send_again(taken)

    def _take_back(self, r: int) -> list[int]:
        """Requests that replica r holds; it holds none from now on."""
        front = self.pool.front
        room = int(front[layout.OUTSTANDING, r] % MASK)
        taken = np.zeros(room, np.int64)
        count = evict(*self.pool.arrays, r, int(self.env.now), taken)
        rows: list[int] = taken[:count].tolist()
        for i in rows:
            self.restarts[i] += 1
            self.run.attempts_before[i] = self.run.attempts_before.get(i, 0) + 1
        return rows

    def _send_again(self, rows: list[int]) -> None:
        self.limbo += len(rows)

        def send(_: simpy.Event) -> None:
            self.limbo -= len(rows)
            for i in rows:
                self.serve(int(self.env.now), i)

        self._later(self.rules.detect_ps, send)

    def _enter(self, r: int, state: State, taken: int = 0) -> None:
        """Replica r is in `state` from now on."""
        now, before, front = int(self.env.now), self.states[r], self.pool.front
        self.service.enter(r, before, state, now, taken)
        front[layout.OUTSTANDING, r] += MASK * ((before is State.UP) - (state is State.UP))
        self.states[r] = state
        self.epochs[r] += 1

    # The end

    def close(self, all_ended: bool) -> None:
        """The pool as its laws want it, nothing masked; seen that replicas which do not serve hold nothing and none waits for ever."""
        state = self.pool
        for r, what in enumerate(self.states):
            if what is not State.UP:
                state.front[layout.OUTSTANDING, r] -= MASK
            q = state.replicas[r]
            held = int(q["running"] + q["waiting"] + state.front[layout.OUTSTANDING, r])
            if what not in SERVING and (held or q["free"] != state.pool.kv_blocks or q["cached"]):
                raise SimulationError(f"pool {state.pool.name}: replica {r} is {what.value} and holds {held} requests")
        if all_ended and (self.waiting or self.limbo):
            waiting = len(self.waiting) + self.limbo
            raise SimulationError(f"pool {state.pool.name}: the run is over and {waiting} requests wait for a replica")

    def totals(self, end_ps: int) -> LifeTotals:
        """Totals of the run until `end_ps`, once the pool is closed."""
        restarts, serving_ps = int(self.restarts.sum()), self.service.until(self.states, end_ps)
        return LifeTotals(self.rules.pool, self.lost, restarts, len(self.diverted), self.waited, self.failed, serving_ps)
