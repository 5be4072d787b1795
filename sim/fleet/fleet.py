"""What a fleet is made of, and what a simulation of it returns: frozen records shared by fleet, router, relay and latency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.catalog.relay_records import RetryPolicy as RetryPolicy
from sim.engine.pool import Pool, TargetStats
from sim.engine.routers import DEFAULT
from sim.relay.endpoint import RelayEndpoint
from sim.request_log import RequestLog


@dataclass(frozen=True)
class Overflow:
    """When every replica of `pool` has at least `outstanding_per_replica` open requests, a new request goes to target `to` (indices).

    That is a relay, or another pool, which may overflow in its turn.
    """

    pool: int
    to: int
    outstanding_per_replica: int


@dataclass(frozen=True)
class FailOver:
    """A request of the class that `relay` has failed, all retries spent, goes to the first of `to`, then to the next (target indices)."""

    relay: int
    class_id: int
    to: tuple[int, ...]


@dataclass(frozen=True)
class Cascade:
    """A classifier before the fleet, and what it sends to a model that is too weak.

    before_ps  [classes] int64, what the classifier takes of each request's time
    again      [classes, targets] share of what is first sent there that is answered again by a stronger model
    to         [classes, targets] who answers those; rows sum to 1 where there are any
    """

    before_ps: npt.NDArray[np.int64]
    again: npt.NDArray[np.float64]
    to: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fleet:
    """Pools and relays with the share of each class that each gets.

    shares    [classes, targets], rows sum to at most 1; what is missing to 1 is rejected
    router    within a pool: a name of `sim.engine.routers`
    priorities  of each class inside pools, lower ones first; (): all alike
    affinity_slack  open requests that a replica may have more than the least loaded one before turns of its sessions go elsewhere
    token_factors  [classes, targets, 2] input and output tokens that a target's model makes of one of the request's; None: 1
    """

    targets: tuple[Pool | RelayEndpoint, ...]
    shares: npt.NDArray[np.float64]
    router: str = DEFAULT
    overflow: tuple[Overflow, ...] = ()
    failover: tuple[FailOver, ...] = ()
    affinity_slack: int = 64
    priorities: tuple[int, ...] = ()
    token_factors: npt.NDArray[np.float64] | None = None
    cascade: Cascade | None = None  # `shares` are then those of first answers


@dataclass(frozen=True)
class SimulationResult:
    """Log and totals of one run; `end_ps` is when it stopped, `events` how many events of the SimPy clock happened until then."""

    log: RequestLog
    targets: tuple[TargetStats, ...]
    end_ps: int
    events: int = 0
