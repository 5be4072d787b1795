"""What users feel as whole distributions: a panel per class and metric that is promised, each promise in its worst hour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optimize.records import SloVerdict
from optimize.report.page.drawing import BAD, GOOD, WIDTH_IN, Theme, no_minor_ticks, round_values, style
from optimize.result import Plan
from optimize.tables import tables
from optimize.tables.columns import Column, Table, Value
from optimize.tables.plain_numbers import duration, promise

ACROSS = 3  # panels next to each other
PANEL_IN = 2.2
TIMES = 4  # labels across a panel
LEAST, MOST = 0.01, 0.999  # cumulative shares that a panel shows
SHARE_TICKS = (0.1, 0.5, 0.9, 0.99)
SHOWN = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)  # of the table for people
SUMMARY = (
    Column("class", "str", "", "request class"),
    Column("metric", "str", "", "ttft, tpot or e2e"),
    Column("hour", "str", "", "hour slice that is worst for the promise"),
    *(Column("max" if share == 1 else f"p{share * 100:g}", "float", "s", f"latency that {share:.1%} of requests keep") for share in SHOWN),
    Column("promised", "str", "", "quantile and limit"),
)


def latency_summary(plan: Plan) -> Table:
    """A row per promise with the shares that people ask for; no file of its own."""
    rows: list[tuple[Value, ...]] = []
    for v in tables.drawn_verdicts(plan):
        at = dict(v.distribution)
        said = promise(v.row.metric, v.row.quantile, v.row.limit_s).removeprefix(f"{v.row.metric.upper()} ")
        rows.append((plan.program.class_names[v.row.class_index], v.row.metric.upper(), v.hour, *(at.get(share) for share in SHOWN), said))
    return Table("latency_summary", "Latency", SUMMARY, tuple(rows))


def latency_words(plan: Plan) -> str:
    """What the picture shows, and which promise is nearest to its limit."""
    verdicts = tables.drawn_verdicts(plan)
    if not verdicts:
        return ""
    near = max(verdicts, key=lambda v: v.simulated_s / v.row.limit_s)
    name = f"{plan.program.class_names[near.row.class_index]} {near.row.metric.upper()} in {near.hour}"
    asked = f"p{near.row.quantile * 100:g} {duration(near.simulated_s)} against {duration(near.row.limit_s)}"
    kept = f"{sum(v.met for v in verdicts)} of {len(verdicts)} curves cross their promised share before their limit"
    return f"Share of requests served within a time, each promise in its worst hour: {kept}. Nearest to its limit: {name}, {asked}."


def latency_chart(plan: Plan, theme: Theme) -> Any | None:
    """Cumulative distributions: time across, share of requests up, both stretched so that tails are seen; None without any."""
    from matplotlib.figure import Figure

    panels: dict[tuple[int, str], list[SloVerdict]] = {}
    for v in tables.drawn_verdicts(plan):
        panels.setdefault((v.row.class_index, v.row.metric), []).append(v)
    if not panels:
        return None
    across = 2 if len(panels) == 4 else min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    drawn = Figure(figsize=(WIDTH_IN, 0.45 + PANEL_IN * down), layout="constrained")
    grid: Any = drawn.subplots(down, across, squeeze=False)
    for axes, ((c, metric), verdicts) in zip(grid.flat, panels.items(), strict=False):
        _panel(axes, verdicts, theme)
        kept = "; ".join(f"p{v.row.quantile * 100:g} {duration(v.simulated_s)}, limit {duration(v.row.limit_s)}" for v in verdicts)
        axes.set_title(f"{plan.program.class_names[c]}: {metric.upper()}\n{kept}", color=theme.ink, fontsize=9, loc="left")
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    words = "share of requests (up) that are served within a time (across); dashed: limit, dotted: share promised, dot: what is kept"
    drawn.supxlabel(words, color=theme.ink, fontsize=9)
    return drawn


def _panel(axes: Any, verdicts: Sequence[SloVerdict], theme: Theme) -> None:
    """One class and metric: a curve, a limit and a promised share per promise."""
    style(axes, "both", theme)
    ends = []
    for v in verdicts:
        colour = GOOD if v.met else BAD
        most = min(MOST, 1 - 1 / max(v.requests, 2))  # beyond, a few requests decide
        curve = [(s, share) for share, s in v.distribution if LEAST <= share <= most and 0 < s < math.inf]
        ends += [curve[0][0], curve[-1][0]] if curve else []
        ends += [v.row.limit_s, *([v.simulated_s] if 0 < v.simulated_s < math.inf else [])]
        axes.plot([s for s, _ in curve], [share for _, share in curve], color=colour, linewidth=2)
        axes.axvline(v.row.limit_s, color=theme.ink, linewidth=1.1, linestyle="--")
        axes.axhline(v.row.quantile, color=theme.ink, linewidth=0.9, linestyle=":")
    low, high = min(ends) / 1.15, max(ends) * 1.25
    for v in verdicts:
        colour, beyond = (GOOD if v.met else BAD), not v.simulated_s < math.inf
        at = high / 1.05 if beyond else max(v.simulated_s, low)
        axes.plot([at], [v.row.quantile], ">" if beyond else "o", color=colour, markersize=6, zorder=5)
    axes.set_xscale("log")
    axes.set_yscale("logit")
    axes.set_xlim(low, high)
    axes.set_ylim(LEAST, 0.9993)
    asked = {v.row.quantile for v in verdicts}
    shares = sorted({*asked, *(tick for tick in SHARE_TICKS if not any(0.3 < (1 - tick) / (1 - q) < 3.4 for q in asked))})
    axes.set_yticks(shares, [f"{share * 100:g} %" for share in shares])
    times = round_values(low, high, TIMES)
    axes.set_xticks(times, [_short(time_s) for time_s in times])
    no_minor_ticks(axes.xaxis, axes.yaxis)


def _short(time_s: float) -> str:
    """A round time without needless digits.

    >>> _short(0.02), _short(1.5), _short(60.0)
    ('20 ms', '1.5 s', '60 s')
    """
    return f"{time_s * 1000:g} ms" if time_s < 0.9995 else f"{time_s:g} s"
