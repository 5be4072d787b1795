"""Plan -> simulated hours on hold-out seeds -> verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from optimize.records import ProgramInput, ProgramSolution, SloRow, SloVerdict, Verification
from optimize.search.cache import CapacityStore
from optimize.search.fresh_seeds import LOOKS, RARE_REQUESTS, enough, seeds_of
from optimize.search.hour_cache import hour_key, known_hour, stored
from optimize.search.hour_evidence import HourEvidence, attained, blocks_of, counts_of, decided, gather, quantiles_of, telling, worth_more
from optimize.search.processes import processes
from optimize.search.simulated_hour import Hour, HourSample, fleet_of, simulate_hour
from sim.engine.deployment import StepCost
from sim.exact import dot
from sim.plural import counted
from sim.scenario.scenario import LogTraffic, Scenario

MAX_HOURS = 12
USUAL_SEEDS = 30  # beyond them only hours of few requests are looked at


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

    An hour is looked at after 1, 4, 10, 20 and 30 seeds, and 100 where few requests come, as far as `seeds` and then `more_seeds` go,
    and closed when a look settles it (`decided`); one that holds goes on until every attainment is known to a point. With
    `stop_after`, ends once so many hours do not hold: enough to know that the plan must change. Hours that `store` has are not
    simulated again.
    """
    store = CapacityStore(None) if store is None else store
    asked = seeds_of(scenario.seed, (*seeds, *more_seeds))
    chosen = hours_to_simulate(problem, solution) if hours is None else list(hours)
    quantiles, slots = quantiles_of(problem), [fleet_of(scenario, problem, solution, costs, t) for t in chosen]
    keys = [hour_key(scenario, problem, hour, asked) for hour in slots]
    evidence: list[HourEvidence] = []
    worst: dict[int, float] = {}
    ahead: dict[int, HourSample] = {}
    failed = 0
    with processes(jobs) as parallel:
        for k, hour in enumerate(slots):
            known = remembered(store, keys[k], problem, hour, worst)
            if known is None:
                if k not in ahead:
                    tell(f"simulating {problem.demand.slices[hour.index]} ({k + 1} of {counted(len(chosen), 'hour')})")
                    ahead |= first_looks(parallel, scenario, problem, slots, keys, store, range(k, len(slots)), asked[0], jobs)
                known = gather(problem, hour, samples_of(parallel, scenario, problem, hour, ahead.pop(k), asked), worst)
                store.put(keys[k], stored(known))
            evidence.append(known)
            failed += not known.holds(quantiles).all()
            if failed == stop_after:
                break
    return evidence


def first_looks(
    parallel: Any,
    scenario: Scenario,
    problem: ProgramInput,
    slots: Sequence[Hour],
    keys: Sequence[str],
    store: CapacityStore,
    left: Sequence[int],
    seed: int,
    jobs: int,
) -> dict[int, HourSample]:
    """Number of the slot -> its first seed, played event by event: of as many of those `left` as there are jobs, side by side."""
    from joblib import delayed

    some = [k for k in left if k == left[0] or known_hour(store, keys[k], problem, slots[k]) is None][:jobs]
    return dict(zip(some, parallel(delayed(simulate_hour)(scenario, problem, slots[k], seed, True) for k in some), strict=True))


def remembered(store: CapacityStore, key: str, problem: ProgramInput, hour: Hour, worst: dict[int, float]) -> HourEvidence | None:
    """Evidence from the store with the verdicts that are wanted now; None where it has none, or not all of those."""
    found = known_hour(store, key, problem, hour)
    if found is None:
        return None
    learnt = dict(worst)
    rows = [problem.slos[i] for i in telling(problem, found, learnt)]
    verdicts = {verdict.row: verdict for verdict in found.verdicts}
    if any(row not in verdicts for row in rows):
        return None
    worst.update(learnt)
    return replace(found, verdicts=tuple(verdicts[row] for row in rows))


def samples_of(
    parallel: Any, scenario: Scenario, problem: ProgramInput, hour: Hour, first: HourSample, seeds: Sequence[int]
) -> list[HourSample]:
    """Samples of one hour, look by look, until it is decided; one that holds goes on until it is known closely, and by enough requests.

    `first` is that of the first seed. Only hours of few requests go beyond USUAL_SEEDS.
    """
    from joblib import delayed

    quantiles, hours = quantiles_of(problem), len(problem.demand.slices)
    seen, most = [first], min(len(seeds), USUAL_SEEDS)
    rare = first.requests <= RARE_REQUESTS and not isinstance(scenario.traffic, LogTraffic)  # a log's own hour comes as it did
    for look in (*(n for n in LOOKS if 1 < n < len(seeds)), len(seeds)):
        if look > most and not rare:
            break
        told = not rare or enough(np.sum([each.seen.sum(axis=0) for each in seen], axis=0), quantiles)
        close = holds(problem, hour, seen) and len(seen) < most and worth_more(attained(seen), most, blocks_of(seen))
        if decided(seen, quantiles, hours) and not close and (told or not holds(problem, hour, seen)):
            break
        seen += parallel(delayed(simulate_hour)(scenario, problem, hour, seed, False) for seed in seeds[len(seen) : look])
    return seen


def holds(problem: ProgramInput, hour: Hour, samples: Sequence[HourSample]) -> bool:
    """Whether every promise holds for a fresh window."""
    found = counts_of(problem, hour, samples)
    return bool(found.holds(found.quantiles).all())


def verification(evidence: Sequence[HourEvidence], seeds: Sequence[int]) -> Verification:
    """For every promise the verdict of the hour in which it was attained least."""
    worst: dict[SloRow, SloVerdict] = {}
    for verdict in (v for e in evidence for v in e.verdicts):
        known = worst.get(verdict.row)
        if known is None or (verdict.met, verdict.kept, verdict.attainment) < (known.met, known.kept, known.attainment):
            worst[verdict.row] = verdict
    return Verification(
        seeds=tuple(seeds),
        hours=tuple(e.name for e in evidence),
        requests_simulated=sum(e.requests for e in evidence),
        verdicts=tuple(worst.values()),
        met=all(v.met for e in evidence for v in e.verdicts),
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
    if not all(v.kept for e in evidence for v in e.verdicts if v.row == row):
        return ""
    worst = min(evidence, key=lambda e: float(e.bound[i]))
    if worst.bound[i] >= row.quantile:
        return ""
    kept, seeds = int((worst.attainment[:, i] >= row.quantile).sum()), len(worst.attainment)
    return (
        f"{problem.class_names[row.class_index]} {row.metric}: kept over the hold-out seeds together, "
        f"in {worst.name} on {kept} of {seeds}; a fresh week may miss it"
    )
