"""The price book for people: what is bought, list beside contracted beside claimed, in the width of a screen or page."""

from __future__ import annotations

from dataclasses import replace

from optimize.pricebook import Price, PriceBook
from optimize.report.columns import Table

HEADS = ("bought", "item", "list", "contracted", "claimed", "grade", "stands", "evidence")
RIGHT = (2, 3, 4)
HASH = 8  # characters of a hash on the screen and page; tables in files have all 64


def price_lines(book: PriceBook) -> list[tuple[str, ...]]:
    """A row of cells under HEADS per price that the plan buys at; a name and its evidence stand once.

    `stands` is the age of a price in days and the last day on which it holds, as far as they are known.
    """
    rows: list[tuple[str, ...]] = []
    before = ""
    for price in book.prices:
        if price.used:
            cells = (price.name, *_cells(price))
            rows.append(cells if price.name != before else ("", *cells[1:-1], ""))
            before = price.name
    return rows


def _cells(price: Price) -> tuple[str, ...]:
    beside = [_usd(each) for each in (price.list_usd, price.contracted_usd, price.claimed_usd)]
    evidence = f"{price.evidence.document.rpartition('/')[2]} {price.evidence.sha256[:HASH]}".strip()
    age = [] if price.age_days is None else [f"{price.age_days} d"]
    until = [f"to {price.evidence.valid_until}"] if price.evidence.valid_until else []
    return price.item, *beside, price.grade, ", ".join(age + until) or "-", evidence


def _usd(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def short_hashes(table: Table) -> Table:
    """The table with the first characters of each hash: enough to compare by eye.

    >>> from optimize.report.columns import Column
    >>> short_hashes(Table("t", "t", (Column("sha256", "str", "", ""),), (("abcdef0123456789",), ("",)))).rows
    (('abcdef01',), ('',))
    """
    where = [column.name for column in table.columns].index("sha256")
    rows = tuple((*row[:where], str(row[where])[:HASH], *row[where + 1 :]) for row in table.rows)
    return replace(table, rows=rows)
