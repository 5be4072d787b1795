"""Announced prices, retirements and successors in the months ahead: each month is what a pencil says, and the decision says it on top."""

from __future__ import annotations

import doctest
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize.finance import announced_prices as announced
from optimize.finance.announced_prices import Announced, leaves, row_on
from optimize.finance.horizon import Horizon, horizon
from optimize.money import cost_lines
from optimize.records import RelayTerms, UnitTerms
from optimize.result import Plan
from optimize.tables.bill_lines import bill_of
from optimize.tables.finance_json import finance_json
from optimize.tables.finance_tables import Money
from optimize.tables.phrases import headline
from sim.catalog.facts import Relay
from sim.scenario.scenario import Finance
from tests.optimize.finance.test_break_even import plan_of
from tests.optimize.program.problems import relay

CALL = 100e-6  # 50 tokens in and 50 out at $1 a million
MONTH = CALL * 3600 * 730  # 262.80: one request a second
UP: dict[str, Any] = {"next_price_on": "2027-01-01", "next_usd_per_mtok_input": 2.0, "next_usd_per_mtok_output": 3.0}


def sold(name: str, usd: float = CALL, **keys: Any) -> RelayTerms:
    terms = relay(name, [usd])
    return replace(terms, relay=replace(terms.relay, usd_per_mtok_input=usd / CALL, usd_per_mtok_output=usd / CALL, **keys))


def plan(*relays: RelayTerms, budget: float = 300.0, catalog: tuple[Relay, ...] = (), **finance: Any) -> Plan:
    """One request a second to the first relay, from November 2026 on."""
    made = plan_of([], list(relays), [[1.0]])
    scenario = replace(
        made.scenario,
        relays=tuple(terms.relay for terms in relays),
        catalog=replace(made.scenario.catalog, relays={row.id: row for row in catalog}),
        finance=Finance(**{"start": "2026-11", "horizon_months": 6, **finance}),
        budget=replace(made.scenario.budget, per_month=budget),
    )
    return replace(made, scenario=scenario, lines=cost_lines(made.program, made.solution), status="met")


def paid(seen: Horizon) -> list[float]:
    return [month.paid_usd for month in seen.months]


def test_months_from_an_announced_price_on_are_billed_at_it() -> None:
    seen = horizon(plan(sold("api", **UP)))
    assert paid(seen) == pytest.approx([MONTH, MONTH, *[2.5 * MONTH] * 4])
    assert [bool(month.changes) for month in seen.months] == [False, False, True, True, True, True]
    note = seen.notes[0]
    assert "api" in note and "model from 2027-01-01" in note and "$2 in and $3 out" in note and "today $1 and $1" in note


def test_a_price_that_changes_inside_a_month_is_billed_by_days() -> None:
    seen = horizon(plan(sold("api", **UP | {"next_price_on": "2027-01-11"})))
    assert paid(seen)[1:4] == pytest.approx([MONTH, MONTH * (10 + 21 * 2.5) / 31, 2.5 * MONTH])


def test_growth_and_drift_come_on_top_of_an_announced_price() -> None:
    seen = horizon(plan(sold("api", **UP), growth_per_month=0.02, api_price_drift_per_year=0.1), programs=0.0)
    assert paid(seen)[4] == pytest.approx(2.5 * MONTH * 1.02**4 * 1.1 ** (4 / 12))


def test_after_a_retirement_the_successor_is_billed_at_its_own_announced_price() -> None:
    after = replace(sold("next", 3 * CALL).relay, next_price_on="2027-03-01", next_usd_per_mtok_input=4.0, next_usd_per_mtok_output=4.0)
    seen = horizon(plan(sold("old", retires_on="2027-01-31", successor="next"), catalog=(after,)))
    assert paid(seen) == pytest.approx([MONTH, MONTH, MONTH, 3 * MONTH, 4 * MONTH, 4 * MONTH])
    assert any("retires on 2027-01-31" in note and "successor next at $3 in and $3 out" in note for note in seen.notes)


def test_without_a_successor_the_month_cannot_be_bought_and_says_so() -> None:
    gone = plan(sold("old", retires_on="2027-01-14"))
    seen = horizon(gone)
    assert [month.gone for month in seen.months] == [False, False, True, True, True, True]
    assert any("no successor" in note and "cannot be bought from 2027-01-15" in note for note in seen.notes)
    assert any(note.startswith("From 2027-01 on months cannot be bought") for note in seen.notes)
    assert all(month.saved_usd is None for month in seen.months[2:]), "nor can all-API"
    assert "From 2027-01 on it cannot be bought as it is" in headline(gone, bill_of(gone))


def test_a_cheaper_relay_is_taken_when_the_price_rises_or_the_model_goes() -> None:
    for keys in (UP, {"retires_on": "2026-12-31"}):
        seen = horizon(plan(sold("api", **keys), sold("other", 2 * CALL)))
        assert paid(seen) == pytest.approx([MONTH, MONTH, *[2 * MONTH] * 4])
        assert [month.solved for month in seen.months] == [False, False, True, False, False, False]
        assert not any(month.gone for month in seen.months) and seen.months[2].saved_usd == pytest.approx(0.0)


def test_a_relay_that_becomes_cheaper_draws_the_plan() -> None:
    falls = sold("other", 2 * CALL, next_price_on="2027-01-01", next_usd_per_mtok_input=0.5, next_usd_per_mtok_output=0.5)
    assert paid(horizon(plan(sold("api"), falls))) == pytest.approx([MONTH, MONTH, *[0.5 * MONTH] * 4])


def test_a_contracted_price_is_not_replaced_by_the_announced_list_price() -> None:
    seen = horizon(plan(sold("api", grade="contract", **UP)))
    assert paid(seen) == pytest.approx([MONTH] * 6) and not any(month.changes for month in seen.months)


def test_the_first_month_already_has_a_price_that_was_announced_for_before_it() -> None:
    assert paid(horizon(plan(sold("api", **UP), start="2027-02"))) == pytest.approx([2.5 * MONTH] * 6)


def test_the_decision_says_when_an_announced_price_breaks_the_budget() -> None:
    made = plan(sold("api", **UP))
    words = headline(made, bill_of(made))
    assert "from 2027-01 on the same plan costs up to $657.00 a month" in words and "$357.00 above the budget" in words and "$2 in" in words
    told = finance_json(Money(made))["leaves_budget"]
    assert [(each["month"], each["per_month"]) for each in told] == [("2027-01", 657.0)] and "api" in told[0]["because"][0]
    for other in (plan(sold("api", **UP), budget=700.0), plan(sold("api")), plan(sold("api", **UP), horizon_months=2)):
        assert leaves(other) == () and "But from" not in headline(other, bill_of(other))


def test_units_keep_their_price_when_token_prices_change_and_go_with_their_model() -> None:
    units = UnitTerms(1.0, np.ones(1))
    kept, lost = (plan(replace(sold("api", **keys), units=units)) for keys in (UP, {"retires_on": "2027-01-31", "successor": "next"}))
    assert Announced(kept).changes == {} and [row.row for row in Announced(lost).changes[0]] == [None]


def test_successors_that_name_each_other_end() -> None:
    a = replace(sold("a").relay, retires_on="2027-01-01", successor="b")
    b = replace(sold("b").relay, retires_on="2027-01-01", successor="a")
    assert row_on(a, {"a": a, "b": b}, "2027-02-01") is None
    assert Announced(plan(sold("a", retires_on="2027-01-01", successor="b"), catalog=(a, b))).changes[0][0].row is None


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(announced).failed == 0
