"""From the values of solved models to a solution: rounding, pools that stand still, and what is proved."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from optimize.program.answer import Parts, draft_of, no_parts, read, solution_of, spent_usd, unserved_requests
from optimize.program.by_stages import stages
from optimize.program.by_stages.hour_programs import Effort, in_order, running
from optimize.program.by_stages.pool_pricing import outage_worth
from optimize.program.by_stages.stages import served_first
from optimize.program.routes import pool_routes
from optimize.program.rows.model import View
from optimize.records import BootTerms, ProgramInput
from tests.optimize.program.problems import offer, pool, problem, relay


def given(elastic: bool = True) -> ProgramInput:
    """One class on a pool and a relay, two hours of 365 h."""
    return problem([[2.0, 4.0]], [pool(offer("o", 1.0, elastic=elastic), [0.5])], [relay("r", [1e-3])])


def parts_of(given: ProgramInput, hosts: list[int], flow: list[float], calls: list[float]) -> Parts:
    parts = no_parts(given)
    parts.hosts[0], parts.flow[0, 0], parts.calls[0, 0] = hosts, flow, calls
    parts.unserved[:] = 0.0
    return parts


def model(given: ProgramInput, slices: tuple[int, ...] = (0, 1), **values: dict[Any, float | None]) -> Any:
    variables = {kind: {key: SimpleNamespace(varValue=value) for key, value in found.items()} for kind, found in values.items()}
    empty: dict[str, Any] = {kind: {} for kind in ("hosts", "base", "flow", "calls", "unserved", "units", "tier")}
    return SimpleNamespace(problem=given, view=View(slices), **(empty | variables))


# --- reading


def test_values_are_rounded_to_whole_hosts_and_shares_that_sum_to_one() -> None:
    parts = no_parts(given())
    solved = model(
        given(),
        hosts={(0, 0): 1.9999999, (0, 1): 0.0000001},
        flow={(0, 0, 0, 0): 0.6, (0, 0, 0, 1): 5e-7},
        calls={(0, 0, 0): 0.3, (0, 0, 1): 1.0},
        unserved={(0, 0): 1e-9, (0, 1): None},
    )
    read(solved, parts)
    assert parts.hosts[0].tolist() == [2, 0]
    assert parts.flow[0, 0].tolist() == [pytest.approx(2 / 3), 0.0], "to a pool without hosts goes what the solver's tolerance lets through"
    assert parts.calls[0, 0].tolist() == [pytest.approx(1 / 3), 1.0] and not parts.unserved.any()


def test_what_is_left_out_counts_with_what_is_served() -> None:
    parts = no_parts(given())
    read(model(given(), hosts={(0, 0): 1.0}, flow={(0, 0, 0, 0): 0.5}, unserved={(0, 0): 0.75}, calls={(0, 0, 1): 2.0}), parts)
    assert parts.flow[0, 0, 0] == pytest.approx(0.4) and parts.unserved[0].tolist() == [pytest.approx(0.6), 0.0]
    assert parts.calls[0, 0, 1] == 1.0


def test_hours_that_a_model_does_not_cover_stay_as_they_were() -> None:
    parts = parts_of(given(), [3, 3], [1.0, 1.0], [0.0, 0.0])
    read(model(given(), (1,), base={0: 2.0}, calls={(0, 0, 1): 1.0}), parts)
    assert parts.hosts[0].tolist() == [3, 2] and parts.flow[0, 0].tolist() == [1.0, 0.0] and parts.calls[0, 0].tolist() == [0.0, 1.0]


def test_levels_of_a_pool_are_one_flow() -> None:
    parts = no_parts(given())
    read(model(given(), hosts={(0, 0): 1.0, (0, 1): 1.0}, flow={(0, 0, 0, 0): 0.25, (0, 1, 0, 0): 0.75, (0, 1, 0, 1): 1.0}), parts)
    assert parts.flow[0, 0].tolist() == [1.0, 1.0]


# --- the solution


@pytest.mark.parametrize(
    ("elastic", "flow", "hosts"), [(True, [1.0, 0.0], [2, 0]), (False, [1.0, 0.0], [2, 2]), (False, [0.0, 0.0], [0, 0])]
)
def test_a_pool_without_flow_stands_still(elastic: bool, flow: list[float], hosts: list[int]) -> None:
    problem = given(elastic)
    parts = parts_of(problem, [2, 2], flow, [1.0 - each for each in flow])
    draft = draft_of(problem, pool_routes(problem), parts)
    assert draft.hosts[0].tolist() == draft.billed[0].tolist() == hosts
    assert draft.pool_flow[0, 0].tolist() == [flow[0] * 2.0, flow[1] * 4.0]


def test_hosts_in_reserve_and_those_booted_before_stay_without_flow() -> None:
    boot = BootTerms((1, 0), np.ones(2))
    for kept in (replace(given(), relay_outage_reserve=True), replace(given(), boot=boot)):
        parts = parts_of(kept, [2, 2], [0.0, 0.0], [1.0, 1.0])
        assert draft_of(kept, pool_routes(kept), parts).hosts[0].tolist() == [2, 2]


def test_cost_is_what_is_paid_and_what_goes_nowhere_is_counted_by_the_month() -> None:
    problem = replace(given(), fixed_usd=7.0)
    parts = parts_of(problem, [1, 1], [1.0, 0.5], [0.0, 0.0])
    parts.unserved[0, 1] = 0.5
    assert spent_usd(problem, pool_routes(problem), parts) == pytest.approx(730.0)
    assert unserved_requests(problem, parts) == pytest.approx(2.0 * 365 * 3600)


@pytest.mark.parametrize(
    ("bound", "status", "gap"),
    [
        (730.0, "optimal", 0.0),
        (800.0, "optimal", 0.0),
        (727.0, "gap_limit", 3 / 730),
        (720.0, "node_limit", 10 / 730),
        (-5.0, "node_limit", 1.0),
    ],
)
def test_the_status_says_what_the_bound_proves(bound: float, status: str, gap: float) -> None:
    problem = given()
    parts = parts_of(problem, [1, 1], [1.0, 1.0], [0.0, 0.0])
    found = solution_of(problem, pool_routes(problem), parts, bound, 0.005, "highs")
    assert (found.status, found.gap, found.cost_usd) == (status, pytest.approx(gap), pytest.approx(730.0))
    assert 0.0 <= found.model_bound_usd <= found.cost_usd
    parts.unserved[0, 0] = 0.1
    assert solution_of(problem, pool_routes(problem), parts, bound, 0.005, "highs").status == "infeasible"


def test_fixed_costs_bound_every_plan() -> None:
    problem = replace(given(), fixed_usd=7.0)
    found = solution_of(problem, pool_routes(problem), parts_of(problem, [1, 1], [1.0, 1.0], [0.0, 0.0]), 0.0, 0.005, "highs")
    assert found.model_bound_usd == 7.0


# --- parts of the way there


@pytest.mark.parametrize(("found", "asked"), [([True], [None]), ([False, True], [None, 9.0]), ([False, False], [None, 9.0])])
def test_something_is_left_out_only_where_all_cannot_be_served(
    monkeypatch: pytest.MonkeyPatch, found: list[bool], asked: list[float | None]
) -> None:
    penalties: list[float | None] = []
    outcomes = iter(found)
    monkeypatch.setattr(stages, "build", lambda problem, view, routes: penalties.append(view.penalty_usd))
    monkeypatch.setattr(stages, "run", lambda *_: SimpleNamespace(found=next(outcomes)))
    _, outcome = served_first(given(), (), View((0, 1)), 9.0, Effort(0.01, 10))
    assert penalties == asked and outcome.found is found[-1]


def test_hours_follow_each_other_from_the_quietest_one_where_hosts_start() -> None:
    day = replace(problem([[3.0, 1.0, 2.0, 5.0]], [pool(offer("o", 1.0), [0.5])]), boot=BootTerms((3, 0, 1, 2), np.ones(4), charged=True))
    routes = pool_routes(day)
    assert in_order(day, routes) == [(1, None), (2, 1), (3, 2), (0, 3)]
    assert in_order(replace(day, boot=None), routes) == [(t, None) for t in range(4)]
    free = tuple(replace(route, boot_usd=0.0) for route in routes)
    assert in_order(day, free) == [(t, None) for t in range(4)]


def test_only_hosts_that_follow_the_hour_run_before_it() -> None:
    both = problem([[2.0, 2.0]], [pool(offer("a", 1.0), [0.5]), pool(offer("b", 1.0, elastic=False), [0.5]), pool(offer("c", 1.0), [0.5])])
    parts = no_parts(both)
    parts.hosts[:, 0] = [2, 3, 0]
    assert running(parts, pool_routes(both), 0) == {0: 2} and running(parts, pool_routes(both), 1) == {}


def test_a_reserve_is_worth_each_relays_best_class() -> None:
    base = problem([[2.0], [4.0]], [pool(offer("a", 1.0), [0.5, 1.0])], [relay("r", [1e-3, 1e-3]), relay("s", [1e-3, 1e-3])])
    reserve = replace(base, relay_outage_reserve=True)
    (route,) = pool_routes(reserve)
    duals = cast(Any, {("outage", 0, 0, 0): 3.0, ("outage", 0, 1, 0): 8.0, ("outage", 1, 1, 0): -2.0})
    assert outage_worth(reserve, route, 0, duals) == pytest.approx(3.0 / 1.0)
    assert outage_worth(reserve, route, 0, duals | {("outage", 1, 1, 0): 6.0}) == pytest.approx(3.0 + 1.5)
    assert outage_worth(reserve, route, 0, {}) == 0.0 and outage_worth(base, route, 0, duals) == 0.0
