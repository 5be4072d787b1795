"""When seeds that were seen speak for one that was not: a sequential test whose risk the looks share out.

The seeds of an hour are looked at several times, and a clear case is closed early. A bound that is asked again and again until it
holds is broken more often than it says; so the risk of the hour is shared among the looks, each look judges at its own share, and by
Boole's inequality the shares bound the risk of all looks together, however they depend on each other. Source: alpha spending, Lan and
DeMets 1983 (Biometrika 70), with the shares of `LOOKS`; prediction bounds by Student's t, Geisser 1993.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from optimize.records import Floats

HOLD_OUT_SEEDS = tuple(range(9001, 9011))
MORE_SEEDS = tuple(range(9011, 9031))  # for hours that those leave open, or whose attainment is not known closely yet
RISK = 0.05  # of a fresh week: that any hour misses a promise
HOUR_RISK = 0.01  # of a fresh hour, however few hours stand for the week: each of them comes hundreds of times a month
RARE_SEEDS = tuple(range(9031, 9101))  # for hours of few requests, of which those still show too few
RARE_REQUESTS = 2000.0  # of an hour that may take them: all of its seeds together cost less than one of a busy hour
LOOKS = {1: 0.1, 4: 0.15, 10: 0.2, 20: 0.25, 30: 0.2, 100: 0.1}  # seeds at which an hour is looked at -> share of its risk
KNOWN = 4  # seeds of an hour by itself from which its scatter stands for that of the hour after the one before it
BLOCKS = 6  # of ten minutes: what scatters within a seed
FEW_MISSES = 10.0  # allowed in a window: with fewer, chance decides whether a promise was kept in it
STRIDE = 100_000  # between the seeds of two replications: more than search, proof and benchmarks use together


def seeds_of(replication: int, seeds: Iterable[int]) -> tuple[int, ...]:
    """`seeds` for a scenario of seed `replication`: those named in the code for seed 1, and others for every other.

    >>> seeds_of(1, (101, 102)), seeds_of(3, (101, 102))
    ((101, 102), (200101, 200102))
    """
    return tuple(seed + STRIDE * ((replication - 1) % 2**31) for seed in seeds)


def fresh_bound(
    attainment: Floats, hours_of_week: int, windows: npt.ArrayLike = 1.0, blocks: Floats | None = None, alone: Floats | None = None
) -> Floats:
    """[slo rows] attainment that a fresh window reaches: the best of the bounds of all looks at the seeds.

    Of a promise that is judged over several hours, a look at fewer seeds than that says nothing, unless it is the last: a handful of
    requests that are all on time do not scatter.

    attainment  [seeds, slo rows];  blocks [seeds x BLOCKS, slo rows] that of the blocks of each seed, None: a single seed is taken at
                its word, and more scatter as they do among themselves
    windows     [slo rows] hours that a promise is judged over, see `windows_of`
    alone       [seeds, slo rows] that of the same hour played by itself, where `attainment` is that of the hour after the one before it:
                both scatter alike, so that few seeds of the second are enough
    """
    n, windows = len(attainment), np.broadcast_to(np.asarray(windows, np.float64), attainment.shape[1:])
    looks = [k for k in LOOKS if k <= n]
    if n > max(looks):
        looks.append(n)
    speaks = {k: (k >= windows) | (k == max(looks)) for k in looks}
    known = alone is not None and len(alone) >= KNOWN
    each = len(blocks) // n if blocks is not None else 0
    bounds = [
        np.where(
            speaks[k], look_bound(attainment[:k], hours_of_week, windows, alone, None if blocks is None else blocks[: k * each]), -np.inf
        )
        for k in looks
        if k > 1
    ]
    if known:
        bounds.append(np.where((windows <= 1) | (n == 1), look_bound(attainment[:1], hours_of_week, windows, alone), -np.inf))
    elif blocks is not None and each > 1:
        within = blocks[:each].std(axis=0, ddof=1) / math.sqrt(each)
        first = attainment[0] - t_quantile(each - 1, spent(1, hours_of_week)) * within * np.sqrt(1.0 / windows + 1.0)
        bounds.append(np.where((windows <= 1) | (n == 1), first, -np.inf))
    return np.max(bounds, axis=0) if bounds else np.asarray(attainment[0], np.float64)


def look_bound(
    attainment: Floats, hours_of_week: int, windows: npt.ArrayLike = 1.0, alone: Floats | None = None, blocks: Floats | None = None
) -> Floats:
    """[slo rows] the bound of one look: a one-sided prediction bound of Student's t over its seeds, at the look's share of the risk.

    The risk of a whole week (5 %) is divided by its hours (Bonferroni): a bound that speaks for one hour alone is broken somewhere in
    a week of 48 hours on one seed in five. Fewer than five hours leave each 1 %: where all hours of the month are alike, 5 % would
    be 36 of them. The scatter is that of the seeds, pooled with that of `alone`, and with that of the `blocks` of each seed: an hour is
    the mean of its blocks. Where blocks of a seed resemble each other, so that seeds scatter more than blocks explain (an F test), and
    where a promise is judged over several hours, the seeds speak for themselves.
    """
    groups = [each for each in (attainment, alone) if each is not None and len(each) > 1]
    freedom = sum(len(each) - 1 for each in groups)
    squares = sum(each.var(axis=0, ddof=1) * (len(each) - 1) for each in groups)
    mean = attainment.mean(axis=0)
    bound = mean - deviations(len(attainment), hours_of_week, windows, freedom) * np.sqrt(squares / max(freedom, 1))
    if blocks is None or len(blocks) < 2 * len(attainment):
        return np.asarray(bound)
    more = len(blocks) - len(attainment)
    within = block_variance(blocks, len(attainment)) / (len(blocks) // len(attainment))
    pooled = np.sqrt((squares + within * more) / (freedom + more))
    explained = (np.asarray(windows) <= 1) & (squares / max(freedom, 1) <= f_quantile(freedom, more) * within)
    return np.asarray(np.where(explained, mean - deviations(len(attainment), hours_of_week, windows, freedom + more) * pooled, bound))


def block_variance(blocks: Floats, seeds: int) -> Floats:
    """[slo rows] the variance of the blocks of one seed, mean over the seeds; `blocks` [seeds x BLOCKS, slo rows]."""
    return np.asarray(blocks.reshape(seeds, -1, blocks.shape[1]).var(axis=1, ddof=1).mean(axis=0))


def deviations(seeds: int, hours_of_week: int, windows: npt.ArrayLike = 1.0, freedom: int | None = None) -> Floats:
    """How many sample deviations below the mean of `seeds` seeds the bound for a fresh window lies; the deviation has `freedom` degrees
    of freedom, without more seeds one less than there are.

    >>> deviations(20, 48).round(2).tolist() < deviations(4, 48).round(2).tolist()
    True
    """
    t = t_quantile(seeds - 1 if freedom is None else freedom, spent(seeds, hours_of_week))
    return np.asarray(t * np.sqrt(1.0 / np.asarray(windows, np.float64) + 1.0 / seeds))


def t_quantile(freedom: int, tail: float) -> float:
    """Student's t above which `tail` lies, to nine digits: further ones depend on the C library."""
    from scipy.special import stdtrit  # a fifth of a second of start-up, needed by proofs alone

    return round(float(stdtrit(freedom, 1 - tail)), 9)


