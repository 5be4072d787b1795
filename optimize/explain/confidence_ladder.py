"""What certainty costs: the plan's program solved again with every pool as slow as other chances ask, from shared measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from optimize.market.drawn_scores import joint_probability
from optimize.market.pools import PoolState
from optimize.program.solve import solve
from optimize.records import LoadLevel, PoolTerms, ProgramInput, ProgramSolution
from optimize.result import Chance, Rung
from optimize.search.capacity import measure_all
from optimize.search.chance import cost_at, law_of, row_of, stated, worlds
from optimize.search.engine_choice import trials_of
from optimize.search.known_market import Market, Settled
from sim.calibration.doubt import doubt_of, probability_at, score_of
from sim.engine.deployment import Deployment, StepCost
from sim.exact import exp

RUNGS = (0.5, 0.8, 0.9, 0.95)
GAP = 0.01
NAMED = 3  # offers of a rung that are named


class Slowness:
    """How the load of each pool changes with the score of its law: measured roughly where the plan uses it, else as steps do.

    `factor(state, score)` is load at `score` over load as planned; measured once per score.
    """

    def __init__(self, market: Market, settled: Settled, planned_at: float) -> None:
        self.market, self.planned = market, score_of(planned_at)
        self.law, self.scenario = law_of(market), stated(market)
        hosts = settled.solution.hosts
        self.used = [state for p, state in enumerate(settled.pools) if hosts[p].any() and state.points and state.cost is not None]
        self.known: dict[tuple[str, float], float] = {}

    def measure(self, scores: Sequence[float]) -> None:
        """Learns the pools that the plan uses at these scores, all side by side."""
        asked = [
            (state, z) for state in self.used for z in dict.fromkeys((self.planned, *scores)) if (state.option.id, z) not in self.known
        ]
        probes = [replace(trials_of(self.market, state).probe, cost=self._cost(state, z)) for state, z in asked]
        points = measure_all(self.market.scenario, probes, self.market.store, self.market.jobs)
        for (state, z), point in zip(asked, points, strict=True):
            self.known[state.option.id, z] = point.rate_rps

    def _cost(self, state: PoolState, z: float) -> StepCost:
        assert state.option.deployment is not None
        return cost_at(self.law, self.scenario, state.option.deployment, z)

    def factor(self, state: PoolState, score: float) -> float:
        """Load at `score` over load as planned; infinite where the pool then serves nothing."""
        rates = self.known.get((state.option.id, score)), self.known.get((state.option.id, self.planned))
        if rates[0] is not None and rates[1]:
            return rates[1] / rates[0] if rates[0] > 0 else math.inf
        return float(exp(self.log_step(state, score) - self.log_step(state, self.planned))) if state.option.deployment else 1.0

    def log_step(self, state: PoolState, score: float) -> float:
        """Log factor on the steps of the pool at this score."""
        assert state.option.deployment is not None
        doubt = doubt_of(self.law, row_of(self.scenario, state.option.deployment))
        return doubt.slow(probability_at(score), self.scenario.traffic_error)[0]

    def problem(self, settled: Settled, score: float, only: Deployment | None = None) -> ProgramInput:
        """The plan's program with every pool, or those of one deployment, as slow as at `score`."""
        pools = []
        for terms, state in zip(settled.problem.pools, settled.pools, strict=True):
            mine = state.option.deployment is not None and (only is None or state.option.deployment.id == only.id)
            pools.append(slower_terms(terms, self.factor(state, score)) if mine else terms)
        return replace(settled.problem, pools=tuple(pools), budget_usd=math.inf)


def slower_terms(terms: PoolTerms, factor: float) -> PoolTerms:
    """The pool with `factor` times the load of a request."""
    if factor == 1.0:
        return terms
    levels = tuple(LoadLevel(np.where(np.isfinite(each.load), each.load * factor, np.inf), each.miss, each.spill) for each in terms.levels)
    return replace(terms, levels=levels)


def ladder(market: Market, settled: Settled, chance: Chance, slowness: Slowness) -> tuple[Rung, ...]:
    """A rung per chance: what the plan costs there and the hosts of its busiest hour. Only that of the plan itself is proved.

    The other rungs are told by their difference from the plan's own program, so that removals of the proof count in all of them.
    """
    drawn = worlds(market, settled)
    offset = score_of(chance.planned_at) - score_of(joint_probability(drawn, chance.target))
    scores = {q: score_of(joint_probability(drawn, q)) + offset for q in RUNGS}
    market.tell("confidence: what other chances cost")
    slowness.measure([z for q, z in scores.items() if q != chance.target])
    base = solve(slowness.problem(settled, slowness.planned), gap=GAP)
    rungs = []
    for q, z in scores.items():
        if q == chance.target:
            rungs.append(Rung(q, settled.solution.cost_usd, fleet_words(settled.problem, settled.solution), True))
            continue
        problem = slowness.problem(settled, z)
        found = solve(problem, gap=GAP)
        served = not (found.unserved > 1e-6 * np.maximum(problem.demand.mean_rps, 1e-12)).any()
        cost = settled.solution.cost_usd + found.cost_usd - base.cost_usd if served else None
        rungs.append(Rung(q, cost, fleet_words(problem, found) if served else "no plan", False))
    return monotone(rungs)


def monotone(rungs: Sequence[Rung]) -> tuple[Rung, ...]:
    """The rungs with costs that never fall as the chance rises: differences below the program's gap are noise."""
    proved = next((k for k, rung in enumerate(rungs) if rung.proved), None)
    found = list(rungs)
    if proved is None or found[proved].usd is None:
        return tuple(found)
    for k in range(proved + 1, len(found)):
        low, own = found[k - 1].usd, found[k].usd
        found[k] = replace(found[k], usd=None if own is None or low is None else max(own, low))
    for k in range(proved - 1, -1, -1):
        high, own = found[k + 1].usd, found[k].usd
        found[k] = replace(found[k], usd=own if own is None or high is None else min(own, high))
    return tuple(found)


def fleet_words(problem: ProgramInput, solution: ProgramSolution) -> str:
    """Hosts of the busiest hour by offer, most first, and whether relays help: "12 aws.g6e.xlarge + relays"."""
    hosts: dict[str, int] = {}
    for p, terms in enumerate(problem.pools):
        if solution.hosts[p].any():
            hosts[terms.option.offer.id] = hosts.get(terms.option.offer.id, 0) + int(solution.hosts[p].max())
    ranked = sorted(hosts.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{count} {offer}" for offer, count in ranked[:NAMED]]
    words += [f"{len(ranked) - NAMED} more"] if ranked[NAMED:] else []
    words += ["relays"] if solution.relay_flow.any() else []
    return " + ".join(words) or "nothing"


def kinds_of(settled: Settled) -> Mapping[str, Deployment]:
    """Deployments of the plan, by id, those with most requests first."""
    flow = settled.solution.pool_flow.sum(axis=(1, 2))
    order = sorted(range(len(settled.pools)), key=lambda p: (-float(flow[p]), p))
    found = (settled.pools[p].option.deployment for p in order if flow[p] > 0)
    return {each.id: each for each in found if each is not None}
