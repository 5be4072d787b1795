"""Axes -> every combination of their values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from optimize.whatif.records import Axis, Point
from sim.errors import InputError

MOST_POINTS = 10_000


def grid(axes: Sequence[Axis]) -> tuple[Point, ...]:
    """All combinations, the last axis changing fastest. InputError where they are too many."""
    count = math.prod(len(axis.levels) for axis in axes)
    if count > MOST_POINTS:
        sizes = " x ".join(str(len(axis.levels)) for axis in axes)
        raise InputError(f"--vary: {sizes} = {count:,} points; at most {MOST_POINTS:,}: write fewer values, or draw --samples N")
    return tuple(Point(levels) for levels in itertools.product(*(axis.levels for axis in axes)))
