"""Writing on a workbook: formats, names for input cells, tables. Text is always text, whatever it starts with."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from optimize.tables.columns import Column, Table, Value

MONEY, RATE, SHARE = "#,##0.00", "#,##0.0000##", "0.0%"
WHOLE = "#,##0"
FORMATS = {
    **{"money": MONEY, "USD": RATE, "share": SHARE, "s": "0.0000", "h": "#,##0.0", "months": "#,##0.0", "requests/s": "#,##0.00"},
    **dict.fromkeys(("requests", "tokens", "requests/min", "tokens/min", "users/day", "hosts", "replicas"), WHOLE),
    "plain": "#,##0.####",
}
TEXT_STYLES = ("bold", "dim", "wrap", "title", "head")
WIDEST = 60
HEAD_HEIGHT, LINE_HEIGHT = 33, 15  # points


@dataclass
class Pen:
    """One workbook being written. `prices` maps a price of a charge to the name of its cell, `names` holds all names given out."""

    book: Any
    currency: str
    formats: dict[str, Any] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    prices: dict[str, str] = field(default_factory=dict)
    hits: dict[int, tuple[str, int, int]] = field(default_factory=dict)  # row of a charge -> (hit rate, rows of uncached and cached input)
    own_words: list[tuple[str, str]] = field(default_factory=list)  # (formula, its value) of each sentence on owning
    items: list[str] = field(default_factory=list)  # names of the cells of items around the model

    def __post_init__(self) -> None:
        add = self.book.add_format
        self.formats = {name: add({"num_format": code}) for name, code in FORMATS.items()}
        head = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}
        self.formats |= {
            "head": add(head),
            "head_right": add({**head, "align": "right"}),
            "head_text": add({**head, "indent": 1}),
            "bold": add({"bold": True, "valign": "top"}),
        }
        self.formats |= {"title": add({"bold": True, "font_size": 14}), "dim": add({"italic": True, "font_color": "#5D6878"})}
        self.formats |= {"total": add({"bold": True, "top": 1, "num_format": MONEY}), "big": add({"bold": True, "num_format": MONEY})}
        self.formats |= {
            "wrap": add({"text_wrap": True, "valign": "top"}),
            "text": add({"indent": 1}),
            "right": add({"align": "right"}),
            "money_right": add({"align": "right", "num_format": MONEY}),
            "number": add({"num_format": "#,##0.######"}),
        }
        self.formats |= {"input": add({"bg_color": "#FFF6D6", "font_color": "#1F4E9E", "num_format": "#,##0.######", "border": 1})}
        self.formats |= {"input_text": add({"bg_color": "#FFF6D6", "font_color": "#1F4E9E", "border": 1})}
        self.formats |= {"stale": add({"font_color": "#9AA3AF", "italic": True})}
        self.formats |= {"input_share": add({"bg_color": "#FFF6D6", "font_color": "#1F4E9E", "num_format": "0.0##%", "border": 1})}

    def sheet(self, name: str, widths: Sequence[float] = (), landscape: bool = True) -> Any:
        """A sheet that prints on pages as wide as it is."""
        sheet = self.book.add_worksheet(name)
        if landscape:
            sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.set_paper(9)
        sheet.set_header(f"&L{name.replace('&', '&&')}&R&D")
        sheet.set_footer("&CPage &P of &N")
        sheet.repeat_rows(0)
        for c, width in enumerate(widths):
            sheet.set_column(c, c, width)
        return sheet

    def name(self, wanted: str, sheet: str, cell: str) -> str:
        """A defined name for `cell` ($A$1 form) that is new and legal, and not the address of a cell."""
        base = re.sub(r"[^A-Za-z0-9_]+", "_", wanted).strip("_")[:200]
        base = f"_{base}" if not base[:1].isalpha() else base
        name, k = base, 2
        while name.lower() in self.names:
            name, k = f"{base}_{k}", k + 1
        self.names.add(name.lower())
        self.book.define_name(name, f"='{sheet}'!{cell}")
        return name

    def input(self, sheet: Any, on: str, r: int, name: str, value: float | None, share: bool = False) -> str:
        """An input cell in column B with a name of its own, which takes numbers of its kind only."""
        style = self.formats["input_share" if share else "input"]
        if value is None:
            sheet.write_blank(r, 1, None, style)
        else:
            sheet.write_number(r, 1, value, style)
        least, most = (-1, 10) if share else (-1e15, 1e15)
        rule = {"validate": "decimal", "criteria": "between", "minimum": least, "maximum": most, "error_title": "Not a number"}
        sheet.data_validation(r, 1, r, 1, {**rule, "error_message": f"a number from {least:g} to {most:g}, or nothing where it is open"})
        given = self.name(name, on, address(r, 1))
        sheet.write_string(r, 8, given, self.formats["dim"])
        return given

    def write(self, sheet: Any, r: int, c: int, value: Value, unit: str = "") -> None:
        """A plain value: text stays text, infinity is "never", None leaves the cell empty."""
        if value is None:
            return
        if isinstance(value, bool):
            sheet.write_string(r, c, "yes" if value else "no", self.formats["text"])
        elif isinstance(value, int | float):
            if math.isfinite(value):
                sheet.write_number(r, c, value, self.formats.get(unit, self.formats["plain"]))
            else:
                sheet.write_string(r, c, "never", self.formats["right"])
        else:
            sheet.write_string(r, c, value, self.formats[unit if unit in TEXT_STYLES else "text"])

    def left(self, unit: str) -> Any:
        """A number format that stands at the left of its cell, for a column of mixed values."""
        if f"left {unit}" not in self.formats:
            kind = {"num_format": FORMATS.get(unit, MONEY if unit == "big" else "General"), "align": "left", "bold": unit == "big"}
            self.formats[f"left {unit}"] = self.book.add_format(kind)
        return self.formats[f"left {unit}"]

    def formula(self, sheet: Any, r: int, c: int, text: str, value: float | str, unit: str = "money") -> None:
        """A live formula and the value that it has today."""
        sheet.write_formula(r, c, text, self.formats.get(unit), value)

    def heads(self, sheet: Any, r: int, columns: Sequence[Column]) -> None:
        """Headers, over numbers at their side; what a column means stands in its note."""
        sheet.set_row(r, HEAD_HEIGHT)
        for c, column in enumerate(columns):
            unit = {"share": ""}.get(column.unit, column.unit).replace("money", self.currency)
            name = column.name.replace("_", " ")
            style = self.formats["head_right" if column.dtype in ("int", "float") else "head_text"]
            sheet.write_string(r, c, f"{name}, {unit}" if unit and unit not in name else name, style)
            sheet.write_comment(r, c, column.meaning, {"x_scale": 2})

    def titles(self, sheet: Any, r: int, names: Sequence[str], numbers: Collection[int] = (), width: int = 0) -> None:
        """Headers in words, over `numbers` at their side; `width` of the columns in characters, where long names must wrap."""
        lines = max(math.ceil(len(name) / width) for name in names) if width else 0
        sheet.set_row(r, max(HEAD_HEIGHT, LINE_HEIGHT * (lines + 1)))
        for c, name in enumerate(names):
            sheet.write_string(r, c, name, self.formats["head_right" if c in numbers else "head_text" if c else "head"])

    def table(self, sheet: Any, table: Table, top: int = 0) -> int:
        """All rows under their headers from row `top` on, columns as wide as they need; the row after the last."""
        self.heads(sheet, top, table.columns)
        for c, column in enumerate(table.columns):
            values = [row[c] for row in table.rows]
            shown = [len(shown_text(value)) + 2 for value in values]
            sheet.set_column(c, c, min(WIDEST, max([11, min(len(column.name) + 7, 20), *shown])))
            for r, value in enumerate(values, start=top + 1):
                self.write(sheet, r, c, value, column.unit)
        if table.rows:
            sheet.autofilter(top, 0, top + len(table.rows), len(table.columns) - 1)
        sheet.freeze_panes(top + 1, 1)
        return top + 1 + len(table.rows)


def shown_text(value: Value) -> str:
    """About what a cell shows, to measure it."""
    if value is None:
        return ""
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


def address(r: int, c: int) -> str:
    """The absolute address of a cell, counted from zero.

    >>> address(0, 27)
    '$AB$1'
    """
    from xlsxwriter.utility import xl_col_to_name  # late: only when a workbook is written

    return f"${xl_col_to_name(c)}${r + 1}"


def place(sheet: str, r: int, c: int) -> str:
    """The address of a cell on another sheet."""
    return f"'{sheet}'!{address(r, c)}"


def span(c: int, first: int, last: int) -> str:
    """The absolute address of cells of one column, rows counted from zero."""
    return f"{address(first, c)}:{address(last, c)}"


def to_the_cent(up: str, rest: str, whole: str, rests: str, above: str) -> str:
    """Formula of one part in whole cents, so that all parts sum to their rounded total: largest remainders round up, the first on a tie.

    `rest` and `whole` are the cells of its own remainder and floor in cents, `rests` all remainders, `above` those down to this row;
    `up` is the number of parts that round up.
    """
    rank = f"SUMPRODUCT(--({rests}>{rest}))+SUMPRODUCT(--({above}={rest}))"
    return f"=({whole}+IF({rank}<={up},1,0))/100"
