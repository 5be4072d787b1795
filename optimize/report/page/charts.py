"""The pictures of a plan: cost, alternatives, promises, hours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optimize.money.quantities import pool_work
from optimize.records import Floats
from optimize.report.page.drawing import BAD, COLOURS, GOOD, PAGE, WIDTH_IN, Theme, bars, figure, style
from optimize.report.terminal import render_grid
from optimize.result import Plan
from optimize.tables import tables
from optimize.tables.bill_lines import Bill
from optimize.tables.plain_numbers import count, promise

LINES: tuple[tuple[Any, str], ...] = (("-", "demand"), ("--", "what the fleet could carry at this mix"))
ROOMY = 3.0  # times the busiest hour: capacity beyond it is told in words, lest it flatten demand
EDGE = 1.6  # of a limit: latencies beyond it stand at the edge


def cost_chart(plan: Plan, bill: Bill, theme: Theme) -> Any:
    """Horizontal bars: each line of the bill."""
    names, amounts = [line.name for line in plan.lines], [cents / 100 for cents in bill.lines]
    colours = [COLOURS[{"gpu": 0, "relay": 1}.get(line.kind, 2)] for line in plan.lines]
    return bars(theme, names, amounts, colours, f"{bill.currency} a month (blue: GPU, orange: relay, green: fixed)", None)


def alternatives_chart(plan: Plan, bill: Bill, theme: Theme) -> Any:
    """Horizontal bars: the plan and what could be done instead; the dashed line is the budget."""
    names, amounts, colours, notes = ["this plan"], [bill.total / 100], [COLOURS[0]], [_status(plan)]
    for other in tables.alternatives_table(plan, bill).named():
        name, status, amount = other["name"], other["status"], other["per_month"]
        if isinstance(amount, int | float) and math.isfinite(amount):
            names.append(str(name))
            notes.append(str(status).replace("_", " "))
            amounts.append(float(amount))
            colours.append(BAD if status in ("over_budget", "infeasible", "missed") else COLOURS[5])
    return bars(theme, names, amounts, colours, f"{bill.currency} a month (dashed: budget)", plan.scenario.budget.per_month, notes)


def _status(plan: Plan) -> str:
    """What the bar of the plan is told to be."""
    return "leaves requests out" if plan.status in ("over_budget", "infeasible") else plan.status


def promises_chart(plan: Plan, theme: Theme) -> Any | None:
    """Each promise as simulated quantile and 95 % interval, in per cent of its limit; None if nothing was simulated."""
    verdicts = plan.verification.verdicts if plan.verification else ()
    if not verdicts:
        return None
    drawn, axes = figure(theme, 0.7 + 0.32 * len(verdicts))
    for k, v in enumerate(verdicts):
        low, middle, high = (min(EDGE, x / v.row.limit_s) for x in (v.ci95_s[0], v.simulated_s, v.ci95_s[1]))
        colour = GOOD if v.met else BAD
        axes.plot([low, high], [k, k], color=colour, linewidth=5, alpha=0.45, solid_capstyle="butt")
        axes.plot([middle], [k], "o" if middle < EDGE else ">", color=colour, markersize=6)
    names = [f"{plan.program.class_names[v.row.class_index]}  {promise(v.row.metric, v.row.quantile, v.row.limit_s)}" for v in verdicts]
    axes.axvline(1.0, color=theme.ink, linewidth=1.2, linestyle="--")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, EDGE * 1.03)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5], ["0", "25 %", "50 %", "75 %", "limit", "125 %", "150 %"])
    axes.set_xlabel("simulated quantile in the worst hour, its 95 % interval as bar, against the limit (dashed)")
    return drawn


def hours_chart(plan: Plan, theme: Theme) -> Any:
    """Stacked requests/s by target with demand and capacity as lines, and replicas by pool below, over the hours of each kind of day."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    by_day = render_grid.days(plan.demand.slices) or {"hour slices": list(range(len(plan.demand.slices)))}
    pools, relays, room = tables.used_pools(plan), tables.used_relays(plan), capacity_rps(plan)
    parts = [3, 2] if pools else [1]  # without pools there are no replicas to show
    drawn = Figure(figsize=(WIDTH_IN, 4.6 if pools else 2.8), layout="constrained")
    axes: Any = drawn.subplots(len(parts), len(by_day), sharex="col", sharey="row", squeeze=False, height_ratios=parts)
    for d, (day, indices) in enumerate(by_day.items()):
        flows = [plan.solution.pool_flow[p].sum(axis=0)[indices] for p in pools]
        flows += [plan.solution.relay_flow[a].sum(axis=0)[indices] for a in relays]
        flows.append(plan.solution.unserved.sum(axis=0)[indices])
        base, edges = np.zeros(len(indices)), np.arange(len(indices) + 1)
        for k, flow in enumerate(flows):
            colour = BAD if k == len(flows) - 1 else COLOURS[k % 7]
            axes[0, d].stairs(base + flow, edges, baseline=base, fill=True, color=colour, alpha=0.85)
            base = base + flow
        axes[0, d].stairs(plan.demand.mean_rps.sum(axis=0)[indices], edges, color=theme.ink, linewidth=1.2)
        if pools:
            axes[0, d].stairs(room[indices], edges, color=theme.ink, linewidth=1.0, linestyle="--", baseline=None)
        for k, p in enumerate(pools):
            replicas = plan.solution.hosts[p][indices] * plan.program.pools[p].option.replicas_per_host
            axes[1, d].stairs(replicas, edges, color=COLOURS[k % 7], linewidth=2)
        axes[0, d].set_title(day if len(plan.demand.slices) > 1 else plan.demand.slices[0], color=theme.ink, fontsize=10)
        axes[-1, d].set_xlabel("hour" if len(indices) == render_grid.HOURS else "")
        axes[-1, d].set_xticks(range(0, 25, 6) if len(indices) == render_grid.HOURS else [])
        axes[-1, d].set_ylim(bottom=0)
        for row in range(len(parts)):
            style(axes[row, d], "y", theme)
    axes[0, 0].set_ylabel("requests/s")
    most = float(plan.demand.mean_rps.sum(axis=0).max())
    if room.max() > ROOMY * most:
        axes[0, 0].set_ylim(0, 1.3 * most)
        words = f"the fleet could carry {count(float(room.min()))} requests/s or more:\nbeyond this scale"
        note = axes[0, 0].annotate(words, (0.02, 0.97), xycoords="axes fraction", color=theme.ink, va="top")
        note.set_in_layout(False)  # it must not make room for itself
    if pools:
        axes[1, 0].set_ylabel("replicas")
        axes[1, 0].yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    if theme is not PAGE:  # the page says it in text that wraps
        lines = [Line2D([], [], color=theme.ink, linestyle=dash, label=name) for dash, name in LINES[: 1 + bool(pools)]]
        keys = [*(Patch(color=colour, label=name) for colour, name in hours_legend(plan)), *lines]
        drawn.set_figheight(drawn.get_figheight() + 0.22 * math.ceil(len(keys) / 2))
        drawn.legend(handles=keys, loc="outside lower left", ncols=2, frameon=False, fontsize=9, labelcolor=theme.ink)
    return drawn


def capacity_rps(plan: Plan) -> Floats:
    """[slices] requests/s that the fleet could carry at the mix it is sent: pools filled to their capacity line, relays as they are."""
    answer: Floats = plan.solution.relay_flow.sum(axis=(0, 1)).astype(np.float64)
    for p, terms in enumerate(plan.program.pools):
        flow, hosts = plan.solution.pool_flow[p].sum(axis=0), plan.solution.hosts[p]
        work = pool_work(terms, plan.solution.pool_flow[p])
        room = np.maximum(terms.slope * hosts * terms.option.replicas_per_host - terms.intercept, 0.0)
        filled = np.divide(room, work, out=np.ones_like(work), where=work > 1e-12)
        answer += flow * np.maximum(filled, 1.0)
    return answer


def hours_legend(plan: Plan) -> list[tuple[str, str]]:
    """(colour, name) of what hours_chart draws, bottom up."""
    names = [plan.program.pools[p].option.id for p in tables.used_pools(plan)]
    names += [plan.program.relays[a].relay.id for a in tables.used_relays(plan)]
    legend = [(COLOURS[k % 7], name) for k, name in enumerate(names)]
    return [*legend, (BAD, "unserved")] if plan.solution.unserved.any() else legend
