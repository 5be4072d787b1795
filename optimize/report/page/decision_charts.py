"""The pictures of a decision under commitment: cash so far per option and month, and regret by future."""

from __future__ import annotations

import textwrap
from typing import Any

from optimize.report.page.drawing import COLOURS, Theme, figure, legend, no_minor_ticks
from optimize.report.page.figures import Figure
from optimize.tables.columns import Table

NAME = 26  # characters of an option on a line
TICKS = 8


def decision_figures(cash: Table, regret: Table, currency: str) -> tuple[Figure, Figure]:
    """Cash exposure by month, and regret by future."""
    stages = ", ".join(dict.fromkeys(str(name) for name in cash.column("stage")))
    return (
        Figure(
            "cash_exposure",
            f"Cash so far by month of {stages}: line in the first future, band over all; resale of owned hosts falls into the last month.",
            cash,
            lambda t: cash_chart(cash, currency, t),
        ),
        Figure("regret", "What each option costs above the best one, by future.", regret, lambda t: regret_chart(regret, currency, t)),
    )


def cash_chart(table: Table, currency: str, theme: Theme) -> Any:
    """A line per option in the first future, a band from the cheapest to the dearest future."""
    drawn, axes = figure(theme, 3.2, "y")
    for k, stage in enumerate(dict.fromkeys(table.column("stage"))):
        rows = [row for row in table.named() if row["stage"] == stage]
        months = [float(row["month"] or 0) for row in rows]
        line, least, most = ([float(row[name] or 0) for row in rows] for name in ("so_far", "so_far_least", "so_far_most"))
        axes.fill_between(months, least, most, color=COLOURS[k % len(COLOURS)], alpha=0.14, linewidth=0)
        axes.plot(months, line, color=COLOURS[k % len(COLOURS)], linewidth=2, label="\n".join(textwrap.wrap(str(stage), NAME)))
    axes.set_xlabel("month")
    axes.set_ylabel(f"{currency} so far")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    no_minor_ticks(axes.xaxis, axes.yaxis)
    legend(axes, theme, 4)
    return drawn


def regret_chart(table: Table, currency: str, theme: Theme) -> Any:
    """A group of bars per future, a bar per option; an option that leaves requests unserved says so in place of a bar."""
    futures, stages = (list(dict.fromkeys(str(name) for name in table.column(each))) for each in ("future", "stage"))
    drawn, axes = figure(theme, 0.9 + 0.2 * len(futures) * (len(stages) + 0.6))
    found = {(str(row["future"]), str(row["stage"])): row["regret_per_month"] for row in table.named()}
    for k, stage in enumerate(stages):
        places = [f * (len(stages) + 0.6) + k for f in range(len(futures))]
        values = [found[future, stage] for future in futures]
        widths = [float(value or 0.0) for value in values]
        axes.barh(places, widths, color=COLOURS[k % len(COLOURS)], height=0.85, label="\n".join(textwrap.wrap(stage, NAME)))
        for place, value in zip(places, values, strict=True):
            text = "leaves requests unserved" if value is None else f"{float(value):,.0f}" if float(value) >= 0.5 else "best"
            axes.annotate(text, (float(value or 0.0), place), (4, 0), textcoords="offset points", va="center", color=theme.ink, fontsize=8)
    middle = (len(stages) - 1) / 2
    axes.set_yticks(
        [f * (len(stages) + 0.6) + middle for f in range(len(futures))], ["\n".join(textwrap.wrap(name, 34)) for name in futures]
    )
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"regret, {currency} a month")
    legend(axes, theme, 4)
    return drawn
