"""Candidates that are not bought: what they cost where they fit best, and the price at which they would enter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.explain.considered import considered
from optimize.result import Attribution, Plan, Why
from tests.optimize.report import plan_fixture

MARGINAL_USD = 0.0002  # what each request costs the plan at the margin


def explained(plan: Plan, usd: float = MARGINAL_USD) -> Plan:
    marginal = np.full_like(plan.demand.mean_rps, usd)
    return replace(plan, why=Why(attribution=Attribution("by hand", np.zeros_like(marginal), marginal)))


def without(plan: Plan, pools: tuple[int, ...] = (), relays: tuple[int, ...] = ()) -> Plan:
    """The plan with nothing on these pools and relays."""
    answer = plan.solution
    hosts, billed, flow, calls = (x.copy() for x in (answer.hosts, answer.billed, answer.pool_flow, answer.relay_flow))
    for p in pools:
        hosts[p], billed[p], flow[p] = 0, 0, 0.0
    for a in relays:
        calls[a] = 0.0
    return replace(plan, solution=replace(answer, hosts=hosts, billed=billed, pool_flow=flow, relay_flow=calls))


def test_what_is_bought_is_not_among_them() -> None:
    assert considered(plan_fixture.plan()) == ()


def test_a_host_that_follows_the_hour_is_judged_in_its_best_hour() -> None:
    plan = explained(without(plan_fixture.plan(), pools=(0,)))
    (row,) = considered(plan)
    served = 14.0 * 3600  # one host, full: demand of chat is above it in the busiest hour
    assert row.kind == "pool" and row.class_name == "chat" and row.measured
    assert row.per_1000 == pytest.approx(1000 * 4.58 / served)
    assert row.enters_at == pytest.approx(MARGINAL_USD * served / 4.58)


def test_a_host_that_is_held_is_judged_over_the_month_with_its_idle_hours() -> None:
    plan = explained(without(plan_fixture.plan(), pools=(1,)))
    (row,) = considered(plan)
    month = float(np.minimum(plan.demand.mean_rps[3], 7.0) @ plan.demand.weight_h) * 3600
    assert row.per_1000 == pytest.approx(1000 * 1.12 * 730 / month)
    assert row.enters_at == pytest.approx(MARGINAL_USD * month / (1.12 * 730))


def test_a_relay_says_which_promise_it_breaks_alone() -> None:
    plan = without(plan_fixture.plan(), relays=(1,))
    slow = replace(plan.program.relays[1], miss=np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0]))
    program = replace(plan.program, relays=(plan.program.relays[0], slow))
    (row,) = considered(explained(replace(plan, program=program)))
    assert row.late == ("chat TTFT within 1 s: 20.0% of its calls are later, 5.0% may be",)
    assert row.per_1000 == pytest.approx(1000 * (1200 * 0.1 + 280 * 0.32) / 1e6)


def test_without_an_explanation_there_is_a_cost_and_no_price_at_which_it_enters() -> None:
    (row,) = considered(without(plan_fixture.plan(), pools=(1,)))
    assert row.per_1000 is not None and row.marginal is None and row.enters_at is None
