"""What can be bought, and what is known of each pool so far: optimistic loads until a measurement replaces them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optimize.market.operating_point import LARGEST_POOL, OperatingPoint, Probe
from optimize.market.optimistic_load import class_loads
from optimize.records import Floats, LoadLevel, PoolOption, PoolTerms, ProgramInput, ProgramSolution, SloRow
from sim.engine.deployment import StepCost
from sim.requests import Demand
from sim.scenario.scenario import Scenario

SIZES = (1, 2, 3, 4, 6, LARGEST_POOL)
MIX_STEP = 0.05
MIX_TOLERANCE = 0.1


def slo_rows(scenario: Scenario) -> tuple[SloRow, ...]:
    """All promises of all classes as one flat list. A class without any gets e2e p95 <= 600 s, so that its backlog stays bounded."""
    rows = []
    for c, request_class in enumerate(scenario.request_classes):
        promises = request_class.slo
        rows += [SloRow(c, s.metric, s.quantile, s.limit_s) for s in promises]
        if not promises:
            rows.append(SloRow(c, "e2e", 0.95, 600.0))
    return tuple(rows)


def rounded_mix(flow: Floats) -> tuple[float, ...]:
    """Class shares of a flow in steps of 0.05, summing to 1; a class that is sent anything keeps at least one step."""
    share = flow / flow.sum()
    steps = np.where(share > 1e-9, np.maximum(1, np.round(share / MIX_STEP)), 0)
    return tuple(float(s) for s in np.round(steps / steps.sum(), 4))


def rounded_size(replicas: int) -> int:
    """The largest measured pool size that is not above `replicas`: smaller pools carry less per replica, so this errs on the safe side.

    >>> rounded_size(5), rounded_size(30)
    (4, 8)
    """
    return max(size for size in SIZES if size <= max(1, replicas))


@dataclass
class PoolState:
    """One pool option and what has been learnt of it.

    base    [classes] optimistic replica-seconds per request
    points  (replicas, mix) -> operating point measured
    correction   factor on the load from verification (1: never contradicted)
    """

    option: PoolOption
    cost: StepCost | None
    base: Floats
    slos: tuple[SloRow, ...]
    points: dict[tuple[int, tuple[float, ...]], OperatingPoint] = field(default_factory=dict)
    correction: float = 1.0
    given: PoolTerms | None = None

    def inflation(self, replicas: int, mix: tuple[float, ...]) -> float:
        """Measured load over optimistic load at one point; inf where the pool cannot serve that mix inside its promises."""
        point = self.points[(replicas, mix)]
        if point.rate_rps <= 0:
            return np.inf
        ideal = sum(share * self.base[c] for c, share in enumerate(mix) if share > 0)
        return float(replicas / (point.rate_rps * ideal))

    def terms(self) -> PoolTerms:
        """What the program is told: the worst load over the mixes measured, and a line through the smallest and largest size."""
        if self.given is not None:
            return self.given
        none = np.zeros(len(self.slos))
        if not self.points:
            return PoolTerms(self.option, (LoadLevel(self.base * self.correction, none),), 1.0, 0.0, False)
        by_size: dict[int, float] = {}
        for size, mix in self.points:
            by_size[size] = max(by_size.get(size, 0.0), self.inflation(size, mix))
        small, large = min(by_size), max(by_size)
        factor = by_size[large] * self.correction
        miss = np.max([point.miss for (size, _), point in self.points.items() if size == large], axis=0)
        slope, intercept = 1.0, 0.0
        if small < large and np.isfinite(by_size[small]):
            carried = small * by_size[large] / by_size[small]
            slope = (large - carried) / (large - small)
            intercept = max(0.0, slope * small - carried)
            slope = 1.0 if intercept == 0.0 else slope
        elif small < large:  # cannot hold the promise at `small`: capacity is zero there
            slope = large / (large - small)
            intercept = slope * small
        return PoolTerms(self.option, (LoadLevel(self.base * factor, miss),), min(slope, 1.0 + intercept), intercept, True)

    def wanted(self, solution: ProgramSolution, p: int, safety: float, rough: bool = False) -> list[Probe]:
        """Probes that the solution needs of this pool and that nobody has measured yet, closely or (`rough`) at all."""
        if self.given is not None or self.cost is None:
            return []
        hosts, flow = solution.hosts[p], solution.pool_flow[p]
        used = (hosts > 0) & (flow.sum(axis=0) > 1e-9)
        if not used.any():
            return []
        sent = rounded_mix((flow[:, used]).sum(axis=1))
        for _, mix in self.points:
            if 0.5 * sum(abs(a - b) for a, b in zip(mix, sent, strict=True)) <= MIX_TOLERANCE and _same_classes(mix, sent):
                sent = mix
                break
        replicas = hosts[used] * self.option.replicas_per_host
        sizes = {rounded_size(int(replicas.max())), rounded_size(int(replicas.min()))}
        known = {size for (size, mix), point in self.points.items() if mix == sent and (rough or not point.rough)}
        ideal = sum(share * self.base[c] for c, share in enumerate(sent) if share > 0)
        return [
            Probe(self.option, self.cost, sent, size, self.slos, size / ideal, safety, rough, hosts.shape[0])
            for size in sorted(sizes - known)
        ]


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
