"""How many seeds an hour is asked on: look by look, no further than it takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from optimize.records import SloRow
from optimize.search import verify
from tests.optimize.program.problems import problem

FIRST = SimpleNamespace(requests=10**9, seen=np.array([[10**9]]))


def seeds_asked(monkeypatch: pytest.MonkeyPatch, decided_at: int, close: bool = False, holds: bool = True, seeds: int = 40) -> int:
    """On how many seeds an hour of many requests is asked that is decided from so many on."""
    monkeypatch.setattr(verify, "decided", lambda samples, *_: len(samples) >= decided_at)
    monkeypatch.setattr(verify, "holds", lambda *_: holds)
    monkeypatch.setattr(verify, "worth_more", lambda *_: close)
    monkeypatch.setattr(verify, "attained", lambda _: None)
    monkeypatch.setattr(verify, "blocks_of", lambda _: None)
    monkeypatch.setattr(verify, "simulate_hour", lambda *_: FIRST)
    given, scenario = problem([[1.0]], slos=[SloRow(0, "ttft", 0.95, 1.0)]), cast(Any, SimpleNamespace(traffic=None))

    def parallel(calls: Any) -> list[Any]:
        return [call(*args, **named) for call, args, named in calls]

    return len(verify.samples_of(parallel, scenario, given, cast(Any, None), cast(Any, FIRST), tuple(range(seeds))))


@pytest.mark.parametrize(("decided_at", "asked"), [(1, 1), (2, 4), (4, 4), (5, 10), (11, 20), (21, 30), (99, 30)])
def test_an_hour_is_asked_until_it_is_decided_and_on_thirty_seeds_at_most(
    monkeypatch: pytest.MonkeyPatch, decided_at: int, asked: int
) -> None:
    assert seeds_asked(monkeypatch, decided_at) == asked


def test_a_decided_hour_goes_on_only_where_more_seeds_would_tell_more_of_what_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seeds_asked(monkeypatch, 1, close=True) == 30
    assert seeds_asked(monkeypatch, 1, close=True, holds=False) == 1
