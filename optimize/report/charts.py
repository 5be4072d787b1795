"""The four pictures of a plan as inline SVG that follows the page's light or dark colours."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from optimize.records import Plan
from optimize.report import grid, tables
from optimize.report.bill import Bill
from optimize.report.words import promise

INK, FAINT = "#010203", "#040506"  # placeholders: replaced by the page's own colours in svg()
COLOURS = ("#4c8dd6", "#e08a3c", "#3da37a", "#c65d9e", "#a8912f", "#7c6fd0", "#5aa9b8", "#c9574f")
GOOD, BAD = COLOURS[2], COLOURS[7]
WIDTH_IN = 9.2


def cost_chart(plan: Plan, bill: Bill) -> str:
    """Horizontal bars: each line of the bill."""
    names, amounts = [line.name for line in plan.lines], [cents / 100 for cents in bill.lines]
    colours = [COLOURS[{"gpu": 0, "relay": 1}.get(line.kind, 2)] for line in plan.lines]
    return _bars(names, amounts, colours, f"{bill.currency} a month (blue: GPU, orange: relay, green: fixed)", None)


def alternatives_chart(plan: Plan, bill: Bill) -> str:
    """Horizontal bars: the plan and what could be done instead; the dashed line is the budget."""
    names, amounts, colours = ["this plan"], [bill.total / 100], [COLOURS[0]]
    for name, status, amount, *_ in tables.alternatives_table(plan, bill).rows:
        if isinstance(amount, int | float) and math.isfinite(amount):
            names.append(f"{name} ({str(status).replace('_', ' ')})")
            amounts.append(float(amount))
            colours.append(BAD if status in ("over_budget", "infeasible", "missed") else COLOURS[5])
    return _bars(names, amounts, colours, f"{bill.currency} a month (dashed: budget)", plan.scenario.budget.per_month)


def promises_chart(plan: Plan) -> str:
    """Each promise as simulated quantile and 95 % interval, in per cent of its limit; empty if nothing was simulated."""
    verdicts = plan.verification.verdicts if plan.verification else ()
    if not verdicts:
        return ""
    figure, axes = _figure(0.7 + 0.32 * len(verdicts))
    edge = 1.6
    for k, v in enumerate(verdicts):
        low, middle, high = (min(edge, x / v.row.limit_s) for x in (v.ci95_s[0], v.simulated_s, v.ci95_s[1]))
        colour = GOOD if v.met else BAD
        axes.plot([low, high], [k, k], color=colour, linewidth=5, alpha=0.45, solid_capstyle="butt")
        axes.plot([middle], [k], "o" if middle < edge else ">", color=colour, markersize=6)
    names = [f"{plan.program.class_names[v.row.class_index]}  {promise(v.row.metric, v.row.quantile, v.row.limit_s)}" for v in verdicts]
    axes.axvline(1.0, color=INK, linewidth=1.2, linestyle="--")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, edge * 1.03)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5], ["0", "25 %", "50 %", "75 %", "limit", "125 %", "150 %"])
    axes.set_xlabel("simulated quantile, its 95 % interval as bar, against the limit")
    return svg(figure)


def hours_chart(plan: Plan) -> str:
    """Stacked requests/s by target, and replicas by pool below, over the hours of each kind of day."""
    from matplotlib.figure import Figure

    by_day = grid.days(plan.demand.slices) or {"hour slices": list(range(len(plan.demand.slices)))}
    pools, relays = tables.used_pools(plan), tables.used_relays(plan)
    figure = Figure(figsize=(WIDTH_IN, 4.6), layout="constrained")
    axes: Any = figure.subplots(2, len(by_day), sharex="col", sharey="row", squeeze=False, height_ratios=[3, 2])
    for d, (day, indices) in enumerate(by_day.items()):
        flows = [plan.solution.pool_flow[p].sum(axis=0)[indices] for p in pools]
        flows += [plan.solution.relay_flow[a].sum(axis=0)[indices] for a in relays]
        flows.append(plan.solution.unserved.sum(axis=0)[indices])
        base, edges = np.zeros(len(indices)), np.arange(len(indices) + 1)
        for k, flow in enumerate(flows):
            colour = BAD if k == len(flows) - 1 else COLOURS[k % 7]
            axes[0, d].stairs(base + flow, edges, baseline=base, fill=True, color=colour, alpha=0.85)
            base = base + flow
        axes[0, d].stairs(plan.demand.mean_rps.sum(axis=0)[indices], edges, color=INK, linewidth=1.2)
        for k, p in enumerate(pools):
            replicas = plan.solution.hosts[p][indices] * plan.program.pools[p].option.replicas_per_host
            axes[1, d].stairs(replicas, edges, color=COLOURS[k % 7], linewidth=2)
        axes[0, d].set_title(day, color=INK, fontsize=10)
        axes[1, d].set_xlabel("hour")
        if len(indices) == grid.HOURS:
            axes[1, d].set_xticks(range(0, 25, 6))
        axes[1, d].set_ylim(bottom=0)
        for row in (0, 1):
            _style(axes[row, d], "y")
    axes[0, 0].set_ylabel("requests/s (line: demand)")
    axes[1, 0].set_ylabel("replicas")
    return svg(figure)


def hours_legend(plan: Plan) -> list[tuple[str, str]]:
    """(colour, name) of what hours_chart draws, bottom up."""
    names = [plan.program.pools[p].option.id for p in tables.used_pools(plan)]
    names += [plan.program.relays[a].relay.id for a in tables.used_relays(plan)]
    legend = [(COLOURS[k % 7], name) for k, name in enumerate(names)]
    return [*legend, (BAD, "unserved")] if plan.solution.unserved.any() else legend


def svg(figure: Any) -> str:
    """The figure as an <svg> element: no date, no random ids, text as text, colours that follow the page."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "servemix", "font.size": 9}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    start, end = text.index("<metadata"), text.index("</metadata>") + len("</metadata>")
    text = text[:start] + text[end:]
    for attribute in (' xmlns:xlink="http://www.w3.org/1999/xlink"', ' xmlns="http://www.w3.org/2000/svg"'):
        text = text.replace(attribute, "")
    return text.replace("xlink:href", "href").replace(INK, "var(--ink)").replace(FAINT, "var(--faint)")


def _bars(names: list[str], amounts: list[float], colours: list[str], label: str, line: float | None) -> str:
    figure, axes = _figure(0.7 + 0.32 * len(names))
    axes.barh(range(len(names)), amounts, color=colours, height=0.62)
    for k, amount in enumerate(amounts):
        axes.annotate(f"{amount:,.0f}", (max(amount, 0), k), (4, 0), textcoords="offset points", va="center", color=INK)
    if line is not None and math.isfinite(line) and 0 < line < 3 * max(amounts):
        axes.axvline(line, color=INK, linewidth=1.2, linestyle="--")
    axes.set_yticks(range(len(names)), [name if len(name) <= 52 else name[:51] + "…" for name in names])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(label)
    return svg(figure)


def _figure(height_in: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes: Any = figure.subplots()
    _style(axes, "x")
    return figure, axes


def _style(axes: Any, along: str) -> None:
    axes.grid(axis=along, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    for spine in axes.spines.values():
        spine.set_visible(False)
