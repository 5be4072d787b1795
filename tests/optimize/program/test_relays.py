"""Rows of relays: shares of vendors and of all relays, limits by the minute, hour by hour."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.program.solve import solve
from optimize.records import ProgramInput, ProgramSolution
from tests.optimize.program.checker import violations
from tests.optimize.program.problems import offer, pool, problem, relay

GAP = 1e-7


def two_vendors(**policy: object) -> ProgramInput:
    """A cheap relay of one vendor, a dear one of another, a host for 2.5 requests/s that is dearer still; ten requests/s, then twenty."""
    relays = [relay("cheap", [1e-4], vendor="a"), relay("dear", [2e-4], vendor="b")]
    return replace(problem([[10.0, 20.0]], [pool(offer("o", 5.0), [0.4])], relays), **policy)  # type: ignore[arg-type]


def answered(given: ProgramInput) -> ProgramSolution:
    answer = solve(given, gap=GAP)
    assert violations(given, answer) == []
    return answer


def test_a_share_of_one_vendor_leaves_the_others_without_one() -> None:
    answer = answered(two_vendors(vendor_shares={"a": 0.3}))
    assert answer.relay_flow[:, 0].tolist() == [pytest.approx([3.0, 6.0]), pytest.approx([7.0, 14.0])]


def test_a_share_of_every_vendor_holds_for_each_that_has_none_of_its_own() -> None:
    answer = answered(two_vendors(vendor_shares={"*": 0.25, "a": 0.5}))
    assert answer.relay_flow[:, 0].tolist() == [pytest.approx([5.0, 10.0]), pytest.approx([2.5, 5.0])]
    assert answer.pool_flow[0, 0] == pytest.approx([2.5, 5.0])


def test_a_share_is_of_all_that_a_vendor_sells() -> None:
    given = two_vendors(vendor_shares={"a": 0.5})
    both = replace(given, relays=(*given.relays, relay("other", [1e-4], vendor="a")))
    answer = answered(both)
    assert (answer.relay_flow[0] + answer.relay_flow[2])[0] == pytest.approx([5.0, 10.0])


def test_a_share_of_all_relays_is_of_the_requests_of_the_hour() -> None:
    assert answered(two_vendors(max_relay_share=0.5)).relay_flow.sum(axis=(0, 1)) == pytest.approx([5.0, 10.0])
    assert not answered(two_vendors(max_relay_share=0.0)).relay_flow.any()


@pytest.mark.parametrize(
    ("rpm", "tpm", "most"), [(360.0, None, 5.0), (None, 36_000.0, 5.0), (360.0, 18_000.0, 2.5), (180.0, 36_000.0, 2.5)]
)
def test_limits_hold_in_the_peak_minute_and_the_tighter_one_binds(rpm: float | None, tpm: float | None, most: float) -> None:
    """At the peak 1.2 times the hour's rate; 100 tokens a request."""
    given = two_vendors()
    limited = replace(given, relays=(relay("cheap", [1e-4], rpm=rpm, tpm=tpm), given.relays[1]))
    assert answered(limited).relay_flow[0, 0] == pytest.approx([most, most])
    soft = replace(limited, relays=(relay("cheap", [1e-4], rpm=rpm, tpm=tpm, hard=False), given.relays[1]))
    assert answered(soft).relay_flow[0, 0] == pytest.approx([10.0, 20.0])


def test_what_a_relay_sustains_with_retries_moves_its_limits() -> None:
    given = two_vendors()
    shy = replace(relay("cheap", [1e-4], rpm=360.0, tpm=72_000.0), sustained=0.5)
    assert solve(replace(given, relays=(shy, given.relays[1])), gap=GAP).relay_flow[0, 0] == pytest.approx([2.5, 2.5])


def test_a_class_that_may_not_go_there_is_served_elsewhere() -> None:
    relays = [relay("r", [1e-4, math.inf])]
    given = problem([[1.0], [1.0]], [pool(offer("o", 1.0), [0.5, 0.5])], relays)
    answer = answered(given)
    assert answer.relay_flow[0, 1, 0] == 0.0 and answer.pool_flow[0, 1, 0] == pytest.approx(1.0)
    assert np.allclose(answer.relay_flow[0, 0] + answer.pool_flow[0, 0], 1.0)
