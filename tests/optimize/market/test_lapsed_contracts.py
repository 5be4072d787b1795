"""A contract that has ended: verdict, price book, workbook, plan.json and comparison all say so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from optimize.audit.compare_plans import compare_plans
from optimize.report.page.html import html
from optimize.report.terminal.render_plan import render
from optimize.result import Plan
from optimize.tables.bill_lines import bill_of
from optimize.tables.finance_tables import Money, price_rows
from optimize.tables.phrases import headline
from optimize.tables.plan_json import plan_json
from sim.catalog.contract import Contract
from tests.optimize.report import plan_fixture


def signed(until: str) -> Plan:
    """The plan by hand, its reasoning relay under a contract."""
    plan = plan_fixture.plan()
    first, *others = plan.program.relays
    contract = Contract("lab.pdf", "c" * 64, "2026-01-01", until, ("usd_per_mtok_input", "usd_per_mtok_output"))
    row = replace(first.relay, grade="contract", contract=contract)
    program = replace(plan.program, relays=(replace(first, relay=row), *others))
    return replace(plan, program=program, scenario=replace(plan.scenario, relays=(row,)))


def saved(folder: Path, plan: Plan) -> Path:
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan_json(plan)))
    return folder


@pytest.mark.parametrize(("until", "lapsed"), [("2026-06-30", True), ("2027-06-30", False)])
def test_the_verdict_names_a_contract_that_has_ended_in_every_view(until: str, lapsed: bool) -> None:
    plan = signed(until)
    said = "lab.thinker is priced by the contract lab.pdf, which ended on 2026-06-30: on 2026-11-30 that is no price."
    assert (said in headline(plan, bill_of(plan))) is lapsed
    assert (said in " ".join(render(plan, colour=False).split())) is lapsed
    assert (said in html(plan)) is lapsed
    grades = {str(row[7]) for row in price_rows(Money(plan)) if row[0] == "lab.thinker"}
    assert ("contract (ended 2026-06-30)" in grades) is lapsed and ("contract" in grades) is not lapsed


def test_a_comparison_of_two_plans_names_the_contract_that_has_ended(tmp_path: Path) -> None:
    first, second = saved(tmp_path / "ok", signed("2027-06-30")), saved(tmp_path / "ended", signed("2026-06-30"))
    (note,) = compare_plans([first, second]).notes
    assert "ended: lab.thinker is priced by the contract lab.pdf, which ended on 2026-06-30" in note
