"""Months ahead are planned anew when something moved far enough; what is held stays paid; without work the fleet is scaled."""

from __future__ import annotations

import doctest
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize.finance import monthly_plans as replanned
from optimize.finance.horizon import Horizon, horizon
from optimize.finance.monthly_plans import Replanning, held_hosts
from optimize.finance.resolve_program import Shift
from optimize.money import cost_lines
from optimize.result import Plan
from sim.scenario.scenario import Finance
from tests.optimize.finance.test_break_even import CALL, HOST, host_or_call, plan_of
from tests.optimize.program.problems import offer, pool, relay

API_USD = 262.8  # a month of 1 request/s at a ten-thousandth of a dollar


def billed(plan: Plan) -> Plan:
    """The plan with the lines of its bill."""
    return replace(plan, lines=cost_lines(plan.program, plan.solution))


def ahead(plan: Plan, programs: float = 1e6, **finance: Any) -> Horizon:
    return horizon(replace(plan, scenario=replace(plan.scenario, finance=Finance(**finance))), programs)


def test_the_month_in_which_a_host_beats_the_calls_is_planned_with_a_host() -> None:
    """262.80 x 1.2^m passes 730 in month 6; a host carries 10/s, until month 12."""
    seen = ahead(billed(host_or_call()), horizon_months=12, growth_per_month=0.2)
    for m, month in enumerate(seen.months):
        calls = API_USD * 1.2**m
        assert month.paid_usd == pytest.approx(min(calls, 730.0)), month.label
        assert month.saved_usd == pytest.approx(max(0.0, calls - 730.0), abs=1e-6)
        assert month.solved == (m > 0) and month.hosts == ((1,) if m >= 6 else (0,))
    assert seen.next_hosts == (("host:0", seen.months[6].label, 1, 0),)


def test_months_are_planned_anew_only_when_something_has_moved_by_a_tenth() -> None:
    seen = ahead(billed(host_or_call()), horizon_months=10, growth_per_month=0.04)
    assert [m for m, month in enumerate(seen.months) if month.solved] == [3, 6, 9]
    (note,) = [text for text in seen.notes if "Planned anew" in text]
    assert seen.months[3].label in note and "10%" in note
    still = ahead(billed(host_or_call()), horizon_months=36)
    assert not any(month.solved for month in still.months) and {month.paid_usd for month in still.months} == {still.months[0].paid_usd}


def test_a_price_that_falls_brings_the_plan_back_to_relays() -> None:
    """At 4/s a host costs 730 and calls 1,051; calls that fall by half a year cost as much after 6.3 months."""
    plan = host_or_call()
    four = plan_of([plan.program.pools[0]], list(plan.program.relays), [[4.0]])
    one = np.ones((1, 1), np.int64)
    own = replace(four.solution, hosts=one, billed=one, pool_flow=four.solution.relay_flow, relay_flow=0 * four.solution.relay_flow)
    seen = ahead(billed(replace(four, solution=own)), horizon_months=24, api_price_drift_per_year=-0.5)
    assert seen.months[0].paid_usd == pytest.approx(730.0)
    last = seen.months[-1]
    assert last.gpu_usd == 0 and last.paid_usd == pytest.approx(4 * API_USD * 0.5 ** (23 / 12))
    for m, month in enumerate(seen.months):
        assert min(730.0, 4 * API_USD * 0.5 ** (m / 12)) <= month.paid_usd + 1e-6 <= 730.0 + 1e-5


def test_a_reserved_host_is_paid_although_a_new_plan_would_not_use_it() -> None:
    reserved = pool(offer("held", HOST, elastic=False, term="reserved_1y"), [0.1])
    four = plan_of([reserved], [relay("api", [CALL])], [[4.0]])
    one = np.ones((1, 1), np.int64)
    own = replace(four.solution, hosts=one, billed=one, pool_flow=four.solution.relay_flow, relay_flow=0 * four.solution.relay_flow)
    plan = billed(replace(four, solution=own))
    assert held_hosts(plan).tolist() == [1]
    seen = ahead(plan, horizon_months=24, api_price_drift_per_year=-0.9)
    assert all(month.gpu_usd == pytest.approx(730.0) for month in seen.months) and any(month.solved for month in seen.months)


def test_no_month_costs_more_than_the_scaled_fleet() -> None:
    plan = billed(plan_of([pool(offer("host", HOST), [0.25])], [relay("api", [CALL])], [[1.0, 9.0]]))
    keys = {"horizon_months": 18, "growth_per_month": 0.08, "api_price_drift_per_year": 0.3}
    fresh, scaled = ahead(plan, **keys), ahead(plan, 0.0, **keys)
    assert not any(month.solved for month in scaled.months) and any("Routing stays as it is" in note for note in scaled.notes)
    assert all(a.paid_usd <= b.paid_usd * (1 + 1e-9) for a, b in zip(fresh.months, scaled.months, strict=True))
    assert fresh.months[-1].paid_usd < 0.9 * scaled.months[-1].paid_usd


def test_when_the_work_is_used_up_the_months_say_so() -> None:
    seen = ahead(billed(host_or_call()), 2.5, horizon_months=12, growth_per_month=0.2)
    assert [m for m, month in enumerate(seen.months) if month.solved] == [1, 2]
    assert any("Routing stays as it is" in note for note in seen.notes) and any("Planned anew" in note for note in seen.notes)


def test_longer_requests_take_longer_on_hosts_and_cost_more_in_calls() -> None:
    months = Replanning(billed(host_or_call()), 1e6)
    assert months.month(Shift())[0].usd == pytest.approx(API_USD)
    assert months.month(Shift(tokens=2.0))[0].usd == pytest.approx(2 * API_USD)
    assert months.month(Shift(demand=5.0, tokens=2.0))[0].usd == pytest.approx(730.0), "ten times the work: one full host"


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(replanned).failed == 0
