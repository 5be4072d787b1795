"""People, support, contingency and tax stand next to every bill; what has no figure is open and said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize.money.all_in import all_in, all_in_words
from optimize.records import Alternative
from optimize.result import Plan
from sim.scenario.scenario import Finance
from tests.optimize.report import plan_fixture


def plan_with(relays_usd: float, **finance: Any) -> Plan:
    plan = plan_fixture.plan()
    eligible = tuple(
        replace(terms, eligible=np.ones_like(terms.eligible), usd_per_request=np.full_like(terms.usd_per_request, 1e-4))
        for terms in plan.program.relays
    )
    others = (Alternative("relays wherever allowed", "within_budget", relays_usd), Alternative("own GPUs wherever possible", "", 50_000.0))
    program = replace(plan.program, relays=eligible)
    return replace(plan, program=program, alternatives=others, scenario=replace(plan.scenario, finance=Finance(**finance)))


def bill(plan: Plan) -> float:
    return sum(line.per_month_usd for line in plan.lines)


def test_staff_is_in_every_figure_with_gpus_and_in_none_of_relays_alone() -> None:
    """The plan is the cheapest bare, and dearer than relays once its people are paid."""
    plan = plan_with(60_000.0, values={"staff_usd_per_month": 50_000.0})
    ours, api, own = all_in(plan)
    assert (ours.usd, api.usd, own.usd) == (pytest.approx(bill(plan) + 50_000), 60_000.0, 100_000.0)
    words = all_in_words(plan)
    assert "staff $50,000" in words and "Cheaper all-in: relays wherever allowed, $60,000" in words


def test_staff_without_a_figure_is_open_and_not_zero() -> None:
    plan = plan_with(60_000.0)
    assert all_in(plan)[0].open == ("staff",) and all_in(plan)[1].open == ()
    room = 60_000 - bill(plan)
    assert f"${room:,.0f} a month more" in all_in_words(plan) and "open, not zero" in all_in_words(plan)


def test_shares_are_of_all_that_stands_before_them() -> None:
    finance: dict[str, Any] = {"support_usd_per_month": 100.0, "other_usd_per_month": 900.0, "contingency_share": 0.1, "tax_share": 0.2}
    _, api, own = all_in(plan_with(9_100.0, **finance))
    assert api.usd == pytest.approx((9_100 + 900) * 1.1 * 1.2) and own.usd == pytest.approx((50_000 + 1_000) * 1.1 * 1.2)


def test_migration_is_spread_over_the_horizon_and_pools_are_counted() -> None:
    plan = plan_with(60_000.0, migration_usd=24_000.0, horizon_months=24, operations_usd_per_pool_month=500.0)
    pools = sum(bool(row.any()) for row in plan.solution.billed)
    assert dict(all_in(plan)[0].parts) == {"operations of pools": 500.0 * pools, "migration": 1000.0}
    assert all_in(plan)[1].parts == ()
