"""A plan as a workbook for finance: numbers as numbers, totals as live formulas."""

from __future__ import annotations

import io
import math
from datetime import datetime
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_col_to_name

from optimize.records import Plan
from optimize.report import tables
from optimize.report.bill import bill_of
from optimize.report.columns import Column, Table, Value
from optimize.report.plan_json import lower_bound
from optimize.report.words import STATUS_WORDS, headline

FORMATS = {"money": "#,##0.00", "share": "0.0%", "s": "0.0000", "requests": "#,##0", "tokens": "#,##0", "h": "#,##0.0"}
SHEETS = {
    "cost": "Lines",
    "fleet": "Fleet",
    "hours": "Fleet by hour",
    "relays": "Relays",
    "flows": "Flows",
    "slo": "SLO",
    "alternatives": "Alternatives",
    "flips": "Flips",
    "dropped": "Dropped",
}
TOTALLED = ("per_month", "requests_per_month", "host_hours")


def xlsx(plan: Plan) -> bytes:
    """The workbook. The same plan gives the same bytes: its creation date is that of the catalogue."""
    buffer = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    book = xlsxwriter.Workbook(buffer, options)
    created = _date(plan.scenario.catalog.date)
    book.set_properties({"title": f"ServeMix plan: {plan.scenario.name}", "created": created})
    formats: dict[str, Any] = {name: book.add_format({"num_format": code}) for name, code in FORMATS.items()}
    formats |= {"head": book.add_format({"bold": True, "bottom": 1}), "bold": book.add_format({"bold": True})}
    formats |= {"total": book.add_format({"bold": True, "top": 1, "num_format": FORMATS["money"]})}
    formats |= {"wrap": book.add_format({"text_wrap": True, "valign": "top"})}
    summary = book.add_worksheet("Summary")
    cells = {}
    for table in tables.all_tables(plan):
        if table.name in SHEETS:
            cells[table.name] = _sheet(book, SHEETS[table.name], table, formats)
    _texts(book, plan, formats)
    _summary(summary, plan, formats, cells["cost"].get("per_month", "0"))
    book.close()
    return buffer.getvalue()


def _sheet(book: Any, name: str, table: Table, formats: dict[str, Any]) -> dict[str, str]:
    """One table on one sheet, units in the header's note; the absolute address of each column's total."""
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 1)
    for c, column in enumerate(table.columns):
        sheet.write(0, c, column.name, formats["head"])
        sheet.write_comment(0, c, f"{column.meaning} [{column.unit}]" if column.unit else column.meaning)
        values = [row[c] for row in table.rows]
        sheet.set_column(c, c, min(60, max(len(column.name) + 2, *(len(_shown(value)) + 1 for value in values), 0)))
        for r, value in enumerate(values, start=1):
            _write(sheet, r, c, value, column, formats)
    last = len(table.rows)
    totals: dict[str, str] = {}
    if table.name == "alternatives" or not last:
        return totals
    sheet.autofilter(0, 0, last, len(table.columns) - 1)
    for c, column in enumerate(table.columns):
        if column.name not in TOTALLED:
            continue
        letter = xl_col_to_name(c)
        sheet.write_formula(
            last + 1, c, f"=SUM({letter}2:{letter}{last + 1})", formats["total"], math.fsum(_numbers(table.column(column.name)))
        )
        totals[column.name] = f"'{name}'!${letter}${last + 2}"
    if totals:
        sheet.write(last + 1, 0, "total", formats["bold"])
    return totals


def _write(sheet: Any, r: int, c: int, value: Value, column: Column, formats: dict[str, Any]) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(r, c, value)
    elif isinstance(value, int | float):
        if math.isfinite(value):
            sheet.write_number(r, c, value, formats.get(column.unit))
        else:
            sheet.write_string(r, c, "never")
    else:
        sheet.write_string(r, c, value)


def _summary(sheet: Any, plan: Plan, formats: dict[str, Any], total: str) -> None:
    """Verdict and money; what follows from the lines is a formula over them."""
    bill = bill_of(plan)
    budget, cost = plan.scenario.budget.per_month, bill.total / 100
    bound = lower_bound(plan, bill)
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 1, 60)
    rows: list[tuple[str, Any, str, Any]] = [
        ("Scenario", plan.scenario.name, "", None),
        ("Verdict", STATUS_WORDS[plan.status], "bold", None),
        ("In words", headline(plan, bill), "wrap", None),
        (f"Cost a month, {bill.currency}", f"={total}", "money", cost),
        (f"Budget a month, {bill.currency}", budget if math.isfinite(budget) else "none", "money", None),
        ("Left of the budget", "=B5-B4" if math.isfinite(budget) else "", "money", budget - cost),
        (f"Lower bound a month, {bill.currency}", bound, "money", None),
        ("Gap to the lower bound", "=IF(B4=0,0,(B4-B7)/B4)", "share", (cost - bound) / cost if cost else 0.0),
        ("Cost a year at this demand", "=12*B4", "money", 12 * cost),
        ("Seed", plan.scenario.seed, "", None),
        ("Catalogue of", plan.scenario.catalog.date, "", None),
    ]
    for r, (label, value, style, result) in enumerate(rows):
        sheet.write_string(r, 0, label, formats["bold"])
        if isinstance(value, str) and value.startswith("=") and result is not None:
            sheet.write_formula(r, 1, value, formats.get(style), result)
        elif isinstance(value, str):
            sheet.write_string(r, 1, value, formats.get(style))
        else:
            sheet.write_number(r, 1, value, formats.get(style))


def _texts(book: Any, plan: Plan, formats: dict[str, Any]) -> None:
    """What the plan assumes and warns of."""
    sheet = book.add_worksheet("Assumptions")
    sheet.set_column(0, 0, 14)
    sheet.set_column(1, 1, 120, formats["wrap"])
    lines = [("assumption", text) for text in plan.assumptions] + [("warning", text) for text in plan.warnings]
    lines += [("binds", text) for text in plan.binding]
    for r, (kind, text) in enumerate(lines):
        sheet.write_string(r, 0, kind)
        sheet.write_string(r, 1, text)


def _numbers(values: list[Value]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float)]


def _shown(value: Value) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else "" if value is None else str(value)


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime(2000, 1, 1)
