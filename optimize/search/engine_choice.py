"""Engine limits as a choice: short pilots show with which ones a pool carries more, and those become pools of the market.

Not every pool is tried, only those that the program uses, or would use if other limits doubled what they carry. So the search grows by
a handful of short simulations, and not by all combinations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optimize.market.operating_point import Probe
from optimize.market.optimistic_load import class_loads
from optimize.market.pools import PoolState
from optimize.program.solve import solve
from optimize.records import LoadLevel, PoolOption, PoolTerms
from optimize.search.cache_lock import once
from optimize.search.capacity import probe_key
from optimize.search.known_market import Market, Restriction
from optimize.search.processes import processes
from optimize.search.rate_search import SEARCH_SEEDS, RateSearch, try_rate
from sim.engine.deployment import BLOCK_TOKENS, ENGINE_LIMITS, Deployment, EngineLimits
from sim.engine.memory import kv_blocks
from sim.engine.step_cost import step_cost
from sim.exact import dot
from sim.requests import Demand
from sim.scenario.scenario import Scenario

HOPE = 2.0  # times what a pool carries: limits that gain more than that are found only for pools that the program uses anyway
GAIN = 1.03  # times the rate that limits must sustain to be worth a pool of their own: a pilot is one seed, good to about 2 %
LADDER = 1.1  # from one rate of a pilot to the next while several limits keep it
FROM_NOTHING = 8.0  # likewise where nothing was sustained before
RUNGS = 12
PILOT_HOURS = 0.5  # of the window of a trial


@dataclass(frozen=True)
class Trials:
    """The pool of `probe` sustains `rate_rps` (0: nothing); how much do other limits?

    tokens      of a mean request, prompt and answer
    steady      whether a promise limits the time per token: only then smaller steps can gain anything
    """

    probe: Probe
    rate_rps: float
    tokens: float
    steady: bool

    @property
    def deployment(self) -> Deployment:
        assert self.probe.option.deployment is not None
        return self.probe.option.deployment


def add_better_limits(market: Market, restriction: Restriction) -> bool:
    """Adds to the market a pool for each one in which other engine limits carry more; whether any was added."""
    found = False
    while not found and (states := hopeful(market, restriction)):
        market.tell(f"{restriction.name}: trying other engine limits in the pools that matter")
        for state, won in zip(states, chosen_limits(market, states), strict=True):
            state.explored = True
            if won is not None:
                market.states.append(with_limits(market, state, *won))
                found = True
    return found


def hopeful(market: Market, restriction: Restriction) -> list[PoolState]:
    """Pools measured and not tried with other limits, that the program uses once it hopes for twice of what they carry."""
    if not (free(market.scenario, "max_num_batched_tokens") or free(market.scenario, "max_num_seqs")):
        return []
    pools = [state for state in market.states if restriction.keep_pool(state)]
    untried = [state.given is None and state.cost is not None and bool(state.points) and not state.explored for state in pools]
    if not any(untried):
        return []
    problem = market.problem(restriction, pools)
    terms = tuple(hoped_for(state, t) if new else t for state, new, t in zip(pools, untried, problem.pools, strict=True))
    solution = solve(replace(problem, pools=terms), gap=max(restriction.gap, 0.01), node_limit=restriction.nodes, exact=False)
    return [state for p, state in enumerate(pools) if untried[p] and solution.hosts[p].any()]


def free(scenario: Scenario, name: str) -> bool:
    """Whether the plan chooses the engine limit `name`: the scenario does not fix it, and leaves more than one value."""
    return name not in scenario.engine and len(allowed(scenario, name)) > 1


def allowed(scenario: Scenario, name: str) -> tuple[int, ...]:
    """The values that the scenario leaves to the engine limit `name`, from small to large."""
    return scenario.batched_tokens if name == "max_num_batched_tokens" else scenario.sequences


def hoped_for(state: PoolState, terms: PoolTerms) -> PoolTerms:
    """What the pool may be worth at other limits: HOPE times what was measured, and no more than is ideal."""
    level = terms.levels[0]
    load = np.where(np.isfinite(level.load), np.maximum(state.base, level.load / HOPE), state.base)
    return replace(terms, levels=(LoadLevel(load, level.miss),))


def with_limits(market: Market, state: PoolState, limits: EngineLimits, gain: float) -> PoolState:
    """The pool of `state` with other engine limits; nothing is measured in it yet, and no more hoped of it than `gain` times what `state`
    carries in its largest measurement, and one rung of the ladder."""
    option = option_with(state.option, limits)
    assert option.deployment is not None
    cost = step_cost(option.deployment, market.scenario.catalog.calibration)
    base = class_loads(option, cost, market.demand, state.slos, rigorous=False)
    size, mix = max(state.points)
    before = state.inflation(size, mix)  # of an ideal load; infinite where nothing was sustained
    ideal, here = (float(dot(np.array(mix), np.where(np.array(mix) > 0, each, 0.0))) for each in (state.base, base))
    hoped = before * ideal / (here * gain * LADDER) if math.isfinite(before) else 1.0
    return PoolState(option, cost, base, state.slos, explored=True, hoped=max(1.0, hoped))


def option_with(option: PoolOption, limits: EngineLimits) -> PoolOption:
    """The pool with other engine limits, which its id names."""
    before = option.deployment
    assert before is not None
    short = {"max_num_batched_tokens": "tokens", "max_num_seqs": "seqs"}
    words = [f"{getattr(limits, name)}-{unit}" for name, unit in short.items() if getattr(limits, name) != getattr(before.limits, name)]
    deployment = replace(before, limits=limits, variant="-".join(words))
    shape, _, classes = option.id.rpartition(":")
    return replace(option, id=f"{shape}/{deployment.variant}:{classes}", deployment=deployment)


def chosen_limits(market: Market, states: Sequence[PoolState]) -> list[tuple[EngineLimits, float] | None]:
    """For each pool the limits with which it carries most, and how many times as much as with its own (inf: those carry nothing); None
    where none carries notably more."""
    trials = [trials_of(market, state) for state in states]
    keys = [key_of(market.scenario, each) for each in trials]
    asked = dict(zip(keys, trials, strict=True))

    def answers(some: list[str]) -> list[dict[str, Any]]:
        from joblib import delayed

        lean = replace(market.scenario, warnings=())
        return list(processes(min(market.jobs, len(some)))(delayed(race)(lean, asked[key]) for key in some))

    known = once(market.store, keys, answers, at_once=1 if market.jobs == 1 else len(keys))
    found: list[tuple[EngineLimits, float] | None] = []
    for each, answer in zip(trials, (known[key] for key in keys), strict=True):
        gain = float(answer["rate_rps"]) / each.rate_rps if each.rate_rps > 0 else math.inf
        found.append((replace(each.deployment.limits, **answer["limits"]), gain) if answer["limits"] else None)
    return found


def trials_of(market: Market, state: PoolState) -> Trials:
    """The question for a pool: at the size and mix of its largest measurement."""
    assert state.cost is not None
    size, mix = max(state.points)
    demand: Demand = market.demand
    ideal = sum(share * state.base[c] for c, share in enumerate(mix) if share > 0)
    hours, busiest = demand.mean_rps.shape[1], int(np.argmax(dot(np.where(np.isfinite(state.base), state.base, 0.0), demand.mean_rps)))
    probe = Probe(state.option, state.cost, mix, size, state.slos, size / ideal, market.scenario.policy.safety, True, hours, busiest)
    rate = state.points[size, mix].rate_rps / (1 - probe.safety)
    tokens = float(dot(np.array(mix), demand.input_tokens + demand.output_tokens))
    steady = any(row.metric == "tpot" and mix[row.class_index] > 0 for row in state.slos)
    return Trials(probe, rate, tokens, steady)


def key_of(scenario: Scenario, trials: Trials) -> str:
    """The key of a race in the store."""
    choice = [(allowed(scenario, name), free(scenario, name)) for name in ENGINE_LIMITS]
    settings = [GAIN, LADDER, FROM_NOTHING, RUNGS, PILOT_HOURS, SEARCH_SEEDS[0]]
    return f"limits {probe_key(scenario, trials.probe)} {trials.rate_rps!r} {trials.tokens!r} {choice!r} {settings!r}"


def race(scenario: Scenario, trials: Trials) -> dict[str, Any]:
    """The limits with which the pool sustains most, and about how much: first the tokens of a step, then its sequences.

    `limits` is empty where none sustains GAIN times what the pool's own do. Of equals the one nearest to the pool's own wins.
    """
    best, rate = trials.deployment.limits, trials.rate_rps
    for name in ("max_num_batched_tokens", "max_num_seqs"):
        if free(scenario, name):
            best, rate = climb(scenario, trials, best, rate, list(rivals(scenario, trials, best, name)))
    changed = {name: getattr(best, name) for name in ENGINE_LIMITS} if best != trials.deployment.limits else {}
    return {"rate_rps": rate, "miss": [], "limits": changed}


def climb(scenario: Scenario, trials: Trials, own: EngineLimits, rate: float, others: list[EngineLimits]) -> tuple[EngineLimits, float]:
    """The one of `others` that sustains the highest rate of a ladder above `rate`, with that rate; `own` where none does."""
    search = RateSearch(scenario, trials.probe)
    step, best = (LADDER, own) if rate > 0 else (FROM_NOTHING, own)
    asked = rate * GAIN if rate > 0 else search.rate(search.lowest)
    for _ in range(RUNGS):
        others = [limits for limits in others if sustains(scenario, search, trials, limits, asked)]
        if not others:
            break
        best, rate = others[0], asked
        if len(others) == 1:
            break
        asked *= step
    return best, rate


def sustains(scenario: Scenario, search: RateSearch, trials: Trials, limits: EngineLimits, rate_rps: float) -> bool:
    """Whether one seed of the pool with these limits keeps every promise at `rate_rps`, in a short window."""
    option = option_with(trials.probe.option, limits)
    assert option.deployment is not None
    probe = replace(trials.probe, option=option, cost=step_cost(option.deployment, scenario.catalog.calibration))
    return search.sustained(try_rate(scenario, probe, rate_rps, SEARCH_SEEDS[:1], PILOT_HOURS))


def rivals(scenario: Scenario, trials: Trials, own: EngineLimits, name: str) -> Iterator[EngineLimits]:
    """Other values of the limit `name` that may gain something, the nearest to its own value first.

    Smaller steps gain only where the time per token is promised; more sequences only where the KV cache can hold them.
    """
    today = getattr(own, name)
    for value in sorted(allowed(scenario, name), key=nearness(today)):
        if value == today or (value < today and not trials.steady):
            continue
        if name == "max_num_batched_tokens":
            if "max_num_seqs" in scenario.engine and value < own.max_num_seqs:
                continue
            limits = replace(own, max_num_batched_tokens=value, max_num_seqs=min(own.max_num_seqs, value))
        elif value > min(own.max_num_batched_tokens, 2 * kv_blocks(trials.deployment) * BLOCK_TOKENS / trials.tokens):
            continue
        else:
            limits = replace(own, max_num_seqs=value)
        if kv_blocks(replace(trials.deployment, limits=limits)) > 0:
            yield limits


def nearness(today: int) -> Callable[[int], tuple[float, int]]:
    """How many times a value is larger or smaller than `today`, the key to sort by."""
    return lambda value: (max(value / today, today / value), value)
