"""What takes over from a relay that is out stands on pools at the load level at which they carry most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.program.solve import solve
from optimize.records import LoadLevel, ProgramInput, SloRow
from tests.optimize.program.problems import offer, pool, problem, relay


def given(first_level: float, second_level: float) -> ProgramInput:
    """Four requests/s on one cheap relay, a pool with two load levels that takes over when the relay is out, and no other relay."""
    own = pool(offer("o", 1.0), [first_level], [0.0])
    levels = (own.levels[0], LoadLevel(np.array([second_level]), np.array([0.0])))
    program = problem([[4.0]], [replace(own, levels=levels)], [relay("r", [1e-6], [0.0])], slos=[SloRow(0, "ttft", 0.95, 1.0)])
    return replace(program, relay_outage_reserve=True)


@pytest.mark.parametrize("levels", [(1.0, 0.5), (0.5, 1.0)])
def test_order_of_load_levels_does_not_change_how_many_hosts_stand_by(levels: tuple[float, float]) -> None:
    """At 0.5 replicas per request/s, two hosts carry all four requests; at 1.0 it would take four."""
    solution = solve(given(*levels))
    assert solution.hosts.sum() == 2
    assert solution.unserved.sum() == 0


def relays_alone(rate_rps: float, **limits: float) -> ProgramInput:
    """Two relays without pools: a cheap one, and one with these limits that must be able to take over all of its calls."""
    first, second = relay("cheap", [1e-6], [0.0]), relay("second", [1e-3], [0.0], **limits)  # type: ignore[arg-type]
    given = problem([[rate_rps]], [], [first, second], slos=[SloRow(0, "ttft", 0.95, 1.0)])
    return replace(given, relay_outage_reserve=True)


@pytest.mark.parametrize(
    ("limits", "enough"),
    [
        ({"rpm": 72.0}, True),
        ({"rpm": 71.0}, False),
        ({"tpm": 7200.0}, True),
        ({"tpm": 7100.0}, False),
        ({"rpm": 72.0, "tpm": 7100.0}, False),
    ],
)
def test_who_takes_over_must_carry_the_peak_minute_inside_its_limits(limits: dict[str, float], enough: bool) -> None:
    """One request/s of 100 tokens, 1.2 times as much in the peak minute: 72 requests and 7,200 tokens. The rest is left out."""
    solution = solve(relays_alone(1.0, **limits))
    assert bool(solution.unserved.sum() < 1e-6) is enough
    assert solution.relay_flow[0].sum() > 0


def test_limits_that_are_only_reported_bind_in_an_outage_no_more_than_otherwise() -> None:
    given = relays_alone(1.0, rpm=1.0)
    soft = replace(given, relays=(given.relays[0], replace(given.relays[1], hard_limits=False)))
    assert solve(soft).unserved.sum() < 1e-9 < solve(given).unserved.sum()


def test_without_the_reserve_nothing_stands_by() -> None:
    given = replace(relays_alone(1.0, rpm=1.0), relay_outage_reserve=False)
    assert solve(given).unserved.sum() < 1e-9


def test_a_pool_stands_by_with_its_overhead() -> None:
    """Four requests/s at half a replica each and one replica of overhead: three hosts."""
    own = pool(offer("o", 1.0), [0.5], [0.0], intercept=1.0)
    given = problem([[4.0]], [own], [relay("r", [1e-6], [0.0])], slos=[SloRow(0, "ttft", 0.95, 1.0)])
    assert solve(replace(given, relay_outage_reserve=True)).hosts.sum() == 3
