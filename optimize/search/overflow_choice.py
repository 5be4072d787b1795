"""Overflow as a choice: a pool that is full sends its next request to a relay, so that its hosts are chosen for usual minutes.

What a pool serves itself and what overflows is measured on the simulator at several loads, not computed. The threshold is the largest at
which the pool keeps its promises at a quarter more than it sustains without overflow; loads at which it does not are no choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optimize.market.engine_settings import priorities_of, router_of
from optimize.market.operating_point import Probe, pool_of
from optimize.market.pools import PoolState, capacity_line, rounded_size
from optimize.money import plan_cost_usd
from optimize.money.amounts import amount_usd, scaled_usd
from optimize.program.solve import solve
from optimize.records import Floats, LoadLevel, PoolTerms, RelayTerms, Spill
from optimize.search.cache_lock import once
from optimize.search.capacity import probe_key
from optimize.search.hour_evidence import HourEvidence
from optimize.search.known_market import Market, Restriction, Settled
from optimize.search.processes import processes
from optimize.search.rate_search import SEARCH_SEEDS, warmup_s, window_s
from optimize.search.users import loop_of
from sim.catalog.facts import Relay
from sim.engine.deployment import PS
from sim.exact import dot
from sim.fleet.fleet import Fleet, Overflow
from sim.fleet.simulate import simulate
from sim.latency import attainment, class_metrics
from sim.plural import counted
from sim.relay.endpoint import RelayEndpoint
from sim.scenario.scenario import LogTraffic, Scenario
from sim.traffic import at_rates
from sim.traffic.model_tokens import counted_by_class

THRESHOLDS = (8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 256, 320, 384, 512)
OFFERED = (0.85, 1.0, 1.1, 1.25, 1.5)  # times what the pool sustains without overflow
FLOOD = 1.25  # likewise, where the threshold is found
ROOM = 0.25  # of the misses that a promise allows, which the pool leaves to the relay and to fresh seeds
ACCURATE = 0.005  # a higher load that serves less than this more is left out
HOPE = ((1.0, 0.0), (1.1, 0.02), (1.2, 0.15))  # before anything is measured: times the load, requests that overflow for each one served
WORTH = 0.005  # of the plan's cost that hope must save
Served = dict[str, Any]  # threshold (0: none keeps the promises), and for each load own_rps, spill, miss


@dataclass(frozen=True)
class Question:
    """The pool of `probe`, which sustains `rate_rps` alone, beside a relay that takes what overflows."""

    probe: Probe
    rate_rps: float
    relay: Relay


def add_overflow(market: Market, restriction: Restriction, settled: Settled) -> bool:
    """Adds pools that overflow to a relay where the program, hoping for them, would use them; whether any was added."""
    scenario = market.scenario
    classifier = any(each.classifier for each in scenario.request_classes) or loop_of(scenario) is not None
    if isinstance(scenario.traffic, LogTraffic) or scenario.policy.relay_outage_reserve or classifier:
        return False  # not simulated with overflow: a log's bursts in each hour, reserve, second answers, users who wait
    pairs = [(state, relay) for state in full_pools(market, settled) if (relay := cheapest_relay(market, restriction, state)) is not None]
    if not pairs:
        return False
    pools = market.pools(restriction)
    problem = market.problem(restriction, pools)
    hoped = tuple(hoped_terms(state, relay) for state, relay in pairs)
    solution = solve(
        replace(problem, pools=(*problem.pools, *hoped)),
        gap=max(restriction.gap, WORTH),
        node_limit=restriction.nodes,
        exact=False,
    )
    if solution.cost_usd > scaled_usd(settled.solution.cost_usd, 1 - WORTH) and not settled.unserved:
        return False
    used = [pair for k, pair in enumerate(pairs) if solution.hosts[len(pools) + k].any()]
    if not used:
        return False
    market.tell(f"{restriction.name}: measuring what overflows from {counted(len(used), 'pool')}")
    found = [state for state in (measured_pool(market, settled, *pair) for pair in used) if state is not None]
    market.states += found
    return bool(found)


def full_pools(market: Market, settled: Settled) -> list[PoolState]:
    """Pools of the solution that are measured, let nothing overflow, and have no brother that does."""
    tried = {
        state.option.id.replace(f"/overflow-{state.option.overflow.threshold}", "") for state in market.states if state.option.overflow
    }
    used = [state for p, state in enumerate(settled.pools) if settled.solution.hosts[p].any()]
    return [s for s in used if s.given is None and s.points and s.option.escalation is None and s.option.id not in tried]


def cheapest_relay(market: Market, restriction: Restriction, state: PoolState) -> RelayTerms | None:
    """The relay that answers a mean request of the pool for least and may answer all its classes; None without one."""
    _, mix = max(state.points)
    sent = [c for c, share in enumerate(mix) if share > 0]
    kept = [terms for terms in map(restriction.keep_relay, market.relays) if terms is not None and terms.units is None]
    able = [terms for terms in kept if terms.eligible[sent].all() and np.isfinite(terms.usd_per_request[sent]).all()]
    usd = [float(amount_usd(terms.usd_per_request[sent], np.array(mix)[sent]).sum()) for terms in able]
    return able[int(np.argmin(usd))] if able else None


def hoped_terms(state: PoolState, relay: RelayTerms) -> PoolTerms:
    """What the pool may be worth once it overflows, before that is measured."""
    terms = state.terms()
    level = terms.levels[0]
    option = replace(state.option, id=f"{state.option.id}+", overflow=Spill(0, relay.relay.id))
    return replace(terms, option=option, levels=tuple(LoadLevel(level.load / more, level.miss, spill) for more, spill in HOPE))


def measured_pool(market: Market, settled: Settled, state: PoolState, relay: RelayTerms) -> PoolState | None:
    """The pool with overflow at the load levels that the simulator showed, at its smallest and its largest size; None where it never keeps
    its promises."""
    p = next(k for k, each in enumerate(settled.pools) if each is state)
    replicas = settled.solution.hosts[p][settled.solution.hosts[p] > 0] * state.option.replicas_per_host
    _, mix = max(state.points)
    sizes = sorted({rounded_size(int(replicas.min())), rounded_size(int(replicas.max()))})
    asked = [question(market, state, mix, size, relay.relay) for size in sizes]
    keys = [key_of(market.scenario, each) for each in asked]

    def answers(some: list[str]) -> list[Served]:
        from joblib import delayed

        lean, named = replace(market.scenario, warnings=()), dict(zip(keys, asked, strict=True))
        return list(processes(min(market.jobs, len(some)))(delayed(levels_of)(lean, named[key]) for key in some))

    known = once(market.store, keys, answers, at_once=1 if market.jobs == 1 else len(keys))
    seen = {size: known[key] for size, key in zip(sizes, keys, strict=True)}
    threshold = min(each["threshold"] for each in seen.values())
    if threshold == 0 or not all(each["own_rps"] for each in seen.values()):
        return None
    return pool_with(state, mix, seen, Spill(threshold, relay.relay.id))


def pool_with(state: PoolState, mix: tuple[float, ...], seen: dict[int, Served], spill: Spill) -> PoolState:
    """`state` with overflow: loads of the largest size, a line through the sizes at the load at which nothing much overflows."""
    ideal = sum(share * state.base[c] for c, share in enumerate(mix) if share > 0)
    largest = max(seen)
    shape, _, classes = state.option.id.rpartition(":")
    option = replace(state.option, id=f"{shape}/overflow-{spill.threshold}:{classes}", overflow=spill)
    levels = tuple(
        LoadLevel(state.base * (largest / (own * ideal)), np.array(miss), over)
        for own, over, miss in zip(*(seen[largest][name] for name in ("own_rps", "spill", "misses")), strict=True)
    )
    slope, intercept = capacity_line({size: size / max(each["own_rps"]) for size, each in seen.items()})
    given = PoolTerms(option, levels, slope, intercept, True)
    return replace(state, option=option, given=given, points={}, correction=1.0, explored=True)


def question(market: Market, state: PoolState, mix: tuple[float, ...], size: int, relay: Relay) -> Question:
    """What is asked of the pool at one size, with the rate that it sustains by its terms."""
    assert state.cost is not None
    ideal = sum(share * state.base[c] for c, share in enumerate(mix) if share > 0)
    terms = state.terms()
    load = float(dot(np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0), np.array(mix)))
    rate = max(terms.slope * size - terms.intercept, 0.1 * size) / load
    hours = market.demand.mean_rps.shape[1]
    return Question(Probe(state.option, state.cost, mix, size, state.slos, size / ideal, 0.0, True, hours), rate, relay)


def key_of(scenario: Scenario, asked: Question) -> str:
    """The key of the answer in the store: where the overflow goes does not change what is left."""
    settings = [THRESHOLDS, OFFERED, FLOOD, ROOM, ACCURATE, SEARCH_SEEDS[0]]
    return f"overflow {probe_key(scenario, asked.probe)} {asked.rate_rps!r} {settings!r}"


def levels_of(scenario: Scenario, asked: Question) -> Served:
    """The largest threshold at which a flood leaves the promises of what the pool serves, and what it serves with it at each load that
    does."""
    low, high = -1, len(THRESHOLDS)  # the first fails or is nothing, the second was not tried or fails
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(scenario, asked, THRESHOLDS[middle]) else (low, middle)
    answer: Served = {"rate_rps": asked.rate_rps, "miss": [], "threshold": THRESHOLDS[low] if low >= 0 else 0}
    answer |= {"own_rps": [], "spill": [], "misses": []}
    for offered in OFFERED if low >= 0 else ():
        own, over, missed = played(scenario, asked, THRESHOLDS[low], offered)
        if own > (1 + ACCURATE) * max(answer["own_rps"], default=0.0) and with_room(asked, missed):
            answer["own_rps"].append(own)
            answer["spill"].append(over / own)
            answer["misses"].append(missed.tolist())
    return answer


def keeps(scenario: Scenario, asked: Question, threshold: int) -> bool:
    """Whether the pool keeps every promise, with room, of what it serves itself while it is flooded."""
    return with_room(asked, played(scenario, asked, threshold, FLOOD)[2])


def with_room(asked: Question, miss: Floats) -> bool:
    """Whether shares of misses are within what the promises allow, less ROOM."""
    return all(m <= (1 - ROOM) * (1 - row.needed) for m, row in zip(miss, asked.probe.slos, strict=True))


def played(scenario: Scenario, asked: Question, threshold: int, offered: float) -> tuple[float, float, Floats]:
    """(requests/s that the pool serves, requests/s that overflow, [slo rows] miss share of what it serves) on one seed.

    One is enough: the plan is proved on others, and the bill is that of the proof.
    """
    probe, seed = asked.probe, SEARCH_SEEDS[0]
    rates = [share * asked.rate_rps * offered for share in probe.mix]
    before_s, watched_s = warmup_s(probe), window_s(probe, asked.rate_rps)
    sent = at_rates(scenario, rates, seed=seed, duration_s=before_s + watched_s)
    pool = pool_of(probe.option, probe.cost, probe.replicas, scenario.policy.network_s)
    relay = RelayEndpoint(asked.relay.id, asked.relay, enforce_limits=False)
    shares = np.tile([1.0, 0.0], (len(probe.mix), 1))
    rule = (Overflow(0, 1, threshold),)
    fleet = Fleet((pool, relay), shares, router_of(scenario), rule, priorities=priorities_of(scenario))
    log = simulate(fleet, counted_by_class(sent, probe.option.token_factors), seed=seed, event_per_arrival=False).log
    from_ps, to_ps = round(before_s * PS), round((before_s + watched_s) * PS)
    inside = (log.arrival_ps >= from_ps) & (log.arrival_ps < to_ps)
    own, over = (int(np.count_nonzero(inside & (log.target == k))) / watched_s for k in (0, 1))
    miss = np.zeros(len(probe.slos))
    for i, row in enumerate(probe.slos):
        mine = log.target[inside & (log.class_id == row.class_index)] == 0
        if mine.any():
            seen = class_metrics(log, row.class_index, from_ps, to_ps)[row.metric][mine]
            miss[i] = 1 - attainment(seen + scenario.request_classes[row.class_index].before_s(row.metric), row.limit_s)
    return own, over, miss


def metered(settled: Settled, evidence: Sequence[HourEvidence]) -> Settled:
    """The solution with the calls of relays that pools overflow to as they were simulated, so that the bill meters what came of it."""
    problem, solution = settled.problem, settled.solution
    own, calls = solution.pool_flow.copy(), solution.relay_flow.copy()
    for seen in evidence:
        t = seen.hour.index
        for rule in {rule.to: rule for rule in seen.hour.fleet.overflow}.values():
            a = seen.hour.relays[rule.to - len(seen.hour.pools)]
            spilling = [seen.hour.pools[each.pool] for each in seen.hour.fleet.overflow if each.to == rule.to]
            for i, row in enumerate(problem.slos):
                c = row.class_index
                before = float(own[spilling, c, t].sum())
                if before > 0 and seen.seen[:, i].any():
                    share = float(seen.seen[rule.to, i] / seen.seen[:, i].sum())
                    both = before + float(calls[a, c, t])
                    calls[a, c, t] = min(share * problem.demand.mean_rps[c, t], both)
                    own[spilling, c, t] *= (both - calls[a, c, t]) / before
    if np.array_equal(calls, solution.relay_flow):
        return settled
    played = replace(solution, pool_flow=own, relay_flow=calls)
    return replace(settled, solution=replace(played, cost_usd=plan_cost_usd(problem, played)))
