"""Charges and lines of the bill: quantity x price / exchange rate, in cents that sum to the total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optimize.money import CLASSIFIER
from optimize.money.charges import HOST_HOUR, Charge
from optimize.money.quantities import FOLLOWS
from optimize.report.workbook.hosts_by_hour import host_hours
from optimize.report.workbook.pen import Pen, address, place, span, to_the_cent
from optimize.report.workbook.scenario_cells import FACTORS
from optimize.tables.bill_lines import cents_of
from optimize.tables.finance_columns import CHARGES
from optimize.tables.finance_tables import Money

CHARGES_SHEET, SHEET = "Charges", "Monthly lines"
EXACT, FLOOR, REST, MONTH = 7, 8, 9, 10  # columns of the charges
LINE_EXACT, LINE_FLOOR, LINE_REST, LINE_MONTH, LINE_SHARE, LINE_DETAIL = 2, 3, 4, 5, 6, 7


def rows_of(money: Money) -> dict[str, tuple[int, int]]:
    """(first, last) row of each line's charges on their sheet."""
    rows: dict[str, tuple[int, int]] = {}
    for r, charge in enumerate(money.charges, start=1):
        rows[charge.line] = (rows.get(charge.line, (r, r))[0], r)
    return rows


def write_charges(pen: Pen, money: Money) -> None:
    """Every charge as quantity x named price / exchange rate, exact and in cents that sum to its line."""
    sheet = pen.sheet(CHARGES_SHEET, (46, 8, 34, 16, 18, 15, 14, 18, 14, 10, 16))
    heads = [column.name.replace("_", " ") for column in CHARGES[:7]]
    heads += [f"exact, {pen.currency}", "cents below", "remainder", f"to the cent, {pen.currency}"]
    pen.titles(sheet, 0, heads, (4, *range(6, len(heads))))
    for r, charge in enumerate(money.charges, start=1):
        for c, value in enumerate((charge.line, charge.kind, charge.source, charge.item)):
            sheet.write_string(r, c, value)
        if (quantity := quantity_formula(pen, money, r, charge)) is None:
            sheet.write_number(r, 4, charge.quantity, pen.formats["number"])
        else:
            pen.formula(sheet, r, 4, quantity, charge.quantity, "number")
        pen.write(sheet, r, 5, charge.unit)
        times = {"gpu": f"*{FACTORS[1]}", "relay": f"*{FACTORS[2]}"}.get(charge.kind, "")
        pen.formula(sheet, r, 6, f"={pen.prices[charge.price_name]}{times}", charge.usd_per_unit, "USD")
        exact = cents_of(money.plan, charge.usd) / 100
        pen.formula(sheet, r, EXACT, f"=E{r + 1}*G{r + 1}/usd_per_unit", exact, "number")
    for line, (first, last) in rows_of(money).items():
        up = f"(ROUND({_line_cell(money, line)}*100,0)-SUM({span(FLOOR, first, last)}))"
        amounts = [cents_of(money.plan, charge.usd) for charge in money.charges[first - 1 : last]]
        _cents(pen, sheet, (first, last), EXACT, up, amounts, money.cents[first - 1 : last])
    sheet.set_column(FLOOR, REST, 12, None, {"level": 1, "hidden": True})
    sheet.freeze_panes(1, 1)


def quantity_formula(pen: Pen, money: Money, r: int, charge: Charge) -> str | None:
    """How the quantity of a charge follows demand and hit rates; None where it stays as it is (starts, units, minimum payments)."""
    if r in pen.hits:
        rate, plain, cached = pen.hits[r]
        whole = money.charges[plain - 1].quantity + money.charges[cached - 1].quantity
        return f"={whole!r}*{FACTORS[0]}*{rate if r == cached else f'(1-{rate})'}"
    if (charge.kind == "relay" and charge.item.endswith(FOLLOWS)) or charge.line == CLASSIFIER:
        return f"={charge.quantity!r}*{FACTORS[0]}"
    p = next((p for p, t in enumerate(money.plan.program.pools) if t.option.id == charge.line), None)
    return host_hours(money.plan, p) if p is not None and charge.item == HOST_HOUR else None


def _line_cell(money: Money, line: str) -> str:
    row = next(k for k, each in enumerate(money.plan.lines, start=1) if each.name == line)
    return place(SHEET, row, LINE_MONTH)


