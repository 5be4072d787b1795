"""Requests per CPU second of the simulator, compile time excluded.

    python -m benchmarks.speed [NAME ...] [--json]

Llama-3.1-8B on the GPU named by the row, prompts lognormal with mean 500, answers lognormal with mean 200. Load is relative to the
saturated throughput of the same pool. Each row runs in a process of its own, so that `peak_mb` is its own: what the
simulation takes beyond the arrivals.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from sim.catalog.loader import load_catalog
from sim.engine.deployment import PS, Deployment
from sim.engine.memory import kv_blocks
from sim.engine.pool import Pool
from sim.engine.step_cost import step_cost
from sim.fleet.clients import Turns, session_turns, simulate_turns
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import probe, simulate
from sim.relay.endpoint import RelayEndpoint
from sim.requests import Requests

MILLION = 1_000_000
DAY_S = 86_400
TURNS, SYSTEM_TOKENS, THINK_S = 3, 500, 60  # of the conversations


@dataclass(frozen=True)
class Speed:
    """One row of the table; `cpu_s` is of the simulation alone."""

    name: str
    requests: int
    cpu_s: float
    requests_per_cpu_s: float
    peak_mb: float


@dataclass(frozen=True)
class Row:
    """What one row simulates: `turns` for clients who wait for their answers, else whether arrivals are events."""

    fleet: Fleet
    requests: Requests
    events: bool = True
    turns: Turns | None = None

    def run(self) -> None:
        if self.turns is not None:
            simulate_turns(self.fleet, self.requests, self.turns, 1)
        else:
            simulate(self.fleet, self.requests, 1, event_per_arrival=self.events)


def pool_of(gpu: str, replicas: int) -> Pool:
    """Llama-3.1-8B in bf16 on `gpu`."""
    catalog = load_catalog()
    deployment = Deployment(catalog.models["llama-3.1-8b"], catalog.weight_formats["bf16"], catalog.gpus[gpu])
    return Pool(deployment.id, step_cost(deployment, catalog.calibration), kv_blocks(deployment), deployment.limits, replicas)


def lengths(rng: np.random.Generator, size: int, mean: float, sigma: float) -> np.ndarray:
    """Lognormal token counts of the given mean, at least 1."""
    return np.maximum(rng.lognormal(np.log(mean) - sigma**2 / 2, sigma, size), 1).astype(np.int32)


def traffic(size: int, arrival_s: np.ndarray, seed: int = 1) -> Requests:
    """Requests with prompts of mean 500 and answers of mean 200 tokens at these times."""
    rng = np.random.default_rng(seed)
    prompts, answers = lengths(rng, size, 500, 0.8), lengths(rng, size, 200, 0.6)
    arrival_ps, none = (arrival_s * PS).astype(np.int64), np.zeros(size, np.int32)
    return Requests(arrival_ps, none.astype(np.int16), prompts, answers, np.full(size, -1, np.int64), none)


def conversations(size: int, arrival_s: np.ndarray, seed: int = 1) -> Requests:
    """Conversations of three turns that repeat their history: system prompt of 500 tokens, texts of mean 100, answers of mean 200.

    Turn k of all conversations stands in the k-th third of the columns; only the first turns come at `arrival_s`.
    """
    rng, talks = np.random.default_rng(seed), size // TURNS
    texts, answers = (lengths(rng, talks * TURNS, mean, 0.8).reshape(TURNS, talks) for mean in (100, 200))
    history = np.cumsum(texts + answers, axis=0, dtype=np.int32) - (texts + answers)
    prompts, prefix = (SYSTEM_TOKENS + history + texts).ravel(), (SYSTEM_TOKENS + history).ravel()
    arrival_ps = (np.resize(arrival_s, talks * TURNS) * PS).astype(np.int64)
    session, system = np.tile(np.arange(talks, dtype=np.int64), TURNS), np.full(talks * TURNS, SYSTEM_TOKENS, np.int32)
    return Requests(arrival_ps, np.zeros(talks * TURNS, np.int16), prompts, answers.ravel(), session, prefix, system)


def capacity_rps(pool: Pool, burst: Requests | None = None) -> float:
    """Saturated throughput: 5,000 requests per replica at once, over the time that they take on one replica."""
    one = Pool(pool.name, pool.cost, pool.kv_blocks, pool.limits, 1)
    burst = burst or traffic(5000, np.zeros(5000))
    return len(burst) / (probe(one, burst).end_ps / PS) * pool.replicas


def poisson_s(size: int, rate_rps: float) -> np.ndarray:
    """Arrival times in seconds."""
    return np.cumsum(np.random.default_rng(2).exponential(1 / rate_rps, size))


def day_s(size: int) -> np.ndarray:
    """Arrival times of a day with a sinusoidal rate that falls to a tenth of its mean."""
    grid = np.linspace(0, DAY_S, 10_001)
    share = grid / DAY_S - 0.9 * np.sin(2 * np.pi * grid / DAY_S) / (2 * np.pi)
    return np.interp(np.sort(np.random.default_rng(2).random(size)), share, grid)


def fleet_at_load(replicas: int, load: float, events: bool, size: int = MILLION) -> Row:
    """Fleet of L40S and its traffic at `load`."""
    pool = pool_of("l40s", replicas)
    return Row(Fleet((pool,), np.ones((1, 1))), traffic(size, poisson_s(size, load * capacity_rps(pool))), events)


def fleet_over_a_day(gpu: str, replicas: int, size: int) -> Row:
    """Fleet and a sinusoidal day."""
    return Row(Fleet((pool_of(gpu, replicas),), np.ones((1, 1))), traffic(size, day_s(size)))


def limited_relay(size: int, share: float) -> Row:
    """A relay whose limit of calls a minute lets through `share` of a steady 1,000 requests a second: many come back several times."""
    relay = next(each for each in load_catalog().relays.values() if each.model == "llama-3.3-70b")
    endpoint = RelayEndpoint("relay", replace(relay, rpm=share * 60_000.0, tpm=None))
    return Row(Fleet((endpoint,), np.ones((1, 1))), traffic(size, poisson_s(size, 1000.0)), events=False)


ROWS: dict[str, Callable[[], Row]] = {
    "fleet_1_load_70": lambda: fleet_at_load(1, 0.7, True),
    "fleet_1_load_95": lambda: fleet_at_load(1, 0.95, True),
    "fleet_50_load_70": lambda: fleet_at_load(50, 0.7, True),
    "fleet_50_load_95": lambda: fleet_at_load(50, 0.95, True),
    "pool_probe_1": lambda: fleet_at_load(1, 0.7, False),
    "fleet_50_reactive": lambda: reactive_at_load(0.7),
    "fleet_50_sessions": lambda: sessions_at_load(0.7),
    "fleet_50_sweep": lambda: fleet_at_load(50, 0.7, False),
    "day_500k_on_12_l40s": lambda: fleet_over_a_day("l40s", 12, MILLION // 2),
    "day_1m_on_12_l40s": lambda: fleet_over_a_day("l40s", 12, MILLION),
    "day_2m_on_12_l40s": lambda: fleet_over_a_day("l40s", 12, 2 * MILLION),
    "day_5m_on_12_l40s": lambda: fleet_over_a_day("l40s", 12, 5 * MILLION),
    "day_10m_on_100_a10g": lambda: fleet_over_a_day("a10g", 100, 10 * MILLION),
    "limited_relay_10m": lambda: limited_relay(10 * MILLION, 0.7),
}


def peak_mb() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def thinking(requests: Requests) -> np.ndarray:
    """A minute of thought before every turn."""
    return np.full(len(requests), THINK_S * PS, np.int64)


def reactive_at_load(load: float, size: int = MILLION) -> Row:
    """Fleet of 50 L40S; a third of the requests begin conversations, at a third of the rate; turns of one are a third of all apart."""
    row = fleet_at_load(50, load / TURNS, True, size)
    after = np.maximum(np.arange(size) - size // TURNS, -1)
    return replace(row, turns=Turns(after, thinking(row.requests)))


def sessions_at_load(load: float, size: int = MILLION) -> Row:
    """Fleet of 50 L40S with prefix caches and session affinity; `load` is that of the same turns without a cache."""
    pool = pool_of("l40s", 50)
    rate_rps = load * capacity_rps(pool, conversations(5000, np.zeros(5000 // TURNS)))
    caching = replace(pool, limits=replace(pool.limits, prefix_caching=True))
    requests = conversations(size, poisson_s(size // TURNS, rate_rps / TURNS))
    fleet = Fleet((caching,), np.ones((1, 1)), "session_affinity")
    return Row(fleet, requests, turns=session_turns(requests, thinking(requests)))


def measure(name: str) -> Speed:
    """Row `name`, after a short run that compiles or loads the kernel."""
    pools = (fleet_at_load(1, 0.1, True, 99), fleet_at_load(1, 0.1, False, 99), reactive_at_load(0.1, 99), sessions_at_load(0.1, 99))
    for small in (*pools, limited_relay(99, 0.7)):
        small.run()
    row = ROWS[name]()
    before_mb, start_s = peak_mb(), time.process_time()
    row.run()
    cpu_s, size = time.process_time() - start_s, len(row.requests)
    return Speed(name, size, round(cpu_s, 2), round(size / cpu_s), round(peak_mb() - before_mb, 1))


def main() -> None:
    """Measure the named rows, or all, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in ROWS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; write one of {', '.join(ROWS)}")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as worker:
        speeds = worker.map(measure, arguments.names or list(ROWS), chunksize=1)
    if arguments.json:
        print(json.dumps({"results": [asdict(speed) for speed in speeds]}))
        return
    for speed in speeds:
        rate = f"{speed.cpu_s:7.2f} CPU s {speed.requests_per_cpu_s:>10,}/s"
        print(f"{speed.name:22} {speed.requests:>10,} requests {rate} {speed.peak_mb:7.0f} MB")


if __name__ == "__main__":
    main()
