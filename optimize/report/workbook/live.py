"""Sentences as formulas, and the mark on figures that do not follow an input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optimize.report.workbook.pen import Pen

MOVED, REPRICED = "inputs_moved", "prices_moved"  # names of cells that are 1 when an input differs from the run
CHUNK = 200  # characters of a text in a formula; spreadsheets take 255


def literal(text: str) -> str:
    """A text as part of a formula.

    >>> print(literal('say "so" now'))
    "say ""so"" now"
    """
    parts = [text[k : k + CHUNK] for k in range(0, len(text), CHUNK)] or [""]
    return "&".join('"' + part.replace('"', '""') + '"' for part in parts)


def money_text(pen: Pen, amount: str) -> str:
    """An amount in words, to the cent.

    >>> from types import SimpleNamespace
    >>> money_text(SimpleNamespace(currency="USD"), "B4")
    'TEXT(B4,"#,##0.00")&" USD"'
    """
    return f'TEXT({amount},"#,##0.00")&" {pen.currency}"'


def sentence(*parts: str) -> str:
    """A formula that joins texts, amounts and conditions.

    >>> sentence(literal("a"), "B4")
    '="a"&B4'
    """
    return "=" + "&".join(parts)


def grey_when_moved(pen: Pen, sheet: Any, area: tuple[int, int, int, int], also_prices: bool = True) -> None:
    """Cells that state the run turn grey once an input that they do not follow is changed."""
    test = f"={MOVED}+{REPRICED}>0" if also_prices else f"={MOVED}>0"
    sheet.conditional_format(*area, {"type": "formula", "criteria": test, "format": pen.formats["stale"]})


def of_the_run(pen: Pen, sheet: Any, end: int, columns: int, why: str, also_prices: bool = True) -> None:
    """Marks a table that ends before row `end` as figures of the run, and says below it why they do not follow the inputs."""
    sheet.write_string(end + 1, 0, f"Figures of the run; grey once an input is changed, because {why}.", pen.formats["dim"])
    if end > 1:
        grey_when_moved(pen, sheet, (1, 0, end - 1, max(0, columns - 1)), also_prices)


def any_of(tests: Sequence[str]) -> str:
    """A formula that is 1 if one of the tests is true, else 0; 0 without tests.

    >>> any_of(["A1<>1", "B1<>2"]), any_of([])
    ('=IF(OR(A1<>1,B1<>2),1,0)', '=0')
    """
    return f"=IF(OR({','.join(tests)}),1,0)" if tests else "=0"
