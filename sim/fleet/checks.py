"""What makes a fleet or its traffic impossible to simulate: all problems in one InputError."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.engine.pool import Pool
from sim.engine.routers import ROUTERS
from sim.errors import InputError
from sim.fleet.fleet import Fleet
from sim.fleet.shares import WHOLE
from sim.requests import Requests

MOST_PRIORITIES = 100


def pool_problems(pool: Pool) -> list[str]:
    """What the kernel could not simulate of `pool`."""
    limits, cost, say = pool.limits, pool.cost, f"pool {pool.name}: "
    problems = []
    if pool.replicas < 0:
        problems.append(f"{say}replicas: {pool.replicas} is negative; write 0 or more")
    if pool.kv_blocks < 1:
        problems.append(f"{say}kv_blocks: {pool.kv_blocks} leaves no room for any request; write 1 or more")
    if limits.max_num_seqs < 1 or limits.max_num_batched_tokens < limits.max_num_seqs:
        problems.append(
            f"{say}max_num_batched_tokens: {limits.max_num_batched_tokens} is below max_num_seqs {limits.max_num_seqs}; write at least that"
        )
    if not 0.0 <= limits.watermark < 1.0:
        problems.append(f"{say}watermark: {limits.watermark} is not a share; write 0 or more and less than 1")
    if len(cost.base_ps) <= limits.max_num_batched_tokens or len(cost.context_ps) <= limits.max_num_seqs:
        problems.append(f"{say}the step-cost tables end before max_num_batched_tokens or max_num_seqs; tabulate them with these limits")
    elif min(cost.base_ps.min(), cost.context_ps.min(), cost.sequence_ps, cost.pair_ps, cost.prefill_context_ps, cost.request_ps) < 0:
        problems.append(f"{say}the step cost has negative entries; costs are 0 or more")
    return problems


def check_pool_record(pool: Pool) -> None:
    """Raise unless `pool` has replicas and can be simulated."""
    problems = pool_problems(pool)
    if pool.replicas == 0:
        problems.append(f"pool {pool.name}: replicas: 0 has no capacity to measure; write 1 or more")
    if problems:
        raise InputError(problems)


def shares_problems(shares: npt.NDArray[np.float64], shape: tuple[int, ...]) -> list[str]:
    """What is wrong with a table of shares for so many (classes, targets)."""
    if shares.shape != shape:
        return [f"shares: shape {shares.shape} for {shape[0]} classes and {shape[1]} targets; write one row per class"]
    if not np.isfinite(shares).all() or (shares < 0).any() or (shares.sum(axis=1) > 2 - WHOLE).any():
        return ["shares: entries must be 0..1 and rows sum to at most 1"]
    return []


def _circles(to: dict[int, int]) -> bool:
    """Whether following `to` from somewhere never ends.

    >>> _circles({0: 1, 1: 2}), _circles({0: 1, 1: 0}), _circles({3: 3})
    (False, True, True)
    """
    for place in to:
        for _ in to:
            if place not in to:
                break
            place = to[place]
        if place in to:
            return True
    return False


def check_fleet(fleet: Fleet, requests: Requests) -> None:
    """Raise unless shares, router and overflow rules fit the targets and classes."""
    problems = [problem for target in fleet.targets if isinstance(target, Pool) for problem in pool_problems(target)]
    classes, size = int(requests.class_id.max(initial=-1)) + 1, len(fleet.targets)
    rows = max(classes, len(fleet.shares)) if fleet.shares.ndim == 2 else classes
    problems += shares_problems(fleet.shares, (rows, size))
    if fleet.router not in ROUTERS:
        problems.append(f"router: {fleet.router!r} is unknown; write one of {', '.join(ROUTERS)}")
    if fleet.priorities and len(fleet.priorities) < classes:
        problems.append(f"priorities: {len(fleet.priorities)} for {classes} classes; write one per class, or none")
    if len(set(fleet.priorities)) > MOST_PRIORITIES:
        problems.append(f"priorities: {len(set(fleet.priorities))} different ones; write at most {MOST_PRIORITIES}")
    if fleet.affinity_slack < 0:
        problems.append(f"affinity_slack: {fleet.affinity_slack} is negative; write 0 or more")
    pools = [rule.pool for rule in fleet.overflow]
    for rule in fleet.overflow:
        known = 0 <= rule.pool < size and 0 <= rule.to < size
        if not known or not isinstance(fleet.targets[rule.pool], Pool):
            problems.append(f"overflow: from target {rule.pool} to {rule.to}; write the index of a pool and of another target")
        elif rule.outstanding_per_replica < 0 or pools.count(rule.pool) > 1:
            problems.append(f"overflow: pool {rule.pool} needs one rule with outstanding_per_replica of 0 or more")
    if _circles({rule.pool: rule.to for rule in fleet.overflow}):
        problems.append("overflow: requests could go round in a circle; let the last pool of a chain overflow to a relay, or not at all")
    for chain in fleet.failover:
        places = (chain.relay, *chain.to)
        if not all(0 <= place < size for place in places) or isinstance(fleet.targets[chain.relay], Pool) or len(set(places)) < len(places):
            problems.append(f"failover: from target {chain.relay} to {chain.to}; write the index of a relay and of other targets")
    if problems:
        raise InputError(problems)


def check_requests(requests: Requests, arrival_ps: npt.NDArray[np.int64] | None = None) -> None:
    """Raise unless arrivals (those given, where not all are known beforehand) are sorted and the tokens of every request make sense."""
    problems = []
    arrivals = requests.arrival_ps if arrival_ps is None else arrival_ps
    if len(arrivals) and (arrivals[0] < 0 or (np.diff(arrivals) < 0).any()):
        problems.append("requests: arrival_ps must be 0 or more and sorted")
    for name in ("input_tokens", "output_tokens"):
        column = getattr(requests, name)
        if len(column) and (column.min() < 1 or column.max() > 2**30):
            problems.append(f"requests: {name} must be between 1 and 2**30")
    system, prefix = requests.system_tokens, requests.prefix_tokens
    if len(system) != len(requests) or (system < 0).any() or (system > prefix).any() or (prefix > requests.input_tokens).any():
        problems.append("requests: 0 <= system_tokens <= prefix_tokens <= input_tokens must hold for each")
    if problems:
        raise InputError(problems)
