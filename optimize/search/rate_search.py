"""The largest rate at which a pool keeps every promise, and how far below it a fresh week stays safe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimize.market.engine_settings import priorities_of, router_of
from optimize.market.operating_point import OperatingPoint, Probe, pool_of
from optimize.records import Floats, SloRow
from optimize.search.fresh_seeds import deviations, seeds_of
from optimize.search.processes import processes
from optimize.search.simulated_hour import HOUR_S
from optimize.search.stability import DRIFT, LOG_DRIFT, PART, stable_drift, wait_growth
from sim.engine.deployment import PS
from sim.exact import exp, log
from sim.fleet.simulate import probe as run_pool
from sim.latency import attainment, class_metrics
from sim.scenario.scenario import LogTraffic, Scenario
from sim.traffic import at_rates
from sim.traffic.model_tokens import counted_by_class
from sim.traffic.replay import replay_at_rates

SEARCH_SEEDS = (101, 102, 103)
PROOF_SEEDS = 20  # of the look at which a tight hour should hold
MARGIN_SEEDS = (201, 202, 203, 204, 205, 206)
WARMUP_S = 600.0  # prefix caches start empty: by then 93 % of users with the default think time have come back
PLAIN_WARMUP_S = 120.0  # without a prefix cache
WINDOW_S = (600.0, 1800.0)  # ten minutes at least, for the noise of minutes; then as long as ENOUGH requests take
ENOUGH = 150_000
MISSES = 5  # that a promise allows a class in the window of one seed, at least: with fewer, no one knows whether it is kept
ROUGH_MISSES = 1  # where a pool is measured roughly: a class of one request in thousands made a search ten times as dear
MOST_REQUESTS, LONGEST_S = 2_000_000, 30 * 86_400.0  # how far a window grows for that
RESOLUTION = 0.005  # from one rate to the next
ROUGH = 4  # steps: resolution of the pilot, which shows where to look closely
FIRST_STEP, STRIDE = -72, 96  # the first guess is optimistic: begin at 0.7 of it, and go by a factor of 1.6
HIGHEST = 832  # 64 times the first guess
LOWEST = 1e-6  # of the first guess: below that an engine is idle, and what it misses it always misses
MARGIN_STEP, MARGIN_STEPS = 0.015, 6  # how far capacity goes below the largest rate that passes, beyond the policy's margin
MARGIN_FACTOR = 0.8  # and then, where that leaves no room: at low rates misses fall as slowly as the rate
HALVINGS = 3  # of the long step that left room


@dataclass(frozen=True)
class Trial:
    """One rate tried on some seeds.

    attained    [slo rows] attainment pooled over the seeds, NaN for an absent class
    by_seed     [seeds, slo rows] attainment of each seed
    drift       how much the wait grows in the window, as a share of its length: mean over the seeds, of the class that suffers most
    """

    attained: Floats
    by_seed: Floats
    drift: float
    requests: int


def window_s(probe: Probe, rate_rps: float) -> float:
    """How long a trial at `rate_rps` is watched: the same for all rates but low ones, which take longer to send enough requests.

    Enough: every promise allows MISSES of them to be late, roughly ROUGH_MISSES. The first requests of a longer window are those of a
    shorter one.
    """
    usual = min(max(ENOUGH / probe.first_guess_rps, WINDOW_S[0]), WINDOW_S[1])
    asked = ((probe.mix[row.class_index], 1 - row.needed) for row in probe.slos)
    misses = ROUGH_MISSES if probe.rough else MISSES
    known = max((misses / (share * allowed) for share, allowed in asked if share > 0 and allowed > 0), default=0.0)
    return max(usual, min(known, MOST_REQUESTS) / rate_rps)


def warmup_s(probe: Probe) -> float:
    """How long a trial runs before it is watched."""
    cached = probe.option.deployment is not None and probe.option.deployment.limits.prefix_caching
    return WARMUP_S if cached else PLAIN_WARMUP_S


@dataclass(frozen=True)
class SeedRun:
    """One seed of a trial: latencies in seconds by SLO row, None for a class that is not sent here; growth of each class's wait."""

    latency_s: tuple[Floats | None, ...]
    drift: dict[int, float]
    requests: int


def try_rate(scenario: Scenario, probe: Probe, rate_rps: float, seeds: Sequence[int], hours: float = 1.0, jobs: int = 1) -> Trial:
    """What `probe` attains at a total rate of `rate_rps` on the seeds given, watched for `hours` times its window."""
    seeds = seeds_of(scenario.seed, seeds)
    if jobs > 1 and len(seeds) > 1:
        from joblib import delayed

        runs = list(processes(jobs)(delayed(run_seed)(scenario, probe, rate_rps, seed, hours) for seed in seeds))
    else:
        runs = [run_seed(scenario, probe, rate_rps, seed, hours) for seed in seeds]
    return trial_of(probe.slos, runs)


