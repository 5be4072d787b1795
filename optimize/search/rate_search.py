"""The largest rate at which a pool keeps every promise, and how far below it a fresh week stays safe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimize.market.engine_settings import priorities_of, router_of
from optimize.market.operating_point import OperatingPoint, Probe, pool_of
from optimize.records import Floats, SloRow
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS, deviations, seeds_of
from sim.engine.deployment import PS
from sim.exact import exp, log
from sim.fleet.simulate import probe as run_pool
from sim.latency import attainment, class_metrics, quantile
from sim.scenario.scenario import Scenario
from sim.traffic import at_rates
from sim.traffic.model_tokens import counted_by_class

SEARCH_SEEDS = (101, 102, 103)
MARGIN_SEEDS = (201, 202, 203, 204, 205, 206)
WARMUP_S = 600.0  # prefix caches start empty: by then 93 % of users with the default think time have come back
PLAIN_WARMUP_S = 120.0  # without a prefix cache
WINDOW_S = (600.0, 1800.0)  # ten minutes at least, for the noise of minutes; then as long as ENOUGH requests take
ENOUGH = 150_000
RESOLUTION = 0.005
ROUGH = 0.02  # resolution of the pilot, which shows where to look closely
FIRST_STEP = 0.7  # the first guess is optimistic
MARGIN_STEP, MARGIN_STEPS = 0.015, 6  # how far capacity goes below the largest rate that passes, beyond the policy's margin


@dataclass(frozen=True)
class Trial:
    """One rate tried on some seeds.

    attained    [slo rows] attainment pooled over the seeds, NaN for an absent class
    by_seed     [seeds, slo rows] attainment of each seed
    strain      largest log(latency at the promised quantile / limit) over all promises: continuous, 0 where the last promise breaks
    """

    attained: Floats
    by_seed: Floats
    strain: float
    requests: int


def window_s(probe: Probe) -> float:
    """How long a trial is watched: the same at every rate, so that random numbers are common."""
    return min(max(ENOUGH / probe.first_guess_rps, WINDOW_S[0]), WINDOW_S[1])


def warmup_s(probe: Probe) -> float:
    """How long a trial runs before it is watched."""
    cached = probe.option.deployment is not None and probe.option.deployment.limits.prefix_caching
    return WARMUP_S if cached else PLAIN_WARMUP_S


def try_rate(scenario: Scenario, probe: Probe, rate_rps: float, seeds: Sequence[int], hours: float = 1.0, jobs: int = 1) -> Trial:
    """What `probe` attains at a total rate of `rate_rps` on the seeds given, watched for `hours` times its window."""
    seeds = seeds_of(scenario.seed, seeds)
    if jobs > 1 and len(seeds) > 1:
        from joblib import Parallel, delayed

        runs = Parallel(n_jobs=jobs)(delayed(run_seed)(scenario, probe, rate_rps, seed, hours) for seed in seeds)
    else:
        runs = [run_seed(scenario, probe, rate_rps, seed, hours) for seed in seeds]
    return _trial(
        probe.slos, [[run[0][i] for run in runs if run[0][i] is not None] for i in range(len(probe.slos))], sum(r[1] for r in runs)
    )


def run_seed(scenario: Scenario, probe: Probe, rate_rps: float, seed: int, hours: float) -> tuple[list[Floats | None], int]:
    """Latencies in seconds by SLO row, None for an absent class, and how many requests were simulated."""

    pool = pool_of(probe.option, probe.cost, probe.replicas, scenario.policy.network_s)
    rates = [share * rate_rps for share in probe.mix]
    before_s, watched_s = warmup_s(probe), hours * window_s(probe)
    requests = counted_by_class(at_rates(scenario, rates, seed=seed, duration_s=before_s + watched_s), probe.option.token_factors)
    log = run_pool(pool, requests, router_of(scenario), priorities_of(scenario)).log
    from_ps, to_ps = round(before_s * PS), round((before_s + watched_s) * PS)
    metrics = {c: class_metrics(log, c, from_ps, to_ps) for c in probe.option.classes if probe.mix[c] > 0}
    before = [scenario.request_classes[row.class_index].before_s(row.metric) for row in probe.slos]
    seen = [metrics[row.class_index][row.metric] if row.class_index in metrics else None for row in probe.slos]
    return [each if each is None or not more else each + more for each, more in zip(seen, before, strict=True)], len(requests)


def _trial(slos: Sequence[SloRow], samples: Sequence[Sequence[Floats]], requests: int) -> Trial:
    """`samples` [slo rows][seeds] are latencies in seconds; a row without any is an absent class."""
    seeds = max(len(values) for values in samples)
    attained, by_seed, strain = np.full(len(slos), math.nan), np.full((seeds, len(slos)), math.nan), -math.inf
    for i, (row, values) in enumerate(zip(slos, samples, strict=True)):
        pooled = np.concatenate(values) if values else np.empty(0)
        if len(pooled) == 0:
            continue
        by_seed[:, i] = [attainment(each, row.limit_s) if len(each) else 1.0 for each in values]
        attained[i] = attainment(pooled, row.limit_s)
        latency_s = min(max(quantile(pooled, row.quantile), 1e-6), 1e6)
        strain = max(strain, log(latency_s / row.limit_s))
    return Trial(attained, by_seed, strain, requests)


def holding(trial: Trial, slos: Sequence[SloRow]) -> bool:
    """Whether every promise holds in this trial."""
    return bool(np.all(np.isnan(trial.attained) | (trial.attained >= np.array([row.quantile for row in slos]))))


def search_settings() -> list[object]:
    """What an answer depends on beside scenario and probe."""
    return [SEARCH_SEEDS, MARGIN_SEEDS, WARMUP_S, PLAIN_WARMUP_S, WINDOW_S, ENOUGH, RESOLUTION, ROUGH, MARGIN_STEP, MARGIN_STEPS]


class RateSearch:
    """The largest rate at which every promise holds; rates that were tried are remembered, with their seeds."""

    def __init__(self, scenario: Scenario, probe: Probe, jobs: int = 1) -> None:
        self.scenario, self.probe, self.jobs = scenario, probe, jobs
        self.trials: dict[tuple[float, int], Trial] = {}

    def trial(self, rate: float, seeds: Sequence[int]) -> Trial:
        """The trial at `rate`; the same random numbers at every rate."""
        key = (rate, len(seeds))
        if key not in self.trials:
            self.trials[key] = try_rate(self.scenario, self.probe, rate, seeds, jobs=self.jobs)
        return self.trials[key]

    def long_trial(self, rate: float) -> Trial:
        """The trial at `rate`, watched for twice as long on seeds that the boundary was not searched on."""
        key = (rate, len(MARGIN_SEEDS))
        self.trials[key] = try_rate(self.scenario, self.probe, rate, MARGIN_SEEDS, 2.0, self.jobs)
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
        brentq(
            lambda x: self.strain(low * exp(x) if x < log(high / low) else high, seeds),
            0.0,
            log(high / low),
            xtol=resolution,
        )
        held = [rate for (rate, n) in self.trials if n == len(seeds) and self.strain(rate, seeds) < 0]
        broke = min(rate for (rate, n) in self.trials if n == len(seeds) and self.strain(rate, seeds) > 0)
        return max((rate for rate in held if rate < broke), default=low)


def measure(scenario: Scenario, probe: Probe, jobs: int = 1) -> OperatingPoint:
    """The operating point of one pool: first roughly on one seed, then closely on all search seeds, then with room for fresh ones."""
    search = RateSearch(scenario, probe, jobs)
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
    largest = search.boundary(*around, RESOLUTION, SEARCH_SEEDS)
    for step in range(MARGIN_STEPS):
        rate = largest * (1 - probe.safety - MARGIN_STEP * step)
        trial = search.long_trial(rate)
        if with_room(trial, probe):
            break
    error = np.nanmax(np.std(trial.by_seed, axis=0, ddof=1)) / math.sqrt(len(MARGIN_SEEDS))
    return _point(rate, trial, 2.571 * float(error), search)  # Student t, five degrees of freedom, 95 %


def with_room(trial: Trial, probe: Probe) -> bool:
    """Whether ten seeds that scatter like those of `trial` would speak for a fresh week."""
    allowed = deviations(len(HOLD_OUT_SEEDS), probe.hours) * np.std(trial.by_seed, axis=0, ddof=1)
    quantiles = np.array([row.quantile for row in probe.slos])
    return bool(np.all(np.isnan(trial.attained) | (trial.by_seed.mean(axis=0) - allowed >= quantiles)))


def _point(rate: float, trial: Trial, half_width: float, search: RateSearch) -> OperatingPoint:
    miss = np.nan_to_num(1 - trial.attained, nan=0.0)
    return OperatingPoint(rate, tuple(float(m) for m in miss), half_width, search.requests, search.probe.rough)
