"""Months ahead, break-even, sensitivity and own-or-rent, as formulas over the assumptions where whole hosts stay the same."""

from __future__ import annotations

import math
from typing import Any

from optimize.money import CLASSIFIER
from optimize.money.amounts import amount_usd
from optimize.money.capital import drifted
from optimize.money.charges import Charge
from optimize.report.workbook.lines import CHARGES_SHEET, EXACT
from optimize.report.workbook.live import grey_when_moved, of_the_run
from optimize.report.workbook.pen import LINE_HEIGHT, Pen, address, place, span
from optimize.report.workbook.scenario_cells import FACTORS
from optimize.tables.bill_lines import cents_of
from optimize.tables.columns import Table
from optimize.tables.finance_columns import MONTHS
from optimize.tables.finance_tables import Money, month_rows

CURVES = (  # column, name, colour, width of the line
    (4, "this plan", "#4C8DD6", 2.25),
    (5, "all API", "#E08A3C", 2.25),
    (6, "self-hosted", "#3DA37A", 2.25),
    (7, "self-hosted, simulator too pessimistic", "#3DA37A", 0.75),
    (8, "self-hosted, simulator too optimistic", "#3DA37A", 0.75),
)
COLOURS = ("#4C8DD6", "#E08A3C", "#3DA37A", "#C65D9E")


def exact_sum(money: Money, kind: str) -> str:
    """The sum of the exact charges of one kind, as a formula without the equals sign."""
    cells = [place(CHARGES_SHEET, r, EXACT) for r, charge in enumerate(money.charges, start=1) if charge.kind == kind]
    return "SUM(" + ",".join(cells) + ")" if cells else "0"


def host_prices(money: Money) -> dict[str, Charge]:
    """The host-hour charge of each pool."""
    return {charge.line: charge for charge in money.charges if charge.item == "host-hour"}


def write_months(pen: Pen, money: Money) -> None:
    """Each month: host-hours and relay volume of this run, prices and drift of the assumptions.

    Routing of a month that was planned anew, announced prices and those of successors are figures of this run; hosts that today's
    plan does not have stand at today's price.
    """
    sheet, months = (
        pen.sheet("Months", (10, 9, 16, *[15] * (len(MONTHS) - 4), 24, 14, *[24] * (len(money.plan.program.pools) + 1))),
        money.horizon.months,
    )
    pen.heads(sheet, 0, MONTHS)
    sheet.set_row(0, 4 * LINE_HEIGHT)  # names of pools next to the table
    pools, options = host_prices(money), money.plan.program.pools
    used = [p for p, terms in enumerate(options) if terms.option.id in pools]
    side = len(MONTHS) + 1  # host-hours of each pool stand to the right of the table
    sheet.write_string(0, side - 1, "relay volume and announced prices, times today's", pen.formats["head_right"])
    sheet.write_string(0, side + len(used), "other hosts and starts, USD at today's prices", pen.formats["head_right"])
    for k, p in enumerate(used):
        sheet.write_string(0, side + k, f"host-hours {options[p].option.id}", pen.formats["head_right"])
    rest = _rest(money)
    for m, month in enumerate(months):
        r = m + 1
        table = _row(money, m)
        for c, value in ((0, table[0]), (1, table[1]), (10, table[10])):
            pen.write(sheet, r, c, value, MONTHS[c].unit if c else "")
        pen.formula(sheet, r, 2, f"={_number(table[2])!r}*{FACTORS[0]}", _number(table[2]), "requests")
        volume, others = _routing(money, m, used)
        sheet.write_number(r, side - 1, volume, pen.formats["number"])
        sheet.write_number(r, side + len(used), others, pen.formats["number"])
        of = {charge.line: k for k, charge in enumerate(money.charges, start=1) if charge.item == "host-hour"}
        row_of = [of[options[p].option.id] for p in used]
        hours = [f"{address(r, side + k)}*{place(CHARGES_SHEET, row, 6)}" for k, row in enumerate(row_of)]
        for k, p in enumerate(used):
            today = f"{place(CHARGES_SHEET, row_of[k], 4)}/{pools[options[p].option.id].quantity!r}"
            pen.formula(sheet, r, side + k, f"={month.host_hours[p]!r}*{today}", month.host_hours[p], "number")
        gpu = "+".join([*hours, *rest, address(r, side + len(used))])
        pen.formula(sheet, r, 3, f"=({gpu})*(1+gpu_price_drift_per_year)^({m}/12)/usd_per_unit", _number(table[3]))
        today = exact_sum(money, "relay") if today_usd(money) > 0 else "1/usd_per_unit"
        relay = f"={today}*{address(r, side - 1)}*(1+api_price_drift_per_year)^({m}/12)"
        pen.formula(sheet, r, 4, relay, _number(table[4]))
        pen.formula(sheet, r, 5, f"={exact_sum(money, 'fixed')}{_looked(money, m)}", _number(table[5]))
        pen.formula(sheet, r, 6, "=(migration_usd+training_usd)/usd_per_unit" if m == 0 else "=0", _number(table[6]))
        _cash(pen, sheet, r, m, table)
        pen.write(sheet, r, 11, table[11], "money")
        for c in range(12, len(MONTHS)):
            pen.write(sheet, r, c, table[c], "")
    _totals(pen, sheet, money)


