"""The price book in terminal, HTML, XLSX-table and plan.json: the same row with the document that it rests on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimize.report.page.html import html
from optimize.report.terminal.render_plan import render
from optimize.result import Plan
from optimize.tables.columns import Column, Table
from optimize.tables.finance_json import contracts_json
from optimize.tables.finance_tables import Money, finance_tables
from optimize.tables.folder import table_csv
from sim.catalog.contract import Contract
from sim.catalog.facts import Source
from tests.optimize.report import plan_fixture

HASH = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def plan() -> Plan:
    made = plan_fixture.plan()
    sold = made.program.relays[0].relay
    listed = replace(sold, usd_per_mtok_input=2.5)
    contract = Contract("signed.pdf", HASH, "2026-10-01", "2026-12-31")
    ours = replace(sold, grade="contract", contract=contract, source=Source("signed.pdf, named in by_hand.yaml", "2026-10-01"))
    catalog = replace(made.scenario.catalog, relays={listed.id: listed})
    return replace(made, scenario=replace(made.scenario, relays=(ours,), catalog=catalog))


def test_plan_json_names_the_contract_with_its_hash(plan: Plan) -> None:
    days = {"valid_from": "2026-10-01", "valid_until": "2026-12-31"}
    said = {"name": "lab.thinker", "document": "signed.pdf", "sha256": HASH, **days, "covers": None, "state": "", "bought": True}
    assert contracts_json(Money(plan)) == [said]


def test_the_table_has_list_contract_validity_and_the_whole_hash(plan: Plan) -> None:
    (book,) = [table for table in finance_tables(Money(plan)) if table.name == "prices"]
    row = dict(zip([column.name for column in book.columns], book.rows[0], strict=True))
    assert (row["list"], row["contracted"], row["claimed"], row["grade"]) == (2.5, 2.0, None, "contract")
    assert (row["age_days"], row["valid_until"], row["document"], row["sha256"]) == (60, "2026-12-31", "signed.pdf", HASH)


def test_the_screen_shows_them_side_by_side_and_warns_of_the_end(plan: Plan) -> None:
    text = " ".join(render(plan, colour=False).split())
    assert "lab.thinker input 2.5 2 contract 60 d, to 2026-12-31 signed.pdf 01234567" in text
    assert "lab.thinker: the contract signed.pdf ends on 2026-12-31, inside the horizon" in text


def test_the_page_shows_the_beginning_of_the_hash(plan: Plan) -> None:
    page = html(plan)
    assert "signed.pdf" in page and "<td>01234567</td>" in page and HASH not in page


def test_files_have_no_noise_of_floats() -> None:
    table = Table(
        "t", "t", (Column("x", "float", "", ""), Column("y", "str", "", "")), ((0.22499999999999998, "a"), (None, ""), (1e-7, "b"))
    )
    assert table_csv(table) == "x,y\n0.225,a\n,\n1e-07,b\n"


def test_the_list_price_of_another_vendor_is_no_list_cost_of_the_seller(plan: Plan) -> None:
    def unit_prices(given: Plan) -> set[object]:
        (focus,) = [table for table in finance_tables(Money(given)) if table.name == "focus"]
        names = [column.name for column in focus.columns]
        both = (names.index("ListUnitPrice"), names.index("ContractedUnitPrice"))
        mine = [row for row in focus.rows if row[names.index("ResourceId")] == "lab.thinker"]
        return {None if row[both[0]] == row[both[1]] else row[both[0]] for row in mine}  # None: the price of the plan stands for it

    assert 2.5 in unit_prices(plan)
    (listed,) = plan.scenario.catalog.relays.values()
    others = replace(plan.scenario.catalog, relays={"maker.thinker": replace(listed, id="maker.thinker")})
    assert unit_prices(replace(plan, scenario=replace(plan.scenario, catalog=others))) == {None}
