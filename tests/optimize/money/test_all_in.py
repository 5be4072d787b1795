"""People, support, contingency and tax stand next to every bill; what has no figure is open and said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize.finance.unit_costs import unit_costs
from optimize.money.all_in import LATE, all_in, relays_anyway_usd, runs_hosts
from optimize.records import Alternative
from optimize.result import Plan
from optimize.tables.all_in_words import all_in_words, unit_words
from optimize.tables.bill_lines import bill_of
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


def said(plan: Plan) -> str:
    return " ".join(all_in_words(plan, bill_of(plan)))


def bill(plan: Plan) -> float:
    return sum(line.per_month_usd for line in plan.lines)


def test_staff_is_in_every_figure_with_gpus_and_in_none_of_relays_alone() -> None:
    """The plan is the cheapest bare, and dearer than relays once its people are paid."""
    plan = plan_with(60_000.0, values={"staff_usd_per_month": 50_000.0})
    ours, api, own = all_in(plan)
    assert (ours.usd, api.usd, own.usd) == (pytest.approx(bill(plan) + 50_000), 60_000.0, 100_000.0)
    words = said(plan)
    assert "staff $50,000" in words and "Cheaper all-in: relays wherever allowed, $60,000" in words


def test_staff_without_a_figure_is_open_and_not_zero() -> None:
    plan = plan_with(60_000.0)
    assert all_in(plan)[0].open == ("staff",) and all_in(plan)[1].open == ()
    room = 60_000 - bill(plan)
    assert "open, not zero" in said(plan)
    assert f"at ${room:,.0f} a month relays wherever allowed ($60,000) cost the same." in said(plan)


def test_shares_are_of_all_that_stands_before_them() -> None:
    finance: dict[str, Any] = {"support_usd_per_month": 100.0, "other_usd_per_month": 900.0, "contingency_share": 0.1, "tax_share": 0.2}
    _, api, own = all_in(plan_with(9_100.0, **finance))
    assert api.usd == pytest.approx((9_100 + 900) * 1.1 * 1.2) and own.usd == pytest.approx((50_000 + 1_000) * 1.1 * 1.2)


def test_migration_is_spread_over_the_horizon_and_pools_are_counted() -> None:
    plan = plan_with(60_000.0, migration_usd=24_000.0, horizon_months=24, operations_usd_per_pool_month=500.0)
    pools = sum(bool(row.any()) for row in plan.solution.billed)
    assert dict(all_in(plan)[0].parts) == {"operations of pools": 500.0 * pools, "migration": 1000.0}
    assert all_in(plan)[1].parts == ()
    odd = plan_with(60_000.0, migration_usd=1_000.0, horizon_months=16)
    assert dict(all_in(odd)[0].parts) == {"migration": 62.5}


def test_an_alternative_of_relays_runs_hosts_only_where_a_class_with_traffic_may_not_leave() -> None:
    plan = plan_with(60_000.0, values={"staff_usd_per_month": 1.0})
    rows = replace(plan, alternatives=(Alternative("one relay: lab.thinker", "met", 7.0), *plan.alternatives))
    assert [row.hosts for row in all_in(rows)] == [True, False, False, True]
    kept = [replace(terms, eligible=np.arange(4) != 1) for terms in plan.program.relays]
    bound = replace(rows, program=replace(plan.program, relays=tuple(kept)))
    assert [row.hosts for row in all_in(bound)] == [True, True, True, True]
    quiet = replace(plan.demand, mean_rps=plan.demand.mean_rps * (np.arange(4) != 1)[:, None])
    assert [row.hosts for row in all_in(replace(bound, demand=quiet))] == [True, False, False, True]


def test_an_alternative_without_a_price_has_no_row() -> None:
    plan = plan_with(60_000.0)
    others = (Alternative("no plan", "infeasible", None), *plan.alternatives)
    assert [row.name for row in all_in(replace(plan, alternatives=others))] == [row.name for row in all_in(plan)]


def test_items_around_the_model_stand_by_their_names_in_every_row() -> None:
    plan = plan_with(60_000.0, items_usd_per_month={"vector database": 300.0, "gateway": 90.0}, values={"staff_usd_per_month": 1.0})
    assert dict(all_in(plan)[1].parts) == {"gateway": 90.0, "vector database": 300.0}
    assert dict(all_in(plan)[0].parts) == {"staff": 1.0, "gateway": 90.0, "vector database": 300.0}
    assert "vector database $300" in said(plan)


def test_relays_that_break_a_promise_are_still_the_price_to_beat() -> None:
    """No plan of relays alone keeps the promises; its price is the calls at list price, and it is said that a promise breaks."""
    plan = replace(plan_with(0.0, values={"staff_usd_per_month": 50_000.0}), alternatives=())
    late = all_in(plan)[-1]
    demand = plan.demand
    calls = float((demand.mean_rps @ demand.weight_h).sum()) * 3600
    assert (late.name, late.kept, late.hosts) == (LATE, False, False)
    assert late.usd == pytest.approx(calls * 1e-4 + plan.program.fixed_usd, rel=1e-9)
    cheaper = late.usd < all_in(plan)[0].usd
    assert ("though they break a promise" in said(plan)) and (("Cheaper all-in: relays alone" in said(plan)) is cheaper)


def test_a_plan_that_leaves_its_budget_all_in_says_by_how_much() -> None:
    plan = plan_with(900_000.0, values={"staff_usd_per_month": 5_000.0})
    budget = replace(plan.scenario.budget, per_month=bill(plan) + 1_000.0)
    words = " ".join(all_in_words(replaced := replace(plan, scenario=replace(plan.scenario, budget=budget)), bill_of(replaced)))
    assert "That is $4,000 above the budget, which the bill alone keeps." in words


def test_a_document_costs_as_much_as_its_requests() -> None:
    plan = plan_with(60_000.0, requests_per_document=4.0, values={"staff_usd_per_month": 0.0})
    rows = {row.name: row for row in unit_costs(plan, bill(plan))}
    assert rows["per document"].usd == pytest.approx(4 * (rows["per request"].usd or 0.0))
    assert rows["per 1,000 requests"].usd == pytest.approx(1000 * (rows["per request"].usd or 0.0))
    assert "per document" in unit_words(plan, bill_of(plan), bill(plan))


def test_relays_set_against_promises_count_every_class_that_asks_for_anything() -> None:
    """The first class asks for nothing; each other one goes to the relay that sells it cheapest."""
    plan = plan_with(60_000.0)
    rate = plan.demand.mean_rps.copy()
    rate[0] = 0.0
    quiet = replace(plan.demand, mean_rps=rate)
    relays = tuple(replace(terms, usd_per_request=terms.usd_per_request * (k + 1)) for k, terms in enumerate(plan.program.relays))
    given = replace(plan, demand=quiet, program=replace(plan.program, relays=relays, fixed_usd=7.0))
    assert relays_anyway_usd(given) == pytest.approx(7.0 + float((rate @ quiet.weight_h).sum()) * 3600 * 1e-4)
    unsold = tuple(replace(terms, eligible=np.arange(4) != 2) for terms in relays)
    assert relays_anyway_usd(replace(given, program=replace(given.program, relays=unsold))) is None


def test_an_alternative_of_relays_alone_runs_hosts_only_for_what_no_relay_may_serve() -> None:
    plan = plan_with(60_000.0)
    assert not runs_hosts(plan, "all relay") and not runs_hosts(plan, "one relay: x") and runs_hosts(plan, "own GPUs wherever possible")
    kept = tuple(replace(terms, eligible=np.arange(4) != 1) for terms in plan.program.relays)
    assert runs_hosts(replace(plan, program=replace(plan.program, relays=kept)), "all relay")
    rate = plan.demand.mean_rps.copy()
    rate[1] = 0.0
    quiet = replace(plan, program=replace(plan.program, relays=kept), demand=replace(plan.demand, mean_rps=rate))
    assert not runs_hosts(quiet, "all relay"), "of the class that stays at home nothing is asked"