def today_usd(money: Money) -> float:
    """Relays of today's bill; the first month may already have other prices."""
    return sum(line.per_month_usd for line in money.plan.lines if line.kind == "relay")


def _routing(money: Money, m: int, used: list[int]) -> tuple[float, float]:
    """(relay volume times today's, USD of hosts that today's plan does not have, at today's prices); without relays today the volume is
    in USD at today's prices.
    """
    finance, months, plan = money.plan.scenario.finance, money.horizon.months, money.plan
    month = months[m]
    volume = month.relay_usd / drifted(1.0, finance.api_price_drift_per_year, m) / (today_usd(money) or 1.0)
    priced = sum(amount_usd(plan.program.pools[p].option.offer.usd_per_hour, month.host_hours[p]) for p in used)
    priced += sum(charge.usd for charge in money.charges if charge.kind == "gpu" and charge.item != "host-hour")
    others = month.gpu_usd / drifted(1.0, finance.gpu_price_drift_per_year, m) - priced
    return volume, others if abs(others) > 1e-6 else 0.0


def _looked(money: Money, m: int) -> str:
    """What a classifier costs more because it looks at more requests, as the rest of a formula."""
    cells = [place(CHARGES_SHEET, r, EXACT) for r, charge in enumerate(money.charges, start=1) if charge.line == CLASSIFIER]
    return "".join(f"+{cell}*({money.horizon.months[m].demand!r}-1)" for cell in cells)


def _row(money: Money, m: int) -> tuple[Any, ...]:
    return month_rows(money)[m]


def _rest(money: Money) -> list[str]:
    """GPU charges beyond host-hours, which stay as they are."""
    odd = [r for r, c in enumerate(money.charges, start=1) if c.kind == "gpu" and c.item != "host-hour"]
    return [f"{place(CHARGES_SHEET, r, EXACT)}*usd_per_unit" for r in odd]


def _number(value: Any) -> float:
    return float(value or 0.0)


def _cash(pen: Pen, sheet: Any, r: int, m: int, table: tuple[Any, ...]) -> None:
    """Credits, cash of the month and cash so far."""
    bill = f"SUM({address(r, 3)}:{address(r, 6)})"
    used = f"-SUM({span(7, 1, r - 1)})" if m else ""
    expired = f'OR(free_credits_months="",{m}<free_credits_months)'
    pen.formula(sheet, r, 7, f"=IF({expired},MIN({bill},free_credits_usd/usd_per_unit{used}),0)", _number(table[7]))
    pen.formula(sheet, r, 8, f"={bill}-{address(r, 7)}", _number(table[8]))
    pen.formula(sheet, r, 9, f"=SUM({span(8, 1, r)})", _number(table[9]))


def _totals(pen: Pen, sheet: Any, money: Money) -> None:
    """Sum, present value, and the picture."""
    last, present = len(money.horizon.months), money.horizon.present_usd
    total = cents_of(money.plan, present[None]) / 100
    r = last + 2
    sheet.write_string(r, 0, "sum of the months", pen.formats["bold"])
    pen.formula(sheet, r, 8, f"=SUM({span(8, 1, last)})", total, "total")
    sheet.write_string(r + 1, 0, "present value at the cost of capital; empty while that is open", pen.formats["bold"])
    rate = "((1+cost_of_capital)^(1/12)-1)"
    paid = f"{address(1, 8)}+NPV({rate},{span(8, 2, last)})" if last > 1 else address(1, 8)
    known = next((usd for key, usd in present.items() if key is not None and len(present) == 2), None)
    value: float | str = "" if known is None else cents_of(money.plan, known) / 100
    pen.formula(sheet, r + 1, 8, f'=IF(cost_of_capital="","",{paid})', value, "total")
    words = "Months move with the first one: host-hours and relay cost keep their ratio to it. Peak hosts are those of the run."
    sheet.write_string(r + 2, 0, words, pen.formats["dim"])
    grey_when_moved(pen, sheet, (1, 10, last, 11))
    chart = pen.book.add_chart({"type": "column", "subtype": "stacked"})
    for k, (c, name) in enumerate(((3, "GPU hosts"), (4, "relays"), (5, "fixed"), (6, "one-off"))):
        points = {"categories": ["Months", 1, 0, last, 0], "values": ["Months", 1, c, last, c]}
        chart.add_series({**points, "name": name, "fill": {"color": COLOURS[k]}, "gap": 40})
    chart.set_title({"name": f"Cost by month, {pen.currency}"})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 1100, "height": 360})
    sheet.insert_chart(r + 4, 0, chart)
    sheet.freeze_panes(1, 1)


