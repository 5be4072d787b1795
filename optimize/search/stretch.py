"""Hours of a plan that follow each other, as one run.

Hosts boot, drain and linger by the timetable; requests go by the shares of their hour; sessions and caches carry on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from optimize.market.contract_terms import hours_before
from optimize.records import Floats, HostMove, ProgramInput, ProgramSolution
from optimize.search.simulated_hour import LEAD_IN_S, WARMUP_S, Hour, fleet_of, warmup_keep
from sim.engine.deployment import PS, StepCost
from sim.engine.pool import Pool
from sim.fleet.fleet import Fleet, Overflow
from sim.fleet.life.draws import timetable
from sim.fleet.life.life_terms import Change, Lifecycle, PoolRules, Reroute
from sim.relay.endpoint import RelayEndpoint
from sim.requests import Demand
from sim.scenario.scenario import Scenario

LONGEST_REQUESTS = 2.5e6  # of one run; more hours are several runs
STEEPEST = 4  # changes of the week that are played by default


@dataclass(frozen=True)
class Stretch:
    """Slices that follow each other, `lengths_s` of each; the first leads in, the others are judged.

    fleet   every target that any of the hours uses, pools at their largest; its shares are those of the first hour
    life    the timetable of the pools, and the shares of the later hours
    moves   for each slice after the first, the pools whose hosts change at its beginning
    keep    share of the warm-up's requests (see `warmup_keep`)
    """

    slices: tuple[int, ...]
    lengths_s: tuple[float, ...]
    fleet: Fleet
    life: Lifecycle
    pools: tuple[int, ...]
    relays: tuple[int, ...]
    moves: tuple[tuple[HostMove, ...], ...]
    keep: float

    @property
    def begins_ps(self) -> tuple[int, ...]:
        """When each slice begins, and when the last one ends; the first one's warm-up comes before."""
        edges = np.cumsum([WARMUP_S, *self.lengths_s])
        return tuple(round(float(at_s) * PS) for at_s in edges)


def moves_at(problem: ProgramInput, solution: ProgramSolution, before: int, t: int) -> tuple[HostMove, ...]:
    """The elastic pools whose number of hosts changes from slice `before` to slice `t`."""
    moves = []
    for p, terms in enumerate(problem.pools):
        had, has = int(solution.hosts[p, before]), int(solution.hosts[p, t])
        if had != has and terms.option.offer.elastic:
            moves.append(HostMove(terms.option.id, had, has, terms.lead_s, terms.linger_s))
    return tuple(moves)


def steepest_changes(problem: ProgramInput, solution: ProgramSolution, limit: int = STEEPEST) -> list[int]:
    """Of each pool the steepest rise and the steepest fall, then whatever else is steepest, at most `limit`; in order of the week.

    Steep is what moves the largest share of a pool's hosts, then what moves most replicas.
    """
    before = hours_before(problem.demand)
    first: dict[int, tuple[float, int]] = {}
    others: dict[int, tuple[float, int]] = {}
    for p, terms in enumerate(problem.pools):
        hosts = solution.hosts[p]
        if not terms.option.offer.elastic or not hosts.any():
            continue
        step = hosts - hosts[list(before)]
        extremes = {int(np.argmax(step)), int(np.argmin(step))}
        for t in np.flatnonzero(step):
            moved = abs(int(step[t]))
            steepness = round(moved / int(hosts.max()), 6), moved * terms.option.replicas_per_host
            ranked = first if t in extremes else others
            ranked[int(t)] = max(ranked.get(int(t), (0.0, 0)), steepness)
    chosen = [t for ranked in (first, others) for t in sorted(ranked, key=lambda t: (-ranked[t][0], -ranked[t][1], t))]
    return sorted(list(dict.fromkeys(chosen))[:limit])


def change_stretches(problem: ProgramInput, solution: ProgramSolution, length_s: float) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """(slices, lengths) of the steepest changes of the week, each with the end of the hour before: as long as hosts are up early."""
    before = hours_before(problem.demand)
    lead_in = min(max(LEAD_IN_S, *(terms.lead_s for terms in problem.pools)), length_s) if problem.pools else 0.0
    return [((before[t], t), (lead_in, length_s)) for t in steepest_changes(problem, solution)]


def day_stretches(demand: Demand, length_s: float) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """(slices, lengths) that play every slice once: each kind of day from its last hour on, in pieces that fit into memory."""
    before = hours_before(demand)
    hourly = demand.mean_rps.sum(axis=0) * length_s
    found, piece, left = [], [before[0]], LONGEST_REQUESTS
    for t in range(len(before)):
        if before[t] != piece[-1] or (left < hourly[t] and len(piece) > 1):
            found.append(piece)
            piece, left = [before[t]], LONGEST_REQUESTS
        piece.append(t)
        left -= float(hourly[t])
    found.append(piece)
    lead_in = min(LEAD_IN_S, length_s)
    return [(tuple(piece), (lead_in, *[length_s] * (len(piece) - 1))) for piece in found]


