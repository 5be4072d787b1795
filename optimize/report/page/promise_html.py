"""Latency as drawings of the page: each promise against its limit, whole distributions, and the plan under stress."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from optimize.records import SloVerdict
from optimize.report.page.bars_html import Bar, bars_html
from optimize.report.page.chart_html import Chart, Mark, Series, chart_html, legend_html, titled
from optimize.report.page.drawing import round_values
from optimize.report.page.page_parts import scrolling
from optimize.report.page.scales import Scale
from optimize.result import Plan
from optimize.tables.plain_numbers import duration, percent, promise
from optimize.tables.tables import drawn_verdicts

EDGE = 1.5  # of a limit: what is later stands at the edge
LEAST, MOST = 0.01, 0.999  # cumulative shares that a panel shows
SHARES = (0.1, 0.5, 0.9, 0.99)
CROWDED = (0.3, 3.4)  # two shares whose misses differ by less than that share one label


def promise_bars(plan: Plan) -> str:
    """Each promise in its worst hour: simulated quantile as a dot, its 95 % interval as a bar, the limit a line; empty without proof."""
    verdicts = plan.verification.verdicts if plan.verification else ()
    bars = []
    for v in verdicts:
        low, middle, high = (min(1.0, x / v.row.limit_s / EDGE) for x in (v.ci95_s[0], v.simulated_s, v.ci95_s[1]))
        name = f"{plan.program.class_names[v.row.class_index]}: {promise(v.row.metric, v.row.quantile, v.row.limit_s)}"
        note = f"{v.hour}, {'met' if v.met else 'MISSED'}"
        bars.append(Bar(name, high, duration(v.simulated_s), "good" if v.met else "bad", low, middle, note))
    if not bars:
        return ""
    drawn = bars_html("Promises against their limits", bars, 1 / EDGE, "limit of each promise")
    return titled("Latency against promise, each in its worst hour", drawn, words="Dot: what was simulated; bar: its 95 % interval.")


def latency_panels(plan: Plan) -> str:
    """Cumulative distributions, a drawing per class and metric: share of requests up, time across, stretched so that tails are seen."""
    panels: dict[tuple[int, str], list[SloVerdict]] = {}
    for v in drawn_verdicts(plan):
        panels.setdefault((v.row.class_index, v.row.metric), []).append(v)
    drawn = [f"<div>{_panel(plan, c, metric, verdicts)}</div>" for (c, metric), verdicts in panels.items()]
    key = legend_html(
        [Series("share of requests served within a time", (), "good"), Series("a promise that is missed", (), "bad")],
        [Mark("x", 0.0, "limit", "dash"), Mark("y", 0.0, "share promised", "dots")],
    )
    return titled("Latency distributions, each promise in its worst hour", *drawn, legend=key) if drawn else ""


def _panel(plan: Plan, c: int, metric: str, verdicts: Sequence[SloVerdict]) -> str:
    ends: list[float] = []
    series, marks = [], []
    for v in verdicts:
        most = min(MOST, 1 - 1 / max(v.requests, 2))  # beyond, a few requests decide
        curve = [(s, share) for share, s in v.distribution if LEAST <= share <= most and 0 < s < math.inf]
        ends += [s for s, _ in curve] + [v.row.limit_s]
        said = [f"{share:.2%} within {duration(s)}" for s, share in curve]
        series.append(
            (
                curve,
                Series(
                    promise(metric, v.row.quantile, v.row.limit_s), [share for _, share in curve], "good" if v.met else "bad", said=said
                ),
            )
        )
        marks += [Mark("x", v.row.limit_s, "limit", "dash"), Mark("y", v.row.quantile, "share promised", "dots")]
    across, up = Scale(min(ends) / 1.15, max(ends) * 1.25, "log"), Scale(LEAST, 0.9993, "logit")
    asked = {v.row.quantile for v in verdicts}
    shares = sorted({*asked, *(s for s in SHARES if not any(CROWDED[0] < (1 - s) / (1 - q) < CROWDED[1] for q in asked))})
    ticks = [(t, _short(t)) for t in round_values(across.low, across.high, 4)]
    kept = "; ".join(f"p{v.row.quantile * 100:g} {duration(v.simulated_s)}, limit {duration(v.row.limit_s)}" for v in verdicts)
    title = f"{plan.program.class_names[c]}: {metric.upper()}. {kept}"
    curve, first = series[0]
    rest = [each for _, each in series[1:]]
    chart = Chart(
        f"Share of requests served within a time; {title}", [s for s, _ in curve], [duration(s) for s, _ in curve],
        [first, *(each for each in rest if len(each.values) == len(curve))], across, up, ticks,
        [(s, f"{s * 100:g} %") for s in shares], marks=marks,
    )  # fmt: skip
    return f"<p class=panel>{escape(title)}</p>{chart_html(chart)}"


def _short(time_s: float) -> str:
    """A round time without needless digits.

    >>> _short(0.02), _short(1.5)
    ('20 ms', '1.5 s')
    """
    return f"{time_s * 1000:g} ms" if time_s < 0.9995 else f"{time_s:g} s"


def stress_grid(said: Mapping[str, Any], words: str) -> str:
    """A cell per case and promise with the share of requests inside it, marked by word and colour."""
    cases = said["cases"]
    heads = "".join(
        f"<th scope=col>{escape(each['class'])} {each['metric'].upper()} {100 * each['quantile']:g} %</th>"
        for each in (cases[0]["promises"] if cases else [])
    )
    rows = "".join(
        f"<tr><th scope=row>{escape(case['case'])}, {escape(case['hour'])}</th>{''.join(map(_cell, case['promises']))}</tr>"
        for case in cases
    )
    table = f"<table class=stress><thead><tr><th scope=col>case</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return titled("Share of requests inside each promise, case by case", scrolling("Under stress", table), words=words)


def _cell(each: Mapping[str, Any]) -> str:
    if each["attainment"] is None:
        return "<td class=none>no requests</td>"
    return f"<td class={'kept' if each['met'] else 'broken'}>{percent(each['attainment'])}{'' if each['met'] else ' missed'}</td>"
