"""The pictures of a what-if: break-even curves, heat map, tornado, risk, levers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from optimize.report.page.drawing import BAD, COLOURS, GOOD, Theme, bars, figure, legend, shorter
from optimize.report.page.figures import Figure
from optimize.tables.columns import Table, Value
from optimize.whatif.crossings import LINES, Row, amount, crossing, lines
from optimize.whatif.study import Answer

MOST_PANELS = 6  # combinations of the other inputs that are drawn
MOST_TICKS = 8  # values that stand below a curve
LOG_FROM = 8  # largest over smallest value from which an axis is logarithmic


def whatif_figures(answer: Answer) -> tuple[Figure, ...]:
    """The pictures that the answer has something to show for."""
    tables = {table.name: table for table in answer.tables}
    currency = answer.scenario.budget.currency
    if answer.kind == "grid":
        return (*curve_figures(tables["points"], answer.axes, currency), *heat_figures(tables["points"], answer.axes, currency))
    if answer.kind == "one_at_a_time" and tables["tornado"].rows:
        table, today = tables["tornado"], float(answer.facts["base_per_month"])
        alt = f"Cost of a month with one input at its low and high end, around {today:,.0f} {currency}; widest first."
        return (Figure("tornado", alt, table, partial(tornado_chart, table, currency, today)),)
    if answer.kind == "uncertain" and tables["risk"].rows:
        table = tables["risk"]
        alt = "For each plan the share of draws in which every promise holds, over its cost from P10 to P90."
        return (Figure("risk", alt, table, partial(risk_chart, table, currency)),)
    if answer.kind == "levers" and tables["levers"].rows:
        table = tables["levers"]
        alt = f"What each lever saves a month, {currency}; levers that cost more stand to the left of zero."
        return (Figure("levers", alt, table, partial(lever_chart, table, currency)),)
    return ()


def curve_figures(table: Table, keys: Sequence[str], currency: str) -> list[Figure]:
    """Cost over the first numeric input: the plan, relays only, own GPUs only; one picture for each combination of the others."""
    key = next((key for key in keys if any(len(rows) > 1 for _, rows in lines(table, key, keys))), None)
    if key is None:
        return []
    found = []
    for k, (fixed, rows) in enumerate(lines(table, key, keys)[:MOST_PANELS]):
        alt = f"Cost of a month over {key}{f', {fixed}' if fixed else ''}.{crossing_words(table, key, rows)}"
        found.append(Figure(f"break_even_{k + 1}", alt, table, partial(curve_chart, table, key, currency, rows)))
    return found


def served(table: Table, row: Row) -> bool:
    """Whether the plan of a row serves everything: one that leaves requests out is no point of a cost curve."""
    names = [column.name for column in table.columns]
    return row[names.index("status")] not in ("over_budget", "infeasible")


def rounded_amount(value: Value) -> str:
    """A label of an axis: three significant digits.

    >>> rounded_amount(12.5992), rounded_amount(1_587_401.0), rounded_amount("as is")
    ('12.6', '1,590,000', 'as is')
    """
    return amount(float(f"{value:.3g}")) if isinstance(value, int | float) and not isinstance(value, bool) else amount(value)


def values_of(table: Table, rows: Sequence[tuple[float, Row]], name: str) -> list[float | None]:
    """One column along a line; None where a point has no such plan."""
    at = [column.name for column in table.columns].index(name)
    cells: list[Value] = [row[at] for _, row in rows]
    return [float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None for cell in cells]


def crossing_words(table: Table, key: str, rows: Sequence[tuple[float, Row]]) -> str:
    """Where own GPUs become cheaper than relays along a line, in words; empty where they do not."""
    x = [value for value, _ in rows]
    at = crossing(x, values_of(table, rows, "relays_only"), values_of(table, rows, "own_only"))
    return f" Own GPUs become cheaper than relays at about {key} {amount(at)}." if at is not None else ""


def curve_chart(table: Table, key: str, currency: str, rows: Sequence[tuple[float, Row]], theme: Theme) -> Any:
    """Three curves; a cross where the point has no plan inside SLO and budget, the budget dotted."""
    drawn, axes = figure(theme, 3.6, "both")
    x = [value for value, _ in rows]
    for k, (name, label) in enumerate(LINES):
        values = values_of(table, rows, name)
        if name == "per_month":
            values = [value if served(table, row) else None for value, (_, row) in zip(values, rows, strict=True)]
        if any(value is not None for value in values):
            y = [math.nan if value is None else value for value in values]
            axes.plot(
                x, y, color=COLOURS[(0, 1, 2)[k]], linewidth=2, linestyle="-" if k == 0 else "--", marker="o", markersize=4, label=label
            )
    budget = values_of(table, rows, "budget")
    axes.plot(x, [math.nan if value is None else value for value in budget], color=theme.ink, linewidth=1, linestyle=":", label="budget")
    at = [column.name for column in table.columns].index("status")
    costs = values_of(table, rows, "per_month")
    pairs = zip(rows, costs, strict=True)
    bad = [(value, cost) for (value, row), cost in pairs if row[at] not in ("met", "unverified") and cost is not None]
    label_bad = "no plan that keeps every promise inside the budget"
    if bad:
        axes.plot([x for x, _ in bad], [y for _, y in bad], "x", color=BAD, markersize=9, label=label_bad)
    if min(x) > 0 and max(x) / min(x) >= LOG_FROM:
        from matplotlib.ticker import LogLocator

        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}")
        axis.set_minor_formatter(lambda *_: "")
    if len(x) <= MOST_TICKS:
        axes.set_xticks(x, [rounded_amount(value) for value in x])
    axes.set_xlabel(key)
    axes.set_ylabel(f"{currency} a month")
    legend(axes, theme, 5)
    return drawn


def heat_figures(table: Table, keys: Sequence[str], currency: str) -> list[Figure]:
    """Cost over two inputs as a map, for each combination of the others; none with fewer than two inputs of several values."""
    names = [column.name for column in table.columns]
    wide = [key for key in keys if len({row[names.index(key)] for row in table.rows}) > 1]
    if len(wide) < 2:
        return []
    across, down = wide[0], wide[1]
    others = [names.index(key) for key in wide[2:]]
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for row in table.rows:
        groups.setdefault(tuple(row[i] for i in others), []).append(row)
    found = []
    for k, (fixed, rows) in enumerate(list(groups.items())[:MOST_PANELS]):
        rest = ", ".join(amount(value) for value in fixed)
        alt = f"Cost of a month over {across} and {down}{f' at {rest}' if rest else ''}; cells without a plan that holds are crossed out."
        found.append(Figure(f"heat_map_{k + 1}", alt, table, partial(heat_chart, table, across, down, currency, rows)))
    return found


def heat_chart(table: Table, across: str, down: str, currency: str, rows: Sequence[Row], theme: Theme) -> Any:
    """A cell per pair of values, coloured by cost, with the cost in it."""
    import numpy as np

    names = [column.name for column in table.columns]
    a, d, cost, status = (names.index(name) for name in (across, down, "per_month", "status"))
    columns, lines_ = (list(dict.fromkeys(row[i] for row in rows)) for i in (a, d))
    grid = np.full((len(lines_), len(columns)), np.nan)
    drawn, axes = figure(theme, 1.6 + 0.45 * len(lines_))
    axes.grid(False)
    for row in rows:
        value, x, y = row[cost], columns.index(row[a]), lines_.index(row[d])
        if isinstance(value, int | float):
            grid[y, x] = value
    axes.imshow(grid, aspect="auto", cmap="cividis", origin="lower")
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    for row in rows:
        x, y = columns.index(row[a]), lines_.index(row[d])
        value = grid[y, x]
        ink = "#111111" if not np.isfinite(value) or value > low + 0.55 * (high - low) else "#f4f4f4"
        text = f"{value:,.0f}" if np.isfinite(value) else "-"
        axes.text(x, y, text if row[status] == "met" else f"✕ {text}", ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(range(len(columns)), [shorter(rounded_amount(value)) for value in columns])
    axes.set_yticks(range(len(lines_)), [shorter(rounded_amount(value)) for value in lines_])
    axes.set_xlabel(f"{across}; cells: {currency} a month, ✕: no plan that holds")
    axes.set_ylabel(shorter(down))
    return drawn


def tornado_chart(table: Table, currency: str, today: float, theme: Theme) -> Any:
    """A bar from the cost at an input's low end to that at its high end, around today's cost."""
    drawn, axes = figure(theme, 0.9 + 0.34 * len(table.rows))
    names = [column.name for column in table.columns]
    label, ends = names.index("input"), (names.index("low_per_month"), names.index("high_per_month"))
    limits = (names.index("low"), names.index("high"))
    for k, row in enumerate(table.rows):
        for end, limit, colour in zip(ends, limits, (COLOURS[2], COLOURS[1]), strict=True):
            value = row[end]
            if isinstance(value, int | float) and abs(value - today) > 0.005:
                axes.barh([k], [value - today], left=[today], color=colour, height=0.6, alpha=0.9)
                side = "left" if value >= today else "right"
                axes.annotate(amount(row[limit]), (value, k), (4 if side == "left" else -4, 0), textcoords="offset points", ha=side,
                              va="center", color=theme.ink, fontsize=8)  # fmt: skip
    axes.set_yticks(range(len(table.rows)), [shorter(str(row[label])) for row in table.rows])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.axvline(today, color=theme.ink, linewidth=1.2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"{currency} a month (green: input at its low end, orange: at its high end; line: as written)")
    return drawn


def risk_chart(table: Table, currency: str, theme: Theme) -> Any:
    """Probability that a plan holds over its cost, P10 to P90."""
    drawn, axes = figure(theme, 3.6, "both")
    names = [column.name for column in table.columns]
    at = {name: names.index(name) for name in ("plan", "held_share", "cost_p10", "cost_p50", "cost_p90", "chosen")}
    for row in table.rows:
        low, middle, high, held = (float(str(row[at[name]])) for name in ("cost_p10", "cost_p50", "cost_p90", "held_share"))
        colour = GOOD if row[at["chosen"]] else COLOURS[0]
        axes.plot([low, high], [100 * held] * 2, color=colour, linewidth=4, alpha=0.5, solid_capstyle="butt")
        axes.plot([middle], [100 * held], "o", color=colour, markersize=7)
        axes.annotate(shorter(str(row[at["plan"]])), (middle, 100 * held), (6, 5), textcoords="offset points", color=theme.ink, fontsize=8)
    axes.axhline(90, color=theme.ink, linewidth=1, linestyle="--")
    axes.set_ylim(-4, 108)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"{currency} a month, P10 to P90 (green: the cheapest plan that holds in 90 % of the draws)")
    axes.set_ylabel("draws in which it holds, %")
    return drawn


def lever_chart(table: Table, currency: str, theme: Theme) -> Any:
    """Horizontal bars of savings."""
    names = [column.name for column in table.columns]
    name, saving = names.index("lever"), names.index("saving")
    rows = [(str(row[name]), float(str(row[saving]))) for row in table.rows if row[saving] is not None]
    colours = [GOOD if value > 0 else BAD for _, value in rows]
    return bars(theme, [label for label, _ in rows], [value for _, value in rows], colours, f"{currency} a month saved", None)
