"""Plan -> simulated hours on hold-out seeds -> verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from optimize.capacity import pool_of
from optimize.engine_limits import router_of
from optimize.records import Floats, ProgramInput, ProgramSolution, SloVerdict, Verification
from optimize.token_factors import fleet_factors
from sim.engine.deployment import PS, StepCost
from sim.fleet_records import Fleet, Pool, RelayEndpoint
from sim.scenario.records import Scenario
from sim.streams import stream
from sim.traffic.columns import Demand, Requests

HOLD_OUT_SEEDS = tuple(range(9001, 9011))
WARMUP_S = 600.0
HOUR_S = 3600.0
MAX_HOURS = 12
RISK = 0.05  # of a fresh week: that any hour misses a promise


@dataclass(frozen=True)
class Hour:
    """One plan hour to simulate: the fleet that runs in slice `index`, and which pool or relay of the program each target is."""

    index: int
    fleet: Fleet
    pools: tuple[int, ...]
    relays: tuple[int, ...]
    warmup_keep: float


@dataclass(frozen=True)
class HourSample:
    """What one seed of one hour yields. `met` and `seen` are counts [targets, slo rows]; `latency` holds samples by slo row, seconds."""

    met: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    latency: tuple[npt.NDArray[np.float32], ...]
    requests: int


@dataclass(frozen=True)
class HourEvidence:
    """All seeds of one hour: attainment [seeds, slo rows] over the class, and counts by target summed over seeds."""

    hour: Hour
    attainment: Floats
    met: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    verdicts: tuple[SloVerdict, ...]
    requests: int
    hours_of_week: int

    def holds(self, quantiles: Floats) -> npt.NDArray[np.bool_]:
        """[slo rows] whether a fresh seed would be met, by a one-sided prediction bound of Student's t over the seeds.

        The risk of a whole week (5 %) is divided by its hours (Bonferroni): a bound that speaks for one hour alone is broken
        somewhere in a week of 48 hours on one seed in five.
        """
        n = len(self.attainment)
        mean = self.attainment.mean(axis=0)
        if n == 1:
            return np.asarray(mean >= quantiles)
        spread = self.attainment.std(axis=0, ddof=1)
        return np.asarray(mean - float(stdtrit(n - 1, 1 - RISK / self.hours_of_week)) * spread * math.sqrt(1 + 1 / n) >= quantiles)


def fleet_of(scenario: Scenario, problem: ProgramInput, solution: ProgramSolution, costs: Sequence[StepCost | None], t: int) -> Hour:
    """The fleet that the plan runs in slice `t`, with each class split as the program splits it."""
    targets: list[Pool | RelayEndpoint] = []
    shares: list[Floats] = []
    factors: list[Floats | None] = []
    pools: list[int] = []
    relays: list[int] = []
    rate = np.maximum(problem.demand.mean_rps[:, t], 1e-300)
    for p, terms in enumerate(problem.pools):
        hosts, cost = int(solution.hosts[p, t]), costs[p]
        if hosts == 0 or cost is None or not np.any(solution.pool_flow[p, :, t] > 0):
            continue
        targets.append(pool_of(terms.option, cost, hosts * terms.option.replicas_per_host, scenario.policy.network_s))
        factors.append(terms.option.token_factors)
        shares.append(solution.pool_flow[p, :, t] / rate)
        pools.append(p)
    for a, relay_terms in enumerate(problem.relays):
        if not np.any(solution.relay_flow[a, :, t] > 0):
            continue
        targets.append(
            RelayEndpoint(
                name=relay_terms.relay.id,
                relay=relay_terms.relay,
                enforce_limits=relay_terms.hard_limits,
                network_ps=0,  # measured relay latencies include the network
            )
        )
        factors.append(relay_terms.token_factors)
        shares.append(solution.relay_flow[a, :, t] / rate)
        relays.append(a)
    table = np.array(shares).T if shares else np.zeros((len(rate), 0))
    total = table.sum(axis=1, keepdims=True)
    full = solution.unserved[:, t] <= 1e-9 * rate
    table = np.where((full[:, None]) & (total > 0), table / np.maximum(total, 1e-300), table)
    fleet = Fleet(tuple(targets), table, router_of(scenario), token_factors=fleet_factors(factors, len(rate)))
    return Hour(t, fleet, tuple(pools), tuple(relays), warmup_keep(problem.demand, t))


def warmup_keep(demand: Demand, t: int) -> float:
    """Share of the warm-up requests to keep: the hour before had a larger fleet when it was busier, and left no backlog to this one.

    Without this, a fleet that shrinks at the full hour would start it with a queue that the larger fleet never had.
    """
    names, total = demand.slices, demand.mean_rps.sum(axis=0)
    same_day = t > 0 and names[t - 1].split()[0] == names[t].split()[0]
    before = t - 1 if same_day else min(t + 23, len(names) - 1)
    return float(min(1.0, total[t] / total[before])) if total[before] > 0 else 1.0


def without_backlog(requests: Requests, keep: float, seed: int) -> Requests:
    """`requests` with warm-up arrivals thinned to the share `keep`."""
    if keep >= 1.0:
        return requests
    chosen = (requests.arrival_ps >= round(WARMUP_S * PS)) | (stream(seed, "warm-up thinning").random(len(requests)) < keep)
    return Requests(**{field.name: getattr(requests, field.name)[chosen] for field in fields(Requests)})


def simulate_hour(scenario: Scenario, problem: ProgramInput, hour: Hour, seed: int) -> HourSample:
    """One seed of one hour, warmed up with the end of the hour before (thinned to this hour's rate where that was busier)."""
    from sim.fleet import simulate
    from sim.latency import class_metrics
    from sim.traffic import hour as hour_traffic

    requests = hour_traffic(scenario, hour.index, seed=seed, duration_s=HOUR_S, warmup_s=WARMUP_S)
    requests = without_backlog(requests, hour.warmup_keep, seed)
    log = simulate(hour.fleet, requests, seed=seed, event_per_arrival=False).log
    start, end = round(WARMUP_S * PS), round((WARMUP_S + HOUR_S) * PS)
    targets, rows = len(hour.fleet.targets), len(problem.slos)
    met, seen = np.zeros((targets + 1, rows), np.int64), np.zeros((targets + 1, rows), np.int64)
    latency = []
    for i, row in enumerate(problem.slos):
        window = (log.class_id == row.class_index) & (log.arrival_ps >= start) & (log.arrival_ps < end)
        samples = class_metrics(log, row.class_index, from_ps=start, to_ps=end)[row.metric]
        by_target = log.target[window].astype(np.int64)
        by_target[by_target < 0] = targets
        seen[:, i] = np.bincount(by_target, minlength=targets + 1)
        met[:, i] = np.bincount(by_target, weights=samples <= row.limit_s, minlength=targets + 1)
        latency.append(samples.astype(np.float32))
    return HourSample(met, seen, tuple(latency), len(requests))


def hours_to_simulate(problem: ProgramInput, solution: ProgramSolution, limit: int = MAX_HOURS) -> list[int]:
    """Slices whose outcome decides: for each pool the one with the highest load against capacity, then the peak and the least hour."""
    total = problem.demand.mean_rps.sum(axis=0)
    wanted: list[int] = [int(np.argmax(total))]
    tightest: list[tuple[float, int]] = []
    for p, terms in enumerate(problem.pools):
        load = np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0)
        used = load @ solution.pool_flow[p]
        capacity = terms.slope * solution.hosts[p] * terms.option.replicas_per_host - terms.intercept
        share = np.where(solution.hosts[p] > 0, used / np.maximum(capacity, 1e-9), 0.0)
        tightest += [(-round(float(share[t]), 6), int(t)) for t in np.argsort(-share, kind="stable")[:3] if share[t] > 0]
    wanted += [t for _, t in sorted(tightest)]
    wanted.append(int(np.argmin(total)))
    return list(dict.fromkeys(wanted))[:limit]


