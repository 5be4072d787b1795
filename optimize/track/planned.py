"""What the plan expects of a window of time: demand by the clock, and what one simulated hour says of its pools and relays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from optimize.deploy.deployable import Deployable
from optimize.simulate.named_fleet import SimulationRun, simulate_fleet
from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.relay.endpoint import RelayEndpoint
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of

HOUR_S = 3600.0
SATURDAY = 5


@dataclass(frozen=True)
class PlannedPool:
    """A pool in the busiest hour of the window, as simulated. `*_sd` are of single requests."""

    requests: int
    prompt_tokens: float
    prompt_sd: float
    answer_tokens: float
    answer_sd: float
    hit_share: float
    tpot_s: float
    kv_share: float
    preemptions: float  # for each 1,000 requests


@dataclass(frozen=True)
class Planned:
    """`requests` by class and `sent` by relay over the whole window; `failing` by relay: share of the calls in the simulated hour."""

    hours: tuple[str, ...]
    busiest: int  # index of the hour in `hours`
    requests: Mapping[str, float]
    sent: Mapping[str, float]
    pools: Mapping[str, PlannedPool]  # by the name that its engines serve
    failing: Mapping[str, float]


def hours_of(plan: Deployable, end: datetime, count: int) -> tuple[str, ...]:
    """The plan's hour of each hour of the window that ends at `end` (in the plan's time zone), the last one last.

    A plan that follows no clock is taken in its busiest hour.
    """
    if not plan.weekly:
        return (plan.hours[plan.busiest],) * count
    begins = [end - timedelta(hours=back) for back in range(count, 0, -1)]
    return tuple(f"{'weekend' if each.weekday() >= SATURDAY else 'weekday'} {each.hour:02}" for each in begins)


def planned_for(plan: Deployable, saved: Mapping[str, Any], scenario: Scenario, end: datetime, count: int) -> Planned:
    """What the plan expects of the `count` hours before `end`; the busiest of them is simulated once. Raises InputError."""
    demand = demand_of(scenario)
    hours = hours_of(plan, end, count)
    at = [plan.hours.index(hour) for hour in hours]
    names = [each.name for each in scenario.request_classes]
    by_clock = plan.weekly or len(plan.hours) == 1
    average = (demand.mean_rps @ demand.weight_h) / demand.weight_h.sum()
    rates = demand.mean_rps[:, at] if by_clock else np.repeat(average[:, None], count, axis=1)
    busiest = int(np.argmax(demand.mean_rps[:, at].sum(axis=0)))
    sent = {relay.id: 0.0 for relay in plan.relays}
    for name, row in zip(names, rates, strict=True):
        for relay in plan.relays:
            by_hour = plan.shares[name].get(relay.id, ())
            sent[relay.id] += math.fsum(float(row[k]) * by_hour[t] for k, t in enumerate(at) if by_hour) * HOUR_S
    run = simulate_fleet(scenario, plan=dict(saved), hour=hours[busiest])
    pools, failing = _targets(plan, run)
    requests = {name: math.fsum(row.tolist()) * HOUR_S for name, row in zip(names, rates, strict=True)}
    return Planned(hours, busiest, requests, sent, pools, failing)


def _targets(plan: Deployable, run: SimulationRun) -> tuple[dict[str, PlannedPool], dict[str, float]]:
    """Pools by the name of their engines, and the failing share of each relay's calls."""
    log, pools, failing = run.result.log, {}, {}
    inside = (log.arrival_ps >= run.from_ps) & (log.arrival_ps < run.to_ps) & (log.status == Status.FINISHED)
    named = {pool.id: pool.name for pool in plan.pools}
    for k, (target, stats) in enumerate(zip(run.fleet.targets, run.result.targets, strict=True)):
        mine = np.flatnonzero(inside & (log.target == k))
        if isinstance(target, RelayEndpoint):
            lost = stats.throttled + stats.errors + stats.unreachable + stats.cut
            failing[target.name] = lost / max(stats.attempts, 1)
        elif target.name in named and len(mine):
            inputs, outputs = log.input_tokens[mine], log.output_tokens[mine]
            streamed = outputs > 1
            tpot = (log.finish_ps - log.first_ps)[mine][streamed] / PS / (outputs[streamed] - 1)
            pools[named[target.name]] = PlannedPool(
                len(mine), *_spread(inputs), *_spread(outputs),
                hit_share=_sum(log.cached_tokens[mine]) / max(_sum(inputs), 1.0),
                tpot_s=math.fsum(tpot.tolist()) / max(len(tpot), 1),
                kv_share=stats.kv_mean_share,
                preemptions=1000.0 * _sum(log.preemptions[mine]) / len(mine),
            )  # fmt: skip
    return pools, failing


def _sum(values: Sequence[int] | npt.NDArray[np.int32]) -> float:
    return float(np.sum(values, dtype=np.int64))


def _spread(tokens: npt.NDArray[np.int32]) -> tuple[float, float]:
    """(mean, standard deviation)."""
    mean = _sum(tokens) / len(tokens)
    return mean, math.sqrt(math.fsum(((tokens - mean) ** 2).tolist()) / len(tokens))
