"""The pictures of a plan's money: break-even, cash by month, sensitivity."""

from __future__ import annotations

import math
from typing import Any

from optimize.report.page.drawing import COLOURS, Theme, figure, legend, no_minor_ticks, round_values, shorter
from optimize.tables.columns import Table

STRATEGIES = (("plan", "this plan", 0), ("all_api", "all API", 1), ("self_hosted", "self-hosted", 2))
PARTS = (("gpu", "GPU hosts", 0), ("relay", "relays", 1), ("fixed", "fixed", 2), ("once", "one-off", 3))
TICKS = 6


def _floats(table: Table, name: str) -> list[float]:
    """The column; not a number, which charts leave out, where it is empty: no strategy serves every demand."""
    return [float(value) if isinstance(value, int | float) else math.nan for value in table.column(name)]


def _or(values: list[float], default: float) -> list[float]:
    return [default if math.isnan(value) else value for value in values]


def _any(values: list[float]) -> bool:
    return not all(map(math.isnan, values))


def break_even_chart(table: Table, currency: str, theme: Theme) -> Any:
    """Cost of a month over demand, both logarithmic: three strategies, the band of own GPUs, and a dot for today.

    Lines are dashed differently: where strategies cost the same, each is still seen.
    """
    users, requests = _floats(table, "users"), _floats(table, "requests")
    x = users if _any(users) else requests
    drawn, axes = figure(theme, 3.9, "both")
    low, high = _floats(table, "self_hosted_low"), _floats(table, "self_hosted_high")
    if _any(low):
        axes.fill_between(x, low, high, color=COLOURS[2], alpha=0.2, linewidth=0)
    for column, name, k in STRATEGIES:
        values = _floats(table, column)
        if _any(values):
            axes.plot(x, values, color=COLOURS[k], linewidth=2, label=name, linestyle=("--", "-", (0, (6, 2)))[k], zorder=(4, 2, 3)[k])
    today = _floats(table, "demand").index(1.0)
    axes.plot([x[today]], [_floats(table, "plan")[today]], "o", color=theme.ink, markersize=8, label="today")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for set_ticks, ends in ((axes.set_xticks, axes.get_xlim()), (axes.set_yticks, axes.get_ylim())):
        ticks = round_values(float(ends[0]), float(ends[1]), most=6)
        set_ticks(ticks, [f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks])
    no_minor_ticks(axes.xaxis, axes.yaxis)
    axes.set_xlabel("users on a weekday" if x is users else "requests a month")
    axes.set_ylabel(f"{currency} a month")
    legend(axes, theme)
    return drawn


def cash_chart(table: Table, currency: str, theme: Theme) -> Any:
    """Cash of each month by what it pays for, and the sum so far as a line."""
    drawn, axes = figure(theme, 3.4, "y")
    months, base = list(range(len(table.rows))), [0.0] * len(table.rows)
    for column, name, k in PARTS:
        values = _or(_floats(table, column), 0.0)
        if any(values):
            axes.bar(months, values, bottom=base, color=COLOURS[k], label=name, width=0.8)
            base = [below + value for below, value in zip(base, values, strict=True)]
    total = axes.twinx()
    total.plot(months, _floats(table, "cumulative"), color=theme.ink, linewidth=1.6)
    total.set_ylim(bottom=0)
    total.set_ylabel(f"{currency} so far (line)", color=theme.ink, fontsize=9)
    total.tick_params(colors=theme.ink, length=0, labelsize=9)
    for side in ("top", "right", "left", "bottom"):
        total.spines[side].set_visible(False)
    step = max(1, len(months) // TICKS)
    axes.set_xticks(months[::step], [str(name) for name in table.column("month")][::step])
    axes.set_ylabel(f"{currency} a month")
    for each in (axes, total):
        each.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    legend(axes, theme)
    return drawn


def sensitivity_chart(table: Table, currency: str, today: float, theme: Theme) -> Any:
    """A bar from the cost with an input lowered to the cost with it raised, around today's cost."""
    drawn, axes = figure(theme, 0.8 + 0.32 * len(table.rows))
    low, high = (_or(_floats(table, name), today) for name in ("low", "high"))
    for k, (least, most) in enumerate(zip(low, high, strict=True)):
        axes.barh([k], [today - least], left=[least], color=COLOURS[2], height=0.6)
        axes.barh([k], [most - today], left=[today], color=COLOURS[1], height=0.6)
    names = [f"{shorter(str(row['name']))}  ±{row['change']:.0%}" for row in table.named()]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(today, color=theme.ink, linewidth=1.2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"{currency} a month (green: input lower, orange: higher; line: today)")
    return drawn
