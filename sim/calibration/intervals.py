"""Intervals around what the simulator says of measured points, and how many of them fell inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim.latency import wilson_ci

LEVELS = (0.5, 0.8, 0.95)


@dataclass(frozen=True)
class Share:
    """Of `points` measured values of one group and metric, the part that fell inside the interval of `level`; its 95 % interval."""

    group: str
    metric: str
    level: float
    points: int
    inside: float
    low: float
    high: float


@dataclass(frozen=True)
class Placed:
    """One measured value and the intervals of LEVELS around what was predicted."""

    metric: str
    measured: float
    intervals: tuple[tuple[float, float], ...]


def shares(values: Sequence[Placed], group_of: Callable[[int], str]) -> tuple[Share, ...]:
    """The share inside at each level by group (`all` first) and metric; `group_of` names the group of a value by its number.

    >>> shares([Placed("tpot", 1.0, ((0.9, 1.1), (0.8, 1.2), (0.5, 2.0)))], lambda k: "l4")[0].inside
    1.0
    """
    cells: dict[tuple[str, str], list[Placed]] = {}
    for k, each in enumerate(values):
        for name in dict.fromkeys(("all", group_of(k))):
            cells.setdefault((name, each.metric), []).append(each)
    found = []
    for (name, metric), rows in sorted(cells.items(), key=lambda item: (item[0][0] != "all", item[0])):
        for n, level in enumerate(LEVELS):
            inside = sum(low <= row.measured <= high for row in rows for low, high in [row.intervals[n]]) / len(rows)
            low, high = wilson_ci(inside, len(rows))
            found.append(Share(name, metric, level, len(rows), round(inside, 4), round(low, 4), round(high, 4)))
    return tuple(found)
