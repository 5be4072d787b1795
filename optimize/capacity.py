"""What a pool sustains inside its promises: measured on the simulator at the mix that the program sends, cached by content."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from optimize.engine_limits import router_of
from optimize.records import Floats, PoolOption, SloRow
from optimize.store import CapacityStore
from sim.engine.deployment import PS, StepCost
from sim.engine.memory import kv_blocks
from sim.fleet_records import Pool
from sim.latency import attainment, class_metrics, quantile
from sim.model_tokens import counted_by_class
from sim.scenario.records import Scenario

SEARCH_SEEDS = (101, 102, 103)
WARMUP_S = 600.0  # caches start empty: by then 93 % of users with the default think time have come back
WINDOW_S = 1800.0
LARGEST_POOL = 8  # capacity per replica grows with the pool: larger pools are planned at the figure of this size, on the safe side
RESOLUTION = 0.005
ROUGH = 0.02  # resolution of the pilot, which shows where to look closely
FIRST_STEP = 0.7  # the first guess is optimistic
SEMANTICS = 3  # raise when engine semantics, traffic or this search change what a measurement returns


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


@dataclass(frozen=True)
class OperatingPoint:
    """`rate_rps` is (1 - safety) of the largest rate at which every promise holds; `miss` [slo rows] at that rate; zero: cannot serve."""

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
    )


def probe_key(scenario: Scenario, probe: Probe) -> str:
    """Hash of everything that the answer depends on."""
    content: dict[str, object] = {
        "semantics": SEMANTICS,
        "base": hashlib.sha256(probe.cost.base_ps.tobytes()).hexdigest(),
        "context": hashlib.sha256(probe.cost.context_ps.tobytes()).hexdigest(),
        "steps": [probe.cost.sequence_ps, probe.cost.pair_ps, probe.cost.prefill_context_ps, probe.cost.request_ps],
        "blocks": kv_blocks(probe.option.deployment) if probe.option.deployment else 0,
        "limits": asdict(probe.option.deployment.limits) if probe.option.deployment else {},
        "classes": [[share, asdict(scenario.request_classes[c])] for c, share in enumerate(probe.mix) if share > 0],
        "traffic": traffic_content(scenario),
        "slos": [asdict(row) for row in probe.slos if probe.mix[row.class_index] > 0],
        "replicas": probe.replicas,
        "search": [probe.first_guess_rps, probe.safety, SEARCH_SEEDS, WARMUP_S, WINDOW_S, RESOLUTION, ROUGH, probe.rough],
        "network": scenario.policy.network_s,
        "router": router_of(scenario),
    }
    if probe.option.token_factors is not None:
        content["factors"] = probe.option.token_factors.tolist()
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def traffic_content(scenario: Scenario) -> dict[str, object]:
    """The traffic settings that shape a probe: for a log, its bytes; else everything but the volume."""
    traffic = asdict(scenario.traffic)
    if "log" in traffic:
        traffic["log"] = hashlib.sha256(scenario.traffic.log.read_bytes()).hexdigest()  # type: ignore[union-attr]
    traffic.pop("daily_active_users", None)
    traffic.pop("rate_rps", None)
    return traffic


@dataclass(frozen=True)
class Trial:
    """One rate tried on some seeds.

    attained    [slo rows] attainment pooled over the seeds, NaN for an absent class; `spread` its standard error over seeds
    strain      largest log(latency at the promised quantile / limit) over all promises: continuous, 0 where the last promise breaks
    """

    attained: Floats
    spread: Floats
    strain: float
    requests: int


def try_rate(scenario: Scenario, probe: Probe, rate_rps: float, seeds: Sequence[int]) -> Trial:
    """What `probe` attains at a total rate of `rate_rps`, on the seeds given."""
    from sim.fleet import probe as run_pool
    from sim.traffic import at_rates

    pool, router = pool_of(probe.option, probe.cost, probe.replicas, scenario.policy.network_s), router_of(scenario)
    rates = [share * rate_rps for share in probe.mix]
    samples: list[list[Floats]] = [[] for _ in probe.slos]
    simulated = 0
    for seed in seeds:
        requests = counted_by_class(at_rates(scenario, rates, seed=seed, duration_s=WARMUP_S + WINDOW_S), probe.option.token_factors)
        result = run_pool(pool, requests, router)
        simulated += len(requests)
        for c in probe.option.classes:
            if probe.mix[c] > 0:
                metrics = class_metrics(result.log, c, from_ps=round(WARMUP_S * PS), to_ps=round((WARMUP_S + WINDOW_S) * PS))
                for i, row in enumerate(probe.slos):
                    if row.class_index == c:
                        samples[i].append(metrics[row.metric])
    return _trial(probe.slos, samples, simulated)


def _trial(slos: Sequence[SloRow], samples: Sequence[Sequence[Floats]], requests: int) -> Trial:
    """`samples` [slo rows][seeds] are latencies in seconds; a row without any is an absent class."""
    attained, spread, strain = np.full(len(slos), math.nan), np.full(len(slos), math.nan), -math.inf
    for i, (row, by_seed) in enumerate(zip(slos, samples, strict=True)):
        pooled = np.concatenate(by_seed) if by_seed else np.empty(0)
        if len(pooled) == 0:
            continue
        shares = [attainment(values, row.limit_s) for values in by_seed]
        attained[i] = attainment(pooled, row.limit_s)
        spread[i] = np.std(shares, ddof=1) / math.sqrt(len(shares)) if len(shares) > 1 else math.nan
        latency_s = min(max(quantile(pooled, row.quantile), 1e-6), 1e6)
        strain = max(strain, math.log(latency_s / row.limit_s))
    return Trial(attained, spread, strain, requests)


def holding(trial: Trial, slos: Sequence[SloRow]) -> bool:
    """Whether every promise holds in this trial."""
    return bool(np.all(np.isnan(trial.attained) | (trial.attained >= np.array([row.quantile for row in slos]))))


class RateSearch:
    """The largest rate at which every promise holds; rates that were tried are remembered, with their seeds."""

    def __init__(self, scenario: Scenario, probe: Probe) -> None:
        self.scenario, self.probe = scenario, probe
        self.trials: dict[tuple[float, int], Trial] = {}

    def trial(self, rate: float, seeds: Sequence[int]) -> Trial:
        """The trial at `rate`; the same random numbers at every rate."""
        key = (rate, len(seeds))
        if key not in self.trials:
            self.trials[key] = try_rate(self.scenario, self.probe, rate, seeds)
        return self.trials[key]

    @property
    def requests(self) -> int:
        """Requests simulated so far."""
        return sum(trial.requests for trial in self.trials.values())

    def strain(self, rate: float, seeds: Sequence[int]) -> float:
        """Below 0 where every promise holds, above where one breaks: never exactly 0, so that a sign decides."""
        trial = self.trial(rate, seeds)
        size = max(abs(trial.strain), 1e-9)
        return -size if holding(trial, self.probe.slos) else size

    def bracket(self, guess: float, step: float, seeds: Sequence[int]) -> tuple[float, float] | None:
        """Rates (holds, breaks) around the boundary, found from `guess` in factors of `step`; None where nothing holds."""
        rate, floor, ceiling = guess, guess * 0.01, guess * 64
        if self.strain(rate, seeds) < 0:
            while rate < ceiling and self.strain(rate * step, seeds) < 0:
                rate *= step
            return rate, rate * step
        while rate > floor:
            if self.strain(rate / step, seeds) < 0:
                return rate / step, rate
            rate, step = rate / step, step * step
        return None

    def boundary(self, low: float, high: float, resolution: float, seeds: Sequence[int]) -> float:
        """The largest rate tried in [low, high] at which every promise holds; the next one that breaks is within `resolution`."""
        from scipy.optimize import brentq

        if self.strain(high, seeds) < 0:  # more than any guess: not worth a search
            return high
        brentq(lambda x: self.strain(low * math.exp(x) if x < math.log(high / low) else high, seeds), 0.0, math.log(high / low), xtol=resolution)
        held = [rate for (rate, n) in self.trials if n == len(seeds) and self.strain(rate, seeds) < 0]
        broke = min(rate for (rate, n) in self.trials if n == len(seeds) and self.strain(rate, seeds) > 0)
        return max((rate for rate in held if rate < broke), default=low)


def measure(scenario: Scenario, probe: Probe) -> OperatingPoint:
    """The operating point of one pool: first roughly on one seed, then closely on all search seeds."""
    search = RateSearch(scenario, probe)
    pilot = SEARCH_SEEDS[:1]
    around = search.bracket(probe.first_guess_rps * FIRST_STEP, 1.6, pilot)
    if around is not None and probe.rough:
        rate = search.boundary(*around, ROUGH, pilot)
        trial = search.trial(rate, pilot)
        return _point(rate * (1 - probe.safety), trial, math.nan, search)
    if around is not None:
        rough = search.boundary(*around, ROUGH, pilot)
        around = search.bracket(rough, 1 + 2 * ROUGH, SEARCH_SEEDS)
    if around is None:
        return OperatingPoint(0.0, tuple(0.0 for _ in probe.slos), 0.0, search.requests, probe.rough)
    rate = search.boundary(*around, RESOLUTION, SEARCH_SEEDS) * (1 - probe.safety)
    trial = search.trial(rate, SEARCH_SEEDS)
    return _point(rate, trial, 4.303 * float(np.nanmax(trial.spread)), search)  # Student t, two degrees of freedom, 95 %


def _point(rate: float, trial: Trial, half_width: float, search: RateSearch) -> OperatingPoint:
    miss = np.nan_to_num(1 - trial.attained, nan=0.0)
    return OperatingPoint(rate, tuple(float(m) for m in miss), half_width, search.requests, search.probe.rough)


def measure_all(scenario: Scenario, probes: Sequence[Probe], store: CapacityStore, jobs: int) -> list[OperatingPoint]:
    """Operating points of all probes, from the store where it has them, else measured in parallel and stored."""
    keys = [probe_key(scenario, p) for p in probes]
    known = {key: value for key in keys if (value := store.get(key)) is not None}
    todo = [(key, p) for key, p in zip(keys, probes, strict=True) if key not in known]
    todo = list(dict(todo).items())
    if todo:
        from joblib import Parallel, delayed

        lean = replace(scenario, warnings=())
        points = Parallel(n_jobs=jobs if len(todo) > 1 else 1)(delayed(measure)(lean, p) for _, p in todo)
        for (key, _), point in zip(todo, points, strict=True):
            known[key] = asdict(point)
            store.put(key, known[key])
    return [OperatingPoint(**{**known[key], "miss": tuple(known[key]["miss"])}) for key in keys]
