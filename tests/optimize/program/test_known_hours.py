"""Hours that stand are not solved again, and the answer is that of a program that knows nothing."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from optimize.program.by_stages import hour_programs
from optimize.program.by_stages.known_hours import KnownHours, carries_no_more
from optimize.program.solve import solve
from optimize.records import PoolTerms, ProgramInput
from tests.optimize.program.problems import offer, pool, problem, relay

RATES = ((1.0, 4.0, 9.0, 2.5), (0.5, 0.2, 3.0, 0.0))


def given() -> ProgramInput:
    """Two classes, three kinds of host and a relay, four hours that do not depend on each other."""
    pools = (
        pool(offer("small", 1.0), (0.9, np.inf), intercept=0.1),
        pool(offer("large", 2.3), (0.4, 0.5), intercept=0.2),
        pool(offer("other", 1.4), (np.inf, 0.6)),
    )
    return problem(RATES, pools, (relay("calls", (0.002, 0.003)),))


def worse(terms: PoolTerms, factor: float) -> PoolTerms:
    """The pool as measured: its requests take `factor` times the load."""
    return replace(terms, levels=tuple(replace(level, load=level.load * factor) for level in terms.levels))


def with_pool(before: ProgramInput, p: int, terms: PoolTerms) -> ProgramInput:
    return replace(before, pools=(*before.pools[:p], terms, *before.pools[p + 1 :]))


def test_a_search_with_memory_costs_what_one_without_does() -> None:
    memory, now, rng = KnownHours(), given(), np.random.default_rng(7)
    solve(now, memory=memory)
    for _ in range(12):
        p = int(rng.integers(len(now.pools)))
        now = with_pool(now, p, worse(now.pools[p], float(rng.uniform(0.9, 1.4))))
        with_it, without = solve(now, memory=memory), solve(now)
        assert with_it.cost_usd == pytest.approx(without.cost_usd, rel=1e-6)
        assert with_it.model_bound_usd <= with_it.cost_usd * (1 + 1e-9)
        assert not with_it.unserved.any()


def test_only_hours_in_which_a_changed_pool_runs_are_solved_again() -> None:
    memory, first = KnownHours(), given()
    solution = solve(first, memory=memory)
    used = [int(np.count_nonzero(solution.hosts[p])) for p in range(3)]
    p = int(np.argmin([n if n else 99 for n in used]))
    with patch.object(hour_programs, "solve_hour", wraps=hour_programs.solve_hour) as solved:
        solve(with_pool(first, p, worse(first.pools[p], 1.3)), memory=memory)
    assert solved.call_count == used[p] < 4


@pytest.mark.parametrize("change", ["a new pool", "a better pool", "a cheaper relay", "a finer gap"])
def test_what_could_be_cheaper_now_is_solved_again(change: str) -> None:
    memory, first = KnownHours(), given()
    solve(first, memory=memory, gap=0.05, exact=False)
    now, gap = first, 0.05
    if change == "a new pool":
        now = replace(first, pools=(*first.pools, pool(offer("cheap", 0.5), (0.5, 0.5))))
    elif change == "a better pool":
        now = with_pool(first, 1, worse(first.pools[1], 0.3))
    elif change == "a cheaper relay":
        now = replace(first, relays=(relay("calls", (0.00001, 0.00001)),))
    else:
        gap = 0.001
    with patch.object(hour_programs, "solve_hour", wraps=hour_programs.solve_hour) as solved:
        answer = solve(now, memory=memory, gap=gap, exact=False)
    assert solved.call_count == 4
    assert answer.cost_usd == pytest.approx(solve(now, gap=gap, exact=False).cost_usd)


def test_an_hour_that_cannot_serve_all_is_not_kept() -> None:
    memory = KnownHours()
    short = problem(((50.0, 1.0),), (pool(offer("few", 1.0, stock=2), (0.5,)),))
    assert solve(short, memory=memory).unserved.any()
    assert set(memory.hours) == {1}


def test_more_slope_is_no_gain_where_the_load_rose_as_much() -> None:
    before = pool(offer("a", 1.0), (1.0, 2.0))
    assert carries_no_more(replace(worse(before, 1.5), slope=1.2, intercept=0.3), replace(before, intercept=0.1))
    assert not carries_no_more(replace(worse(before, 1.1), slope=1.2, intercept=0.3), before)
    assert not carries_no_more(before, pool(offer("a", 1.0), (1.0, np.inf)))
