"""A latency distribution in a few numbers: the latency at fixed cumulative shares, enough to draw it with its tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

SHARES = (
    *(0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    *(0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1.0),
)


def latency_ladder(latency_s: Sequence[npt.NDArray[np.floating[Any]]], promised: float) -> tuple[tuple[float, float], ...]:
    """(cumulative share, latency in s) at SHARES and at `promised`, over all samples of all seeds; infinite where requests never ended.

    A latency is the least sample that at least this share of all samples does not exceed, as in `sim.latency.quantile`: the ladder
    passes through the verdict's quantile. Empty where there is no sample.

    >>> dict(latency_ladder([np.array([4.0, 1.0]), np.array([3.0, np.inf])], 0.75))[0.75]
    4.0
    """
    samples = np.concatenate([np.asarray(each, np.float64) for each in latency_s]) if latency_s else np.empty(0)
    if not len(samples):
        return ()
    shares = sorted({*SHARES, promised})
    ranks = np.clip(np.ceil(np.array(shares) * len(samples) - 1e-9).astype(np.int64) - 1, 0, len(samples) - 1)
    ordered = np.partition(samples, ranks)
    return tuple((share, float(ordered[rank])) for share, rank in zip(shares, ranks, strict=True))
