"""One hour of a plan on the simulator: the fleet that runs in it, warmed up by the hour before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from optimize.market.cascades import cascade_of
from optimize.market.contract_terms import bought_terms
from optimize.market.engine_settings import priorities_of, router_of
from optimize.market.operating_point import pool_of
from optimize.market.token_factors import fleet_factors
from optimize.records import Floats, ProgramInput, ProgramSolution, Spill
from optimize.search.fresh_seeds import BLOCKS
from optimize.search.users import loop_of, play_users
from sim.engine.deployment import PS, StepCost
from sim.engine.pool import Pool
from sim.fleet.cascade import first_targets
from sim.fleet.fleet import Fleet, Overflow, SimulationResult
from sim.fleet.simulate import simulate
from sim.latency import class_metrics
from sim.relay.endpoint import RelayEndpoint
from sim.request_log import RequestLog
from sim.requests import Demand, Requests
from sim.scenario.scenario import Scenario
from sim.streams import stream
from sim.traffic import hour as hour_traffic
from sim.traffic.arrivals import MAX_ARRIVALS, check_size
from sim.traffic.budget_effect import with_refused

WARMUP_S = 600.0
LEAD_IN_S = 1200.0  # of the hour before, where a change of the timetable is played
HOUR_S = 3600.0
IN_HOUR_PS = (round(WARMUP_S * PS), round((WARMUP_S + HOUR_S) * PS))


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
    """What one seed of one hour yields. `met` and `seen` are counts [targets, slo rows]; `latency` holds samples by slo row, seconds.

    `events` of the SimPy clock played `by_event` of its `requests`: all of them, or none where arrivals stayed in the kernel.
    `blocks_met` and `blocks_seen` [blocks, slo rows] are counts by the part of the hour in which a request came.
    """

    met: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    latency: tuple[npt.NDArray[np.float32], ...]
    requests: int
    events: int = 0
    by_event: int = 0
    blocks_met: npt.NDArray[np.int64] | None = None
    blocks_seen: npt.NDArray[np.int64] | None = None


def fleet_of(scenario: Scenario, problem: ProgramInput, solution: ProgramSolution, costs: Sequence[StepCost | None], t: int) -> Hour:
    """The fleet that the plan runs in slice `t`, with each class split as the program splits it."""
    targets: list[Pool | RelayEndpoint] = []
    shares: list[Floats] = []
    factors: list[Floats | None] = []
    models: list[str | None] = []
    pools: list[int] = []
    relays: list[int] = []
    rate = np.maximum(problem.demand.mean_rps[:, t], 1e-300)
    for p, terms in enumerate(problem.pools):
        hosts, cost = int(solution.hosts[p, t]), costs[p]
        if hosts == 0 or cost is None or not np.any(solution.pool_flow[p, :, t] > 0):
            continue
        targets.append(pool_of(terms.option, cost, hosts * terms.option.replicas_per_host, scenario.policy.network_s))
        factors.append(terms.option.token_factors)
        models.append(terms.option.deployment.model.id if terms.option.deployment else None)
        shares.append(solution.pool_flow[p, :, t] / rate)
        pools.append(p)
    spills = {k: problem.pools[p].option.overflow for k, p in enumerate(pools)}
    called = {spill.relay for spill in spills.values() if spill is not None}
    for a, relay_terms in enumerate(problem.relays):
        if relay_terms.relay.id not in called and not np.any(solution.relay_flow[a, :, t] > 0):
            continue
        called.discard(relay_terms.relay.id)
        bought = bought_terms(relay_terms, -1 if solution.relay_tier is None else int(solution.relay_tier[a]))
        targets.append(
            RelayEndpoint(
                name=bought.relay.id,
                relay=bought.relay,
                enforce_limits=bought.hard_limits,
                network_ps=0,  # measured relay latencies include the network
            )
        )
        factors.append(relay_terms.token_factors)
        models.append(relay_terms.relay.model)
        shares.append(solution.relay_flow[a, :, t] / rate)
        relays.append(a)
    table = np.array(shares).T if shares else np.zeros((len(rate), 0))
    table, cascade = cascade_of(scenario, models, table) if targets else (table, None)
    total = table.sum(axis=1, keepdims=True)
    full = solution.unserved[:, t] <= 1e-9 * rate
    table = np.where((full[:, None]) & (total > 0), table / np.maximum(total, 1e-300), table)
    per_model, order = fleet_factors(factors, len(rate)), priorities_of(scenario)
    rules = overflow_rules([target.name for target in targets], spills)
    table = through_pools(table, rules)
    fleet = Fleet(tuple(targets), table, router_of(scenario), rules, token_factors=per_model, priorities=order, cascade=cascade)
    return Hour(t, fleet, tuple(pools), tuple(relays), warmup_keep(problem.demand, t))


def overflow_rules(names: Sequence[str], spills: Mapping[int, Spill | None]) -> tuple[Overflow, ...]:
    """The rules of the pools (target index -> where it overflows to) of which the relay is a target too."""
    found = [(k, spill) for k, spill in spills.items() if spill is not None and spill.relay in names]
    return tuple(Overflow(k, names.index(spill.relay), spill.threshold) for k, spill in found)


def through_pools(shares: Floats, rules: Sequence[Overflow]) -> Floats:
    """[classes, targets] who is sent what first: requests for a relay to which pools overflow try those pools before, by their shares.

    So a pool takes what it can, and the relay no more than what is beyond the threshold.
    """
    first = shares.copy()
    for to in dict.fromkeys(rule.to for rule in rules):
        pools = [rule.pool for rule in rules if rule.to == to]
        own = shares[:, pools].sum(axis=1)
        sent = own > 0
        first[np.ix_(sent, pools)] += shares[np.ix_(sent, pools)] * (shares[sent, to] / own[sent])[:, None]
        first[sent, to] = 0.0
    return first


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


def check_playable(demand: Demand, needed: Callable[[], bool]) -> None:
    """InputError where the busiest hour with its warm-up has more requests than one simulation holds, and `needed` says it is wanted."""
    requests = float(demand.mean_rps.sum(axis=0).max()) * (WARMUP_S + LEAD_IN_S + HOUR_S)
    if requests > MAX_ARRIVALS and needed():
        check_size(requests)


def play_hour(
    scenario: Scenario, fleet: Fleet, t: int, keep: float, seed: int, by_event: bool = False
) -> tuple[Requests, SimulationResult]:
    """One seed of slice `t` on `fleet`, warmed up with the share `keep` of the end of the hour before; the hour itself is `IN_HOUR_PS`."""

    requests = hour_traffic(scenario, t, seed=seed, duration_s=HOUR_S, warmup_s=WARMUP_S)
    requests = without_backlog(requests, keep, seed)
    return requests, simulate(fleet, requests, seed=seed, event_per_arrival=by_event)


def simulate_hour(scenario: Scenario, problem: ProgramInput, hour: Hour, seed: int, by_event: bool = False) -> HourSample:
    """One seed of one hour, warmed up with the end of the hour before (thinned to this hour's rate where that was busier).

    `by_event`: every arrival and every call of a relay is an event of the SimPy clock, and the kernel advances replicas between them.
    Else arrivals of pools and of relays that nothing delays are worked off at once, with the same result to the last byte.
    """
    if loop_of(scenario) is not None:
        requests, result, window_ps = play_users(scenario, hour.fleet, hour.index, seed)
        by_event = True  # every request waits for the one before
    else:
        requests, result = play_hour(scenario, hour.fleet, hour.index, hour.warmup_keep, seed, by_event)
        window_ps = IN_HOUR_PS
    log = result.log
    sent_to = log.target if hour.fleet.cascade is None else first_targets(hour.fleet, requests, seed)  # who is to blame
    sample = sample_of(problem, len(hour.fleet.targets), log, sent_to, window_ps)
    came = int(np.count_nonzero(log.arrival_ps >= 0))
    return replace(sample, requests=came, events=result.events, by_event=came if by_event else 0)


def sample_of(
    problem: ProgramInput, targets: int, log: RequestLog, sent_to: npt.NDArray[np.int16], window_ps: tuple[int, int]
) -> HourSample:
    """What the requests that arrived in the window say of every promise; each counts for the target that it was `sent_to`."""
    start, end = window_ps
    rows = len(problem.slos)
    met, seen = np.zeros((targets + 1, rows), np.int64), np.zeros((targets + 1, rows), np.int64)
    blocks_met, blocks_seen = np.zeros((BLOCKS, rows), np.int64), np.zeros((BLOCKS, rows), np.int64)
    latency = []
    inside = (log.arrival_ps >= start) & (log.arrival_ps < end)
    metrics = {c: class_metrics(log, c, from_ps=start, to_ps=end) for c in {row.class_index for row in problem.slos}}
    for i, row in enumerate(problem.slos):
        sent = metrics[row.class_index][row.metric]
        samples = with_refused(sent, row.refused)
        by_target = sent_to[inside & (log.class_id == row.class_index)].astype(np.int64)
        by_target[by_target < 0] = targets
        seen[:, i] = np.bincount(by_target, minlength=targets + 1)
        met[:, i] = np.bincount(by_target, weights=sent <= row.limit_s, minlength=targets + 1)
        block = (log.arrival_ps[inside & (log.class_id == row.class_index)] - start) * BLOCKS // (end - start)
        blocks_seen[:, i] = np.bincount(block, minlength=BLOCKS)
        blocks_met[:, i] = np.bincount(block, weights=sent <= row.limit_s, minlength=BLOCKS)
        seen[targets, i] += len(samples) - len(sent)  # no one is to blame
        latency.append(samples.astype(np.float32))
    return HourSample(met, seen, tuple(latency), int(np.count_nonzero(inside)), 0, 0, blocks_met, blocks_seen)