def gather(problem: ProgramInput, hour: Hour, samples: Sequence[HourSample]) -> HourEvidence:
    """Evidence of one hour from its seeds."""
    from sim.latency import verdict

    met, seen = sum(s.met for s in samples), sum(s.seen for s in samples)
    by_seed = np.array([s.met.sum(axis=0) / np.maximum(s.seen.sum(axis=0), 1) for s in samples])
    by_seed = np.where(np.array([s.seen.sum(axis=0) for s in samples]) == 0, 1.0, by_seed)
    verdicts = []
    for i, row in enumerate(problem.slos):
        answer = verdict([s.latency[i] for s in samples], row.quantile, row.limit_s)
        verdicts.append(
            SloVerdict(
                row=row,
                hour=problem.demand.slices[hour.index],
                simulated_s=answer.simulated_s,
                ci95_s=answer.ci95_s,
                attainment=answer.attainment,
                attainment_ci95=answer.attainment_ci95,
                requests=answer.requests,
                met=answer.met,
            )
        )
    return HourEvidence(
        hour, by_seed, np.asarray(met), np.asarray(seen), tuple(verdicts), sum(s.requests for s in samples), len(problem.demand.slices)
    )


def verify(
    scenario: Scenario,
    problem: ProgramInput,
    solution: ProgramSolution,
    costs: Sequence[StepCost | None],
    seeds: Sequence[int],
    jobs: int,
    hours: Sequence[int] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    stop_after: int | None = None,
) -> list[HourEvidence]:
    """Evidence for each chosen hour, all classes together, every seed independent of the ones that capacity was searched on.

    With `stop_after`, ends once so many hours do not hold: enough to know that the plan must change.
    """
    from joblib import Parallel, delayed

    chosen = hours_to_simulate(problem, solution) if hours is None else hours
    quantiles = np.array([row.quantile for row in problem.slos])
    evidence: list[HourEvidence] = []
    failed = 0
    for k, t in enumerate(chosen):
        tell(f"simulating {problem.demand.slices[t]} ({k + 1} of {len(chosen)} hours, {len(seeds)} seeds)")
        hour = fleet_of(scenario, problem, solution, costs, t)
        runs = Parallel(n_jobs=jobs)(delayed(simulate_hour)(scenario, problem, hour, seed) for seed in seeds)
        evidence.append(gather(problem, hour, runs))
        failed += not evidence[-1].holds(quantiles).all()
        if failed == stop_after:
            break
    return evidence


def verification(evidence: Sequence[HourEvidence], seeds: Sequence[int]) -> Verification:
    """For every promise the verdict of the hour in which it was attained least."""
    rows = len(evidence[0].verdicts)
    worst = tuple(min((e.verdicts[i] for e in evidence), key=lambda v: (v.met, v.attainment - v.row.quantile)) for i in range(rows))
    return Verification(
        seeds=tuple(seeds),
        hours=tuple(e.verdicts[0].hour if e.verdicts else "" for e in evidence),
        requests_simulated=sum(e.requests for e in evidence),
        verdicts=worst,
        met=all(v.met for v in worst),
    )
