"""The workbook of a plan: its sheets in the order of reading."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from optimize.report.workbook import ahead, facts, inputs, lines, owning, summary
from optimize.report.workbook.live import of_the_run
from optimize.report.workbook.pen import Pen
from optimize.result import Plan
from optimize.tables import tables
from optimize.tables.finance_tables import Money, finance_tables

PLAIN = {  # tables of figures without formulas
    "fleet": ("Fleet", "hosts by hour and their cost stand live on Fleet by hour and Charges"),
    "relays": ("Relays", "tokens and cost stand live on Charges"),
    "flows": ("Flows", "routing is decided by a run"),
    "slo": ("SLO", "what users feel is simulated by a run"),
    "latency": ("Latency", "what users feel is simulated by a run"),
    "alternatives": ("Alternatives", "each is a plan of its own, solved by a run"),
    "flips": ("Flips", "each is found by solving again"),
    "dropped": ("Dropped", "candidates are judged by a run"),
}
PRICED = ("fleet", "relays", "alternatives", "flips")  # of those, figures that prices move too


def xlsx(plan: Plan, money: Money | None = None, manifest: Mapping[str, Any] | None = None) -> bytes:
    """The workbook. The same plan gives the same bytes: its creation date is that of the catalogue.

    Prices and figures on "Assumptions" have names, and totals are formulas over them; the stored results are those of the plan.
    """
    import xlsxwriter  # late: only when a workbook is written

    money = Money(plan) if money is None else money
    buffer = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    book = xlsxwriter.Workbook(buffer, options)
    book.set_properties({"title": f"ServeMix plan: {plan.scenario.name}", "created": created_on(plan.scenario.catalog.date)})
    book.set_calc_mode("auto")
    pen = Pen(book, money.bill.currency)
    first = pen.sheet("Summary")
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
    for name, (title, why) in PLAIN.items():
        sheet = pen.sheet(title)
        end = pen.table(sheet, by_name[name])
        of_the_run(pen, sheet, end, len(by_name[name].columns), why, name in PRICED)
    facts.write_focus(pen, money, by_name["focus"])
    facts.write_notes(pen, money)
    facts.write_manifest(pen, manifest or {})
    summary.write_summary(pen, first, money)
    book.close()
    return buffer.getvalue()


def created_on(text: str) -> datetime:
    """The date of a catalogue as the creation date of a workbook; a fixed day where it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime(2000, 1, 1)
