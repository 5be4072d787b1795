"""What users feel when the timetable changes: hours played right after the one before them, on the event core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from optimize.records import Floats, HostMove, PlayedHour, ProgramInput, ProgramSolution, Verification
from optimize.search.cache import CapacityStore
from optimize.search.cache_key import content_hash
from optimize.search.capacity import SEMANTICS
from optimize.search.fresh_seeds import LOOKS
from optimize.search.hour_cache import RULES, plausible_hour, restored, stored
from optimize.search.hour_evidence import HourEvidence, decided, gather, quantiles_of
from optimize.search.processes import processes
from optimize.search.simulated_hour import WARMUP_S, Hour, HourSample, sample_of, without_backlog
from optimize.search.stretch import Stretch, change_stretches, day_stretches, stretch_of
from sim.engine.deployment import PS, StepCost
from sim.fleet.life.simulate_life import simulate_lifecycle
from sim.plural import counted
from sim.scenario.scenario import Scenario
from sim.traffic import slice_length_s, stretch

SOON_S = 600.0  # after a change: shown next to the whole hour, by which the promise is judged
PROOFS = ("hours", "changes", "day")  # what is played: each hour alone, also the steepest changes, every hour of the week


@dataclass(frozen=True)
class Played:
    """One hour after the one before it: the whole hour, judged as an hour of the week is, and its first minutes, all seeds together."""

    before: int
    moves: tuple[HostMove, ...]
    hour: HourEvidence
    soon: HourEvidence

    @property
    def met(self) -> bool:
        """Whether every promise is kept in the hour."""
        return all(verdict.met for verdict in self.hour.verdicts)


def play(
    scenario: Scenario,
    problem: ProgramInput,
    solution: ProgramSolution,
    costs: Sequence[StepCost | None],
    seeds: Sequence[int],
    jobs: int,
    proof: str = "changes",
    tell: Callable[[str], None] = lambda _: None,
    store: CapacityStore | None = None,
    evidence: Sequence[HourEvidence] = (),
) -> list[Played]:
    """The steepest changes of the timetable (`proof` "changes"), or every hour of the week after the one before it ("day").

    As many of `seeds` as it takes to settle each hour, look by look, at the risk that an hour of the week has: what is played is what
    the week will be. `evidence` is that of the hours by themselves, of which the scatter is known. Empty where nothing ever changes, and
    where a classifier stands before the fleet. Stretches that `store` has are not simulated again.
    """
    from joblib import delayed

    store, length_s = CapacityStore(None) if store is None else store, slice_length_s(scenario)
    wanted = day_stretches(problem.demand, length_s) if proof == "day" else change_stretches(problem, solution, length_s)
    found = [stretch_of(scenario, problem, solution, costs, slices, lengths_s) for slices, lengths_s in wanted]
    stretches = [each for each in found if each is not None]
    alone = {each.hour.index: each.attainment for each in evidence}
    keys = [stretch_key(scenario, problem, each, seeds, alone) for each in stretches]
    known = [known_stretch(store, key, problem, each) for key, each in zip(keys, stretches, strict=True)]
    missing = [k for k, each in enumerate(known) if each is None]
    if missing:
        hours = sum(len(stretches[k].moves) for k in missing)
        tell(f"playing {counted(hours, 'hour')} after the hour before, event by event")
    played = processes(jobs)(delayed(play_stretch)(scenario, problem, stretches[k], seeds, alone) for k in missing)
    for k, hours_played in zip(missing, played, strict=True):
        store.put(keys[k], {"hours": [{"hour": stored(each.hour), "soon": stored(each.soon)} for each in hours_played]})
        known[k] = hours_played
    return [each for stretch_hours in known for each in stretch_hours or ()]


def play_stretch(
    scenario: Scenario, problem: ProgramInput, part: Stretch, seeds: Sequence[int], alone: Mapping[int, Floats]
) -> list[Played]:
    """The hours of the stretch, judged on as many of `seeds` as settle each of them; `alone` is what they attain by themselves."""
    samples: list[list[tuple[HourSample, HourSample]]] = []
    for look in (*(n for n in LOOKS if n < len(seeds)), len(seeds)):
        samples += [_samples(scenario, problem, part, seed) for seed in seeds[len(samples) : look]]
        if all(_settled(problem, part, [each[k][0] for each in samples], k, alone) for k in range(len(part.moves))):
            break
    return _judged(problem, part, samples, alone)


def _settled(problem: ProgramInput, part: Stretch, samples: Sequence[HourSample], k: int, alone: Mapping[int, Floats]) -> bool:
    return decided(samples, quantiles_of(problem), len(problem.demand.slices), alone.get(part.slices[k + 1]))


def _samples(scenario: Scenario, problem: ProgramInput, part: Stretch, seed: int) -> list[tuple[HourSample, HourSample]]:
    """For each hour after the first what one seed yields: of the hour, and of its first minutes."""
    requests = without_backlog(stretch(scenario, part.slices, part.lengths_s, seed, WARMUP_S), part.keep, seed)
    result = simulate_lifecycle(part.fleet, part.life, requests, seed).simulation
    log, targets, begins = result.log, len(part.fleet.targets), part.begins_ps
    samples = []
    for k, (start, end) in enumerate(pairwise(begins[1:])):
        hour, soon = (sample_of(problem, targets, log, log.target, (start, min(end, to))) for to in (end, start + round(SOON_S * PS)))
        told = (result.events, len(requests)) if k == 0 else (0, 0)  # of the whole run, counted once
        samples.append((replace(hour, events=told[0], by_event=told[1]), soon))
    return samples


def _judged(
    problem: ProgramInput, part: Stretch, samples: Sequence[list[tuple[HourSample, HourSample]]], alone: Mapping[int, Floats]
) -> list[Played]:
    """All seeds of a stretch, hour by hour; the first minutes are shown and not judged."""
    found = []
    for k, moves in enumerate(part.moves):
        place, known = _place(part, k), alone.get(part.slices[k + 1])
        hour = gather(problem, place, [seed[k][0] for seed in samples], {}, known)
        soon = by_mean(gather(problem, place, [seed[k][1] for seed in samples], {}))
        found.append(Played(part.slices[k], moves, hour, soon))
    return found


def by_mean(evidence: HourEvidence) -> HourEvidence:
    """The evidence with each promise judged by what its requests attained together: no claim about a fresh week rests on it."""
    return replace(evidence, verdicts=tuple(replace(each, met=each.attainment >= each.row.quantile) for each in evidence.verdicts))


def _place(part: Stretch, k: int) -> Hour:
    return Hour(part.slices[k + 1], part.fleet, part.pools, part.relays, part.keep)


def stretch_key(scenario: Scenario, problem: ProgramInput, part: Stretch, seeds: Sequence[int], alone: Mapping[int, Floats]) -> str:
    """Hash of all that the evidence of a stretch depends on."""
    traffic, known = (scenario.traffic, scenario.request_classes), [alone.get(t) for t in part.slices[1:]]
    return content_hash("stretch", SEMANTICS, RULES, part, traffic, problem.slos, problem.demand.slices, tuple(seeds), known)


def known_stretch(store: CapacityStore, key: str, problem: ProgramInput, part: Stretch) -> list[Played] | None:
    """The stored hours of a stretch; None where there are none that can be read."""
    value = store.get(key, lambda each: _plausible(each, len(part.moves)))
    if value is None:
        return None
    try:
        hours = [[restored(each[name], problem, _place(part, k)) for name in ("hour", "soon")] for k, each in enumerate(value["hours"])]
    except (KeyError, TypeError, ValueError):
        return None
    return [Played(part.slices[k], part.moves[k], hour, soon) for k, (hour, soon) in enumerate(hours)]


def _plausible(value: Any, hours: int) -> bool:
    try:
        return len(value["hours"]) == hours and all(plausible_hour(each[name]) for each in value["hours"] for name in ("hour", "soon"))
    except (KeyError, TypeError):
        return False


def with_played(proof: Verification, problem: ProgramInput, played: Sequence[Played]) -> Verification:
    """The verification with the played hours in it: a promise that one of them misses is missed, with the verdict of that hour."""
    worst = {verdict.row: verdict for verdict in proof.verdicts}
    for verdict in (v for each in played for v in each.hour.verdicts if not v.met):
        known = worst.get(verdict.row)
        if known is None or known.met or verdict.attainment < known.attainment:
            worst[verdict.row] = verdict
    by_event = sum(each.hour.by_event for each in played)
    return replace(
        proof,
        requests_simulated=proof.requests_simulated + by_event,
        verdicts=tuple(worst.values()),
        met=proof.met and all(each.met for each in played),
        events=proof.events + sum(each.hour.events for each in played),
        by_event=proof.by_event + by_event,
        played=shown(problem, played),
    )


def shown(problem: ProgramInput, played: Sequence[Played]) -> tuple[PlayedHour, ...]:
    """The played hours as reports show them."""
    names = problem.demand.slices
    return tuple(
        PlayedHour(
            before=names[each.before],
            hour=each.hour.name,
            moves=each.moves,
            verdicts=each.hour.verdicts,
            soon=each.soon.verdicts,
            soon_s=SOON_S,
            seeds=len(each.hour.attainment),
            requests=each.hour.requests,
            events=each.hour.events,
        )
        for each in played
    )
