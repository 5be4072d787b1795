"""The question that a measurement of capacity asks, and its answer."""

from __future__ import annotations

from dataclasses import dataclass

from optimize.records import PoolOption, SloRow
from sim.engine.deployment import PS, StepCost
from sim.engine.memory import kv_blocks
from sim.engine.pool import Pool

LARGEST_POOL = 8  # capacity per replica grows with the pool: larger pools are planned at the figure of this size, on the safe side


@dataclass(frozen=True)
class Probe:
    """One question: which total rate does `replicas` of `option` sustain at `mix` (class shares, summing to 1)?"""

    option: PoolOption
    cost: StepCost
    mix: tuple[float, ...]
    replicas: int
    slos: tuple[SloRow, ...]
    first_guess_rps: float
    safety: float
    rough: bool = False
    hours: int = 1  # of the plan: they share the risk that a fresh week misses a promise
    hour: int = 0  # the slice of a log that is replayed: its bursts, lengths and sessions; generated traffic is alike in every hour


@dataclass(frozen=True)
class OperatingPoint:
    """`rate_rps` is at most (1 - safety) of the largest rate at which every promise holds, `miss` [slo rows] at that rate.

    Zero: cannot serve.
    """

    rate_rps: float
    miss: tuple[float, ...]
    attainment_half_width: float
    requests_simulated: int
    rough: bool = False  # one seed, to about 2 %


def pool_of(option: PoolOption, cost: StepCost, replicas: int, network_s: float) -> Pool:
    """The simulator's pool for a deployment option."""
    if option.deployment is None:
        raise ValueError("a pool with measured capacity cannot be simulated")
    return Pool(
        name=option.id,
        cost=cost,
        kv_blocks=kv_blocks(option.deployment),
        limits=option.deployment.limits,
        replicas=replicas,
        network_ps=round(network_s * PS),
        context_tokens=option.deployment.model.max_context,
    )
