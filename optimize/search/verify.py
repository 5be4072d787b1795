"""Plan -> simulated hours on hold-out seeds -> verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from optimize.records import ProgramInput, ProgramSolution, SloRow, SloVerdict, Verification
from optimize.search.cache import CapacityStore
from optimize.search.fresh_seeds import fresh_seed_bound, seeds_of
from optimize.search.hour_cache import hour_key, known_hour, stored
from optimize.search.hour_evidence import HourEvidence, attained, decided, gather, telling, worth_more
from optimize.search.simulated_hour import Hour, HourSample, fleet_of, simulate_hour
from sim.engine.deployment import StepCost
from sim.exact import dot
from sim.plural import counted
from sim.scenario.scenario import Scenario

BATCH = 4  # seeds after which a clear case is closed
MAX_HOURS = 12


def hours_to_simulate(problem: ProgramInput, solution: ProgramSolution, limit: int = MAX_HOURS) -> list[int]:
    """Slices whose outcome decides: for each pool the one with the highest load against capacity, then the peak and the least hour."""
    total = problem.demand.mean_rps.sum(axis=0)
    wanted: list[int] = [int(np.argmax(total))]
    tightest: list[tuple[float, int]] = []
    for p, terms in enumerate(problem.pools):
        load = np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0)
        used = dot(load, solution.pool_flow[p])
        capacity = terms.slope * solution.hosts[p] * terms.option.replicas_per_host - terms.intercept
        share = np.where(solution.hosts[p] > 0, used / np.maximum(capacity, 1e-9), 0.0)
        tightest += [(-round(float(share[t]), 6), int(t)) for t in np.argsort(-share, kind="stable")[:3] if share[t] > 0]
    wanted += [t for _, t in sorted(tightest)]
    wanted.append(int(np.argmin(total)))
    return list(dict.fromkeys(wanted))[:limit]


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
    store: CapacityStore | None = None,
    more_seeds: Sequence[int] = (),
) -> list[HourEvidence]:
    """Evidence for each chosen hour, all classes together, every seed independent of the ones that capacity was searched on.

    `seeds` and `more_seeds` are those of a scenario of seed 1; another seed moves them all (`seeds_of`).

    An hour is closed after 4 seeds where they settle it (`decided`), else after 8, else after all; `more_seeds` are for hours that are
    still open, and for hours that hold, until every attainment is known to half a point. With `stop_after`, ends once so many hours do
    not hold: enough to know that the plan must change. Hours that `store` has are not simulated again.
    """
    from joblib import Parallel

    store = CapacityStore(None) if store is None else store
    seeds, more_seeds = seeds_of(scenario.seed, seeds), seeds_of(scenario.seed, more_seeds)
    chosen = hours_to_simulate(problem, solution) if hours is None else hours
    quantiles = np.array([row.quantile for row in problem.slos])
    evidence: list[HourEvidence] = []
    worst: dict[int, float] = {}
    failed = 0
    with Parallel(n_jobs=jobs) as parallel:
        for k, t in enumerate(chosen):
            hour = fleet_of(scenario, problem, solution, costs, t)
            key = hour_key(scenario, problem, hour, (*seeds, *more_seeds))
            known = remembered(store, key, problem, hour, worst)
            if known is None:
                tell(f"simulating {problem.demand.slices[t]} ({k + 1} of {counted(len(chosen), 'hour')}, up to {len(seeds)} seeds)")
                samples = samples_of(parallel, scenario, problem, hour, seeds, more_seeds)
                known = gather(problem, hour, samples, worst)
                store.put(key, stored(known))
            evidence.append(known)
            failed += not known.holds(quantiles).all()
            if failed == stop_after:
                break
    return evidence


def remembered(store: CapacityStore, key: str, problem: ProgramInput, hour: Hour, worst: dict[int, float]) -> HourEvidence | None:
    """Evidence from the store with the verdicts that are wanted now; None where it has none, or not all of those."""
    found = known_hour(store, key, problem, hour)
    if found is None:
        return None
    learnt = dict(worst)
    rows = [problem.slos[i] for i in telling(problem, found.met, found.seen, learnt)]
    verdicts = {verdict.row: verdict for verdict in found.verdicts}
    if any(row not in verdicts for row in rows):
        return None
    worst.update(learnt)
    return replace(found, verdicts=tuple(verdicts[row] for row in rows))


def samples_of(
    parallel: Any, scenario: Scenario, problem: ProgramInput, hour: Hour, seeds: Sequence[int], more_seeds: Sequence[int]
) -> list[HourSample]:
    """Samples of one hour, seed by seed, until the hour is decided; one that holds goes on until it is known closely.

    One that `seeds` leave open, kept on average but not for sure on a fresh seed, is asked again after half of `more_seeds` and after all.
    """
    quantiles, hours = np.array([row.quantile for row in problem.slos]), len(problem.demand.slices)
    seen: list[HourSample] = []
    for batch in simulated(parallel, scenario, problem, hour, seeds, by_event=seeds[:1]):
        seen += batch
        if decided(attained(seen), quantiles, hours):
            break
    most, left = len(seen) + len(more_seeds), list(more_seeds)
    while left and not decided(attained(seen), quantiles, hours):
        some = left[: max(1, len(more_seeds) // 2)]
        seen += [sample for batch in simulated(parallel, scenario, problem, hour, some) for sample in batch]
        left = left[len(some) :]
    if (fresh_seed_bound(attained(seen), hours) < quantiles).any() or not worth_more(attained(seen), most):
        return seen
    for batch in simulated(parallel, scenario, problem, hour, left):
        seen += batch
        if not worth_more(attained(seen), most):
            break
    return seen


def simulated(
    parallel: Any, scenario: Scenario, problem: ProgramInput, hour: Hour, seeds: Sequence[int], by_event: Sequence[int] = ()
) -> Iterator[list[HourSample]]:
    """Batches of samples, one per seed; seeds `by_event` are played event by event."""
    from joblib import delayed

    for first in range(0, len(seeds), BATCH):
        yield parallel(delayed(simulate_hour)(scenario, problem, hour, seed, seed in by_event) for seed in seeds[first : first + BATCH])


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
        events=sum(e.events for e in evidence),
        by_event=sum(e.by_event for e in evidence),
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
        f"{problem.class_names[row.class_index]} {row.metric}: kept over the hold-out seeds together, "
        f"in {worst.name} on {kept} of {seeds}; a fresh week may miss it"
    )
