"""Replicas that are textbook queues, Poisson traffic for them, and what queueing theory says of both.

A request of one prompt token and O output tokens takes part in O steps. So
- a step of constant cost s with at most c sequences is a station of c servers with service time O * s: M/M/c when O is geometric
  with a large mean. An arrival next to running sequences waits for the end of their step, at most s: a share 1/mean(O) of a service.
- at c = 1 nothing of this is approximate: the replica is M/G/1 with service O * s.
- a step that costs s per sequence, without limit on sequences, hands every sequence an equal share: processor sharing.
Source of the formulas: Kleinrock, Queueing Systems, volumes 1 (1975) and 2 (1976).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import PS, EngineLimits
from sim.engine.pool import Pool
from sim.requests import Requests
from sim.streams import stream
from tests.samples import make_cost

SEEDS = range(20)
Lengths = Callable[[np.random.Generator, int], npt.NDArray[np.int64]]


def server_pool(servers: int, step_ps: int, replicas: int = 1) -> Pool:
    """Replicas with a constant step and memory for everything: `servers` servers each."""
    limits = EngineLimits(max_num_seqs=servers, max_num_batched_tokens=max(servers, 16))
    return Pool("servers", make_cost(step_ps, limits=limits), 10**7, limits, replicas)


def sharing_pool(token_ps: int, most: int = 1000) -> Pool:
    """One replica whose step costs `token_ps` per token and nothing else: a processor that is shared equally."""
    limits = EngineLimits(max_num_seqs=most, max_num_batched_tokens=most)
    return Pool("sharing", make_cost(0, token_ps, limits=limits), 10**7, limits, 1)


def poisson(rate_rps: float, n: int, seed: int, outputs: Lengths, prompts: Lengths | None = None) -> Requests:
    """n Poisson arrivals with independent lengths; prompts of one token unless given."""
    gaps = stream(seed, "theory", "arrivals").exponential(PS / rate_rps, n)
    rng = stream(seed, "theory", "lengths")
    ones = np.ones(n, np.int32)
    return Requests(
        arrival_ps=np.cumsum(gaps).astype(np.int64),
        class_id=np.zeros(n, np.int16),
        input_tokens=ones if prompts is None else prompts(rng, n).astype(np.int32),
        output_tokens=outputs(rng, n).astype(np.int32),
        session_id=np.full(n, -1, np.int64),
        prefix_tokens=np.zeros(n, np.int32),
    )


def geometric(mean: float) -> Lengths:
    return lambda rng, n: rng.geometric(1 / mean, n)


def constant(value: int) -> Lengths:
    return lambda rng, n: np.full(n, value, np.int64)


def either(low: int, high: int, share_high: float) -> Lengths:
    return lambda rng, n: np.where(rng.random(n) < share_high, high, low)


def erlang_c_wait(servers: int, rate: float, service: float) -> float:
    """Mean wait in the queue of M/M/c.

    >>> erlang_c_wait(1, rate=0.5, service=1.0)  # M/M/1: rho / (1 - rho) * service
    1.0
    """
    load = rate * service
    blocked = load**servers / math.factorial(servers) * servers / (servers - load)
    waits = blocked / (sum(load**k / math.factorial(k) for k in range(servers)) + blocked)
    return waits * service / (servers - load)


def pollaczek_khinchine_wait(rate: float, mean: float, second_moment: float) -> float:
    """Mean wait in the queue of M/G/1.

    >>> pollaczek_khinchine_wait(0.5, 1.0, 1.0)  # M/D/1
    0.5
    """
    return rate * second_moment / (2 * (1 - rate * mean))


def assert_mean(samples: Sequence[float], expected: float) -> None:
    """The mean of one sample per seed is within 4 standard errors of `expected`, and the test is sharp: one error is below 5 %."""
    mean, error = float(np.mean(samples)), float(np.std(samples, ddof=1) / math.sqrt(len(samples)))
    said = f"simulated {mean:.6g} +- {error:.2g} (one standard error, {len(samples)} seeds), theory {expected:.6g}"
    assert abs(mean - expected) <= 4 * error, said
    assert error < 0.05 * abs(expected), f"too noisy to tell anything: {said}"