def write_break_even(pen: Pen, money: Money, table: Table) -> None:
    """Three strategies over demand, with the band of own GPUs; whole hosts: recalculated by a new run only."""
    sheet = pen.sheet("Break-even")
    end = pen.table(sheet, table)
    of_the_run(pen, sheet, end, len(table.columns), "each demand is a program of its own, with whole hosts counted anew")
    words = ["", *money.break_even.notes]
    for k, text in enumerate(words):
        if text:
            sheet.write_string(end + 1 + k, 0, text, pen.formats["dim"])
    x = 1 if table.rows and table.rows[0][1] is not None else 2
    chart = pen.book.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    for c, name, colour, width in CURVES:
        if any(row[c] is not None for row in table.rows):
            points = {"categories": ["Break-even", 1, x, end - 1, x], "values": ["Break-even", 1, c, end - 1, c]}
            chart.add_series({**points, "name": name, "line": {"color": colour, "width": width}, "marker": {"type": "none"}})
    today = 1 + next((k for k, row in enumerate(table.rows) if row[0] == 1.0), 0)
    dot = {"categories": ["Break-even", today, x, today, x], "values": ["Break-even", today, 4, today, 4]}
    marker = {"type": "circle", "size": 9, "fill": {"color": "#1D2430"}, "border": {"color": "#1D2430"}}
    chart.add_series({**dot, "name": "today", "marker": marker, "line": {"none": True}})
    chart.set_title({"name": f"Cost of a month over demand, {pen.currency}"})
    chart.set_x_axis(
        {"name": "daily users" if x == 1 else "requests a month", "log_base": 10, "num_format": "#,##0", "label_position": "low"}
    )
    chart.set_y_axis({"log_base": 10, "num_format": "#,##0"})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 900, "height": 420})
    sheet.insert_chart(end + 3 + len(words), 0, chart)


def write_sensitivity(pen: Pen, money: Money, table: Table) -> None:
    """Prices are live; demand and capacity need whole hosts and are figures of this run."""
    sheet = pen.sheet("Sensitivity")
    end = pen.table(sheet, table)
    total = "cost_exact"
    for r, row in enumerate(table.rows, start=1):
        name, part = str(row[0]), ""
        if name.startswith("price: "):
            cells = [k for k, c in enumerate(money.charges, start=1) if c.price_name == name.removeprefix("price: ")]
            part = "SUM(" + ",".join(place(CHARGES_SHEET, k, EXACT) for k in cells) + ")"
        elif name in ("all GPU prices", "all API prices"):
            part = exact_sum(money, "gpu" if "GPU" in name else "relay")
        if not part:
            grey_when_moved(pen, sheet, (r, 0, r, len(row) - 1))
            continue
        change = address(r, 1)
        pen.formula(sheet, r, 2, f"={total}-{part}*{change}", _number(row[2]))
        pen.formula(sheet, r, 3, f"={total}+{part}*{change}", _number(row[3]))
        pen.formula(sheet, r, 4, f"=ABS({address(r, 3)}-{address(r, 2)})", _number(row[4]))
    words = "Prices are live; rows on demand and capacity are solved anew in a run only, and grey once an input is changed."
    sheet.write_string(end + 1, 0, words, pen.formats["dim"])
    chart = pen.book.add_chart({"type": "bar", "subtype": "stacked"})
    for c, fill in ((2, {"none": True}), (4, {"color": COLOURS[0]})):
        points = {"categories": ["Sensitivity", 1, 0, end - 1, 0], "values": ["Sensitivity", 1, c, end - 1, c]}
        chart.add_series({**points, "fill": fill, "border": {"none": True}, "gap": 60})
    least = min((_number(row[2]) for row in table.rows), default=0.0)
    chart.set_title({"name": f"Cost of a month with one input changed down and up, {pen.currency}"})
    chart.set_y_axis({"reverse": True, "label_position": "low"})
    unit = 10.0 ** math.floor(math.log10(least)) / 10 if least >= 10 else 1.0
    chart.set_x_axis({"min": unit * math.floor(0.95 * least / unit), "num_format": "#,##0"})
    chart.set_legend({"none": True})
    chart.set_size({"width": 1000, "height": 140 + 36 * len(table.rows)})
    sheet.insert_chart(end + 3, 0, chart)