def run_seed(scenario: Scenario, probe: Probe, rate_rps: float, seed: int, hours: float) -> SeedRun:
    """One seed at `rate_rps`: generated traffic, or for a log its own hour at that rate."""
    pool = pool_of(probe.option, probe.cost, probe.replicas, scenario.policy.network_s)
    rates = [share * rate_rps for share in probe.mix]
    if isinstance(scenario.traffic, LogTraffic):
        before_s, watched_s = WARMUP_S, HOUR_S
        sent = replay_at_rates(scenario, probe.hour, rates, seed, watched_s, before_s)
    else:
        before_s, watched_s = warmup_s(probe), hours * window_s(probe, rate_rps)
        sent = at_rates(scenario, rates, seed=seed, duration_s=before_s + watched_s)
    log = run_pool(pool, counted_by_class(sent, probe.option.token_factors), router_of(scenario), priorities_of(scenario)).log
    from_ps, to_ps = round(before_s * PS), round((before_s + watched_s) * PS)
    classes = [c for c in probe.option.classes if probe.mix[c] > 0]
    metrics = {c: class_metrics(log, c, from_ps, to_ps) for c in classes}
    before = [scenario.request_classes[row.class_index].before_s(row.metric) for row in probe.slos]
    seen = [metrics[row.class_index][row.metric] if row.class_index in metrics else None for row in probe.slos]
    latency_s = tuple(each if each is None or not more else each + more for each, more in zip(seen, before, strict=True))
    arrival_ps = {c: log.arrival_ps[(log.class_id == c) & (log.arrival_ps >= from_ps) & (log.arrival_ps < to_ps)] for c in classes}
    drift = {c: wait_growth(arrival_ps[c], metrics[c]["ttft"], from_ps, to_ps) for c in classes}
    return SeedRun(latency_s, drift, len(sent))


def trial_of(slos: Sequence[SloRow], runs: Sequence[SeedRun]) -> Trial:
    """What the seeds say together; a promise whose class is not sent here, or of which no request came, is NaN."""
    attained, by_seed = np.full(len(slos), math.nan), np.full((len(runs), len(slos)), math.nan)
    for i, row in enumerate(slos):
        values = [run.latency_s[i] for run in runs]
        found = [each for each in values if each is not None]
        pooled = np.concatenate(found) if found else np.empty(0)
        if len(pooled) == 0:
            continue
        attained[i] = attainment(pooled, row.limit_s)
        by_seed[:, i] = [attainment(each, row.limit_s) if each is not None and len(each) else attained[i] for each in values]
    drift = max((math.fsum(run.drift[c] for run in runs) / len(runs) for c in runs[0].drift), default=0.0)
    return Trial(attained, by_seed, drift, sum(run.requests for run in runs))


def search_settings() -> list[object]:
    """What an answer depends on besides scenario and probe."""
    windows = [WARMUP_S, PLAIN_WARMUP_S, WINDOW_S, ENOUGH, MISSES, ROUGH_MISSES, MOST_REQUESTS, LONGEST_S, HOUR_S]
    steps = [RESOLUTION, ROUGH, FIRST_STEP, STRIDE, HIGHEST, LOWEST, MARGIN_STEP, MARGIN_STEPS, MARGIN_FACTOR, HALVINGS]
    return [SEARCH_SEEDS, MARGIN_SEEDS, *windows, *steps, DRIFT, LOG_DRIFT, PART]


