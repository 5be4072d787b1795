"""Plan -> simulated hours on hold-out seeds -> verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from optimize.fresh_seeds import fresh_seed_bound
from optimize.latency_ladder import latency_ladder
from optimize.plan_hour import Hour, HourSample, fleet_of, simulate_hour
from optimize.records import Floats, ProgramInput, ProgramSolution, SloRow, SloVerdict, Verification
from sim.engine.deployment import StepCost
from sim.scenario.records import Scenario

BATCH = 4  # seeds after which a clear case is closed
MAX_HOURS = 12


@dataclass(frozen=True)
class HourEvidence:
    """All seeds of one hour: attainment [seeds, slo rows] over the class, and counts by target summed over seeds.

    `verdicts` are those of promises that are missed here on the pooled seeds, or that no hour before attained less; none where no
    request of the class came.
    """

    hour: Hour
    attainment: Floats
    met: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    verdicts: tuple[SloVerdict, ...]
    requests: int
    hours_of_week: int

    name: str = ""

    @property
    def bound(self) -> Floats:
        """[slo rows] attainment that a fresh seed reaches in this hour: see `fresh_seed_bound`."""
        return fresh_seed_bound(self.attainment, self.hours_of_week)

    def holds(self, quantiles: Floats) -> npt.NDArray[np.bool_]:
        """[slo rows] whether a fresh seed would be met."""
        return np.asarray(self.bound >= quantiles)

    def shortfall(self, quantiles: Floats) -> Floats:
        """[slo rows] how far the bound for a fresh seed is below the promise, in attainment; 0 where it holds."""
        return np.asarray(np.maximum(quantiles - self.bound, 0.0))


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


def attained(samples: Sequence[HourSample]) -> Floats:
    """[seeds, slo rows] attainment over each row's class; 1 where there was no request."""
    met, seen = (np.array([getattr(s, name).sum(axis=0) for s in samples]) for name in ("met", "seen"))
    return np.where(seen == 0, 1.0, met / np.maximum(seen, 1))


def decided(attainment: Floats, quantiles: Floats, hours_of_week: int) -> bool:
    """Whether the seeds so far settle an hour: every promise holds for a fresh seed, or the mean of one is below it."""
    holds = fresh_seed_bound(attainment, hours_of_week) >= quantiles
    return bool(holds.all() or (attainment.mean(axis=0) < quantiles).any())


def gather(problem: ProgramInput, hour: Hour, samples: Sequence[HourSample], worst: dict[int, float]) -> HourEvidence:
    """Evidence of one hour from its seeds; `worst` holds the least margin of each promise so far, and learns."""
    met, seen = sum(s.met for s in samples), sum(s.seen for s in samples)
    pooled = np.where(seen.sum(axis=0) == 0, 1.0, met.sum(axis=0) / np.maximum(seen.sum(axis=0), 1))  # type: ignore[union-attr]
    verdicts = []
    for i, row in enumerate(problem.slos):
        if not seen[..., i].any():  # type: ignore[index]
            continue  # nobody came: that says nothing of the promise, in either direction
        margin = float(pooled[i]) - row.quantile
        if margin < worst.get(i, math.inf) or margin < 0:
            verdicts.append(slo_verdict(row, problem.demand.slices[hour.index], [s.latency[i] for s in samples]))
            worst[i] = min(margin, worst.get(i, math.inf))
    requests = sum(s.requests for s in samples)
    return HourEvidence(
        hour,
        attained(samples),
        np.asarray(met),
        np.asarray(seen),
        tuple(verdicts),
        requests,
        len(problem.demand.slices),
        problem.demand.slices[hour.index],
    )


