"""Pieces of HTML: sections, tables, lists, figures. Every text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape, unescape

from optimize.report.page.figures import Figure
from optimize.tables.bill_lines import Bill
from optimize.tables.columns import Column, Table, Value
from optimize.tables.plain_numbers import count, duration, percent

SHORT = 48  # characters that a cell keeps on one line
WORD = 14  # characters that paper keeps on one line
SHARE_UNIT = "0..1"


EVERYONE, ENGINEERS, AUDITORS, MANAGERS = "m e a", "e a", "a", "m a"  # who sees a section: manager, engineer, auditor


def section(title: str, *contents: str, who: str = EVERYONE) -> str:
    """A titled section; nothing at all where there is nothing to say."""
    inside = "\n".join(filter(None, contents))
    return f'<section id="{anchor(title)}" class="{who}"><h2>{escape(title)}</h2>{inside}</section>' if inside else ""


def anchor(title: str) -> str:
    """The place of a section in the page.

    >>> anchor("Promises, each in its worst hour")
    'promises-each-in-its-worst-hour'
    """
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def contents(sections: Sequence[str]) -> str:
    """Links to the titled ones of these sections, for a screen."""
    titled = re.compile(r'(?:<!--[^>]*-->)?<section id="[^"]+" class="[^"]+"><h2>([^<]+)</h2>')
    titles = [found[1] for found in map(titled.match, sections) if found]
    links = "".join(f'<a href="#{anchor(unescape(title))}">{title}</a>' for title in titles)
    return f'<nav aria-label="Sections">{links}</nav>' if links else ""


def picture(figure: Figure | None) -> str:
    """A figure with its text equivalent."""
    if figure is None:
        return ""
    return f"<figure><div class=chart>{figure.svg()}</div><figcaption class=dim>{escape(figure.alt)}</figcaption></figure>"


def table_html(table: Table, bill: Bill) -> str:
    """A table that scrolls inside the page where it is wider, without columns that hold nothing; the bill gets its total."""
    if not table.rows:
        return ""
    table = _told(table)
    heads = "".join(
        f'<th{_align(column)} scope=col title="{escape(column.meaning)}">{_head(column, bill)}</th>' for column in table.columns
    )
    rows = "".join(
        "<tr>" + "".join(_cell(value, column, row) for value, column in zip(row, table.columns, strict=True)) + "</tr>"
        for row in table.rows
    )
    if table.name in ("cost", "charges"):
        cells = ["<td></td>"] * len(table.columns)
        place = [column.name for column in table.columns].index("per_month")
        cells[0], cells[place] = "<td>total</td>", f"<td class=n>{bill.total / 100:,.2f}</td>"
        rows += f"<tr class=total>{''.join(cells)}</tr>"
    return scrolling(table.title, f"<table class=sorts><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")


def scrolling(title: str, inside: str) -> str:
    """A region that scrolls by itself, by finger and by key, under a name that is read aloud."""
    return f'<div class=scroll tabindex=0 role=region aria-label="{escape(title)}">{inside}</div>'


def _told(table: Table) -> Table:
    """Without columns in which no row has anything."""
    kept = [c for c in range(len(table.columns)) if any(row[c] not in (None, "") for row in table.rows)]
    columns, rows = tuple(table.columns[c] for c in kept), tuple(tuple(row[c] for c in kept) for row in table.rows)
    return replace(table, columns=columns, rows=rows)


def bullets(lines: Sequence[str]) -> str:
    """A list; nothing where it is empty."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def dim(text: str) -> str:
    """A line in the background."""
    return f"<p class=dim>{escape(text)}</p>" if text else ""


def details(title: str, inside: str) -> str:
    """What opens on demand."""
    return f"<details><summary>{escape(title)}</summary>{inside}</details>" if inside else ""


def _align(column: Column) -> str:
    return " class=n" if column.dtype in ("int", "float") else ""


def _head(column: Column, bill: Bill) -> str:
    unit = {"share": "", "s": ""}.get(column.unit, column.unit).replace("money", bill.currency)
    name = column.name.removesuffix("_s").replace("_", " ").replace("ci95", "95 %").replace("usd ", "USD ")
    return escape(f"{name}, {unit}" if unit and unit not in name else name)


def _cell(value: Value, column: Column, row: Sequence[Value]) -> str:
    if isinstance(value, bool):
        word = ("met" if value else "MISSED") if column.name == "met" else ("yes" if value else "no")
        style = {"met": ' class="met"', "MISSED": ' class="missed"'}.get(word, "")
        return f"<td{style}>{word}</td>"
    if value is None:
        return f"<td{_align(column)}>-</td>"
    if isinstance(value, str):
        if column.name in ("status", "term"):
            value = value.replace("_", " ")
        style = "w" if len(value) > SHORT else "i" if len(value) > WORD else ""
        return f"<td{f' class={style}' if style else ''}>{escape({SHARE_UNIT: ''}.get(value, value))}</td>"
    if column.name == "value" and SHARE_UNIT in row:
        return f'<td class=n data-v="{value:.9g}">{percent(value)}</td>'
    return f'<td class=n data-v="{value:.9g}">{_number(value, column)}</td>'


def _number(value: float, column: Column) -> str:
    if column.unit == "s":
        return duration(value)
    if column.name == "quantile":
        return f"p{value * 100:g}"
    if column.unit == "share":
        return percent(value)
    if column.unit == "money":
        return f"{value:,.2f}"
    if abs(value) >= 1e6:
        return count(value)
    if abs(value) >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.4g}"
