"""What can be bought, and what is known of each pool so far: optimistic loads until a measurement replaces them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from optimize.market.operating_point import LARGEST_POOL, OperatingPoint, Probe
from optimize.market.optimistic_load import class_loads
from optimize.records import Floats, LoadLevel, PoolOption, PoolTerms, ProgramInput, ProgramSolution, SloRow
from sim.engine.deployment import StepCost
from sim.exact import log
from sim.requests import Demand
from sim.scenario.scenario import Scenario
from sim.traffic.budget_effect import refused_share
from sim.traffic.lengths import turns_mean

SIZES = (1, 2, 3, 4, 6, LARGEST_POOL)
LARGE_SIZES = (12, 16, 24, 32, 48, 64)  # measured too where bursts or tight promises leave LARGEST_POOL little of the ideal
STRAINED = 1.5  # times the ideal load, from which on a larger pool may do much better
MIX_STEP = 0.05
SMALLEST_SHARE = 1e-4
MIX_TOLERANCE = 0.1


def slo_rows(scenario: Scenario) -> tuple[SloRow, ...]:
    """All promises of all classes as one flat list. A class without any gets e2e p95 <= 600 s, so that its backlog stays bounded."""
    rows = []
    for c, request_class in enumerate(scenario.request_classes):
        promises, refused = request_class.slo, refused_share(request_class, turns_mean(scenario))
        rows += [SloRow(c, s.metric, s.quantile, s.limit_s, refused) for s in promises]
        if not promises:
            rows.append(SloRow(c, "e2e", 0.95, 600.0, refused))
    return tuple(rows)


def rounded_mix(flow: Floats) -> tuple[float, ...]:
    """Class shares of a flow in steps of 0.05, summing to 1; a class below that keeps a share that halves from step to step.

    >>> rounded_mix(np.array([0.997, 0.003]))
    (0.99688, 0.00312)
    """
    share = flow / flow.sum()
    small = MIX_STEP * 2.0 ** np.round(log(np.maximum(share, SMALLEST_SHARE) / MIX_STEP) / log(2.0))
    steps = np.where(share > 1e-9, np.where(share < MIX_STEP, small, MIX_STEP * np.maximum(1, np.round(share / MIX_STEP))), 0.0)
    return tuple(float(s) for s in np.round(steps / steps.sum(), 5))


def rounded_size(replicas: int, strained: bool = False) -> int:
    """The largest measured pool size that is not above `replicas`: smaller pools carry less per replica, so this errs on the safe side.

    >>> rounded_size(5), rounded_size(30), rounded_size(30, strained=True)
    (4, 8, 24)
    """
    sizes = (*SIZES, *LARGE_SIZES) if strained else SIZES
    return max(size for size in sizes if size <= max(1, replicas))


@dataclass
class PoolState:
    """One pool option and what has been learnt of it.

    base    [classes] optimistic replica-seconds per request
    points  (replicas, mix) -> operating point measured
    given   what a whole fleet was seen to carry, in place of measured points
    correction   factor on the load from verification (1: never contradicted)
    explored     other engine limits were tried for it, or it came of such a trial
    hoped        factor on `base` until it is measured: what a pilot showed that it does not exceed
    lead_s, linger_s   how long hosts must be up before their first hour and stay after their last one, learnt where the day is played
    """

    option: PoolOption
    cost: StepCost | None
    base: Floats
    slos: tuple[SloRow, ...]
    points: dict[tuple[int, tuple[float, ...]], OperatingPoint] = field(default_factory=dict)
    correction: float = 1.0
    given: PoolTerms | None = None
    lead_s: float = 0.0
    linger_s: float = 0.0
    explored: bool = False
    hoped: float = 1.0

    def inflation(self, replicas: int, mix: tuple[float, ...]) -> float:
        """Measured load over optimistic load at one point; inf where the pool cannot serve that mix inside its promises."""
        point = self.points[(replicas, mix)]
        if point.rate_rps <= 0:
            return np.inf
        ideal = sum(share * self.base[c] for c, share in enumerate(mix) if share > 0)
        return float(replicas / (point.rate_rps * ideal))

    def terms(self) -> PoolTerms:
        """What the program is told: capacity as measured, and how long hosts are held beyond their hours."""
        return replace(self._capacity(), lead_s=self.lead_s, linger_s=self.linger_s)

    def _capacity(self) -> PoolTerms:
        """The worst load over the mixes measured, and a line through the smallest and largest size."""
        if self.given is not None:
            levels = tuple(replace(level, load=level.load * self.correction) for level in self.given.levels)
            return replace(self.given, levels=levels) if self.correction != 1.0 else self.given
        none = np.zeros(len(self.slos))
        if not self.points:
            return PoolTerms(self.option, (LoadLevel(self.base * (self.correction * self.hoped), none),), 1.0, 0.0, False)
        by_size: dict[int, float] = {}
        for size, mix in self.points:
            by_size[size] = max(by_size.get(size, 0.0), self.inflation(size, mix))
        factor = by_size[max(by_size)] * self.correction
        miss = np.max([point.miss for (size, _), point in self.points.items() if size == max(by_size)], axis=0)
        slope, intercept = capacity_line(by_size)
        return PoolTerms(self.option, (LoadLevel(self.base * factor, miss),), slope, intercept, True)

    def wanted(self, solution: ProgramSolution, p: int, safety: float, rough: bool = False, hours: int = 0) -> list[Probe]:
        """Probes that the solution needs of this pool and that was not measured yet, closely or (`rough`) at all.

        `hours` of the week share the risk of a miss: 0 those of the solution.
        """
        if self.given is not None or self.cost is None:
            return []
        hosts, flow = solution.hosts[p], solution.pool_flow[p]
        hours = hours or hosts.shape[0]
        used = (hosts > 0) & (flow.sum(axis=0) > 1e-9)
        if not used.any():
            return []
        sent = rounded_mix((flow[:, used]).sum(axis=1))
        for _, mix in self.points:
            if 0.5 * sum(abs(a - b) for a, b in zip(mix, sent, strict=True)) <= MIX_TOLERANCE and _same_classes(mix, sent):
                sent = mix
                break
        replicas = hosts[used] * self.option.replicas_per_host
        strained = (LARGEST_POOL, sent) in self.points and self.inflation(LARGEST_POOL, sent) > STRAINED
        sizes = {rounded_size(int(replicas.max()), strained), rounded_size(int(replicas.min()), strained)}
        known = {size for (size, mix), point in self.points.items() if mix == sent and (rough or not point.rough)}
        ideal = sum(share * self.base[c] for c, share in enumerate(sent) if share > 0)
        busiest = int(np.argmax((np.where(np.isfinite(self.base), self.base, 0.0)[:, None] * flow).sum(axis=0)))
        return [
            Probe(self.option, self.cost, sent, size, self.slos, size / ideal, safety, rough, hours, busiest)
            for size in sorted(sizes - known)
        ]


def capacity_line(by_size: dict[int, float]) -> tuple[float, float]:
    """(slope, intercept): a pool of n is worth slope x n - intercept replicas of the largest size, nowhere more than was measured.

    `by_size` holds load per request by pool size, infinite where the pool sustains nothing. The line goes through the smallest and the
    largest size, lowered where a size between carries less; sizes alike per replica, or better when small, give a line through 0.

    >>> capacity_line({1: 2.0, 8: 1.0}), capacity_line({1: 1.0, 8: 1.1}), capacity_line({2: math.inf, 8: 1.0})
    ((1.0714285714285714, 0.5714285714285714), (1.0, 0.0), (1.3333333333333333, 2.6666666666666665))
    """
    small, large = min(by_size), max(by_size)
    if not math.isfinite(by_size[large]):
        return 1.0, 0.0
    carried = {size: size * by_size[large] / load for size, load in by_size.items()}
    slope = 1.0 if small == large else max(1.0, (large - carried[small]) / (large - small))
    return slope, max(0.0, *(slope * size - worth for size, worth in carried.items()))


def _same_classes(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return all((x > 0) == (y > 0) for x, y in zip(a, b, strict=True))


def pool_states(options: tuple[PoolOption, ...], costs: dict[str, StepCost], demand: Demand, slos: tuple[SloRow, ...]) -> list[PoolState]:
    """A state per option, nothing measured yet."""
    states = []
    for option in options:
        if option.deployment is None:
            raise ValueError("measured capacity goes in as given terms")
        cost = costs[option.deployment.id]
        states.append(PoolState(option, cost, class_loads(option, cost, demand, slos, rigorous=False), slos))
    return states


def known_all(problem: ProgramInput, solution: ProgramSolution) -> bool:
    """Whether every pool that the solution uses has been measured."""
    return all(terms.measured or not np.any(solution.hosts[p]) for p, terms in enumerate(problem.pools))
