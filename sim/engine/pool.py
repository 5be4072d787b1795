"""A pool of replicas as a routing target, and how a request ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from sim.catalog.relay_records import RetryPolicy as RetryPolicy
from sim.engine.deployment import EngineLimits, StepCost

ANY_LENGTH = 2**31


class Status(IntEnum):
    """How a request ended; all but FINISHED miss every SLO. IN_FLIGHT: still open at the end of the simulated time."""

    FINISHED = 0
    REJECTED = 1  # can never fit, or no target may serve it
    FAILED = 2  # relay: retries spent
    TIMED_OUT = 3
    IN_FLIGHT = 4


@dataclass(frozen=True)
class Pool:
    """Replicas of one deployment behind one queue discipline.

    network_ps       one round trip between client and pool
    context_tokens   longest prompt and answer together that the model takes; a longer request is rejected
    """

    name: str
    cost: StepCost
    kv_blocks: int
    limits: EngineLimits
    replicas: int
    network_ps: int = 0
    context_tokens: int = ANY_LENGTH


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
