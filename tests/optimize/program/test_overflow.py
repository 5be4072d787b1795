"""A pool that overflows carries more, and the relay that it names takes what is beyond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.program.solve import solve
from optimize.records import LoadLevel, PoolTerms, Spill
from tests.optimize.program.problems import offer, pool, problem, relay

RATE = 10.0


def spilling(levels: list[tuple[float, float]], usd_per_hour: float = 1.0) -> PoolTerms:
    """Hosts that carry 1/load requests/s of one class at each level, and let so many overflow to relay r for each that they serve."""
    terms = pool(offer("h", usd_per_hour), [levels[0][0]])
    option = replace(terms.option, overflow=Spill(100, "r"))
    return replace(terms, option=option, levels=tuple(LoadLevel(np.array([load]), np.zeros(0), spill) for load, spill in levels))


def test_fewer_hosts_do_where_the_relay_takes_what_overflows() -> None:
    """Hosts carry 1.0, or 1.25 if for each four a fifth overflows. A call costs 1.44 times as much as a host at 1.0.

    With x at the first level and y at the second, x + 0.8 y = 7 hosts and x + 1.25 y = 10 requests/s: 1.67 a second overflow.
    """
    sold = relay("r", [4e-4])
    plain = solve(problem([[RATE]], [pool(offer("h", 1.0), [1.0])], [sold]))
    found = solve(problem([[RATE]], [spilling([(1.0, 0.0), (0.8, 0.25)])], [sold]))
    assert plain.hosts.sum() == 10 and plain.relay_flow.sum() == pytest.approx(0.0, abs=1e-6)
    assert found.hosts.sum() == 7 and found.relay_flow.sum() == pytest.approx(5 / 3)
    assert found.cost_usd == pytest.approx(730 * (7 + 5 / 3 * 3600 * 4e-4))


def test_what_overflows_is_paid_and_never_left_out() -> None:
    """Where the relay costs more than a host for the same requests, nothing overflows on purpose."""
    dear = relay("r", [1.0])
    found = solve(problem([[RATE]], [spilling([(1.0, 0.0), (0.8, 0.25)])], [dear]))
    assert found.hosts.sum() == 10 and found.relay_flow.sum() == pytest.approx(0.0, abs=1e-6)


def test_a_relay_that_is_full_takes_no_more() -> None:
    """At 60 requests a minute and a peak of 1.2 the relay takes 0.83 a second: only so much may overflow."""
    found = solve(problem([[RATE]], [spilling([(1.0, 0.0), (0.5, 1.0)])], [relay("r", [1e-6], rpm=60.0)]))
    assert found.relay_flow.sum() <= 60 / 60 / 1.2 + 1e-6
    assert found.hosts.sum() == 9


def test_without_its_relay_a_pool_serves_what_it_can_hold() -> None:
    found = solve(problem([[RATE]], [spilling([(1.0, 0.0), (0.8, 0.25)])]))
    assert found.hosts.sum() == 10
