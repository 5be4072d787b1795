"""The timetable, played by KEDA's own rule minute by minute."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize.deploy.deployable import RunningPool, deployable
from optimize.deploy.timetable import Shift, scaled_object, shifts
from sim.catalog.loader import load_catalog
from tests.optimize.deploy.small_plan import BY_CLOCK, written

MONDAY = datetime(2026, 11, 30)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> RunningPool:
    return deployable(written(tmp_path_factory.mktemp("plan")), load_catalog(), {}).pools[1]


@cache
def minutes(cron: str) -> list[int]:
    """Minutes after Monday 00:00 of three weeks at which a cron line fires."""
    minute, hour, _, _, days = cron.split()
    wanted: set[int] = set()
    for part in days.split(","):
        first, _, last = part.partition("-")
        wanted |= set(range(int(first), int(last or first) + 1))
    found = []
    for day in range(21):
        if (MONDAY + timedelta(days=day)).isoweekday() % 7 in wanted:
            found.append(day * 1440 + int(hour) * 60 + int(minute))
    return found


def replicas_at(minute: int, table: list[Shift], least: int) -> int:
    """What KEDA runs: a trigger counts where its next end comes before its next start; the most of all that count."""
    counts = [least]
    for shift in table:
        start = next(each for each in minutes(shift.start) if each > minute)
        end = next(each for each in minutes(shift.end) if each > minute)
        if end <= start:
            counts.append(shift.replicas)
    return max(counts)


def test_every_hour_of_the_week_runs_the_replicas_of_the_plan(pool: RunningPool) -> None:
    plain = replace(pool, lead_s=0.0, linger_s=0.0)
    table = shifts(plain)
    for day in range(7):
        for hour in range(24):
            planned = BY_CLOCK[hour + (24 if day >= 5 else 0)]
            assert replicas_at(day * 1440 + hour * 60 + 30, table, min(BY_CLOCK)) == planned, (day, hour)


def test_hosts_start_ahead_and_stay_as_long_as_the_plan_holds_them(pool: RunningPool) -> None:
    table, least = shifts(pool), min(BY_CLOCK)  # 5 minutes ahead, 1 minute longer
    assert replicas_at(8 * 60 - 6, table, least) == 1
    assert replicas_at(8 * 60 - 4, table, least) == 3
    assert replicas_at(14 * 60, table, least) == 4
    assert replicas_at(14 * 60 + 2, table, least) == 3
    assert replicas_at(4 * 1440 + 24 * 60 - 4, table, least) == 2  # Friday night, before the weekend


@given(st.lists(st.integers(0, 3), min_size=48, max_size=48), st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_timetable_runs_what_the_plan_runs_and_holds(by_hour: list[int], lead: int, linger: int) -> None:
    pool = replace(deployable_pool(), replicas=tuple(by_hour), lead_s=60.0 * lead, linger_s=60.0 * linger)
    table = shifts(pool)
    week = [by_hour[hour + (24 if day >= 5 else 0)] for day in range(7) for hour in range(24)]
    for minute in range(30, 7 * 1440, 97):
        held = {week[(minute + ahead) // 60 % 168] for ahead in (0, lead)} | {week[(minute - linger) // 60 % 168]}
        within = [week[h % 168] for h in range((minute - linger) // 60, (minute + lead) // 60 + 1)]
        assert max(held) <= replicas_at(minute, table, min(by_hour)) <= max(within)


@cache
def deployable_pool() -> RunningPool:
    with TemporaryDirectory() as folder:
        return deployable(written(Path(folder)), load_catalog(), {}).pools[1]


def test_a_pool_that_never_changes_has_no_timetable(pool: RunningPool) -> None:
    assert scaled_object(replace(pool, replicas=(2,) * 48), "llm", "UTC") is None


def test_a_pool_that_sleeps_at_night_has_none_at_least(pool: RunningPool) -> None:
    asleep = replace(pool, replicas=(0,) * 8 + (1,) * 8 + (0,) * 32, lead_s=0.0, linger_s=0.0)
    found = scaled_object(asleep, "llm", "UTC")
    assert found is not None
    assert (found["spec"]["minReplicaCount"], found["spec"]["maxReplicaCount"], len(found["spec"]["triggers"])) == (0, 1, 1)


def test_the_written_plan_is_read(tmp_path: Path) -> None:
    assert deployable(written(tmp_path), load_catalog(), {}).weekly
