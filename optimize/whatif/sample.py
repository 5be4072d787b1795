"""Axes -> points of a Latin hypercube: each input is spread evenly over its values, whatever the others do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from optimize.whatif.study import Axis, Level, Point
from optimize.whatif.vary import level_of, whole
from sim.errors import InputError
from sim.streams import stream


def hypercube(count: int, inputs: int, seed: int, purpose: str) -> npt.NDArray[np.float64]:
    """[count, inputs] numbers in 0..1; each column has one in every count-th part. Source: McKay, Beckman and Conover 1979."""
    from scipy.stats import qmc

    return np.asarray(qmc.LatinHypercube(inputs, seed=stream(seed, purpose)).random(count), dtype=np.float64)


def sample(axes: Sequence[Axis], count: int, seed: int) -> tuple[Point, ...]:
    """`count` points; a range is drawn from continuously, a list value by value."""
    if not 2 <= count <= MOST_POINTS:
        raise InputError(f"--samples: {count} is not 2 to {MOST_POINTS:,}")
    shares = hypercube(count, len(axes), seed, "whatif samples")
    return tuple(Point(tuple(drawn(axis, share) for axis, share in zip(axes, row, strict=True))) for row in shares.tolist())


def drawn(axis: Axis, share: float) -> Level:
    """The level of `axis` below which `share` of it lies."""
    if axis.span is not None:
        return level_of(axis.key, whole(axis.span, axis.span.at(share)))
    return axis.levels[min(int(share * len(axis.levels)), len(axis.levels) - 1)]


MOST_POINTS = 10_000


def grid(axes: Sequence[Axis]) -> tuple[Point, ...]:
    """All combinations, the last axis changing fastest. InputError where they are too many."""
    count = math.prod(len(axis.levels) for axis in axes)
    if count > MOST_POINTS:
        sizes = " x ".join(str(len(axis.levels)) for axis in axes)
        raise InputError(f"--vary: {sizes} = {count:,} points; at most {MOST_POINTS:,}: write fewer values, or draw --samples N")
    return tuple(Point(levels) for levels in itertools.product(*(axis.levels for axis in axes)))
