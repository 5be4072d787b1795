"""A what-if on the screen and as JSON, both from its tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from optimize.report.terminal import console as terminal
from optimize.tables.bill_lines import Bill
from optimize.tables.columns import Column, Table, Value
from optimize.tables.plain_numbers import count, percent
from optimize.whatif.study import Answer
from sim.plural import counted

SCHEMA = "servemix.whatif/1"
Json = dict[str, Any]
TITLES = {
    "grid": "every combination",
    "samples": "a Latin hypercube",
    "one_at_a_time": "one input at a time",
    "uncertain": "inputs drawn from their ranges",
    "levers": "levers",
}
ON_SCREEN = {  # of each table, what a screen of 110 columns holds next to the varied inputs
    "points": ("status", "per_month", "unserved_share", "margin", "answer"),
    "tornado": ("input", "low", "high", "low_per_month", "high_per_month", "span", "note"),
    "risk": ("plan", "held_share", "cost_p10", "cost_p50", "cost_p90", "attainment_p10", "attainment_p50", "chosen", "answer"),
    "levers": ("lever", "per_month", "saving", "status", "price"),
    "rules": ("rule", "measured", "verdict"),
}
NUMBERS = ("int", "float")
CELL = 36  # characters of a cell on the screen
WIDE = ("answer", "price", "note", "measured", "rule")  # columns that may take several lines
NOTED = 6  # points whose notes the screen shows


def render_whatif(answer: Answer) -> str:
    """The answer on a screen 110 columns wide; the same bytes for the same answer."""
    console = terminal.screen()
    scenario = answer.scenario
    console.print(Text(f"{scenario.name}: {TITLES[answer.kind]}", style="bold"))
    console.print(f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})")
    for table in answer.tables:
        if table.rows and table.name in ON_SCREEN:
            terminal.section(console, f"{table.title}, {scenario.budget.currency} a month" if _has_money(table) else table.title)
            _print_table(console, table, answer)
    if answer.unfinished:
        terminal.section(console, f"Interrupted: {counted(answer.unfinished, 'point is', 'points are')} not in these tables")
    notes = unanswered(answer)
    if notes:
        terminal.section(console, "Points without a plan that holds")
        terminal.bullets(console, notes)
    if answer.failed:
        terminal.section(console, f"{counted(answer.failed, 'point')} came to no answer; the notes say why")
    if answer.notes:
        terminal.section(console, "What to read from it")
        terminal.bullets(console, answer.notes)
    return terminal.output(console)


def unanswered(answer: Answer) -> list[str]:
    """The notes of points, the first few."""
    table = answer.tables[0]
    names = [column.name for column in table.columns]
    if table.name != "points":
        return []
    noted = [(row[names.index("point")], str(row[names.index("note")])) for row in table.rows if row[names.index("note")]]
    listed = [f"point {point}: {note}" for point, note in noted[:NOTED]]
    return listed + ([f"and {len(noted) - NOTED} more, see the column note"] if len(noted) > NOTED else [])


def whatif_json(answer: Answer) -> Json:
    """The answer as one object: every table with its declared columns, rows as objects; infinity and what is absent are null."""
    scenario = answer.scenario
    return {
        "schema": SCHEMA,
        "kind": answer.kind,
        "scenario": scenario.name,
        "scenario_digest": scenario.digest,
        "seed": scenario.seed,
        "catalog": {"date": scenario.catalog.date, "digest": scenario.catalog.digest},
        "currency": scenario.budget.currency,
        "inputs": list(answer.axes),
        "unfinished": answer.unfinished,
        "failed": answer.failed,
        "tables": {table.name: _table_json(table) for table in answer.tables},
        "notes": list(answer.notes),
        **answer.facts,
    }


def bill_for(answer: Answer) -> Bill:
    """An empty bill that knows the currency: what money columns are headed with."""
    return Bill(answer.scenario.budget.currency, 0, (), (), ())


def words(value: Value, column: Column) -> str:
    """A value as a screen shows it.

    >>> words(0.25, Column("own_share", "float", "share", "")), words(None, Column("x", "float", "money", ""))
    ('25.0 %', '-')
    """
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.replace("over_budget", "over budget")
    if column.unit == "share":
        return percent(value) if value >= 0 else f"-{percent(-value)}"
    if column.unit == "money":
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}"
    return count(value) if abs(value) >= 1e6 else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def head_of(name: str, answer: Answer) -> str:
    """A column's head: the last word of a key, "cost" for the cost of a month."""
    if name in answer.axes:
        ends = [key.rpartition(".")[2] for key in answer.axes]
        end = name.rpartition(".")[2]
        return (end if ends.count(end) == 1 else name).replace("_", " ")
    return "cost" if name == "per_month" else name.replace("_per_month", "").replace("_", " ")


def _has_money(table: Table) -> bool:
    return any(column.unit == "money" for column in table.columns)


def _shown(table: Table, answer: Answer) -> list[int]:
    """Indices of the columns on the screen; those that say nothing in any row are left out."""
    wanted = (*answer.axes, *ON_SCREEN[table.name]) if table.name == "points" else ON_SCREEN[table.name]
    names = [column.name for column in table.columns]
    found = [names.index(name) for name in wanted if name in names]
    quiet = {"note", "unserved_share", "answer", "margin", "chosen"}
    return [i for i in found if names[i] not in quiet or any(row[i] not in (None, "", 0, 0.0) for row in table.rows)]


def _print_table(console: Any, table: Table, answer: Answer) -> None:
    shown = _shown(table, answer)
    heads = [head_of(table.columns[i].name, answer) for i in shown]
    wide = {k for k, i in enumerate(shown) if table.columns[i].name in WIDE}
    right = [k for k, i in enumerate(shown) if table.columns[i].dtype in NUMBERS]
    listing = terminal.table(*heads, right=right)
    for row in table.rows:
        cells = [words(row[i], table.columns[i]) for i in shown]
        listing.add_row(*(cell if k in wide or len(cell) <= CELL else f"{cell[: CELL - 1]}…" for k, cell in enumerate(cells)))
    for k in set(range(len(shown))) - wide:
        listing.columns[k].no_wrap = True
    terminal.show(console, listing)


def _table_json(table: Table) -> Json:
    names = [column.name for column in table.columns]
    return {
        "title": table.title,
        "columns": [{"name": c.name, "dtype": c.dtype, "unit": c.unit, "meaning": c.meaning} for c in table.columns],
        "rows": [dict(zip(names, _plain(row), strict=True)) for row in table.rows],
    }


def _plain(row: Sequence[Value]) -> list[Value]:
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in row]
