"""When seeds that were seen speak for one that was not."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import stdtrit

from optimize.records import Floats

HOLD_OUT_SEEDS = tuple(range(9001, 9011))
MORE_SEEDS = tuple(range(9011, 9031))  # for hours that those leave open, or whose attainment is not known closely yet
RISK = 0.05  # of a fresh week: that any hour misses a promise
HOUR_RISK = 0.01  # of a fresh hour, however few hours stand for the week: each of them comes hundreds of times a month
FEW_MISSES = 10  # allowed in an hour: with fewer, chance decides whether a promise was kept in it
STRIDE = 100_000  # between the seeds of two replications: more than search, proof and benchmarks use together


def seeds_of(replication: int, seeds: Iterable[int]) -> tuple[int, ...]:
    """`seeds` for a scenario of seed `replication`: those named in the code for seed 1, and others for every other.

    >>> seeds_of(1, (101, 102)), seeds_of(3, (101, 102))
    ((101, 102), (200101, 200102))
    """
    return tuple(seed + STRIDE * ((replication - 1) % 2**31) for seed in seeds)


def fresh_seed_bound(attainment: Floats, hours_of_week: int) -> Floats:
    """[slo rows] attainment that a fresh seed reaches, by a one-sided prediction bound of Student's t over the seeds.

    attainment [seeds, slo rows]; a single seed is taken at its word. The risk of a whole week (5 %) is divided by its hours
    (Bonferroni): a bound that speaks for one hour alone is broken somewhere in a week of 48 hours on one seed in five. Fewer than
    five hours leave each 1 %: where all hours of the month are alike, 5 % would be 36 of them.
    """
    n = len(attainment)
    mean = attainment.mean(axis=0)
    return np.asarray(mean if n == 1 else mean - deviations(n, hours_of_week) * attainment.std(axis=0, ddof=1))


def deviations(seeds: int, hours_of_week: int) -> float:
    """How many sample deviations below the mean of `seeds` seeds the bound for a fresh one lies."""
    return float(stdtrit(seeds - 1, 1 - risk(hours_of_week))) * math.sqrt(1 + 1 / seeds)


def risk(hours_of_week: int) -> float:
    """That one fresh hour misses a promise.

    >>> risk(1), risk(50)
    (0.01, 0.001)
    """
    return min(RISK / hours_of_week, HOUR_RISK)


def relay_room(miss: float, requests: float, allowed: float, hours_of_week: int) -> float:
    """How much more than its share `miss` a relay may miss of the `requests` that it gets in a fresh hour.

    Its latency does not depend on what it is sent, so misses are independent and their scatter is known: that of a binomial, taken as
    often as `fresh_seed_bound` takes it for the hold-out seeds. 0 where the promise allows fewer than 10 misses an hour: so few come
    or stay away by chance, and no other choice of relay would make such hours alike.

    >>> round(relay_room(0.048, 7000, 0.05, 1), 4), relay_room(0.01, 100, 0.05, 48)
    (0.0076, 0.0)
    """
    if requests * allowed < FEW_MISSES:
        return 0.0
    return deviations(len(HOLD_OUT_SEEDS), hours_of_week) * math.sqrt(miss * (1 - miss) / requests)
