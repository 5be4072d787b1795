"""Cost by hour, stacked by supplier, over the demand that it serves."""

from __future__ import annotations

import numpy as np

from optimize.money.amounts import per_unit_usd
from optimize.money.hourly import hourly_usd
from optimize.records import Floats
from optimize.report.page.chart_html import Chart, Series, chart_html, legend_html, titled
from optimize.report.page.charts import ROOMY, capacity_rps
from optimize.report.page.scales import Scale, from_zero
from optimize.report.terminal import render_grid
from optimize.result import Plan
from optimize.tables.bill_lines import Bill
from optimize.tables.plain_numbers import count
from optimize.tables.short_names import supplier
from optimize.tables.tables import used_pools
from sim.exact import dot

MOST = 6  # suppliers with a colour of their own
TICKS = 8  # labels below hours that are no day


def suppliers(plan: Plan) -> list[tuple[str, Floats]]:
    """(who is paid, [slices] cost of one hour in the scenario's currency), dearest first; small ones are summed."""
    found: dict[str, Floats] = {}
    for line, usd in hourly_usd(plan):
        name = supplier(plan, line)
        found[name] = found.get(name, np.zeros(len(usd))) + np.asarray(per_unit_usd(usd, plan.usd_per_unit))
    ranked = sorted(found.items(), key=lambda each: (-float(dot(each[1], plan.demand.weight_h)), each[0]))
    rest = ranked[MOST:]
    return [*ranked[:MOST], *([("others", np.sum([usd for _, usd in rest], axis=0))] if rest else [])]


def hours_html(plan: Plan, bill: Bill) -> str:
    """Two drawings per kind of day on the same hours: cost by supplier, and below it requests with what the fleet could carry."""
    days = render_grid.days(plan.demand.slices) or {"": list(range(len(plan.demand.slices)))}
    paid, demand = suppliers(plan), plan.demand.mean_rps.sum(axis=0)
    room = capacity_rps(plan) if used_pools(plan) else None
    roomy = room is not None and room.max() > ROOMY * demand.max()
    shown = None if roomy else room
    total = np.sum([usd for _, usd in paid] or [np.zeros(len(demand))], axis=0)
    money_up = from_zero(list(total))
    rate_up = from_zero([*demand, *(shown if shown is not None else ())])
    money, rates = [], []
    for day, hours in days.items():
        money.append(_cost(plan, bill, day, hours, paid, money_up))
        rates.append(_rates(plan, day, hours, demand, shown, rate_up))
    if not money:
        return ""
    words = (
        f"The fleet could carry {count(float(room.min()))} requests a second or more, beyond this scale."
        if roomy and room is not None
        else ""
    )
    return titled(
        "Cost by hour by supplier, above the requests that it serves",
        *(f"<div>{chart_html(top)}{chart_html(below)}</div>" for top, below in zip(money, rates, strict=True)),
        legend=legend_html([*money[0].series, *rates[0].series]),
        words=words,
    )


def _across(plan: Plan, hours: list[int]) -> tuple[list[float], list[str], Scale, list[tuple[float, str]]]:
    """Places and names of these slices, their axis and its labels."""
    x, names = [float(k) for k in range(len(hours))], [plan.demand.slices[t] for t in hours]
    if len(hours) == render_grid.HOURS and render_grid.days(plan.demand.slices):
        ticks = [(float(k), f"{k} h") for k in range(0, 24, 6)]
    else:
        step = max(1, -(-len(hours) // TICKS))
        ticks = [(float(k), names[k]) for k in range(0, len(hours), step)] if len(hours) > 1 else [(0.0, names[0])]
    return x, names, Scale(-0.5, len(hours) - 0.5), ticks


def _cost(plan: Plan, bill: Bill, day: str, hours: list[int], paid: list[tuple[str, Floats]], up: Scale) -> Chart:
    x, names, across, ticks = _across(plan, hours)
    series, base = [], np.zeros(len(hours))
    for k, (name, usd) in enumerate(paid):
        top = base + usd[hours]
        said = [bill.money(100 * each) for each in usd[hours]]
        series.append(Series(name, list(top), f"c{k}", "bars", list(base), said))
        base = top
    whole = ", ".join(name for name, _ in paid)
    ends = f"{bill.money(100 * base.min())} to {bill.money(100 * base.max())}"
    label = f"Cost of an hour{f' on a {day}' if day else ''} by supplier ({whole}), {ends}"
    title = f"{bill.currency} an hour{f', {day}' if day else ''}"
    return Chart(label, x, names, series, across, up, ticks, y_title=title, gap=0.04)


def _rates(plan: Plan, day: str, hours: list[int], demand: Floats, room: Floats | None, up: Scale) -> Chart:
    x, names, across, ticks = _across(plan, hours)
    series = [Series("requests a second", list(demand[hours]), "ink", "line", said=[f"{rate:.3g}" for rate in demand[hours]])]
    if room is not None:
        series.append(Series("what the fleet could carry", list(room[hours]), "ink", "dash", said=[f"{rate:.3g}" for rate in room[hours]]))
    label = f"Requests a second{f' on a {day}' if day else ''}, {demand[hours].min():.3g} to {demand[hours].max():.3g}"
    if len(hours) == 1:
        series = [
            Series(each.name, each.values, each.colour, "bars" if k == 0 else each.style, said=each.said) for k, each in enumerate(series)
        ]
    return Chart(label, x, names, series, across, up, ticks, y_title="requests/s", tall="low")
