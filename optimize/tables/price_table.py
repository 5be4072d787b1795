"""The price book for people: what is bought, list prices next to quoted, contracted and claimed ones, in the width of a screen or page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optimize.money.price_book import Price, PriceBook
from optimize.tables.columns import Table

HEADS = ("bought", "item", "list", "quoted", "contracted", "claimed", "grade", "stands", "evidence")
RIGHT = (2, 3, 4, 5)
HASH = 8  # characters of a hash on the screen and page; tables in files have all 64


def price_lines(book: PriceBook) -> list[tuple[str, ...]]:
    """A row of cells under HEADS per price that the plan buys at; a name, and evidence that is that of the row above, stand once.

    A list price of another row says whose it is. `stands` is the age of a price in days, the last day on which it holds, and its
    hours, as far as they are known.
    """
    rows: list[tuple[str, ...]] = []
    before, shown = "", ""
    for price in book.prices:
        if price.used:
            cells = (price.name, *_cells(price))
            same = price.name == before
            rows.append(("" if same else price.name, *cells[1:-1], "" if same and cells[-1] == shown else cells[-1]))
            before, shown = price.name, cells[-1]
    return rows


def _cells(price: Price) -> tuple[str, ...]:
    listed, *beside = [_usd(each) for each in (price.list_usd, price.quoted_usd, price.contracted_usd, price.claimed_usd)]
    whose = f" ({price.reference.partition('.')[0]})" if price.list_usd is not None and price.reference != price.name else ""
    evidence = f"{price.evidence.document.rpartition('/')[2]} {price.evidence.sha256[:HASH]}".strip()
    age = [] if price.age_days is None else [f"{price.age_days} d"]
    until = [f"to {price.evidence.valid_until}"] if price.evidence.valid_until else []
    hours = [price.hours_utc] if price.hours_utc else []
    return price.item, listed + whose, *beside, price.graded, ", ".join(age + until + hours) or "-", evidence


def told(lines: Sequence[Sequence[str]]) -> tuple[list[str], list[int], list[list[str]]]:
    """(heads, right-aligned ones, rows) without the columns of prices in which no row has one.

    >>> told([("a", "input", "2", "-", "-", "-", "list", "9 d", "f")])
    (['bought', 'item', 'list', 'grade', 'stands', 'evidence'], [2], [['a', 'input', '2', 'list', '9 d', 'f']])
    """
    kept = [c for c in range(len(HEADS)) if c not in RIGHT or any(row[c] != "-" for row in lines)]
    return [HEADS[c] for c in kept], [k for k, c in enumerate(kept) if c in RIGHT], [[row[c] for c in kept] for row in lines]


def _usd(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def short_hashes(table: Table) -> Table:
    """The table with the first characters of each hash: enough to compare by eye.

    >>> from optimize.tables.columns import Column
    >>> short_hashes(Table("t", "t", (Column("sha256", "str", "", ""),), (("abcdef0123456789",), ("",)))).rows
    (('abcdef01',), ('',))
    """
    where = [column.name for column in table.columns].index("sha256")
    rows = tuple((*row[:where], str(row[where])[:HASH], *row[where + 1 :]) for row in table.rows)
    return replace(table, rows=rows)
