"""The life of a fleet while it serves: boots, drains, failures and repairs, spot losses; see docs/explanation/fleet-life.md.

Requests that a lost replica held are sent again from the start and keep their arrival time; none is ever lost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sim.engine.pool import Pool, TargetStats
from sim.engine.state import PoolState
from sim.errors import InputError
from sim.fleet.checks import check_fleet, check_requests, shares_problems
from sim.fleet.clock import schedule_arrivals
from sim.fleet.fleet import Fleet
from sim.fleet.life.life_terms import KINDS, Change, Lifecycle, LifeResult, LifeTotals, PoolRules
from sim.fleet.life.living_pool import PoolLife
from sim.fleet.run import Offer, Run, plain_offer
from sim.fleet.shares import targets_of
from sim.requests import Requests


def simulate_lifecycle(fleet: Fleet, life: Lifecycle, requests: Requests, seed: int, end_ps: int | None = None) -> LifeResult:
    """`sim.fleet.simulate.simulate` of a fleet whose pools live by `life`; the same result to the last byte where nothing changes.

    At one instant arrivals come first, then ends of steps, then changes in the order of `life.changes`, then requests that were taken
    back and boots that end. Shares in the totals of a pool are of the time in which its replicas served.
    Errors: InputError for a fleet, traffic or life that makes no sense; SimulationError when a law is broken.
    """
    check_fleet(fleet, requests)
    check_requests(requests)
    check_life(fleet, life)
    fleet_life = _FleetLife(fleet, life, requests, seed)
    run = fleet_life.run
    in_time = np.ones(len(requests), bool) if end_ps is None else requests.arrival_ps <= end_ps
    schedule_arrivals(run.env, np.flatnonzero(in_time), requests.arrival_ps, run.targets, fleet_life.serve)
    run.env.run(until=None if end_ps is None else end_ps + 1)
    return fleet_life.result(requests, end_ps)


class _FleetLife:
    """The pools of one run that live by rules."""

    def __init__(self, fleet: Fleet, life: Lifecycle, requests: Requests, seed: int) -> None:
        self.run = Run(fleet, requests, seed, self._offer_to, moving=True, targets=_targets(fleet, life, requests, seed))
        changes = sorted(life.changes, key=lambda change: change.at_ps)
        self.pools: dict[int, PoolLife] = {}
        for rules in life.rules:
            state = self.run.servers[rules.pool]
            assert isinstance(state, PoolState)
            self.pools[rules.pool] = PoolLife(self.run, state, rules, [change for change in changes if change.pool == rules.pool], seed)
        self.serve = self.run.serve()
        for index, pool in self.pools.items():
            pool.serve = self.serve[index]

    def _offer_to(self, state: PoolState) -> Offer:
        living = self.pools.get(self.run.servers.index(state))
        return plain_offer(state) if living is None else living.offer()

    def result(self, requests: Requests, end_ps: int | None) -> LifeResult:
        """Log and totals of the run, whose clock has stopped; every law checked."""
        for pool in self.pools.values():
            pool.close(all_ended=end_ps is None)
        simulation = self.run.result(requests.arrival_ps, end_ps)
        stats, totals = list(simulation.targets), []
        for index, pool in self.pools.items():
            span_ps = max(1, simulation.end_ps - (pool.pool.shift_ps if end_ps is None else 0))
            totals.append(pool.totals(simulation.end_ps))
            stats[index] = _in_service(stats[index], totals[-1], span_ps * pool.pool.pool.replicas)
        restarts = sum((pool.restarts for pool in self.pools.values()), np.zeros(len(requests), np.int32))
        events = sorted((event for pool in self.pools.values() for event in pool.service.events), key=lambda event: event.at_ps)
        return LifeResult(replace(simulation, targets=tuple(stats)), restarts, tuple(totals), tuple(events))


def _targets(fleet: Fleet, life: Lifecycle, requests: Requests, seed: int) -> npt.NDArray[np.int16] | None:
    """The target of each request by the shares of its time, one draw for all times: a session moves only as far as shares do."""
    if not life.reroutes:
        return None
    phase = np.searchsorted([each.at_ps for each in life.reroutes], requests.arrival_ps, side="right")
    by_phase = replace(requests, class_id=(requests.class_id + phase * len(fleet.shares)).astype(np.int16))
    shares = np.concatenate([fleet.shares, *(each.shares for each in life.reroutes)])
    return targets_of(by_phase, shares, seed, whole_sessions=fleet.router == "session_affinity")


def _in_service(stats: TargetStats, totals: LifeTotals, whole_ps: int) -> TargetStats:
    """`stats` with its means over the time in which replicas served, instead of over `whole_ps`: all replicas all the time."""
    if totals.serving_ps in (0, whole_ps):
        return stats
    factor = whole_ps / totals.serving_ps
    means = {name: getattr(stats, name) * factor for name in ("busy_share", "kv_mean_share", "running_mean")}
    return replace(stats, **means)


def check_life(fleet: Fleet, life: Lifecycle) -> None:
    """Raise unless rules and changes fit the fleet."""
    problems: list[str] = []
    pools = [rules.pool for rules in life.rules]
    for k, rules in enumerate(life.rules):
        problems += [f"rules {k}: {problem}" for problem in _rules_problems(fleet, rules)]
        if pools.count(rules.pool) > 1:
            problems.append(f"rules {k}: pool {rules.pool} has two; write one")
    for k, change in enumerate(life.changes):
        problems += [f"changes {k}: {problem}" for problem in _change_problems(fleet, pools, change)]
    times = [each.at_ps for each in life.reroutes]
    if times != sorted(times) or any(at_ps < 0 for at_ps in times):
        problems.append(f"reroutes: at_ps {times} must be 0 or more and in order of time")
    for k, each in enumerate(life.reroutes):
        problems += [f"reroutes {k}: {problem}" for problem in shares_problems(each.shares, fleet.shares.shape)]
    if problems:
        raise InputError(problems)


def _rules_problems(fleet: Fleet, rules: PoolRules) -> list[str]:
    if not 0 <= rules.pool < len(fleet.targets) or not isinstance(fleet.targets[rules.pool], Pool):
        return [f"target {rules.pool} is not a pool; write the index of one"]
    pool, problems = fleet.targets[rules.pool], []
    assert isinstance(pool, Pool)
    if pool.replicas < 1:
        problems.append(f"pool {pool.name} never has a replica; write replicas of 1 or more")
    if rules.start is not None and not 0 <= rules.start <= pool.replicas:
        problems.append(f"start: {rules.start} of {pool.replicas} replicas; write 0 to {pool.replicas}")
    for name in ("boot_ps", "repair_ps", "notice_ps", "detect_ps"):
        if (getattr(rules, name) or 0) < 0:
            problems.append(f"{name}: {getattr(rules, name)} is negative; write 0 or more")
    if rules.fallback:
        problems += _fallback_problems(fleet, rules)
    return problems


def _fallback_problems(fleet: Fleet, rules: PoolRules) -> list[str]:
    if len(rules.fallback) != len(fleet.shares) or any(len(row) != len(fleet.targets) for row in rules.fallback):
        return [f"fallback: write a row for each of {len(fleet.shares)} classes with a share for each of {len(fleet.targets)} targets"]
    table = np.array(rules.fallback)
    if not np.isfinite(table).all() or (table < 0).any() or (table.sum(axis=1) > 1 + 1e-9).any() or table[:, rules.pool].any():
        return [f"fallback: shares must be 0..1, rows sum to at most 1, and pool {rules.pool} itself get none"]
    return []


def _change_problems(fleet: Fleet, pools: list[int], change: Change) -> list[str]:
    if change.kind not in KINDS:
        return [f"kind: {change.kind!r} is unknown; write one of {', '.join(KINDS)}"]
    if change.pool not in pools:
        return [f"pool {change.pool} has no rules; write some"]
    if not 0 <= change.pool < len(fleet.targets) or not isinstance(fleet.targets[change.pool], Pool):
        return []  # said of its rules
    pool = fleet.targets[change.pool]
    assert isinstance(pool, Pool)
    problems = []
    if change.at_ps < 0 or change.replicas < 0:
        problems.append(f"at_ps {change.at_ps}, replicas {change.replicas}: negative; write 0 or more")
    if change.kind == "scale" and (change.replicas > pool.replicas or change.first is not None):
        problems.append(f"scale to {change.replicas} of at most {pool.replicas} replicas, without `first`")
    if change.first is not None and not 0 <= change.first <= pool.replicas - change.replicas:
        problems.append(f"replicas {change.first} to {change.first + change.replicas - 1} are not all in 0 to {pool.replicas - 1}")
    return problems
