"""The bill is one table: terminal, plan.json, HTML, workbook, FOCUS rows and CSV say the same cents, line by line."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import openpyxl
import pytest

from optimize.money import cost_lines
from optimize.report.page.html import html
from optimize.report.terminal.render_plan import render
from optimize.report.workbook.xlsx import xlsx
from optimize.result import Plan
from optimize.tables.finance_tables import Money, finance_tables
from optimize.tables.folder import table_csv
from optimize.tables.plan_json import plan_json
from optimize.tables.tables import all_tables
from tests.optimize.report import plan_fixture


class Cells(HTMLParser):
    """All tables of a page as lists of rows of texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.open = False

    def handle_data(self, data: str) -> None:
        if self.open:
            self.tables[-1][-1][-1] += data


def cents(text: str) -> int:
    return round(100 * float(text.replace(",", "")))


def plans() -> dict[str, Plan]:
    plan = plan_fixture.plan()
    whole = replace(plan, lines=cost_lines(plan.program, plan.solution))
    budget = replace(plan.scenario.budget, currency="CNY")
    yuan = replace(whole, scenario=replace(plan.scenario, budget=budget), usd_per_unit=0.15031)
    return {"by hand": plan, "priced": whole, "yuan": yuan}


@pytest.mark.parametrize("name", ["by hand", "priced", "yuan"])
def test_every_form_of_the_bill_says_the_same_cents(name: str) -> None:
    plan = plans()[name]
    money = Money(plan)
    tables = {table.name: table for table in (*all_tables(plan), *finance_tables(money))}
    want = dict(zip((line.name for line in plan.lines), money.bill.lines, strict=True))
    total = money.bill.total
    assert sum(want.values()) == total

    said = plan_json(plan, money)
    assert {line["name"]: round(100 * line["per_month"]) for line in said["cost"]["lines"]} == want
    assert round(100 * said["cost"]["per_month"]) == total
    by_line: dict[str, int] = {}
    for charge in said["charges"]:
        by_line[charge["line"]] = by_line.get(charge["line"], 0) + round(100 * charge["per_month"])
    assert by_line == want

    shown = re.findall(r"^  (\S.*?) {2,}([\d,]+\.\d\d) ", render(plan, colour=False) + " ", re.M)
    assert {line: cents(amount) for line, amount in shown if line in want} == want
    assert re.search(rf"^  total +{total / 100:,.2f}$", render(plan, colour=False), re.M)

    page = Cells()
    page.feed(html(plan, money))
    cost = next(table for table in page.tables if table[0][:2] == ["name", "kind"])
    assert {row[0]: cents(row[2]) for row in cost[1:-1]} == want and cents(cost[-1][2]) == total
    charges = next(table for table in page.tables if table[0][:2] == ["line", "kind"])
    assert sum(cents(row[-1]) for row in charges[1:-1]) == cents(charges[-1][-1]) == total

    lines = openpyxl.load_workbook(io.BytesIO(xlsx(plan, money)), data_only=True)["Monthly lines"]
    assert {lines[f"A{r}"].value: round(100 * lines[f"F{r}"].value) for r in range(2, len(want) + 2)} == want

    for table, column in (("cost", "per_month"), ("charges", "per_month"), ("focus", "BilledCost")):
        rows = csv.DictReader(io.StringIO(table_csv(tables[table])))
        assert sum(round(100 * float(row[column])) for row in rows) == total
