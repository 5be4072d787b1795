"""Whether what comes is served, whatever the promise: the wait of a stable queue does not grow from one end of a window to the other.

A long limit on latency holds in a short window however much more comes than is served. A queue is stable when its backlog does not
grow (Loynes 1962, "The stability of a queue with non-independent inter-arrival and service times").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from optimize.records import Floats, ProgramInput, ProgramSolution
from optimize.search.fresh_seeds import seeds_of
from optimize.search.simulated_hour import HOUR_S, IN_HOUR_PS, Hour, fleet_of, play_hour
from optimize.search.users import loop_of
from sim.engine.deployment import PS, StepCost
from sim.scenario.scenario import LogTraffic, Scenario

Int64s = npt.NDArray[np.int64]

DRIFT, LOG_DRIFT = 0.01, 0.05  # growth of the wait in a window, as a share of its length, up to which a rate counts as stable
PART = 0.1  # of a window at either end, in which waits are compared
SEEDS = (601, 602, 603)


def stable_drift(scenario: Scenario) -> float:
    """Growth of the wait up to which a rate counts as stable: what the noise of minutes may do; an hour of a log may end in a burst."""
    return LOG_DRIFT if isinstance(scenario.traffic, LogTraffic) else DRIFT


def wait_growth(arrival_ps: Int64s, ttft_s: Floats, from_ps: int, to_ps: int) -> float:
    """By how much requests wait longer at the end of the window than at its start, as a share of the window.

    Work that comes faster than it is served by the share e makes the wait grow by e seconds a second, whatever the promise. The wait is
    that for the first token, which long answers do not lengthen; refused requests wait for nothing. 0 where no one came at an end.

    >>> second = 10**12
    >>> wait_growth(np.arange(10) * second, np.arange(10) * 0.1, 0, 10 * second)
    0.09
    """
    part = round(PART * (to_ps - from_ps))
    inside = np.isfinite(ttft_s) & (arrival_ps >= from_ps) & (arrival_ps < to_ps)
    first, last = ttft_s[inside & (arrival_ps < from_ps + part)], ttft_s[inside & (arrival_ps >= to_ps - part)]
    if len(first) == 0 or len(last) == 0:
        return 0.0
    return (math.fsum(last) / len(last) - math.fsum(first) / len(first)) * PS / (to_ps - from_ps)


def grows(scenario: Scenario, problem: ProgramInput, solution: ProgramSolution, costs: Sequence[StepCost | None]) -> bool:
    """Whether the backlog of a plan grows in its busiest hour, where no promise bounds it: none on the wait, or a long one."""
    drift, most_s = stable_drift(scenario), stable_drift(scenario) * HOUR_S
    bounded = {row.class_index for row in problem.slos if row.metric != "tpot" and row.limit_s <= most_s}
    loose = [c for c in range(len(problem.class_names)) if c not in bounded and problem.demand.mean_rps[c].any()]
    if not loose or not solution.hosts.any() or loop_of(scenario) is not None:
        return False  # users who wait for their answers send no more than is served
    hour = fleet_of(scenario, problem, solution, costs, int(np.argmax(problem.demand.mean_rps.sum(axis=0))))
    found = [[pool_drift(scenario, hour, c, seed) for c in loose] for seed in seeds_of(scenario.seed, SEEDS)]
    return any(math.fsum(each) / len(each) > drift for each in zip(*found, strict=True))


def pool_drift(scenario: Scenario, hour: Hour, c: int, seed: int) -> float:
    """Growth of the wait of class `c` at the pools of one hour, on one seed."""
    _, result = play_hour(scenario, hour.fleet, hour.index, hour.warmup_keep, seed)
    log = result.log
    mine = (log.class_id == c) & (log.target >= 0) & (log.target < len(hour.pools)) & (log.first_ps >= 0)
    return wait_growth(log.arrival_ps[mine], (log.first_ps[mine] - log.arrival_ps[mine]) / PS, *IN_HOUR_PS)