def f_quantile(freedom: int, other: int) -> float:
    """The ratio of two variances that equal ones exceed once in twenty."""
    from scipy.special import fdtri

    return round(float(fdtri(freedom, other, 0.95)), 9)


def spent(seeds: int, hours_of_week: int) -> float:
    """The part of the risk of one hour that the look at so many seeds may use.

    >>> round(sum(spent(seeds, 1) for seeds in LOOKS), 12)
    0.01
    """
    return risk(hours_of_week) * LOOKS[max(k for k in LOOKS if k <= max(seeds, 1))]


def risk(hours_of_week: int) -> float:
    """That one fresh hour misses a promise.

    >>> risk(1), risk(50)
    (0.01, 0.001)
    """
    return min(RISK / hours_of_week, HOUR_RISK)


def enough(requests: npt.ArrayLike, quantiles: npt.ArrayLike) -> bool:
    """Whether each promise was seen by as many requests as it takes to allow ten misses: a few that are all on time prove little.

    >>> enough([250], [0.95]), enough([250], [0.99]), enough([0], [0.95])
    (True, False, True)
    """
    seen, allowed = np.asarray(requests, np.float64), np.maximum(1.0 - np.asarray(quantiles, np.float64), 1e-6)
    return bool(((seen * allowed >= FEW_MISSES * (1 - 1e-9)) | (seen == 0)).all())


def windows_of(requests: npt.ArrayLike, quantiles: npt.ArrayLike) -> Floats:
    """Hours over which a promise is judged: one, or as many as it takes to allow ten misses.

    Of a class with a few requests an hour, one late answer would break a p95; no choice of fleet makes such hours alike.

    >>> windows_of([1000.0, 20.0, 0.0], [0.95, 0.95, 0.95]).round(6).tolist()
    [1.0, 10.0, 1.0]
    """
    allowed = np.asarray(requests, np.float64) * np.maximum(1.0 - np.asarray(quantiles, np.float64), 1e-6)
    return np.where(allowed > 0, np.maximum(1.0, FEW_MISSES / np.maximum(allowed, 1e-300)), 1.0)