def _cents(pen: Pen, sheet: Any, rows: tuple[int, int], exact: int, up: str, amounts: Sequence[float], cents: Sequence[int]) -> None:
    """Floor, remainder and whole cents of the rows, from their exact `amounts` (in cents) in column `exact`."""
    first, last = rows
    floor, rest, month = exact + 1, exact + 2, exact + 3
    for k, r in enumerate(range(first, last + 1)):
        cell, below = address(r, exact), math.floor(amounts[k])
        pen.formula(sheet, r, floor, f"=INT({cell}*100)", below, "number")
        pen.formula(sheet, r, rest, f"=ROUND({cell}*100-{address(r, floor)},6)", round(amounts[k] - below, 6), "number")
        text = to_the_cent(up, address(r, rest), address(r, floor), span(rest, first, last), span(rest, first, r))
        pen.formula(sheet, r, month, text, cents[k] / 100)


def write_lines(pen: Pen, money: Money) -> None:
    """The bill: one row per line, exact and to the cent; names `cost_per_month` and `cost_exact` for the total."""
    sheet = pen.sheet(SHEET, (52, 8, 16, 12, 12, 18, 10, 44))
    bill, lines, rows = money.bill, money.plan.lines, rows_of(money)
    heads = ("line", "kind", f"exact, {bill.currency}", "cents below", "remainder", f"a month, {bill.currency}", "share", "how")
    pen.titles(sheet, 0, heads, range(LINE_EXACT, LINE_DETAIL))
    last = len(lines)
    total = address(last + 1, LINE_MONTH)
    up = f"(ROUND(SUM({span(LINE_EXACT, 1, last)})*100,0)-SUM({span(LINE_FLOOR, 1, last)}))"
    for r, (line, cents) in enumerate(zip(lines, bill.lines, strict=True), start=1):
        sheet.write_string(r, 0, line.name)
        sheet.write_string(r, 1, line.kind)
        first, end = rows[line.name]
        exact = cents_of(money.plan, line.per_month_usd) / 100
        pen.formula(sheet, r, LINE_EXACT, f"=SUM('{CHARGES_SHEET}'!{span(EXACT, first, end)})", exact, "number")
        share = cents / bill.total if bill.total else 0.0
        pen.formula(sheet, r, LINE_SHARE, f"=IF({total}=0,0,{address(r, LINE_MONTH)}/{total})", share, "share")
        pen.write(sheet, r, LINE_DETAIL, line.detail)
    if lines:
        amounts = [cents_of(money.plan, line.per_month_usd) for line in lines]
        _cents(pen, sheet, (1, last), LINE_EXACT, up, amounts, bill.lines)
    sheet.write_string(last + 1, 0, "total", pen.formats["bold"])
    exact_total = cents_of(money.plan, sum(line.per_month_usd for line in lines)) / 100
    text = f"=SUM({span(LINE_EXACT, 1, last)})" if lines else "=0"
    pen.formula(sheet, last + 1, LINE_EXACT, text, exact_total, "number")
    text = f"=SUM({span(LINE_MONTH, 1, last)})" if lines else "=0"
    pen.formula(sheet, last + 1, LINE_MONTH, text, bill.total / 100, "total")
    pen.name("cost_per_month", SHEET, total)
    pen.name("cost_exact", SHEET, address(last + 1, LINE_EXACT))
    sheet.set_column(LINE_FLOOR, LINE_REST, 12, None, {"level": 1, "hidden": True})
    sheet.freeze_panes(1, 1)
    _chart(pen, sheet, last)


def _chart(pen: Pen, sheet: Any, last: int) -> None:
    if last < 1:
        return
    chart = pen.book.add_chart({"type": "bar"})
    points = {"categories": [SHEET, 1, 0, last, 0], "values": [SHEET, 1, LINE_MONTH, last, LINE_MONTH]}
    chart.add_series({**points, "name": "a month", "fill": {"color": "#4C8DD6"}, "data_labels": {"value": True, "num_format": "#,##0"}})
    chart.set_title({"name": f"Cost of a month, {pen.currency}"})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True})
    chart.set_size({"width": 900, "height": 120 + 34 * last})
    sheet.insert_chart(last + 4, 0, chart)