def slo_verdict(row: SloRow, hour: str, latency_s: Sequence[npt.NDArray[np.float32]]) -> SloVerdict:
    """What the seeds of one hour say of one promise."""
    from sim.latency import verdict

    answer = verdict(latency_s, row.quantile, row.limit_s)
    return SloVerdict(
        row=row,
        hour=hour,
        simulated_s=answer.simulated_s,
        ci95_s=answer.ci95_s,
        attainment=answer.attainment,
        attainment_ci95=answer.attainment_ci95,
        requests=answer.requests,
        met=answer.met,
        distribution=latency_ladder(latency_s, row.quantile),
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

    An hour is closed after 4 seeds where they settle it (`decided`), else after 8, else after all. With `stop_after`, ends once so
    many hours do not hold: enough to know that the plan must change.
    """
    from joblib import Parallel

    chosen = hours_to_simulate(problem, solution) if hours is None else hours
    quantiles = np.array([row.quantile for row in problem.slos])
    evidence: list[HourEvidence] = []
    worst: dict[int, float] = {}
    failed = 0
    with Parallel(n_jobs=jobs) as parallel:
        for k, t in enumerate(chosen):
            tell(f"simulating {problem.demand.slices[t]} ({k + 1} of {len(chosen)} hours, up to {len(seeds)} seeds)")
            hour = fleet_of(scenario, problem, solution, costs, t)
            samples = list(samples_of(parallel, scenario, problem, hour, seeds, quantiles))
            evidence.append(gather(problem, hour, samples, worst))
            failed += not evidence[-1].holds(quantiles).all()
            if failed == stop_after:
                break
    return evidence


def samples_of(
    parallel: Any, scenario: Scenario, problem: ProgramInput, hour: Hour, seeds: Sequence[int], quantiles: Floats
) -> Iterator[HourSample]:
    """Samples of one hour, seed by seed, until the hour is decided."""
    from joblib import delayed

    seen: list[HourSample] = []
    for first in range(0, len(seeds), BATCH):
        batch = parallel(delayed(simulate_hour)(scenario, problem, hour, seed) for seed in seeds[first : first + BATCH])
        yield from batch
        seen += batch
        if decided(attained(seen), quantiles, len(problem.demand.slices)):
            return


def verification(evidence: Sequence[HourEvidence], seeds: Sequence[int]) -> Verification:
    """For every promise the verdict of the hour in which it was attained least."""
    worst: dict[SloRow, SloVerdict] = {}
    for verdict in (v for e in evidence for v in e.verdicts):
        known = worst.get(verdict.row)
        if known is None or (verdict.met, verdict.attainment) < (known.met, known.attainment):
            worst[verdict.row] = verdict
    return Verification(
        seeds=tuple(seeds),
        hours=tuple(e.name for e in evidence),
        requests_simulated=sum(e.requests for e in evidence),
        verdicts=tuple(worst.values()),
        met=all(v.met for v in worst.values()),
        seeds_by_hour=tuple(len(e.attainment) for e in evidence),
    )


def untested(problem: ProgramInput, evidence: Sequence[HourEvidence]) -> list[str]:
    """What the hold-out seeds leave open: classes of which no request came in any simulated hour, promises too close to speak of a
    fresh week.
    """
    if not evidence:
        return []
    seen = {v.row for e in evidence for v in e.verdicts}
    names = (problem.class_names[row.class_index] for row in problem.slos if row not in seen)
    absent = [f"{name}: no request came in the simulated hours; its promises were not tested" for name in dict.fromkeys(names)]
    return [*absent, *(words for i, row in enumerate(problem.slos) if row in seen and (words := close_call(problem, evidence, i)))]


def close_call(problem: ProgramInput, evidence: Sequence[HourEvidence], i: int) -> str:
    """Where promise `i` holds over the seeds taken together and one fresh seed may still miss it; empty where neither or both is so."""
    row = problem.slos[i]
    if not all(v.met for e in evidence for v in e.verdicts if v.row == row):
        return ""
    worst = min(evidence, key=lambda e: float(e.bound[i]))
    if worst.bound[i] >= row.quantile:
        return ""
    kept, seeds = int((worst.attainment[:, i] >= row.quantile).sum()), len(worst.attainment)
    return (
        f"{problem.class_names[row.class_index]} {row.metric}: kept over the hold-out seeds together, in {worst.name} on {kept} of {seeds}; "
        "a fresh week may miss it"
    )
