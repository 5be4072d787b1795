"""The plan's hours as KEDA cron triggers: how many replicas of a pool run when."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from optimize.deploy.deployable import HOURS_OF_DAY, RunningPool

DAY_MIN, DAYS, WEEKDAYS = 1440, 7, 5
COOL_DOWN_S = 60
Json = dict[str, Any]


@dataclass(frozen=True)
class Shift:
    """So many replicas from one minute of the week to another: `start` and `end` in cron's five fields."""

    replicas: int
    start: str
    end: str


def shifts(pool: RunningPool) -> list[Shift]:
    """When the pool runs more replicas than its least: one shift for each stretch of equal counts, days on which it is alike together.

    A stretch begins so much earlier, in whole minutes, as the plan starts its hosts ahead, and ends so much later as it keeps them. Where
    two stretches overlap, KEDA takes the larger count, as the plan does. A shift ends before it starts anew: else KEDA takes it for ended.
    """
    lead, linger = math.ceil(pool.lead_s / 60), math.ceil(pool.linger_s / 60)
    week = [pool.replicas[hour + (HOURS_OF_DAY if day >= WEEKDAYS else 0)] for day in range(DAYS) for hour in range(HOURS_OF_DAY)]
    alike: dict[tuple[int, int, int], list[int]] = {}  # (minute of the day, minutes, count) -> days on which it starts, Monday is 0
    for count in sorted(set(week) - {min(week)}):
        for start, end in stretches([each == count for each in week], lead, linger):
            alike.setdefault((start % DAY_MIN, end - start, count), []).append(start // DAY_MIN % DAYS)
    table = [(min(days), minute, length, count, days) for (minute, length, count), days in alike.items()]
    return [Shift(count, _cron(minute, days), _cron(minute + length, days)) for _, minute, length, count, days in sorted(table)]


def stretches(wanted: list[bool], lead: int, linger: int) -> list[tuple[int, int]]:
    """(start, end) in minutes of each run of wanted hours of a week that comes back, `lead` longer before and `linger` longer after.

    Those that meet are one. Starts lie within the week; an end may lie in the next.

    >>> stretches([True, False, True, True] + [False] * 164, 5, 0)
    [(115, 240), (10075, 10140)]
    """
    hours = len(wanted)
    first = [h for h in range(hours) if wanted[h] and not wanted[h - 1]]
    found = [(h * 60 - lead, next(e for e in range(h, h + hours + 1) if not wanted[e % hours]) * 60 + linger) for h in first]
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    week = hours * 60
    if len(merged) > 1 and merged[0][0] + week <= merged[-1][1]:
        merged[-1] = (merged[-1][0], merged.pop(0)[1] + week)
    return sorted((start % week, start % week + end - start) for start, end in merged)


def _cron(minute: int, days: list[int]) -> str:
    """A minute after the midnight with which each of `days` (Monday is 0) begins, in cron's fields (Sunday is 0).

    >>> _cron(9 * 60 + 30, [0, 1, 2, 3, 4]), _cron(24 * 60, [5]), _cron(60, [5, 6])
    ('30 9 * * 1-5', '0 0 * * 0', '0 1 * * 0,6')
    """
    named = sorted((day + minute // DAY_MIN + 1) % DAYS for day in days)
    text = "1-5" if named == [1, 2, 3, 4, 5] else ",".join(map(str, named))
    within = minute % DAY_MIN
    return f"{within % 60} {within // 60} * * {text}"


def scaled_object(pool: RunningPool, namespace: str, timezone: str) -> Json | None:
    """The ScaledObject of a pool whose replicas follow the clock; None where they never change."""
    found = shifts(pool)
    if not found:
        return None
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": pool.name, "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"name": pool.name},
            "minReplicaCount": min(pool.replicas),
            "maxReplicaCount": max(pool.replicas),
            "cooldownPeriod": COOL_DOWN_S,
            "triggers": [
                {
                    "type": "cron",
                    "metadata": {"timezone": timezone, "start": each.start, "end": each.end, "desiredReplicas": str(each.replicas)},
                }
                for each in found
            ],
        },
    }
