"""Random fleets with a prefix cache and traffic that crowds its corners: conversations, system prompts, clients who wait."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.engine.deployment import BLOCK_TOKENS
from sim.engine.pool import Pool
from sim.fleet.clients import Turns, closed_loop, session_turns
from sim.fleet.fleet import Fleet
from sim.requests import Requests
from tests.fuzz.random_cases import Case, random_case

ROUTERS = ("least_outstanding", "round_robin", "session_affinity", "session_affinity")


def caching_case(number: int, most_requests: int = 60) -> Case:
    """The same as a case with a prefix cache in most of its pools, sessions whose prompts grow, and system prompts."""
    case = random_case(number, most_requests)
    rng = np.random.default_rng([16, number])
    pools = tuple(_with_cache(rng, pool) for pool in case.fleet.targets if isinstance(pool, Pool))
    slack = int(rng.choice([0, 1, 2, 64]))
    priorities = tuple(rng.integers(-1, 3, 3).tolist()) if rng.random() < 0.5 else ()
    fleet = Fleet(pools, case.fleet.shares, str(rng.choice(ROUTERS)), affinity_slack=slack, priorities=priorities)
    return Case(fleet, _conversations(rng, case.requests, min(pool.kv_blocks for pool in pools) * BLOCK_TOKENS), case.end_ps)


def _with_cache(rng: np.random.Generator, pool: Pool) -> Pool:
    blocks = pool.kv_blocks * int(rng.choice([1, 1, 2, 4]))
    return replace(pool, kv_blocks=blocks, limits=replace(pool.limits, kv_blocks=blocks, prefix_caching=bool(rng.random() < 0.9)))


def _conversations(rng: np.random.Generator, requests: Requests, room: int) -> Requests:
    """Some requests become turns: prompt = system prompt + what came before + a little, now and then cut back to the system prompt."""
    n = len(requests)
    session = rng.integers(-1, max(1, int(n * rng.choice([0.1, 0.3, 0.6]))), n)
    system = rng.choice([0, 5, 16, 31, 32, 48, 64], 3)
    system[system > room // 2] = 0
    system_tokens = system[requests.class_id]
    system_tokens[rng.random(n) < 0.1] = 0
    inputs, prefix = np.maximum(requests.input_tokens, system_tokens + rng.integers(0, 20, n)), system_tokens.copy()
    inputs = np.maximum(inputs, 1)
    told: dict[int, tuple[int, int]] = {}
    for i in range(n):
        if session[i] < 0:
            continue
        if session[i] in told and rng.random() < 0.85:
            first, tokens = told[session[i]]
            requests.class_id[i], system_tokens[i] = requests.class_id[first], system_tokens[first]
            tokens = min(tokens, int(room * 0.8))
            prefix[i] = max(system_tokens[i], tokens - int(rng.choice([0, 0, 0, 7, 40])))
            inputs[i] = max(prefix[i] + int(rng.choice([0, 1, 5, 16, 33])), 1)
        told[session[i]] = (i, int(inputs[i] + requests.output_tokens[i]))
    columns = {"input_tokens": inputs, "prefix_tokens": prefix, "system_tokens": system_tokens}
    return replace(requests, session_id=session, **{name: column.astype(np.int32) for name, column in columns.items()})


def waiting_case(number: int, most_requests: int = 60) -> Case:
    """A case with or without a prefix cache whose clients wait for their answers: sessions, or a few users who send again and again."""
    case = caching_case(number, most_requests) if number % 3 else random_case(number, most_requests)
    rng = np.random.default_rng([17, number])
    n, step_ps = len(case.requests), max(int(pool.cost.base_ps[1]) for pool in case.fleet.targets if isinstance(pool, Pool))
    think_ps = 1 + rng.integers(0, step_ps * int(rng.choice([1, 3, 100])) + 1, n)
    if number % 2:
        turns = session_turns(case.requests, think_ps)
    else:
        turns = Turns(closed_loop(case.requests, int(rng.integers(1, n + 1)), 0).after, think_ps)
    return replace(case, turns=turns)


def priority_case(number: int, most_requests: int = 60) -> Case:
    """A case without a prefix cache whose classes have priorities."""
    case = random_case(number, most_requests)
    priorities = tuple(np.random.default_rng([18, number]).permutation([0, 0, 1, 5])[:3].tolist())
    return replace(case, fleet=replace(case.fleet, priorities=priorities))
