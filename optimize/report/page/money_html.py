"""Money as drawings of the page: cost lines, alternatives, cost over demand, cash by month, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optimize.report.page.bars_html import Bar, bars_html
from optimize.report.page.chart_html import Chart, Series, chart_html, legend_html, titled
from optimize.report.page.scales import Scale, from_zero, short_number
from optimize.result import Plan
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.columns import Table
from optimize.tables.plain_numbers import count, percent
from optimize.tables.recommendation import dearer
from optimize.tables.short_names import alternative_name, names_of, sensitivity_name

STRATEGIES = (
    ("plan", "this plan", "c0", "line"),
    ("all_api", "everything by API", "c1", "dash"),
    ("self_hosted", "everything self-hosted", "c2", "dots"),
)
CASH = (("gpu", "hosts", "c0"), ("relay", "APIs", "c1"), ("fixed", "fixed", "c2"), ("once", "one-off", "c3"))
KINDS = {"gpu": "c0", "relay": "c1"}
MONTH_TICKS = 6
BAD_STATES = ("over_budget", "infeasible", "missed")


def cost_bars(plan: Plan, bill: Bill) -> str:
    """The lines of the bill, hosts blue, APIs orange, fixed costs green."""
    names, most = names_of(plan), max((abs(cents) for cents in bill.lines), default=1) or 1
    bars = [
        Bar(
            names.get(line.name, line.name),
            cents / most,
            bill.money(cents),
            KINDS.get(line.kind, "c2"),
            note=percent(cents / bill.total) if bill.total else "",
        )
        for line, cents in zip(plan.lines, bill.lines, strict=True)
    ]
    key = "".join(
        f'<span class=keyed><i class="key {colour} box"></i>{word}</span>'
        for colour, word in (("c0", "hosts"), ("c1", "APIs"), ("c2", "fixed"))
    )
    return titled("Cost of a month by line", bars_html("Cost by line", bars), legend=f"<div class=legend>{key}</div>") if bars else ""


def alternative_bars(plan: Plan, bill: Bill) -> str:
    """This plan and what could be done instead, against the budget."""
    known = [
        (other, cents_of(plan, other.per_month_usd))
        for other in plan.alternatives
        if other.per_month_usd is not None and math.isfinite(other.per_month_usd)
    ]
    limit = plan.scenario.budget.per_month
    budget = 100 * limit
    shown = [bill.total, *(cents for _, cents in known)]
    most = 1.05 * max([*shown, budget if math.isfinite(budget) and budget < 3 * max(shown) else 0.0], default=1.0) or 1.0
    rows = [Bar("this plan", bill.total / most, bill.money(bill.total), note=plan.status.replace("_", " "))]
    for other, cents in sorted(known, key=lambda pair: pair[1]):
        more = dearer(cents, bill.total) or "same"
        colour = "bad" if other.status in BAD_STATES else "c5"
        rows.append(
            Bar(alternative_name(other.name), cents / most, bill.money(cents), colour, note=f"{more}, {other.status.replace('_', ' ')}")
        )
    place = budget / most if math.isfinite(budget) else None
    return titled(
        "This plan and its alternatives, a month",
        bars_html("Alternatives", rows, place, "budget" if place is not None and place <= 1 else ""),
    )


def break_even_html(table: Table, bill: Bill) -> str:
    """Cost of a month over demand for three strategies with a dot for today; nothing where costs cannot stand on a logarithmic axis."""
    plan = _floats(table, "plan")
    if len(plan) < 2 or not all(value is not None and value > 0 for value in plan):
        return ""
    users, requests = _floats(table, "users"), _floats(table, "requests")
    x = [float(value or 0.0) for value in (users if any(users) else requests)]
    low, high = _floats(table, "self_hosted_low"), _floats(table, "self_hosted_high")
    series = [Series("if the simulator errs in capacity", high, "c2", "band", low, said=_range(bill, low, high))] if any(high) else []
    for column, name, colour, style in STRATEGIES:
        values = _floats(table, column)
        if any(value is not None for value in values):
            series.append(Series(name, values, colour, style, said=[_money(bill, value) for value in values]))
    today = list(table.column("demand")).index(1.0)
    dot: list[float | None] = [plan[k] if k == today else None for k in range(len(x))]
    series.append(Series("today", dot, "ink", "point", said=["today" if k == today else "" for k in range(len(x))]))
    every = [value for each in series for value in (*each.values, *(each.low or ())) if value is not None and value > 0]
    across, up = Scale(min(x), max(x), "log"), Scale(min(every) / 1.15, max(every) * 1.15, "log")
    unit = "users on a weekday" if any(users) else "requests a month"
    label = f"Cost of a month over demand; today {_money(bill, plan[today])} at {count(x[today])} {unit}"
    chart = Chart(
        label, x, [f"{count(value)} {unit}" for value in x], series, across, up,
        [(value, short_number(value)) for value in across.ticks(5)], y_title=f"{bill.currency} a month", x_title=unit, tall="high",
    )  # fmt: skip
    return titled(
        "Cost against demand: this plan, everything by API, everything self-hosted", chart_html(chart), legend=legend_html(series)
    )


def cash_html(table: Table, bill: Bill) -> str:
    """Cash of each month by what it pays for; the sum so far is told where a month is pointed at, and below."""
    months = [str(name) for name in table.column("month")]
    x, series, base = [float(k) for k in range(len(months))], [], [0.0] * len(months)
    for column, name, colour in CASH:
        values = [value or 0.0 for value in _floats(table, column)]
        if any(values):
            top = [below + value for below, value in zip(base, values, strict=True)]
            series.append(Series(name, top, colour, "bars", base, [_money(bill, value) for value in values]))
            base = top
    so_far = _floats(table, "cumulative")
    series.append(Series("so far", [None] * len(months), "ink", "line", said=[_money(bill, value) for value in so_far], key=False))
    step = max(1, -(-len(months) // MONTH_TICKS))
    ticks = [(x[k], months[k]) for k in range(0, len(months), step)]
    label = f"Cash of each month from {months[0]} to {months[-1]}, {_money(bill, so_far[-1])} in all"
    chart = Chart(label, x, months, series, Scale(-0.5, len(months) - 0.5), from_zero(base), ticks, y_title=f"{bill.currency} a month")
    return titled("Cash by month", chart_html(chart), legend=legend_html(series), words=f"{label}.")


def sensitivity_bars(table: Table, bill: Bill) -> str:
    """What one input lower and higher does to the month, the widest first."""
    rows = table.named()
    today = bill.total / 100
    ends = list(zip(*([today if value is None else value for value in _floats(table, key)] for key in ("low", "high")), strict=True))
    span = max((abs(end - today) for pair in ends for end in pair), default=0.0) or 1.0
    bars = []
    for row, (low, high) in zip(rows, ends, strict=True):
        said = f"{_more(bill, low - today)} to {_more(bill, high - today)}"
        change = row["change"] if isinstance(row["change"], float) else 0.0
        bars.append(
            Bar(f"{sensitivity_name(str(row['name']))}, ±{change:.0%}", _side(high - today, span), said, "c1", _side(low - today, span))
        )
    return (
        titled("Cost of a month with one input lower and higher", bars_html("Sensitivity", bars, 0.5, f"today, {bill.money(bill.total)}"))
        if bars
        else ""
    )


def _side(more: float, span: float) -> float:
    return 0.5 + 0.48 * more / span


def _more(bill: Bill, units: float) -> str:
    return f"{'+' if units > 0 else ''}{bill.money(100 * units)}"


def _money(bill: Bill, units: float | None) -> str:
    return "" if units is None or not math.isfinite(units) else bill.money(100 * units)


def _range(bill: Bill, low: Sequence[float | None], high: Sequence[float | None]) -> list[str]:
    return [f"{_money(bill, a)} to {_money(bill, b)}" if a is not None and b is not None else "" for a, b in zip(low, high, strict=True)]


def _floats(table: Table, name: str) -> list[float | None]:
    """The column; None where it is empty: no strategy serves every demand."""
    return [float(value) if isinstance(value, int | float) and math.isfinite(value) else None for value in table.column(name)]
