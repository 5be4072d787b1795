"""The sheet of assumptions: every price and figure that the totals follow, each in a cell with a name."""

from __future__ import annotations

from typing import Any

from optimize.money.ownership import values_of
from optimize.money.token_kinds import item_of
from optimize.report.workbook.pen import LINE_HEIGHT, Pen
from optimize.report.workbook.scenario_cells import in_words, write_around, write_budget, write_hits, write_marks, write_scenarios
from optimize.tables.finance_tables import Money

SHEET = "Assumptions"
HEADS = ("name", "value", "unit", "low", "high", "what it is", "source", "date", "name of the cell")
RE_RUN = ("growth_per_month", "token_growth_per_month", "horizon_months")


def write_inputs(pen: Pen, money: Money) -> None:
    """Prices first, then the exchange rate, the horizon and own hosts; yellow cells may be changed."""
    sheet = pen.sheet(SHEET, (58, 14, 24, 10, 10, 76, 66, 12, 46))
    sheet.write_string(0, 0, "Assumptions", pen.formats["title"])
    words = "Change a yellow cell: every total follows. An empty yellow cell is open, not zero. Grey figures need a new run."
    sheet.write_string(1, 0, words, pen.formats["dim"])
    r = write_scenarios(pen, sheet, 3)
    r = write_budget(pen, sheet, money, r)
    r = _prices(pen, sheet, money, r + 1)
    r = _rate(pen, sheet, money, r + 1)
    r = _time(pen, sheet, money, r + 1)
    r = _figures(pen, sheet, money, r + 1)
    r = _purchases(pen, sheet, money, r + 1)
    r = write_around(pen, sheet, money, r + 1)
    r = write_hits(pen, sheet, money, r + 1)
    write_marks(pen, sheet, money, r + 1)
    sheet.freeze_panes(3, 1)


def _heads(pen: Pen, sheet: Any, r: int, title: str) -> int:
    pen.titles(sheet, r, (title, *HEADS[1:]), (1, 3, 4))
    sheet.set_row(r, LINE_HEIGHT)
    return r + 1


def _input(pen: Pen, sheet: Any, r: int, name: str, value: float | None, share: bool = False) -> str:
    """An input cell in column B with a name of its own."""
    return pen.input(sheet, SHEET, r, name, value, share)


def _prices(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    """One cell per price, shared by all charges at it."""
    r = _heads(pen, sheet, r, "Prices, USD")
    rows = {(p.name, p.item): p for p in money.prices.prices}
    for charge in money.charges:
        if charge.price_name in pen.prices:
            continue
        row = rows.get((charge.source, item_of(charge.item)))
        sheet.write_string(r, 0, f"{charge.source}: {charge.item}")
        pen.prices[charge.price_name] = _input(pen, sheet, r, f"price {charge.price_name}", charge.usd_per_unit)
        pen.write(sheet, r, 2, f"USD / {charge.unit}")
        if row is not None:
            whose = f" of {row.reference}" if row.reference not in ("", row.name) else ""
            listed = f", list {row.list_usd:g}{whose}" if row.list_usd is not None else ""
            hours = f", {row.hours_utc}" if row.hours_utc else ""
            pen.write(sheet, r, 5, f"{row.graded} price{listed}{hours}")
            pen.write(sheet, r, 6, row.source.title)
            pen.write(sheet, r, 7, row.source.date)
        r += 1
    return r


def _rate(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    r = _heads(pen, sheet, r, "Exchange rate")
    sheet.write_string(r, 0, f"USD per {money.bill.currency}")
    _input(pen, sheet, r, "usd_per_unit", money.plan.usd_per_unit)
    pen.write(sheet, r, 2, "USD")
    sheet.write_string(
        r, 5, "all amounts of the other sheets are divided by it" if money.bill.currency != "USD" else "the report is in USD"
    )
    return r + 1


def _time(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    """Drift and one-off costs are live; what needs whole hosts again is shown and greyed."""
    r, finance = _heads(pen, sheet, r, "Horizon"), money.plan.scenario.finance
    live = (
        ("gpu_price_drift_per_year", finance.gpu_price_drift_per_year, "1/year", "change of the price of GPU hours, either way"),
        ("api_price_drift_per_year", finance.api_price_drift_per_year, "1/year", "change of token prices, either way"),
        ("migration_usd", finance.migration_usd, "USD", "one-off cost of the change"),
        ("training_usd", finance.training_usd, "USD", "one-off cost of fine-tuning or training"),
        ("free_credits_usd", finance.free_credits_usd, "USD", "credits that pay the first bills"),
        ("free_credits_months", finance.free_credits_months, "months", "months until they expire; empty: never"),
    )
    for name, value, unit, meaning in live:
        sheet.write_string(r, 0, in_words(name))
        _input(pen, sheet, r, name, value, share="drift" in name)
        pen.write(sheet, r, 2, unit)
        pen.write(sheet, r, 5, meaning)
        r += 1
    for name in RE_RUN:
        sheet.write_string(r, 0, in_words(name), pen.formats["dim"])
        sheet.write_number(r, 1, getattr(finance, name))
        sheet.write_string(r, 5, "fixed here: hosts by month follow it only in a new run", pen.formats["dim"])
        r += 1
    return r


def _figures(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    r = _heads(pen, sheet, r, "Own hosts")
    for figure in values_of(money.plan.scenario.finance).values():
        sheet.write_string(r, 0, in_words(figure.name))
        _input(
            pen, sheet, r, figure.name, figure.value, share=figure.unit.startswith(("share", "1/year")) or figure.name == "cost_of_capital"
        )
        pen.write(sheet, r, 2, figure.unit)
        for c, value in ((3, figure.low), (4, figure.high)):
            pen.write(sheet, r, c, value, "number")
        pen.write(sheet, r, 5, figure.meaning + (" (open: no source could be cited)" if figure.value is None else ""))
        pen.write(sheet, r, 6, "the scenario" if figure.given else figure.source.title)
        pen.write(sheet, r, 7, figure.source.date)
        r += 1
    return r


def _purchases(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    """The price of one GPU of each rented pool."""
    r = _heads(pen, sheet, r, "Purchase of a GPU, USD")
    done: set[str] = set()
    for row in money.own:
        if row.host is None or row.gpu in done:
            continue
        done.add(row.gpu)
        sheet.write_string(r, 0, row.gpu)
        pen.prices[f"purchase {row.gpu}"] = _input(pen, sheet, r, f"purchase {row.gpu}", row.host.gpu_usd)
        pen.write(sheet, r, 2, "USD / GPU")
        pen.write(sheet, r, 5, "the scenario's price, else the middle of what is quoted")
        r += 1
    return r
