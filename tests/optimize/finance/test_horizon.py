"""Months ahead and break-even: today's plan is reproduced exactly, growth needs whole hosts, a missing strategy has no curve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize.finance.break_even import break_even
from optimize.finance.horizon import horizon
from optimize.finance.pure_strategies import Strategy, all_api, self_hosted
from optimize.money.capital import npv_usd
from optimize.money.quantities import billed_share, load_share, scaled_hosts, scaling
from optimize.result import Plan
from sim.scenario.scenario import Finance
from tests.optimize.report import plan_fixture


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_fixture.plan()


def under(plan: Plan, **finance: Any) -> Plan:
    return replace(plan, scenario=replace(plan.scenario, finance=Finance(**finance)))


def test_at_todays_demand_the_scaled_plan_is_the_plan(plan: Plan) -> None:
    month = scaling(plan).at(1.0)
    assert month.usd == pytest.approx(sum(line.per_month_usd for line in plan.lines), abs=1e-9)
    assert month.hosts == tuple(int(n) for n in plan.solution.hosts.max(axis=1))


def test_hosts_are_whole_and_follow_the_capacity_line(plan: Plan) -> None:
    flow = plan.solution.pool_flow[0].sum(axis=0)
    run, billed = scaled_hosts(plan, 0, 2.0)
    assert (run == np.ceil(2 * flow / 14)).all() and (billed == run).all()
    flat, paid = scaled_hosts(plan, 1, 2.0)
    assert len(set(paid.tolist())) == 1 and flat.max() <= paid[0]


def test_a_fleet_never_shrinks_below_one_host_where_there_is_work(plan: Plan) -> None:
    assert (scaled_hosts(plan, 0, 1e-6)[0][plan.solution.hosts[0] > 0] == 1).all()


def test_doubled_demand_costs_more_than_today_and_less_than_twice_plus_a_host_in_each_pool(plan: Plan) -> None:
    today, double = scaling(plan).at(1.0), scaling(plan).at(2.0)
    host_months = 730 * sum(terms.option.offer.usd_per_hour for terms in plan.program.pools)
    assert today.usd < double.usd <= 2 * today.usd + host_months


def test_the_two_meanings_of_utilisation_differ(plan: Plan) -> None:
    hosts, flow, weight = plan.solution.hosts[0], plan.solution.pool_flow[0].sum(axis=0), plan.demand.weight_h
    assert load_share(plan, 0) == pytest.approx((flow / 14) @ weight / (hosts @ weight))
    assert billed_share(plan, 0) == pytest.approx((hosts @ weight) / (hosts.max() * 730))
    assert billed_share(plan, 1) == pytest.approx(1.0) and load_share(plan, 1) < 1


def test_months_add_up_and_the_first_is_todays_bill(plan: Plan) -> None:
    seen = horizon(under(plan, horizon_months=18, growth_per_month=0.05, gpu_price_drift_per_year=0.2, api_price_drift_per_year=-0.3))
    assert len(seen.months) == 18 and (seen.months[0].label, seen.months[-1].label) == ("2026-11", "2028-04")
    assert seen.months[0].paid_usd == pytest.approx(38_782.7348)
    assert seen.months[-1].cumulative_usd == pytest.approx(sum(month.paid_usd for month in seen.months))
    assert seen.months[12].fixed_usd == 500.0
    assert seen.months[12].relay_usd == pytest.approx(seen.months[0].relay_usd * 1.05**12 * 0.7)


def test_the_month_in_which_a_pool_needs_another_host_is_named(plan: Plan) -> None:
    seen = horizon(under(plan, growth_per_month=0.05))
    pool, label, then, today = seen.next_hosts[0]
    month = next(month for month in seen.months if month.label == label)
    before = seen.months[seen.months.index(month) - 1]
    assert pool == plan.program.pools[0].option.id and then > today
    assert (month.hosts[0], before.hosts[0]) == (then, today)


def test_a_stock_that_runs_out_is_told(plan: Plan) -> None:
    terms = plan.program.pools[1]
    short = replace(terms, option=replace(terms.option, offer=replace(terms.option.offer, stock=4)))
    again = replace(plan, program=replace(plan.program, pools=(plan.program.pools[0], short)))
    assert any("stock does not suffice" in note for note in horizon(under(again, growth_per_month=0.1)).notes)


def test_one_off_costs_and_credits_are_in_the_cash_and_nowhere_else(plan: Plan) -> None:
    plain, more = horizon(under(plan)), horizon(under(plan, migration_usd=9_000.0, training_usd=1_000.0, free_credits_usd=50_000.0))
    assert more.months[0].once_usd == 10_000.0
    assert sum(month.credits_usd for month in more.months) == pytest.approx(50_000.0)
    assert more.months[-1].cumulative_usd == pytest.approx(plain.months[-1].cumulative_usd - 40_000.0)
    assert [month.relay_usd for month in more.months] == [month.relay_usd for month in plain.months]


def test_payback_is_the_one_off_cost_over_the_saving_against_all_api(plan: Plan) -> None:
    saved = horizon(under(plan)).months[0].saved_usd
    assert saved is not None and saved > 0
    assert horizon(under(plan, migration_usd=2.5 * saved)).payback_months == pytest.approx(2.5)
    assert horizon(under(plan, migration_usd=1e9)).payback_months is None


def test_without_a_cost_of_capital_present_value_is_a_range_and_not_one_number(plan: Plan) -> None:
    assert set(horizon(under(plan)).present_usd) == {None, 0.08, 0.12}
    seen = horizon(under(plan, values={"cost_of_capital": 0.1}))
    assert seen.present_usd[0.1] == pytest.approx(npv_usd([month.paid_usd for month in seen.months], 0.1))
    assert seen.present_usd[0.1] < seen.present_usd[None]


def test_strategies_stand_at_the_cost_of_the_solved_alternatives(plan: Plan) -> None:
    own = self_hosted(plan)
    assert isinstance(own, Strategy) and own.at(1.0) == pytest.approx(44_120.0)
    assert all(a >= b for a, b in zip((own.at(x) for x in (2.0, 1.0, 0.5, 0.1)), (own.at(x) for x in (1.0, 0.5, 0.1, 0.01)), strict=True))


def test_classes_that_no_relay_may_serve_stay_on_pools_in_all_api(plan: Plan) -> None:
    api = all_api(plan)
    assert isinstance(api, Strategy)
    assert {c for _, classes in api.pools for c in classes} == {1, 3} and api.relays[0] == 1 and api.relays[2] == 0


def test_a_strategy_that_does_not_exist_has_no_curve_and_a_reason(plan: Plan) -> None:
    nothing = replace(plan, program=replace(plan.program, relays=()))
    seen = break_even(nothing)
    assert all(point.api_usd is None for point in seen.points) and seen.at is None
    assert any("no relay of this scenario" in note for note in seen.notes)
