"""The chance that a plan holds over the law of what is not known: its binding hours played at rising scores of that law, and between
them interpolated in thousands of drawn worlds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.market.believed import relay_at
from optimize.market.drawn_scores import DRAWS, Drawn, drawn
from optimize.records import Floats, ProgramInput
from optimize.result import Blame, Chance
from optimize.search.fresh_seeds import seeds_of
from optimize.search.hour_evidence import quantiles_of
from optimize.search.known_market import Market, Settled
from optimize.search.processes import processes
from optimize.search.simulated_hour import Hour, HourSample, fleet_of, simulate_hour
from optimize.search.verify import hours_to_simulate
from sim.calibration.doubt import SCORES, Doubt, doubt_of, probability_at, score_of
from sim.catalog.error_law import ErrorLaw
from sim.catalog.facts import CalibrationRow
from sim.engine.deployment import Deployment, StepCost
from sim.engine.slower_steps import longer_steps
from sim.engine.step_cost import best_row, step_cost
from sim.exact import exp
from sim.plural import counted
from sim.scenario.scenario import Scenario

OFFSETS = (-0.5, -0.2, 0.0, 0.2, 0.45, 0.8, 1.3)  # of the scores that are played, around the one that was planned for
HOURS = 3
SEEDS = (30_101, 30_102)  # neither searched on nor held out
NORMAL = 1.96


@dataclass(frozen=True)
class PlayedHour:
    """Counts of one hour at each of the played scores: `met` and `seen` [scores, targets + 1, slo rows]."""

    hour: Hour
    met: Floats
    seen: Floats


@dataclass(frozen=True)
class Curves:
    """A plan's binding hours at rising `scores`, the same for all of its engines and relays."""

    scores: tuple[float, ...]
    hours: tuple[PlayedHour, ...]


def stated(market: Market) -> Scenario:
    """The scenario of the market with engines and relays as simulated, and not as they are believed to be."""
    if market.stated is None:
        return market.scenario
    return replace(market.scenario, catalog=market.stated.catalog, relays=market.stated.relays)


def law_of(market: Market) -> ErrorLaw:
    """The law of the scenario's catalogue, which must have one."""
    law = stated(market).catalog.error_law
    assert law is not None
    return law


def used_deployments(settled: Settled) -> dict[str, Deployment]:
    """Deployments that the plan runs, by id."""
    pools = (settled.problem.pools[p].option for p in range(len(settled.pools)) if settled.solution.hosts[p].any())
    return {option.deployment.id: option.deployment for option in pools if option.deployment is not None}


def engine_of(deployment: Deployment) -> str:
    """What errs as one, whatever limits and KV format it runs with: a model in a format on so many GPUs of a kind."""
    return f"{deployment.model.id}/{deployment.weights.id}/{deployment.gpu.id}/tp{deployment.tensor_parallel}"


def used_relays(settled: Settled) -> list[str]:
    """Ids of the relays that the plan calls."""
    return [terms.relay.id for a, terms in enumerate(settled.problem.relays) if settled.solution.relay_flow[a].any()]


def worlds(market: Market, settled: Settled, draws: int = DRAWS) -> Drawn:
    """Draws of everything that this plan rests on."""
    kinds = {engine_of(each): (each.gpu.id, each.weights.id) for each in used_deployments(settled).values()}
    return drawn(law_of(market).correlations, kinds, used_relays(settled), stated(market).seed, draws)


def row_of(scenario: Scenario, deployment: Deployment) -> CalibrationRow:
    """The calibration row that prices this deployment as the scenario states it."""
    row = best_row(deployment, scenario.catalog.calibration)
    assert row is not None
    return row


def cost_at(law: ErrorLaw, scenario: Scenario, deployment: Deployment, score: float) -> StepCost:
    """The step cost of a deployment at one score of its law."""
    row = row_of(scenario, deployment)
    step, first_s = doubt_of(law, row).slow(probability_at(score), scenario.traffic_error)
    return step_cost(deployment, (longer_steps(row, float(exp(step)), first_s),))


def problem_at(law: ErrorLaw, scenario: Scenario, problem: ProgramInput, score: float) -> ProgramInput:
    """The program with every relay as slow as at this score; only what is simulated changes."""
    known = {relay.id: relay for relay in scenario.relays}
    relays = tuple(
        replace(terms, relay=relay_at(law, known.get(terms.relay.id, terms.relay), probability_at(score))) for terms in problem.relays
    )
    return replace(problem, relays=relays)


def fleets_at(market: Market, settled: Settled, hours: Sequence[int], score: float) -> list[Hour]:
    """The plan's fleets in these hours when everything is as slow as at this score."""
    law, scenario = law_of(market), stated(market)
    costs = [
        None
        if state.option.deployment is None or not settled.solution.hosts[p].any()
        else cost_at(law, scenario, state.option.deployment, score)
        for p, state in enumerate(settled.pools)
    ]
    problem = problem_at(law, scenario, settled.problem, score)
    return [fleet_of(scenario, problem, settled.solution, costs, t) for t in hours]