class RateSearch:
    """The largest rate that is sustained; rates that were tried are remembered, with their seeds.

    Rates are steps of half a percent from the first guess, whatever the promise: a looser one never ends on another grid.
    """

    def __init__(self, scenario: Scenario, probe: Probe, jobs: int = 1) -> None:
        self.scenario, self.probe, self.jobs = scenario, probe, jobs
        self.drift = stable_drift(scenario)
        self.trials: dict[tuple[float, int], Trial] = {}

    def rate(self, step: int) -> float:
        """The rate `step` steps above the first guess, in requests/s."""
        return float(f"{self.probe.first_guess_rps * exp(step * RESOLUTION):.6g}")

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

    def sustained(self, trial: Trial) -> bool:
        """Whether every promise of what is sent here holds, on requests that came, and the backlog does not grow."""
        asked = np.array([self.probe.mix[row.class_index] > 0 for row in self.probe.slos])
        quantiles = np.array([row.needed for row in self.probe.slos])
        return trial.drift <= self.drift and bool(np.all((trial.attained >= quantiles)[asked]))

    def sustains(self, step: int, seeds: Sequence[int]) -> bool:
        """Whether the rate at `step` is sustained."""
        return self.sustained(self.trial(self.rate(step), seeds))

    @property
    def lowest(self) -> int:
        """The step below which nothing changes any more, or no window is long enough to know."""
        most_s = window_s(self.probe, 1.0)  # requests that a window needs at one a second
        share = max(LOWEST, most_s / LONGEST_S / self.probe.first_guess_rps)
        return min(FIRST_STEP, round(float(log(share)) / RESOLUTION) // ROUGH * ROUGH)

    def bracket(self, start: int, stride: int, seeds: Sequence[int]) -> tuple[int, int] | None:
        """Steps (sustained, not sustained) around the boundary, found from `start`; downwards in strides that double.

        None where no rate is sustained, down to that of an idle engine.
        """
        if self.sustains(start, seeds):
            while start < HIGHEST and self.sustains(start + stride, seeds):
                start += stride
            return start, start + stride
        while start > self.lowest:
            lower = max(start - stride, self.lowest)
            if self.sustains(lower, seeds):
                return lower, start
            start, stride = lower, 2 * stride
        return None

    def boundary(self, low: int, high: int, unit: int, seeds: Sequence[int]) -> int:
        """The largest step sustained in [low, high), to within `unit` steps; `low` is sustained and `high` is not."""
        while high - low > unit:
            middle = low + max(unit, (high - low) // 2 // unit * unit)
            low, high = (middle, high) if self.sustains(middle, seeds) else (low, middle)
        return low


def measure(scenario: Scenario, probe: Probe, jobs: int = 1) -> OperatingPoint:
    """The operating point of one pool: first roughly on one seed, then closely on all search seeds, then with room for fresh ones."""
    search = RateSearch(scenario, probe, jobs)
    pilot = SEARCH_SEEDS[:1]
    around = search.bracket(FIRST_STEP, STRIDE, pilot)
    if around is not None:
        rough = search.boundary(*around, ROUGH, pilot)
        if probe.rough:
            rate = search.rate(rough)
            return _point(rate * (1 - probe.safety), search.trial(rate, pilot), math.nan, search)
        around = search.bracket(rough, 2 * ROUGH, SEARCH_SEEDS)
    if around is None:
        return OperatingPoint(0.0, tuple(0.0 for _ in probe.slos), 0.0, search.requests, probe.rough)
    rate, trial = with_margin(search, search.rate(search.boundary(*around, 1, SEARCH_SEEDS)))
    error = np.nanmax(np.std(trial.by_seed, axis=0, ddof=1)) / math.sqrt(len(MARGIN_SEEDS))
    return _point(rate, trial, 2.571 * float(error), search)  # Student t, five degrees of freedom, 95 %


def with_margin(search: RateSearch, largest: float) -> tuple[float, Trial]:
    """The largest rate tried, below `largest` by the policy's margin at least, that leaves room for a fresh week.

    Small steps first: near its limit a pool gains much by little. Then ever larger ones; where no rate leaves room, because a promise
    is missed by what an idle engine misses, the largest that sustains all promises on these seeds.
    """
    rate, kept = largest * (1 - search.probe.safety), None
    factors = [1 - MARGIN_STEP * step for step in range(MARGIN_STEPS)]
    while factors[-1] * rate > search.rate(search.lowest):
        factors.append(factors[-1] * min(factors[-1], MARGIN_FACTOR))
    for k, factor in enumerate(factors):
        trial = search.long_trial(rate * factor)
        if search.sustained(trial) and with_room(trial, search.probe):
            return (rate * factor, trial) if k < MARGIN_STEPS else between(search, rate * factor, rate * factors[k - 1], trial)
        kept = kept or ((rate * factor, trial) if search.sustained(trial) else None)
    return kept or (0.0, trial)


def between(search: RateSearch, low: float, high: float, trial: Trial) -> tuple[float, Trial]:
    """The largest rate tried between `low`, which `trial` showed to leave room, and `high`, which leaves none."""
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        tried = search.long_trial(middle)
        if search.sustained(tried) and with_room(tried, search.probe):
            low, trial = middle, tried
        else:
            high = middle
    return low, trial


def with_room(trial: Trial, probe: Probe) -> bool:
    """Whether ten seeds that scatter like those of `trial` would speak for a fresh week."""
    allowed = deviations(PROOF_SEEDS, probe.hours) * np.std(trial.by_seed, axis=0, ddof=1)
    quantiles = np.array([row.needed for row in probe.slos])
    return bool(np.all(np.isnan(trial.attained) | (trial.by_seed.mean(axis=0) - allowed >= quantiles)))


def _point(rate: float, trial: Trial, half_width: float, search: RateSearch) -> OperatingPoint:
    miss = np.nan_to_num(1 - trial.attained, nan=0.0)
    return OperatingPoint(rate, tuple(float(m) for m in miss), half_width, search.requests, search.probe.rough)
