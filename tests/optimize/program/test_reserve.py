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