def curves(market: Market, settled: Settled, around: float) -> Curves:
    """The binding hours at the scores around `around`; every score on the same seeds."""
    from joblib import delayed

    scores, hours = tuple(around + offset for offset in OFFSETS), hours_to_simulate(settled.problem, settled.solution, limit=HOURS)
    market.tell(f"confidence: playing {counted(len(hours), 'hour')} at {len(scores)} sizes of the error")
    scenario, seeds = stated(market), seeds_of(stated(market).seed, SEEDS)
    slots = [(k, hour) for score in scores for k, hour in enumerate(fleets_at(market, settled, hours, score))]
    with processes(market.jobs) as parallel:
        samples = list(parallel(delayed(simulate_hour)(scenario, settled.problem, hour, seed) for _, hour in slots for seed in seeds))
    per_slot = [samples[i : i + len(seeds)] for i in range(0, len(samples), len(seeds))]
    return Curves(
        scores, tuple(_played([(hour, s) for (k, hour), s in zip(slots, per_slot, strict=True) if k == n]) for n in range(len(hours)))
    )


def _played(found: Sequence[tuple[Hour, Sequence[HourSample]]]) -> PlayedHour:
    met, seen = (
        np.array([np.sum([getattr(s, name) for s in samples], axis=0) for _, samples in found], np.float64) for name in ("met", "seen")
    )
    return PlayedHour(found[0][0], met, seen)


def scores_of(market: Market, settled: Settled, drawn: Drawn, hour: Hour) -> list[Floats]:
    """[targets + 1] of [draws] the score at which each target of the hour stands; the forecast counts like longer steps."""
    law, scenario = law_of(market), stated(market)
    found = []
    for p in hour.pools:
        deployment = settled.problem.pools[p].option.deployment
        assert deployment is not None
        own = drawn.deployments[engine_of(deployment)]
        found.append(with_demand(doubt_of(law, row_of(scenario, deployment)), own, drawn.forecast, scenario.traffic_error))
    found += [drawn.relays.get(settled.problem.relays[a].relay.id, np.zeros(len(drawn.forecast))) for a in hour.relays]
    return [*found, np.zeros(len(drawn.forecast))]


def with_demand(doubt: Doubt, own: Floats, forecast: Floats, deviation: float) -> Floats:
    """The score at which steps alone would be as long as steps of score `own` and demand of score `forecast` together make them."""
    if deviation == 0:
        return own
    alone = [doubt.slow(probability_at(z))[0] for z in SCORES]
    both = [doubt.slow(probability_at(z), deviation)[0] for z in SCORES]
    return np.asarray(np.interp(np.interp(own, SCORES, alone) + deviation * forecast, both, SCORES))


def attained_in(played: PlayedHour, scores: Sequence[float], at: Sequence[Floats]) -> Floats:
    """[draws, slo rows] attainment of the hour with each target at its own score: counts interpolated, flat beyond the played scores.

    Targets are taken to be independent of each other once the shares are fixed; with overflow they are not quite.
    """
    met, seen = (np.zeros((len(at[0]), played.met.shape[2])) for _ in range(2))
    for k, own in enumerate(at):
        for i in range(played.met.shape[2]):
            met[:, i] += np.interp(own, scores, played.met[:, k, i])
            seen[:, i] += np.interp(own, scores, played.seen[:, k, i])
    return np.where(seen > 0, met / np.maximum(seen, 1e-9), 1.0)


def held_in(market: Market, settled: Settled, found: Curves, drawn: Drawn) -> tuple[Floats, list[Blame]]:
    """[draws] whether every promise holds in every played hour, and what breaks it, the most frequent first."""
    quantiles, held = quantiles_of(settled.problem), np.ones(len(drawn.forecast), bool)
    blame: dict[tuple[str, str], int] = {}
    for played in found.hours:
        attained = attained_in(played, found.scores, scores_of(market, settled, drawn, played.hour))
        missed = attained < quantiles - 1e-9
        for i in np.flatnonzero(missed.any(axis=0)).tolist():
            row = settled.problem.slos[i]
            name = f"{settled.problem.class_names[row.class_index]} {row.metric} p{100 * row.quantile:g}"
            key = (name, settled.problem.demand.slices[played.hour.index])
            blame[key] = blame.get(key, 0) + int(missed[:, i].sum())
        held &= ~missed.any(axis=1)
    ranked = sorted(blame.items(), key=lambda item: (-item[1], item[0]))
    return held, [Blame(name, hour, count / len(held)) for (name, hour), count in ranked]


def chance_of(market: Market, settled: Settled, planned_at: float, target: float) -> tuple[Chance, Curves]:
    """The plan's chance, and the curves that it rests on. `planned_at`: the probability whose errors were planned for."""
    drawn, found = worlds(market, settled), curves(market, settled, score_of(planned_at))
    held, blame = held_in(market, settled, found, drawn)
    share = float(held.mean())
    width = NORMAL * math.sqrt(max(share * (1 - share), 1e-9) / len(held))
    hours = tuple(settled.problem.demand.slices[each.hour.index] for each in found.hours)
    return Chance(target, share, width, len(held), hours, planned_at, tuple(blame[:3]), step_factors(market, settled, planned_at)), found


def step_factors(market: Market, settled: Settled, probability: float) -> Mapping[str, float]:
    """Deployment -> how many times as long as simulated its steps are, at this probability."""
    law, scenario = law_of(market), stated(market)
    return {
        name: round(float(exp(doubt_of(law, row_of(scenario, each)).slow(probability, scenario.traffic_error)[0])), 4)
        for name, each in used_deployments(settled).items()
    }
