"""Quantiles with confidence bounds, and SLO verdicts, from request logs.

A request that was rejected, failed or timed out has latency infinity in every metric, so it misses every
limit and still counts: quantiles are over *all* requests of a class that arrived in the window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.request_log import RequestLog

Floats = npt.NDArray[np.float64]
Samples = npt.NDArray[np.floating[Any]]
METRICS = ("ttft", "tpot", "e2e")


@dataclass(frozen=True)
class Quantiles:
    """What simulations say of one promise. `met` is attainment >= quantile, which is simulated_s <= limit.

    simulated_s       quantile of the pooled samples; inf when too many requests never finished
    ci95_s            95 % interval of that quantile; contains simulated_s
    attainment        share of the pooled requests within the limit, and its 95 % interval
    """

    simulated_s: float
    ci95_s: tuple[float, float]
    attainment: float
    attainment_ci95: tuple[float, float]
    requests: int
    met: bool


def class_metrics(log: RequestLog, class_index: int, from_ps: int, to_ps: int) -> dict[str, Floats]:
    """{"ttft", "tpot", "e2e"}: seconds per request of the class that *arrived* in `[from_ps, to_ps)`, in
    log order.

    Warm-up is what arrived before `from_ps`. TPOT is (finish - first) / (output - 1); an answer of one
    token has none and counts as 0: it meets any limit. Requests that are still open when the simulation
    stops have their TTFT if the first token came, and infinity otherwise: stop the simulation later than
    `to_ps`, so that only requests that are slow indeed are open.
    """
    mask = (log.class_id == class_index) & (log.arrival_ps >= from_ps) & (log.arrival_ps < to_ps)
    arrival_ps, first_ps, finish_ps = log.arrival_ps[mask], log.first_ps[mask], log.finish_ps[mask]
    status, gaps = log.status[mask], log.output_tokens[mask].astype(np.int64) - 1
    finished = status == Status.FINISHED
    started = finished | ((status == Status.IN_FLIGHT) & (first_ps >= 0))
    stream_s = np.where(gaps > 0, (finish_ps - first_ps) / np.maximum(gaps, 1) / PS, 0.0)
    return {
        "ttft": np.where(started, (first_ps - arrival_ps) / PS, np.inf),
        "tpot": np.where(finished, stream_s, np.inf),
        "e2e": np.where(finished, (finish_ps - arrival_ps) / PS, np.inf),
    }


def quantile(samples: Samples, q: float) -> float:
    """The least sample that at least the share `q` of all samples does not exceed; no interpolation; inf of
    none.

    >>> quantile(np.array([4.0, 1.0, 3.0, 2.0]), 0.5), quantile(np.array([1.0, np.inf]), 0.95)
    (2.0, inf)
    """
    if len(samples) == 0:
        return math.inf
    rank = _rank(len(samples), q)
    return float(np.partition(samples, rank)[rank])


def quantile_ci(samples: Samples, q: float, level: float = 0.95) -> tuple[float, float]:
    """Interval that holds the true `q`-quantile with probability >= `level`, if samples are independent.

    Order statistics: the number of samples below the quantile is binomial, whatever the law. A side that no
    sample bounds is 0 or inf. Source: David and Nagaraja, Order Statistics, 3rd ed., 7.1.
    """
    size = len(samples)
    if size == 0:
        return 0.0, math.inf
    tail = (1 - level) / 2
    low, high = _binomial_ppf(tail, size, q), _binomial_ppf(1 - tail, size, q) + 1  # ranks from 1
    ordered = np.sort(samples)
    return (
        float(ordered[low - 1]) if low >= 1 else 0.0,
        float(ordered[high - 1]) if high <= size else math.inf,
    )


def attainment(samples: Samples, limit_s: float) -> float:
    """Share of samples within the limit; 0 of none.

    >>> attainment(np.array([0.1, 0.2, np.inf, 0.2]), 0.2)
    0.75
    """
    return float(np.count_nonzero(samples <= limit_s) / len(samples)) if len(samples) else 0.0


def wilson_ci(share: float, size: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of a proportion seen as `share` of `size` independent trials. Source: Wilson 1927 (JASA 22).

    >>> tuple(round(bound, 4) for bound in wilson_ci(1.0, 100))
    (0.963, 1.0)
    """
    from statistics import NormalDist

    if size == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    scale = 1 + z * z / size
    centre = (share + z * z / (2 * size)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def replication_ci(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Student t interval of the mean over independent replications; unbounded for one, and above where one
    is inf.
    """
    from scipy.special import stdtrit

    if len(values) < 2:
        return 0.0, math.inf
    if not all(map(math.isfinite, values)):
        return min(values), math.inf
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * error
    return max(0.0, mean - half), mean + half


def verdict(samples_by_seed: Sequence[Samples], q: float, limit_s: float) -> Quantiles:
    """Whether the `q`-quantile stays within `limit_s`, over independent replications (one array per seed).

    Both intervals are the hull of two: one over pooled samples as if independent (order statistics;
    Wilson), one over replications (Student t). Requests that share a queue are not independent, so the
    first is too narrow alone; a few replications that agree by chance, or that all attain 1, make the
    second too narrow. No request at all proves nothing: not met, interval unbounded.
    """
    seeds = [samples.astype(np.float64) for samples in samples_by_seed if len(samples)]
    pooled = np.concatenate(seeds) if seeds else np.empty(0)
    share = attainment(pooled, limit_s)
    bounds, share_bounds = [quantile_ci(pooled, q)], [wilson_ci(share, len(pooled))]
    if len(seeds) > 1:
        bounds.append(replication_ci([quantile(samples, q) for samples in seeds]))
        share_bounds.append(replication_ci([attainment(samples, limit_s) for samples in seeds]))
    simulated_s = quantile(pooled, q)
    return Quantiles(
        simulated_s=simulated_s,
        ci95_s=_hull(bounds),
        attainment=share,
        attainment_ci95=(_hull(share_bounds)[0], min(1.0, _hull(share_bounds)[1])),
        requests=len(pooled),
        met=simulated_s <= limit_s,
    )


def _hull(bounds: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def _rank(size: int, q: float) -> int:
    """Index of the order statistic; the small term keeps 0.95 * 20 (19.000000000000004 or so) at 19."""
    return min(size - 1, max(0, math.ceil(q * size - 1e-9) - 1))


def _binomial_ppf(probability: float, size: int, share: float) -> int:
    """Least k with P(Binomial(size, share) <= k) >= probability (scipy.special: scipy.stats takes 0.5 s to
    import).
    """
    from scipy.special import bdtr, bdtrik

    k = max(0, math.floor(float(bdtrik(probability, size, share))) - 1)
    while k < size and bdtr(k, size, share) < probability:
        k += 1
    return k
