"""A comparison on one screen: side by side, then the bridge from the first bill to each other one."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from optimize.audit.compare_plans import Comparison
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.tables.plain_numbers import count, percent

BAR = 24
MONEY = ("cost", "lower bound", "line:", "not quantity")


def render_comparison(found: Comparison, colour: bool | None = None) -> str:
    """Side by side and bridges, 110 columns wide."""
    console = screen(colour)
    names = [bill.name for bill in found.bills]
    console.print(Text(f"{', '.join(names)}  in {found.currency}", style="bold"))
    section(console, "Side by side")
    listing = table("", *names, right=range(1, len(names) + 1))
    for name, values in found.rows:
        if found.lines and name.startswith("line:"):
            continue  # they stand in a table of their own
        listing.add_row(name, *(_cell(name, value) for value in values))
    show(console, listing)
    if found.lines:
        _lines(console, found)
    for bill, steps in zip(found.bills[1:], found.bridges, strict=True):
        section(console, f"From {names[0]} to {bill.name}")
        most = max([abs(step.amount) for step in steps] + [1e-9])
        rows = table("", found.currency, "", "", right=(1,))
        rows.add_row(names[0], f"{found.bills[0].total:,.2f}", "", "")
        for step in steps:
            length = round(BAR * abs(step.amount) / most)
            bar = Text(("+" if step.amount > 0 else "-") * length, style="red" if step.amount > 0 else "green")
            rows.add_row(step.name, f"{step.amount:+,.2f}", bar, Text(step.meaning, style="dim"))
        rows.add_row(Text(bill.name, style="bold"), Text(f"{bill.total:,.2f}", style="bold"), "", "")
        show(console, rows)
    if found.notes:
        section(console, "Notes")
        bullets(console, found.notes)
    return output(console)


def _lines(console: Console, found: Comparison) -> None:
    """Where the difference is, line by line, largest first."""
    section(console, "Line by line: planned + days + quantity + price = invoiced")
    listing = table("", "planned", "days", "quantity", "price", "invoiced", "", right=range(1, 6))
    for gap in sorted(found.lines, key=lambda gap: (-abs(gap.invoiced - (gap.planned or 0.0)), gap.name)):
        amounts = (gap.planned, gap.days or None, gap.quantity, gap.price, gap.invoiced)
        cells = (f"{amount:{'+' if 0 < k < 4 else ''},.2f}" if amount is not None else "-" for k, amount in enumerate(amounts))
        listing.add_row(gap.name, *cells, "" if gap.state == "matched" else gap.state)
    show(console, listing)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if name.startswith("part of"):
        return percent(float(value))
    if name.startswith(MONEY):
        return f"{value:,.4f}" if abs(value) < 1 else f"{value:,.2f}"
    return count(value) if abs(value) >= 1e6 else f"{value:,.0f}"
