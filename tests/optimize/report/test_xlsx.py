"""The workbook: numbers are numbers, totals are live formulas over named prices, their stored results are those of plan.json."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

import openpyxl
import pytest

from optimize.report.workbook.xlsx import xlsx
from optimize.tables.plan_json import plan_json
from tests.optimize.report import plan_fixture


@pytest.fixture(scope="module")
def content() -> bytes:
    return xlsx(plan_fixture.plan(), manifest={"inputs": {"scenario": "abc"}})


def book(content: bytes, values: bool = False) -> Any:
    return openpyxl.load_workbook(io.BytesIO(content), data_only=values)


def test_sheets_come_in_the_order_of_reading(content: bytes) -> None:
    assert book(content).sheetnames == [
        *("Summary", "Assumptions", "Monthly lines", "Charges", "Unit economics", "Months", "Break-even", "Sensitivity", "Own or rent"),
        *("Price book", "Fleet by hour", "Fleet", "Relays", "Flows", "SLO", "Latency", "Alternatives", "Flips", "Dropped"),
        *("FOCUS", "Notes", "Run manifest"),
    ]


def test_every_price_of_a_charge_is_one_named_cell(content: bytes) -> None:
    names = book(content).defined_names
    charges = book(content)["Charges"]
    for r in range(2, charges.max_row + 1):
        price, _, times = charges[f"G{r}"].value.removeprefix("=").partition("*")
        assert price in names and times in {"gpu": "gpu_price_times", "relay": "api_price_times"}.get(charges[f"B{r}"].value, "")
        assert charges[f"H{r}"].value == f"=E{r}*G{r}/usd_per_unit"
    assert names["price_neo_h100x2_host_hour"].attr_text.startswith("'Assumptions'!$B$")
    assert {"usd_per_unit", "cost_per_month", "staff_usd_per_month", "cost_of_capital"} <= set(names)


def test_lines_are_formulas_and_their_stored_results_sum_to_the_plan(content: bytes) -> None:
    lines, stored = book(content)["Monthly lines"], book(content, values=True)["Monthly lines"]
    cost = plan_json(plan_fixture.plan())["cost"]
    assert [stored[f"F{r}"].value for r in range(2, 7)] == [line["per_month"] for line in cost["lines"]]
    assert stored["F7"].value == cost["per_month"] == 38_782.73
    assert lines["F7"].value == "=SUM($F$2:$F$6)" and lines["C2"].value.startswith("=SUM('Charges'!")


def test_the_summary_follows_the_bill(content: bytes) -> None:
    summary, stored = book(content)["Summary"], book(content, values=True)["Summary"]
    assert (summary["B4"].value, summary["B6"].value, summary["B9"].value) == (
        "=cost_per_month",
        '=IF(budget_per_month="","",budget_per_month-B4)',
        "=12*B4",
    )
    assert [stored[f"B{r}"].value for r in (4, 6)] == pytest.approx([38_782.73, 1_217.27])


def test_a_figure_without_a_source_is_an_empty_cell_and_not_a_zero(content: bytes) -> None:
    sheet = book(content)["Assumptions"]
    rows = {sheet[f"I{r}"].value: r for r in range(1, sheet.max_row + 1)}
    for name in ("staff_usd_per_month", "maintenance_share", "cost_of_capital"):
        assert sheet[f"B{rows[name]}"].value is None and "open" in sheet[f"F{rows[name]}"].value
    assert sheet[f"B{rows['pue']}"].value == 1.54


def test_focus_rows_and_the_bill_have_one_total(content: bytes) -> None:
    focus = book(content, values=True)["FOCUS"]
    last = focus.max_row
    assert focus[f"F{last}"].value == pytest.approx(38_782.73)
    assert sum(focus[f"F{r}"].value for r in range(2, last)) == pytest.approx(38_782.73)


def test_hours_and_promises_are_numbers(content: bytes) -> None:
    hours, slo = book(content, values=True)["Fleet by hour"], book(content)["SLO"]
    assert all(isinstance(hours.cell(r, c).value, int | float) for r in range(2, 50) for c in range(2, 10))
    assert slo["E2"].value == 0.83 and slo["K2"].value == "yes"


def test_pictures_are_native_charts(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        assert sum(name.startswith("xl/charts/chart") for name in parts.namelist()) == 6


def test_same_plan_same_bytes(content: bytes) -> None:
    assert xlsx(plan_fixture.plan(), manifest={"inputs": {"scenario": "abc"}}) == content


def test_the_manifest_is_a_value_a_row(content: bytes) -> None:
    assert [cell.value for cell in book(content)["Run manifest"][1]] == ["inputs.scenario", "abc"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", '=HYPERLINK("http://x")', "{=1}"])
def test_text_that_looks_like_a_formula_stays_text(text: str) -> None:
    whole = plan_fixture.plan()
    scenario = replace(whole.scenario, name=text)
    lines = (replace(whole.lines[0], name=text), *whole.lines[1:])
    given = xlsx(replace(whole, scenario=scenario, lines=lines, warnings=(text,), verification=None, dropped=(), flips=()))
    cells = [cell for sheet in book(given) for row in sheet.iter_rows() for cell in row if cell.value == text]
    assert len(cells) >= 4 and all(cell.data_type == "s" for cell in cells if cell.parent.title != "x")
    with zipfile.ZipFile(io.BytesIO(given)) as parts:
        sheets = [parts.read(name).decode() for name in parts.namelist() if name.startswith("xl/worksheets/sheet")]
    assert not any(f"<f>{text.removeprefix('=')}</f>" in sheet for sheet in sheets)


def test_a_plan_without_lines_is_still_a_workbook() -> None:
    empty = replace(plan_fixture.plan(), lines=(), status="infeasible", verification=None)
    assert book(xlsx(empty), values=True)["Summary"]["B4"].value == 0


def test_every_input_is_validated_and_every_sheet_prints_with_titles_and_page_numbers(content: bytes) -> None:
    opened = book(content)
    sheet = opened["Assumptions"]
    checked = {cell for rule in sheet.data_validations.dataValidation for cell in str(rule.sqref).split()}
    inputs = [name.attr_text.split("!")[1].replace("$", "") for name in opened.defined_names.values() if "Assumptions" in name.attr_text]
    marks = {sheet[f"B{r}"].coordinate for r in range(1, sheet.max_row + 1) if str(sheet[f"B{r}"].value).startswith("=")}
    assert len(inputs) > 25 and set(inputs) - marks <= checked
    for each in opened:
        assert each.oddFooter.center.text == "Page &P of &N" and each.print_title_rows == "$1:$1", each.title


def test_a_scenario_is_chosen_from_a_list_and_demand_reaches_hosts_and_tokens(content: bytes) -> None:
    opened = book(content)
    rules = [rule for rule in opened["Assumptions"].data_validations.dataValidation if rule.type == "list"]
    assert len(rules) == 1 and opened["Assumptions"]["B5"].value == "as planned"
    assert "demand_times" in opened["Fleet by hour"]["D11"].value
    quantities = {opened["Charges"][f"D{r}"].value: str(opened["Charges"][f"E{r}"].value) for r in range(2, opened["Charges"].max_row + 1)}
    assert "demand_times" in quantities["output tokens"] and "'Fleet by hour'" in quantities["host-hour"]
    focus = opened["FOCUS"]
    columns = {cell.value.split(",")[0]: cell.column_letter for cell in focus[1]}
    assert focus[f"{columns['PricingQuantity']}2"].value.startswith("='Charges'!")


def test_what_cannot_follow_says_why_and_turns_grey(content: bytes) -> None:
    opened = book(content)
    for name in ("Break-even", "Alternatives", "SLO", "Latency", "Flips", "Flows"):
        said = [str(cell.value) for cell in opened[name]["A"] if str(cell.value).startswith("Figures of the run")]
        assert len(said) == 1 and "because" in said[0], name
        assert opened[name].conditional_formatting, name
