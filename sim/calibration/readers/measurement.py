"""What every reader gives: one benchmark run as its file states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measurement:
    """One run of a benchmark. Exactly one of `in_flight`, `rate_rps` and `arrival_s` says how requests came.

    name       file, and which run of it
    requests   that succeeded
    in_flight  requests kept open at a time (all of them: a burst); `rate_rps` open arrivals, Poisson unless `steady`
    measured   `throughput` in output tokens/s, `tpot` and `ttft` in seconds, each where the file has it
    statistic  "mean" or "p50" of each latency
    prompt, output   tokens of each request in the order sent, where the file has them or quantiles of them
    arrival_s  seconds after the first request at which each was sent, where the file has them and load was open
    model      name that the file gives the model; empty where it is silent
    """

    name: str
    requests: int
    input_tokens: float
    output_tokens: float
    measured: Mapping[str, float]
    statistic: Mapping[str, str]
    in_flight: int | None = None
    rate_rps: float | None = None
    steady: bool = False
    prompt: Ints | None = None
    output: Ints | None = None
    arrival_s: Floats | None = None
    model: str = ""


def lengths_from_quantiles(quantiles: Mapping[float, float], mean: float, count: int, seed: int) -> Ints:
    """`count` token counts whose quantiles are those stated (linear between) and whose mean is `mean`, in random order.

    >>> lengths_from_quantiles({0.0: 10.0, 0.5: 20.0, 1.0: 30.0}, 20.0, 3, 0).tolist()
    [27, 13, 20]
    """
    places = np.array(sorted(quantiles))
    values = np.array([quantiles[place] for place in places])
    drawn = np.interp((np.arange(count) + 0.5) / count, places, values)
    drawn = np.maximum(drawn * mean / max(float(drawn.mean()), 1e-9), 1.0)
    np.random.Generator(np.random.PCG64(seed)).shuffle(drawn)
    return np.asarray(np.maximum(np.rint(drawn), 1), dtype=np.int64)
