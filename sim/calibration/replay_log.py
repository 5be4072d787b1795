"""A run of a real server replayed request by request: the lengths of its log, its arrivals or Poisson ones, and its engine's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.calibration.replay_points import Run
from sim.calibration.validate_points import replay
from sim.engine.deployment import PS, Deployment, StepCost
from sim.errors import InputError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Latencies:
    """Seconds by request, in the order of arrival: `tpot_s` is NaN for answers of one token."""

    ttft_s: Floats
    tpot_s: Floats
    e2e_s: Floats

    @classmethod
    def of(cls, ttft_s: Floats, e2e_s: Floats, output: Ints) -> Latencies:
        """From first token, last token and answer lengths."""
        several = np.where(output > 1, output - 1, np.nan)
        return cls(ttft_s, (e2e_s - ttft_s) / several, e2e_s)

    def summary(self) -> dict[str, float]:
        """`ttft_mean`, `ttft_p50` ... in seconds, and `ttft_growth`: last fifth of the run over the first."""
        found: dict[str, float] = {}
        for metric in ("ttft", "tpot", "e2e"):
            values: Floats = getattr(self, f"{metric}_s")
            values = values[np.isfinite(values)]
            found[f"{metric}_mean"] = float(values.mean())
            found |= {f"{metric}_p{round(100 * q)}": float(np.quantile(values, q)) for q in QUANTILES}
        found["ttft_growth"] = growth(self.ttft_s)
        return found


def growth(ttft_s: Floats) -> float:
    """Mean TTFT of the last fifth of a run over that of the first fifth: how a queue has grown.

    >>> growth(np.array([1.0, 1.0, 1.0, 1.0, 3.0]))
    3.0
    """
    fifth = max(len(ttft_s) // 5, 1)
    return float(ttft_s[-fifth:].mean() / ttft_s[:fifth].mean())


def replay_requests(deployment: Deployment, cost: StepCost, prompt: Ints, output: Ints, arrival_s: Floats) -> Latencies:
    """What the simulator says of these requests on one replica. Raises InputError where one of them can never fit its memory.

    The limits are those of `deployment.limits`; `kv_blocks` there stands for what memory would give.
    """
    log = replay(Run(deployment, prompt, np.maximum(output, 1), arrival_s, 0, 0, 0), cost)
    if log is None:
        longest = int((prompt + output).max())
        raise InputError(f"a request of {longest} tokens does not fit the KV cache of {deployment.id}; state more kv_blocks")
    return Latencies.of((log.first_ps - log.arrival_ps) / PS, (log.finish_ps - log.arrival_ps) / PS, output)


def replay_poisson(
    deployment: Deployment, cost: StepCost, prompt: Ints, output: Ints, rate_rps: float, seeds: Sequence[int]
) -> Mapping[str, float]:
    """Means over seeds of the summaries of Poisson arrivals at `rate_rps`: for logs that do not say when requests came."""
    found = []
    for seed in seeds:
        gaps = np.random.Generator(np.random.PCG64(seed)).exponential(1.0 / rate_rps, len(prompt))
        found.append(replay_requests(deployment, cost, prompt, output, np.cumsum(gaps)).summary())
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}
