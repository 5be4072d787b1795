"""The workbook of a plan: its sheets in the order of reading."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from optimize.report.workbook import ahead, facts, inputs, lines, owning
from optimize.report.workbook.pen import Pen
from optimize.result import Plan
from optimize.tables import tables
from optimize.tables.finance_tables import Money, finance_tables

PLAIN = {  # tables of figures without formulas
    "fleet": "Fleet",
    "relays": "Relays",
    "flows": "Flows",
    "slo": "SLO",
    "latency": "Latency",
    "alternatives": "Alternatives",
    "flips": "Flips",
    "dropped": "Dropped",
}


def xlsx(plan: Plan, money: Money | None = None, manifest: Mapping[str, Any] | None = None) -> bytes:
    """The workbook. The same plan gives the same bytes: its creation date is that of the catalogue.

    Prices and figures on "Assumptions" have names, and totals are formulas over them; the stored results are those of the plan.
    """
    import xlsxwriter  # late: only when a workbook is written

    money = Money(plan) if money is None else money
    buffer = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    book = xlsxwriter.Workbook(buffer, options)
    book.set_properties({"title": f"ServeMix plan: {plan.scenario.name}", "created": _date(plan.scenario.catalog.date)})
    book.set_calc_mode("auto")
    pen = Pen(book, money.bill.currency)
    summary = pen.sheet("Summary")
    inputs.write_inputs(pen, money)
    by_name = {table.name: table for table in (*tables.all_tables(plan), *finance_tables(money))}
    lines.write_lines(pen, money)
    lines.write_charges(pen, money)
    facts.write_units(pen, money)
    ahead.write_months(pen, money)
    ahead.write_break_even(pen, money, by_name["break_even"])
    ahead.write_sensitivity(pen, money, by_name["sensitivity"])
    owning.write_own(pen, money)
    pen.table(pen.sheet("Price book"), by_name["prices"])
    facts.write_hours(pen, money)
    for name, title in PLAIN.items():
        pen.table(pen.sheet(title), by_name[name])
    facts.write_focus(pen, money, by_name["focus"])
    facts.write_notes(pen, money)
    facts.write_manifest(pen, manifest or {})
    facts.write_summary(pen, summary, money)
    book.close()
    return buffer.getvalue()


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime(2000, 1, 1)
