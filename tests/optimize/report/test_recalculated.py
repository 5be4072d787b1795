"""The workbook recalculated by LibreOffice: stored results are what the formulas give, changed prices move the total as they should.

Needs `soffice` (Debian: libreoffice-calc); skipped with a message where it is absent.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import Any

import openpyxl
import pytest

from optimize.finance.horizon import horizon
from optimize.money import cost_lines
from optimize.money.charges import OTHER, charges
from optimize.report.workbook.xlsx import xlsx
from optimize.result import Plan
from optimize.tables.bill_lines import bill_of
from optimize.tables.plan_json import plan_json
from sim.scenario.scenario import Finance
from tests.optimize.report import plan_fixture
from tests.optimize.repriced_plan import at_prices_of

CHANGED = {"price_neo_h100x2_host_hour": 5.555, "price_lab_thinker_output_tokens": 6.1, "usd_per_unit": 1.2}
FILLED = {"cost_of_capital": 0.1, "maintenance_share": 0.05, "staff_usd_per_month": 3000.0, "gpu_price_drift_per_year": 0.2}


def whole_plan() -> Plan:
    """The plan by hand with the bill that its quantities and prices give, in euros."""
    plan = plan_fixture.plan()
    budget = replace(plan.scenario.budget, currency="EUR")
    offers = tuple(terms.option.offer for terms in plan.program.pools)
    relays = tuple(terms.relay for terms in plan.program.relays)
    catalog = replace(plan.scenario.catalog, fx_usd={"USD": 1.0, "EUR": 1.1172})
    scenario = replace(plan.scenario, budget=budget, offers=offers, relays=relays, catalog=catalog)
    return replace(plan, scenario=scenario, lines=cost_lines(plan.program, plan.solution), usd_per_unit=1.1172)


def grown(plan: Plan) -> Plan:
    """The plan with months that move far enough to be planned anew."""
    finance = Finance(horizon_months=12, growth_per_month=0.15, api_price_drift_per_year=-0.8, gpu_price_drift_per_year=0.3)
    return replace(plan, scenario=replace(plan.scenario, finance=finance))


def announced(plan: Plan) -> Plan:
    """The plan with a relay whose price is announced to double, and one whose model retires for a dearer one."""
    first, second = (terms.relay for terms in plan.program.relays)
    doubled = {"next_usd_per_mtok_input": 2 * first.usd_per_mtok_input, "next_usd_per_mtok_output": 2 * first.usd_per_mtok_output}
    rows = (replace(first, next_price_on="2027-01-01", **doubled), replace(second, retires_on="2027-03-10", successor="next"))
    after = replace(second, id="next", usd_per_mtok_output=3 * second.usd_per_mtok_output)
    relays = tuple(replace(terms, relay=row) for terms, row in zip(plan.program.relays, rows, strict=True))
    scenario = replace(
        plan.scenario,
        relays=rows,
        catalog=replace(plan.scenario.catalog, relays={"next": after}),
        finance=Finance(horizon_months=8, api_price_drift_per_year=0.1),
    )
    return replace(plan, scenario=scenario, program=replace(plan.program, relays=relays))


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Name -> (formulas, stored values, recalculated values) of each workbook, recalculated in one run of LibreOffice.

    openpyxl drops the stored results when it writes: what is read back was computed by LibreOffice.
    """
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("needs soffice (LibreOffice Calc), which is not installed")
    folder = tmp_path_factory.mktemp("books")
    by_hand, whole = plan_fixture.plan(), whole_plan()
    sources = {
        "by_hand": (by_hand, {}),
        "whole": (whole, {}),
        "changed": (whole, CHANGED | FILLED),
        "grown": (grown(whole), {}),
        "announced": (announced(whole), {}),
    }
    for name, (plan, cells) in sources.items():
        (folder / f"{name}_stored.xlsx").write_bytes(xlsx(plan))
        opened = openpyxl.load_workbook(folder / f"{name}_stored.xlsx")
        for cell, value in cells.items():
            sheet, place = opened.defined_names[cell].attr_text.split("!")
            opened[sheet.strip("'")][place.replace("$", "")].value = value
        opened.save(folder / f"{name}.xlsx")
    profile = f"-env:UserInstallation=file://{folder / 'profile'}"
    files = [str(folder / f"{name}.xlsx") for name in sources]
    command = [office, profile, "--headless", "--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(folder / "out"), *files]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    return {
        name: (
            openpyxl.load_workbook(folder / f"{name}.xlsx"),
            openpyxl.load_workbook(folder / f"{name}_stored.xlsx", data_only=True),
            openpyxl.load_workbook(folder / "out" / f"{name}.xlsx", data_only=True),
        )
        for name in sources
    }


def named(book: Any, name: str, formulas: Any) -> Any:
    sheet, place = formulas.defined_names[name].attr_text.split("!")
    return book[sheet.strip("'")][place.replace("$", "")].value


