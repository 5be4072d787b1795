"""Random fleets and traffic that crowd the corners of the engine: little memory, ties, bursts, huge prompts, cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import BLOCK_TOKENS, EngineLimits, StepCost
from sim.engine.pool import Pool
from sim.fleet.clients import Turns
from sim.fleet.fleet import Fleet
from sim.requests import Requests
from tests.samples import make_requests

ROUTERS = ("least_outstanding", "round_robin")


@dataclass(frozen=True)
class Case:
    """One run: everything that `simulate` or `simulate_turns` takes but the seed, which pools with shares of 0 and 1 do not use."""

    fleet: Fleet
    requests: Requests
    end_ps: int | None
    turns: Turns | None = None


def random_case(number: int, most_requests: int = 60) -> Case:
    """The case of this number, always the same one."""
    rng = np.random.default_rng([20_26, number])
    pools = tuple(_pool(rng, f"pool{i}", replicas) for i, replicas in enumerate(_replicas(rng)))
    shares = np.zeros((3, len(pools)))
    for class_id in range(3):
        if rng.random() < 0.95:  # else the class has no target
            shares[class_id, rng.integers(len(pools))] = 1.0
    step_ps = max(int(pool.cost.base_ps[1]) for pool in pools) + 1
    requests = _requests(rng, int(rng.integers(1, most_requests + 1)), step_ps, min(pool.kv_blocks for pool in pools))
    end_ps = None
    if rng.random() < 0.3:
        end_ps = int(rng.integers(0, 2 * int(requests.arrival_ps[-1]) + 20 * step_ps))
        end_ps -= end_ps % step_ps if rng.random() < 0.5 else 0
    return Case(Fleet(pools, shares, str(rng.choice(ROUTERS))), requests, end_ps)


def _replicas(rng: np.random.Generator) -> list[int]:
    """Pool sizes that sum to 1..5."""
    total = int(rng.integers(1, 6))
    first = int(rng.integers(1, total + 1)) if rng.random() < 0.5 else total
    return [first] if first == total else [first, total - first]


def _pool(rng: np.random.Generator, name: str, replicas: int) -> Pool:
    max_num_seqs = int(rng.choice([1, 2, 3, 4, 8, 16]))
    budget = max_num_seqs + int(rng.choice([0, 1, 3, 15, 16, 40, 200]))
    kv_blocks = int(rng.choice([2, 3, 4, 5, 6, 8, 12, 20, 60]))
    watermark = float(rng.choice([0.0, 0.0, 0.0, 0.0, 0.1, 0.25, 0.34, 0.5]))
    ahead = bool(rng.random() < 0.4)
    limits = EngineLimits(max_num_seqs, budget, kv_blocks=kv_blocks, watermark=watermark, async_scheduling=ahead)
    network_ps = int(rng.choice([0, 0, 7, 1000]))
    return Pool(name, _cost(rng, limits), kv_blocks, limits, replicas, network_ps)


def _cost(rng: np.random.Generator, limits: EngineLimits) -> StepCost:
    """Constant steps (all ends tie with each other and with arrivals), or every term at odds with every other."""
    tokens, decodes = limits.max_num_batched_tokens + 1, limits.max_num_seqs + 1
    if rng.random() < 0.4:
        base, context, other = np.full(tokens, 100), np.zeros(decodes, np.int64), [0, 0, 0, 0]
    elif rng.random() < 0.3:  # small numbers: many ties by chance
        base, context = rng.integers(1, 4, tokens), rng.integers(0, 2, decodes)
        other = rng.integers(0, 2, 4).tolist()
    else:
        base, context = rng.integers(1, 10**9, tokens), rng.integers(0, 10**6, decodes)
        other = rng.integers(0, 10**6, 4).tolist()
    sequence_ps, pair_ps, prefill_context_ps, request_ps = (int(x) for x in other)
    extra = int(rng.choice([0, 0, 0, 1, 2, 3]))
    base, context = base.astype(np.int64), context.astype(np.int64)
    return StepCost(base, context, sequence_ps, pair_ps, prefill_context_ps, request_ps, False, {}, extra)


def _requests(rng: np.random.Generator, n: int, step_ps: int, kv_blocks: int) -> Requests:
    arrival_ps = np.sort(_arrivals(rng, n, step_ps))
    room = kv_blocks * BLOCK_TOKENS
    inputs = rng.integers(1, max(2, int(room * rng.choice([0.1, 0.3, 0.6]))) + 1, n)
    outputs = rng.integers(1, max(2, int(room * rng.choice([0.1, 0.3, 0.4]))) + 1, n)
    on_boundary, single, huge = rng.random((3, n)) < np.array([[0.2], [0.15], [0.02]])
    inputs[on_boundary] = BLOCK_TOKENS * (1 + inputs[on_boundary] // BLOCK_TOKENS) + rng.integers(-1, 2, int(on_boundary.sum()))
    outputs[single] = 1
    inputs[huge] = room + rng.integers(-2, 4, int(huge.sum()))  # at the edge of rejection, and beyond it
    rows = [(int(t), int(p), int(o)) for t, p, o in zip(arrival_ps, inputs, outputs, strict=True)]
    return make_requests(rows, rng.integers(0, 3, n).tolist())


def _arrivals(rng: np.random.Generator, n: int, step_ps: int) -> npt.NDArray[np.int64]:
    """A burst at 0, arrivals on a grid of steps, arrivals anywhere, or bursts with quiet time between them."""
    shape = rng.choice(["burst", "grid", "anywhere", "bursts"])
    if shape == "burst":
        return np.zeros(n, np.int64)
    if shape == "grid":
        return rng.integers(0, 4 * n, n) * (step_ps - 1)
    if shape == "anywhere":
        return rng.integers(0, int(rng.choice([2, 20])) * n * step_ps, n)
    return rng.integers(0, 4, n) * int(rng.choice([3, 50, 1000])) * step_ps
