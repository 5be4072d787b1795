"""States of a replica, and how long each replica has served."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from sim.engine import layout
from sim.engine.state import PoolState
from sim.fleet.life.life_terms import LifeEvent


class State(Enum):
    """Of a replica. UP takes requests; DRAINING (will go) and NOTICED (will be lost) finish what they have; the others hold nothing."""

    OFF = "off"
    BOOTING = "booting"
    UP = "up"
    DRAINING = "draining"
    NOTICED = "noticed"
    DOWN = "down"


SERVING = (State.UP, State.DRAINING, State.NOTICED)


class Service:
    """When the replicas of one pool served, and every change of their states."""

    def __init__(self, state: PoolState, pool: int) -> None:
        self.events: list[LifeEvent] = []
        self._state, self._pool = state, pool
        self._since_ps = [0] * state.pool.replicas
        self._past: list[tuple[int, int]] = []

    def enter(self, r: int, before: State, after: State, now: int, taken: int) -> None:
        """Replica r goes from one state to another, `taken` requests taken back from it."""
        if before in SERVING and after not in SERVING:
            self._past.append((self._since_ps[r], now if taken else self._served_until(r, before, now)))
        if after in SERVING and before not in SERVING:
            self._since_ps[r] = now
        self.events.append(LifeEvent(now, self._pool, r, after.value, taken))

    def until(self, states: Sequence[State], end_ps: int) -> int:
        """Replica-picoseconds in service until `end_ps`, where the replicas are in `states`."""
        still = [(self._since_ps[r], self._served_until(r, what, end_ps)) for r, what in enumerate(states) if what in SERVING]
        return sum(max(0, min(to_ps, end_ps) - from_ps) for from_ps, to_ps in (*self._past, *still))

    def _served_until(self, r: int, state: State, now: int) -> int:
        """When a replica has ended its service: a drain is over when nothing is left."""
        if state is not State.DRAINING or self._state.front[layout.WAKE, r] != layout.NEVER:
            return now
        begun = max(e.at_ps for e in self.events if e.replica == r and e.state == State.DRAINING.value)
        return min(now, max(int(self._state.replicas["clock"][r]), begun))
