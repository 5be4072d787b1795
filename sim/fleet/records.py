"""What a fleet is made of, and what a simulation of it returns: frozen records shared by fleet, router, relay and latency."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from sim.catalog.records import Relay
from sim.catalog.relay_records import RetryPolicy as RetryPolicy
from sim.engine.deployment import EngineLimits, StepCost


class Status(IntEnum):
    """How a request ended; all but FINISHED miss every SLO. IN_FLIGHT: still open at the end of the simulated time."""

    FINISHED = 0
    REJECTED = 1  # can never fit, or no target may serve it
    FAILED = 2  # relay: retries spent
    TIMED_OUT = 3
    IN_FLIGHT = 4


@dataclass(frozen=True)
class Pool:
    """Replicas of one deployment behind one queue discipline. `network_ps` is one round trip between client and pool."""

    name: str
    cost: StepCost
    kv_blocks: int
    limits: EngineLimits
    replicas: int
    network_ps: int = 0


@dataclass(frozen=True)
class RelayEndpoint:
    """A relay as a routing target; `enforce_limits` False means that its RPM/TPM are taken as negotiated away."""

    name: str
    relay: Relay
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    enforce_limits: bool = True
    network_ps: int = 0


@dataclass(frozen=True)
class Overflow:
    """When every replica of `pool` has at least `outstanding_per_replica` open requests, a new request goes to `relay` (target indices)."""

    pool: int
    relay: int
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
    router    within a pool: "least_outstanding", "round_robin", or "session_affinity" (a turn follows its session's last one)
    priorities  of each class inside pools, lower ones first; (): all alike
    affinity_slack  open requests that a replica may have more than the least loaded one before turns of its sessions go elsewhere
    token_factors  [classes, targets, 2] input and output tokens that a target's model makes of one of the request's; None: 1
    """

    targets: tuple[Pool | RelayEndpoint, ...]
    shares: npt.NDArray[np.float64]
    router: str = "least_outstanding"
    overflow: tuple[Overflow, ...] = ()
    failover: tuple[FailOver, ...] = ()
    affinity_slack: int = 64
    priorities: tuple[int, ...] = ()
    token_factors: npt.NDArray[np.float64] | None = None
    cascade: Cascade | None = None  # `shares` are then those of first answers


@dataclass(frozen=True)
class RequestLog:
    """One row per request, in the order of `Requests`; times in ps since the start, -1 where it never happened.

    arrival_ps first_ps finish_ps int64 (at the client, network included), class_id target int16, replica int32 (-1: relay or none),
    status int8, input_tokens output_tokens int32, preemptions attempts int32,
    cached_tokens int32 (prompt tokens that the request's first admission found in the prefix cache of an own replica)
    """

    arrival_ps: npt.NDArray[np.int64]
    first_ps: npt.NDArray[np.int64]
    finish_ps: npt.NDArray[np.int64]
    class_id: npt.NDArray[np.int16]
    target: npt.NDArray[np.int16]
    replica: npt.NDArray[np.int32]
    status: npt.NDArray[np.int8]
    input_tokens: npt.NDArray[np.int32]
    output_tokens: npt.NDArray[np.int32]
    preemptions: npt.NDArray[np.int32]
    attempts: npt.NDArray[np.int32]
    cached_tokens: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        """A log without `cached_tokens` found nothing in a cache."""
        if len(self.cached_tokens) != len(self.arrival_ps):
            object.__setattr__(self, "cached_tokens", np.zeros(len(self.arrival_ps), np.int32))

    def __len__(self) -> int:
        return len(self.arrival_ps)


@dataclass(frozen=True)
class TargetStats:
    """Totals of one target over the run. Shares are 0..1; for a relay only `requests` and what follows `attempts` are set."""

    name: str
    requests: int
    steps: int = 0
    busy_share: float = 0.0  # time with a step running, mean over replicas
    kv_mean_share: float = 0.0  # blocks in use, time mean over replicas
    kv_peak_share: float = 0.0
    running_mean: float = 0.0  # sequences per replica
    waiting_peak: int = 0
    preemptions: int = 0
    computed_tokens: int = 0
    cached_tokens: int = 0  # found in the prefix cache instead, at first and repeated admissions
    attempts: int = 0
    throttled: int = 0  # 429 answers
    errors: int = 0  # server errors before a token
    unreachable: int = 0  # attempts in an outage
    cut: int = 0  # answers that broke off: torn, cut by an outage, or given up before the first token
    failed_over: int = 0  # requests that this relay failed and another target took over
    billed_input_tokens: int = 0
    billed_output_tokens: int = 0
    lost_input_tokens: int = 0  # billed for attempts that did not end in a whole answer
    lost_output_tokens: int = 0


@dataclass(frozen=True)
class SimulationResult:
    """Log and totals of one run; `end_ps` is when it stopped."""

    log: RequestLog
    targets: tuple[TargetStats, ...]
    end_ps: int
