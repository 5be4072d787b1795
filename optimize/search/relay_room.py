"""What a relay with hard limits sustains in a peak minute: refused calls are tried again, and a promise lets some of them be late.

The program holds a relay's limits at the peak minute, as if a refused call were lost. Where that binds, the simulator is asked how far
beyond them the peak minute may go while every promise of the calls holds, retries and all; so many times its limits the relay may then get.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optimize.records import ProgramInput, ProgramSolution, RelayTerms, SloRow
from optimize.search.cache_key import content_hash
from optimize.search.cache_lock import once
from optimize.search.capacity import SEMANTICS
from optimize.search.known_market import Market, Settled
from optimize.search.rate_search import PLAIN_WARMUP_S, SEARCH_SEEDS
from optimize.search.users import loop_of
from sim.engine.deployment import PS
from sim.exact import dot
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from sim.latency import attainment, class_metrics
from sim.relay.endpoint import RelayEndpoint
from sim.scenario.scenario import LogTraffic, Scenario
from sim.traffic import at_rates
from sim.traffic.model_tokens import counted_by_class

BINDS = 0.98  # of a limit in the peak minute, from which on it is worth asking
TIMES = (1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0)  # the limits, at the peak minute
ROOM = 0.25  # of the misses that a promise allows, which are kept for fresh seeds
WINDOW_S, SHORTEST_S, ENOUGH = 3600.0, 600.0, 100_000


@dataclass(frozen=True)
class Question:
    """`rates_rps` [classes] go to the relay in the hour in which its peak minute is just at its limits."""

    terms: RelayTerms
    rates_rps: tuple[float, ...]
    slos: tuple[SloRow, ...]


def add_relay_room(market: Market, settled: Settled) -> bool:
    """Learns of each relay of which a hard limit binds how far beyond it the peak minute may go; whether any may."""
    if (
        isinstance(market.scenario.traffic, LogTraffic)
        or loop_of(market.scenario) is not None
        or any(each.classifier for each in market.scenario.request_classes)
    ):
        return False
    asked = {terms.relay.id: found for a, terms in enumerate(settled.problem.relays) if (found := question(market, settled, a)) is not None}
    if not asked:
        return False
    market.tell("measuring what relays sustain at their limits, with retries")
    keys = {name: key_of(market.scenario, each) for name, each in asked.items()}
    by_key = {keys[name]: each for name, each in asked.items()}
    known = once(market.store, list(by_key), lambda some: [sustained(market.scenario, by_key[key]) for key in some])
    for k, terms in enumerate(market.relays):
        if terms.relay.id in asked:
            market.relays[k] = replace(terms, sustained=float(known[keys[terms.relay.id]]["rate_rps"]))
    return any(known[key]["rate_rps"] > 1 for key in keys.values())


def question(market: Market, settled: Settled, a: int) -> Question | None:
    """What is asked of relay `a` of the solution; None where no hard limit binds, or it was asked before."""
    terms = settled.problem.relays[a]
    if not terms.hard_limits or terms.sustained is not None or terms.tiers or terms.units is not None:
        return None
    t, use = fullest(settled.problem, settled.solution, a)
    if use < BINDS:
        return None
    return Question(terms, tuple(float(rate) / use for rate in settled.solution.relay_flow[a, :, t]), market.slos)


def fullest(problem: ProgramInput, solution: ProgramSolution, a: int) -> tuple[int, float]:
    """(slice, share of its limits that relay `a` uses in the peak minute of that slice), where that is largest."""
    terms, per_minute = problem.relays[a], 60.0 * problem.demand.peak_factor * solution.relay_flow[a]
    uses = [np.zeros(per_minute.shape[1])]
    uses += [per_minute.sum(axis=0) / terms.relay.rpm] if terms.relay.rpm else []
    uses += [dot(terms.tokens_per_request, per_minute) / terms.relay.tpm] if terms.relay.tpm else []
    use = np.max(uses, axis=0)
    return int(np.argmax(use)), float(use.max())


def key_of(scenario: Scenario, asked: Question) -> str:
    """The key of the answer in the store."""
    settings = [SEMANTICS, scenario.seed, BINDS, TIMES, ROOM, WINDOW_S, SHORTEST_S, ENOUGH, SEARCH_SEEDS]
    return "relay room " + content_hash(scenario.traffic, scenario.request_classes, asked.terms, asked.rates_rps, asked.slos, settings)


def sustained(scenario: Scenario, asked: Question) -> dict[str, Any]:
    """`rate_rps`: how many times its limits the relay sustains, 1 where no more; the form of an answer is that of the store."""
    low, high = -1, len(TIMES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(scenario, asked, TIMES[middle]) else (low, middle)
    return {"rate_rps": TIMES[low] if low >= 0 else 1.0, "miss": []}


def keeps(scenario: Scenario, asked: Question, times: float) -> bool:
    """Whether the relay alone, held to its limits, keeps every promise with room at `times` the rates of the question."""
    missed = [miss_of(scenario, asked, times, seed) for seed in SEARCH_SEEDS]
    mean = np.mean(missed, axis=0)
    return all(m <= (1 - ROOM) * (1 - row.needed) for m, row in zip(mean, asked.slos, strict=True))


def miss_of(scenario: Scenario, asked: Question, times: float, seed: int) -> list[float]:
    """[slo rows] share of calls that miss the promise on one seed; 0 for classes that do not call."""
    rates = [rate * times for rate in asked.rates_rps]
    watched_s = min(WINDOW_S, max(SHORTEST_S, ENOUGH / math.fsum(rates)))
    sent = counted_by_class(at_rates(scenario, rates, seed=seed, duration_s=PLAIN_WARMUP_S + watched_s), asked.terms.token_factors)
    shares = np.array([[float(rate > 0)] for rate in rates])
    log = simulate(Fleet((RelayEndpoint(asked.terms.relay.id, asked.terms.relay),), shares), sent, seed=seed, event_per_arrival=False).log
    from_ps, to_ps = round(PLAIN_WARMUP_S * PS), round((PLAIN_WARMUP_S + watched_s) * PS)
    found = []
    for row in asked.slos:
        seen = class_metrics(log, row.class_index, from_ps, to_ps)[row.metric] + scenario.request_classes[row.class_index].before_s(
            row.metric
        )
        found.append(1 - attainment(seen, row.limit_s) if rates[row.class_index] > 0 and len(seen) else 0.0)
    return found
