"""What happens to the replicas of a fleet while it serves, and what a simulation of that returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.fleet.fleet import SimulationResult

KINDS = ("scale", "fail", "reclaim")


@dataclass(frozen=True)
class Change:
    """Something that happens to a pool (a target index) at `at_ps`.

    scale    the pool is to have `replicas` replicas: those missing boot, those over drain
    fail     `replicas` replicas are lost at once (one host); those from number `first` on, else the lowest that serve
    reclaim  as fail, after the pool's notice, in which they finish what they can; else the highest that serve
    """

    at_ps: int
    pool: int
    kind: str
    replicas: int
    first: int | None = None


@dataclass(frozen=True)
class PoolRules:
    """How a pool lives. Its `Pool.replicas` is the most that it ever has.

    start      replicas that serve when the run begins (None: all)
    boot_ps    from the decision to the first request that a new replica takes
    repair_ps  from the loss of a replica until it, or its substitute, serves again, boot included; None: not in this run
    notice_ps  before a reclaimed replica is lost
    detect_ps  from a loss until its requests are sent again; new ones go elsewhere at once
    fallback   [classes][targets] shares with which requests that find no replica go elsewhere; what is missing to 1 waits for one
    """

    pool: int
    start: int | None = None
    boot_ps: int = 0
    repair_ps: int | None = None
    notice_ps: int = 0
    detect_ps: int = 0
    fallback: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Reroute:
    """Requests that arrive at `at_ps` or later are split by `shares` [classes, targets], until the next reroute."""

    at_ps: int
    shares: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lifecycle:
    """Rules of the pools that change, and the changes, in any order of time; those of one instant happen in the order given.

    Until the first of `reroutes`, which come in order of time, the shares of the fleet hold.
    """

    rules: tuple[PoolRules, ...]
    changes: tuple[Change, ...] = ()
    reroutes: tuple[Reroute, ...] = ()


@dataclass(frozen=True)
class LifeEvent:
    """Replica `replica` of `pool` is in another state from `at_ps` on; `open_requests` were taken back from it."""

    at_ps: int
    pool: int
    replica: int
    state: str
    open_requests: int = 0


@dataclass(frozen=True)
class LifeTotals:
    """What the life of one pool did to its requests.

    restarts    times that a request was taken back from a lost replica and sent again
    diverted    requests that found no replica and went elsewhere
    waited      times that a request found no replica and waited for one
    failed      requests for which no replica came back
    serving_ps  replica-picoseconds in service: boots and repairs left out, drains counted until the last request has ended
    """

    pool: int
    lost_replicas: int
    restarts: int
    diverted: int
    waited: int
    failed: int
    serving_ps: int


@dataclass(frozen=True)
class LifeResult:
    """Log and totals as of any simulation, and what is particular to this one.

    restarts  int32 [requests], times that each was taken back from a lost replica; the log's `attempts` contain them
    """

    simulation: SimulationResult
    restarts: npt.NDArray[np.int32]
    totals: tuple[LifeTotals, ...]
    events: tuple[LifeEvent, ...]