def stretch_of(
    scenario: Scenario,
    problem: ProgramInput,
    solution: ProgramSolution,
    costs: Sequence[StepCost | None],
    slices: tuple[int, ...],
    lengths_s: tuple[float, ...],
) -> Stretch | None:
    """The slices as one run; None where a classifier stands before the fleet, which is not simulated together with a timetable."""
    hours = [fleet_of(scenario, problem, solution, costs, t) for t in slices]
    if any(hour.fleet.cascade is not None for hour in hours):
        return None
    pools = tuple(sorted({p for hour in hours for p in hour.pools}))
    relays = tuple(sorted({a for hour in hours for a in hour.relays}))
    begins_ps = Stretch(slices, lengths_s, hours[0].fleet, Lifecycle(()), pools, relays, (), 1.0).begins_ps
    rules: list[PoolRules] = []
    changes: list[Change] = []
    targets: list[Pool] = []
    for k, p in enumerate(pools):
        pool, rule, moved = _living_pool(problem, solution, hours, slices, begins_ps, p, k)
        targets.append(pool)
        rules.append(rule)
        changes += moved
    shares = [_shares(hour, pools, relays) for hour in hours]
    first = hours[0].fleet
    fleet = replace(
        first,
        targets=(*targets, *(_relay(hours, a) for a in relays)),
        shares=shares[0],
        token_factors=_factors(hours, pools, relays),
        overflow=_overflow(hours, pools, relays),
    )
    reroutes = tuple(Reroute(at_ps, table) for at_ps, table in zip(begins_ps[1:-1], shares[1:], strict=True))
    moves = tuple(moves_at(problem, solution, a, b) for a, b in pairwise(slices))
    life = Lifecycle(tuple(rules), tuple(changes), reroutes)
    return Stretch(slices, lengths_s, fleet, life, pools, relays, moves, warmup_keep(problem.demand, slices[0]))


def _living_pool(
    problem: ProgramInput,
    solution: ProgramSolution,
    hours: Sequence[Hour],
    slices: tuple[int, ...],
    begins_ps: tuple[int, ...],
    p: int,
    target: int,
) -> tuple[Pool, PoolRules, tuple[Change, ...]]:
    """Pool `p` of the program at its largest, and its life as target `target`. Hosts that are paid all month never stop."""
    terms = problem.pools[p]
    offer, per_host = terms.option.offer, terms.option.replicas_per_host
    pool = next(hour.fleet.targets[hour.pools.index(p)] for hour in hours if p in hour.pools)
    assert isinstance(pool, Pool)
    hosts = [int(solution.hosts[p, t]) for t in slices]
    if not offer.elastic:
        hosts = [max(hosts)] * len(hosts)
    boot_ps, lead_ps, linger_ps = (round(seconds * PS) for seconds in (offer.boot_s, terms.lead_s, terms.linger_s))
    start, changes = timetable(target, hosts, begins_ps[: len(hosts)], per_host, boot_ps, lead_ps, linger_ps)
    return replace(pool, replicas=max(hosts) * per_host), PoolRules(target, start=start, boot_ps=boot_ps), changes


def _relay(hours: Sequence[Hour], a: int) -> RelayEndpoint:
    relay = next(hour.fleet.targets[len(hour.pools) + hour.relays.index(a)] for hour in hours if a in hour.relays)
    assert isinstance(relay, RelayEndpoint)
    return relay


def _places(hour: Hour, pools: tuple[int, ...], relays: tuple[int, ...]) -> list[int]:
    """Where each target of the hour stands among those of all hours."""
    return [*(pools.index(p) for p in hour.pools), *(len(pools) + relays.index(a) for a in hour.relays)]


def _shares(hour: Hour, pools: tuple[int, ...], relays: tuple[int, ...]) -> Floats:
    table = np.zeros((len(hour.fleet.shares), len(pools) + len(relays)))
    table[:, _places(hour, pools, relays)] = hour.fleet.shares
    return table


def _overflow(hours: Sequence[Hour], pools: tuple[int, ...], relays: tuple[int, ...]) -> tuple[Overflow, ...]:
    """The rules of all hours: a pool overflows to the same relay at the same threshold in each."""
    found: dict[int, Overflow] = {}
    for hour in hours:
        places = _places(hour, pools, relays)
        for rule in hour.fleet.overflow:
            found[places[rule.pool]] = replace(rule, pool=places[rule.pool], to=places[rule.to])
    return tuple(found[k] for k in sorted(found))


def _factors(hours: Sequence[Hour], pools: tuple[int, ...], relays: tuple[int, ...]) -> Floats | None:
    """[classes, targets, 2] token factors of all targets; None where every hour counts alike."""
    if all(hour.fleet.token_factors is None for hour in hours):
        return None
    table = np.ones((len(hours[0].fleet.shares), len(pools) + len(relays), 2))
    for hour in hours:
        if hour.fleet.token_factors is not None:
            table[:, _places(hour, pools, relays)] = hour.fleet.token_factors
    return table