@pytest.mark.parametrize("name", ["by_hand", "whole", "grown", "announced"])
def test_every_stored_result_is_what_its_formula_gives(books: dict[str, Any], name: str) -> None:
    formulas, stored, fresh = books[name]
    seen, wrong = 0, []
    for sheet in formulas:
        for cell in (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"):
            seen += 1
            old, new = (book[sheet.title][cell.coordinate].value for book in (stored, fresh))
            near = isinstance(old, int | float) and isinstance(new, int | float) and abs(old - new) <= max(0.0051, 1e-9 * abs(old))
            if not (near or (old or "") == (new or "")):
                wrong.append((sheet.title, cell.coordinate, cell.value, old, new))
    assert wrong == [] and seen > 200


@pytest.mark.parametrize("name", ["by_hand", "whole"])
def test_every_total_equals_plan_json_to_the_cent(books: dict[str, Any], name: str) -> None:
    formulas, _, fresh = books[name]
    cost = plan_json(plan_fixture.plan() if name == "by_hand" else whole_plan())["cost"]
    lines, size = fresh["Monthly lines"], len(cost["lines"])
    assert [round(lines[f"F{r}"].value, 6) for r in range(2, size + 2)] == [line["per_month"] for line in cost["lines"]]
    totals = [named(fresh, "cost_per_month", formulas), lines[f"F{size + 2}"].value, fresh["Summary"]["B4"].value]
    focus = fresh["FOCUS"]
    totals += [focus[f"F{focus.max_row}"].value, sum(focus[f"F{r}"].value for r in range(2, focus.max_row))]
    assert [round(total, 6) for total in totals] == [cost["per_month"]] * 5


def test_the_workbooks_months_are_those_of_the_horizon_with_announced_prices(books: dict[str, Any]) -> None:
    _, _, fresh = books["announced"]
    plan = announced(whole_plan())
    months = horizon(plan).months
    assert sum(bool(month.changes) for month in months) == 6
    sheet = fresh["Months"]
    assert [sheet[f"E{m + 2}"].value for m in range(8)] == pytest.approx([month.relay_usd / plan.usd_per_unit for month in months])
    assert [sheet[f"J{m + 2}"].value for m in range(8)] == pytest.approx([month.cumulative_usd / plan.usd_per_unit for month in months])
    assert [bool(sheet[f"O{m + 2}"].value) for m in range(8)] == [bool(month.changes) for month in months]


def changed_plan() -> Plan:
    """The plan at the prices and the exchange rate of CHANGED."""
    plan = whole_plan()
    offers = (replace(plan.scenario.offers[0], usd_per_hour=5.555), plan.scenario.offers[1])
    relays = (replace(plan.scenario.relays[0], usd_per_mtok_output=6.1), plan.scenario.relays[1])
    catalog = replace(plan.scenario.catalog, fx_usd={"USD": 1.0, "EUR": 1.2})
    return at_prices_of(plan, replace(plan.scenario, offers=offers, relays=relays, catalog=catalog))


def test_changed_prices_give_the_bill_of_the_fixed_fleet_at_those_prices(books: dict[str, Any]) -> None:
    """What `--set` of the same prices gives while hosts and routing stay."""
    formulas, _, fresh = books["changed"]
    plan, again = whole_plan(), changed_plan()
    assert round(100 * named(fresh, "cost_per_month", formulas)) == bill_of(again).total != bill_of(plan).total
    lines = fresh["Monthly lines"]
    assert [round(100 * lines[f"F{r}"].value) for r in range(2, len(again.lines) + 2)] == list(bill_of(again).lines)


def test_repricing_explains_every_line() -> None:
    plan = whole_plan()
    relays = (replace(plan.scenario.relays[0], usd_per_mtok_cached=0.1), plan.scenario.relays[1])
    again = at_prices_of(plan, replace(plan.scenario, relays=relays))
    assert OTHER not in {charge.item for charge in charges(again.program, again.solution, again.lines)}


def test_an_open_figure_that_is_filled_in_enters_the_sum_of_own_hosts(books: dict[str, Any]) -> None:
    from optimize.finance.own_or_rent import own_or_rent
    from sim.scenario.scenario import Finance

    _, _, fresh = books["changed"]
    plan = changed_plan()  # staff is shared by the rents at the new prices
    values = {name: FILLED[name] for name in ("cost_of_capital", "maintenance_share", "staff_usd_per_month")}
    want = own_or_rent(replace(plan, scenario=replace(plan.scenario, finance=Finance(values=values))))
    sheet = fresh["Own or rent"]
    rows = [r for r in range(1, sheet.max_row + 1) if str(sheet[f"A{r}"].value).startswith("own hosts a month")]
    got = [sheet[f"B{r}"].value for r in rows]
    assert got == pytest.approx([row.month.known_usd / 1.2 for row in want if row.month is not None], rel=1e-9)
    opens = [sheet[f"B{r + 2}"].value for r in rows]
    assert opens == [None, None] or opens == ["", ""]
    assert fresh["Months"]["D14"].value == pytest.approx(1.2 * fresh["Months"]["D2"].value)  # a year of drift, the same hosts
