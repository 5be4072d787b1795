"""Does the simulated relay under a probed profile behave as a second probe at another load? Against a local server with a heavy tail
and latency that grows with calls in flight: two-sample Kolmogorov-Smirnov distances and p-values.

    python -m benchmarks.relay_profile [REQUESTS]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim.catalog.facts import Relay, Source
from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.fleet.clients import closed_loop, simulate_turns
from sim.fleet.fleet import Fleet
from sim.probe.attempts import Caps, Load, Measured, Setup, Shape
from sim.probe.fit_latency import fit_latency
from sim.probe.run_load import probe
from sim.probe.summary import latencies
from sim.relay.endpoint import RelayEndpoint
from sim.requests import Requests
from tests.probe.server import Answer, Server, serving

Floats = npt.NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]
FIRST, SECOND = (2, 8, 16), 12  # users of the first probe, by level, and of the second
TOKENS = 6


@dataclass(frozen=True)
class Compared:
    """One metric: medians of the second probe and of the simulation, KS distance, p-value; `busy`: this machine had no time."""

    metric: str
    probed_p50_s: float
    simulated_p50_s: float
    ks: float
    p_value: float
    busy: bool


def answers(seed: int, server: list[Server], scale: float) -> Answer:
    """TTFT log-normal (0.3 s x `scale`, sigma 0.35) with one in twenty four times as slow, times 1 + 4 % for each other call in flight."""
    rng = np.random.default_rng([seed, 11])
    ttft_s = scale * 0.3 * float(np.exp(0.35 * rng.standard_normal())) * (4.0 if rng.random() < 0.05 else 1.0)
    return Answer(ttft_s=ttft_s * (1 + 0.04 * server[0].open), gap_s=scale * 0.03 * float(np.exp(0.2 * rng.standard_normal())))


def compare(requests: int, levels: tuple[int, ...] = FIRST, scale: float = 1.0) -> list[Compared]:
    """Rows for TTFT, TPOT and E2E; `requests` at each level."""
    me: list[Server] = []
    with serving(lambda n, _: answers(n, me, scale)) as server:
        me.append(server)
        load = Load(concurrency=levels, requests_per_level=requests)
        setup = Setup(server.url, "m", shapes=(Shape(40, TOKENS),), load=load, limits="off", caps=Caps(10**6, 10**9, 600))
        first = probe(setup, "none", lambda _: None)
        second = probe(replace(setup, load=Load(concurrency=(SECOND,), requests_per_level=requests), seed=2), "none", lambda _: None)
    busy = any("busy" in warning for warning in (*first.warnings, *second.warnings))
    return _rows(simulated(first, SECOND, 20 * requests), second, busy)


def simulated(first: Measured, users: int, requests: int) -> dict[str, Floats]:
    """The metrics of a simulated relay with the profile of `first`, in a closed loop of so many users."""
    source = Source("local server", "2026-11-30")
    latency = fit_latency(first.attempts)
    relay = Relay("r", "v", "m", 1.0, 1.0, None, 1.0, 0.1, 1.0, 0.1, source, source, latency=latency)
    tokens = first.attempts[0].input_tokens
    zero = np.zeros(requests, np.int64)
    columns = (np.full(requests, tokens, np.int32), np.full(requests, TOKENS, np.int32))
    traffic = Requests(zero, zero.astype(np.int16), *columns, zero - 1, zero.astype(np.int32))
    log = simulate_turns(Fleet((RelayEndpoint("r", relay),), np.ones((1, 1))), traffic, closed_loop(traffic, users, 0), seed=1).log
    done = log.status == Status.FINISHED
    ttft, e2e = ((times - log.arrival_ps)[done] / PS for times in (log.first_ps, log.finish_ps))
    return {"ttft": ttft, "tpot": (e2e - ttft) / (TOKENS - 1), "e2e": e2e}


def _rows(model: dict[str, Floats], second: Measured, busy: bool) -> list[Compared]:
    from scipy.stats import ks_2samp

    seen, rows = latencies(second.attempts), []
    for metric in ("ttft", "tpot", "e2e"):
        probed = np.array(seen[f"{metric}_s"])
        found = ks_2samp(probed, model[metric])
        rows.append(Compared(metric, float(np.median(probed)), float(np.median(model[metric])), float(found[0]), float(found[1]), busy))
    return rows


if __name__ == "__main__":
    print("metric  second probe p50  simulated p50     KS  p-value")
    for row in compare(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print(f"{row.metric:6}  {row.probed_p50_s:14.4f} s  {row.simulated_p50_s:11.4f} s  {row.ks:.3f}  {row.p_value:.3f}")
        if row.busy:
            print("        (this machine was busy while it measured)")
