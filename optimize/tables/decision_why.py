"""Why this plan, as tables, JSON and sentences: prices of what is scarce, cost by class and hour, narrow places, what would make a plan."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from optimize.money import HOUR_S
from optimize.money.amounts import above_budget_cents, amount_usd, per_unit_usd
from optimize.result import Attribution, NoPlan, Plan, TooLong
from optimize.tables.bill_lines import Bill, bill_of, cents_of, split
from optimize.tables.columns import Column, Table, Value
from sim.exact import dot
from sim.plural import counted

CLASS_COST = (
    Column("class", "str", "", "request class"),
    Column("hour", "str", "", "hour slice; `all` for the month"),
    Column("per_month", "float", "money", "its part of the bill; parts sum to the total"),
    Column("requests_per_month", "float", "requests", "requests of a month"),
    Column("marginal", "float", "money/1,000 requests", "what a thousand more in that hour would cost, hosts divisible"),
)
BOTTLENECKS = (
    Column("pool", "str", "", "offer/model/weights[/tpN]:classes"),
    Column("hour", "str", "", "its fullest hour"),
    Column("limit", "str", "", "what is narrow: a part of the step, KV memory, or sequences per replica"),
    Column("busy", "float", "share", "time with a step running"),
    Column("kv_mean", "float", "share", "blocks in use, mean"),
    Column("kv_peak", "float", "share", "blocks in use, most"),
    Column("sequences", "float", "sequences", "running per replica, mean"),
    Column("load", "float", "share", "load over what keeps the promises"),
    Column("hits", "float", "share", "prompt tokens found in the prefix cache"),
    Column("prefill_compute", "float", "share", "of a step's time: arithmetic of prompts"),
    Column("decode_compute", "float", "share", "arithmetic of answers"),
    Column("weight_bandwidth", "float", "share", "reading weights"),
    Column("kv_bandwidth", "float", "share", "reading keys and values"),
    Column("links", "float", "share", "all-reduces between GPUs"),
    Column("element_wise", "float", "share", "element-wise passes over memory"),
    Column("host", "float", "share", "host work"),
)
SHADOWS = (
    Column("name", "str", "", "what there is more of"),
    Column("amount", "float", "", "how much more"),
    Column("unit", "str", "", "of the amount"),
    Column("saves", "float", "money", "a month, at most"),
    Column("serves", "float", "share", "further share of requests that is served, at most"),
    Column("sentence", "str", "", "the same in words"),
)
FRONTIER = (
    Column("per_month", "float", "money", "budget"),
    Column("served", "float", "share", "requests that a plan inside it serves inside their promises; not simulated"),
)
WHY_TABLES = {"class_cost": CLASS_COST, "bottlenecks": BOTTLENECKS, "shadows": SHADOWS, "frontier": FRONTIER}
ALL = "all"
NAMED_HOURS = 4


def why_tables(plan: Plan) -> tuple[Table, ...]:
    """Cost by class and hour, narrow places, prices of what is scarce, and the frontier; none where nothing was explained."""
    why = plan.why
    if why is None:
        return ()
    scarce = tuple((s.name, s.amount, s.unit, _money(plan, s.saves_usd), s.serves_share, s.sentence) for s in why.shadows)
    points = tuple((_money(plan, point.budget_usd), point.served_share) for point in why.frontier)
    narrow: list[tuple[Value, ...]] = []
    for each in why.bottlenecks:
        measures = (each.busy_share, each.kv_mean_share, each.kv_peak_share, each.sequences, each.load_share, each.hit_share)
        narrow.append((each.pool, each.hour, each.limit, *measures, *each.parts.values()))
    return (
        *([class_cost_table(plan, why.attribution)] if why.attribution is not None else []),
        Table("bottlenecks", "Where each pool is narrow", BOTTLENECKS, tuple(narrow)),
        Table("shadows", "What one more is worth", SHADOWS, scarce),
        Table("frontier", "Served share by budget", FRONTIER, points),
    )


def class_cost_table(plan: Plan, found: Attribution) -> Table:
    """The bill by class and hour, to the cent: rows of all hours sum to the bill, and so do those of classes over the month."""
    bill, demand = bill_of(plan), plan.demand
    months = split([cents_of(plan, float(usd)) for usd in found.usd.sum(axis=1)], bill.total)
    cents = np.array([split([cents_of(plan, float(x)) for x in row], month) for row, month in zip(found.usd, months, strict=True)])
    requests = demand.mean_rps * demand.weight_h * HOUR_S
    marginal = per_unit_usd(amount_usd(found.marginal_usd, 1000.0), plan.usd_per_unit)
    rows: list[tuple[Value, ...]] = []
    for c, name in enumerate(plan.program.class_names):
        total = float(requests[c].sum())
        told = np.isfinite(marginal[c])
        known = dot(marginal[c][told], requests[c][told]) / float(requests[c][told].sum()) if requests[c][told].any() else math.nan
        rows.append((name, ALL, int(cents[c].sum()) / 100, total, _finite(float(known))))
        if len(demand.slices) > 1:
            rows += [
                (name, hour, int(cents[c, t]) / 100, float(requests[c, t]), _finite(float(marginal[c, t])))
                for t, hour in enumerate(demand.slices)
            ]
    return Table("class_cost", "Who causes the cost", CLASS_COST, tuple(rows))


def class_rows(plan: Plan) -> list[tuple[str, float, float, float | None, str, float]]:
    """(class, cost, cost per 1,000 requests, marginal per 1,000, dearest hour, its marginal) of each class, for the screen."""
    if plan.why is None or plan.why.attribution is None:
        return []
    rows: list[dict[str, Any]] = class_cost_table(plan, plan.why.attribution).named()
    answer = []
    for month in (row for row in rows if row["hour"] == ALL):
        name, cost, requests, marginal = (month[key] for key in ("class", "per_month", "requests_per_month", "marginal"))
        apart = [row for row in rows if row["class"] == name and (row["hour"] != ALL or len(plan.demand.slices) == 1)]
        hours = [row for row in apart if row["marginal"] is not None]
        dearest: dict[str, Any] = max(hours, key=lambda row: float(row["marginal"]), default={"hour": "", "marginal": 0.0})
        answer.append(
            (
                str(name),
                float(cost),
                per_unit_usd(amount_usd(cost, 1000), max(requests, 1e-12)),
                marginal,
                str(dearest["hour"]),
                float(dearest["marginal"]),
            )
        )
    return answer


def month_only(of: Table) -> Table:
    """Rows of the whole month of the table of cost by class and hour."""
    return replace(of, rows=tuple(row for row, hour in zip(of.rows, of.column("hour"), strict=True) if hour == ALL))


def rule(plan: Plan) -> str:
    """How the bill was split; empty where it was not."""
    return plan.why.attribution.rule if plan.why is not None and plan.why.attribution is not None else ""


def sections(plan: Plan, bill: Bill) -> list[tuple[str, list[str]]]:
    """(title, lines) for people; empty where nothing was explained."""
    why = plan.why
    if why is None:
        return []
    answer = []
    if why.no_plan is not None:
        answer.append(("What would make a plan", no_plan_lines(plan, bill, why.no_plan)))
    answer.append(("What one more is worth, a month", [shadow.sentence for shadow in why.shadows]))
    answer.append(("Where it is narrow", [each.sentence for each in why.bottlenecks] + list(why.notes)))
    if why.frontier:
        shares = ", ".join(f"{bill.money(cents_of(plan, p.budget_usd))} a month: {p.served_share:.1%}" for p in why.frontier)
        answer.append(("What less money would serve", [shares]))
    return [(title, lines) for title, lines in answer if lines]


def no_plan_lines(plan: Plan, bill: Bill, found: NoPlan) -> list[str]:
    """The smallest budget, the best inside the budget, who misses when, which promise would have to give."""
    lines = []
    if found.smallest_budget_usd is not None:
        least = cents_of(plan, found.smallest_budget_usd)
        over = above_budget_cents(least, plan.scenario.budget.per_month)
        above = f", {bill.money(over)} above the budget" if over > 0 else ""
        lines.append(f"the smallest budget that serves everything: {bill.money(least)} a month{above}")
    lines += [f"{name} cannot be served in full at any budget" for name in found.never if name not in found.nobody]
    long = [each.class_name for each in found.too_long]
    lines += [each.sentence for each in found.too_long]
    lines += [f"no candidate may serve {name}, at any price or latency" for name in found.nobody if name not in long]
    lines.append(f"at best {found.served_share:.2%} of all requests are served inside their promises")
    for left in found.left:
        always = len(left.hours) == len(plan.demand.slices)
        named = ", ".join(left.hours[:NAMED_HOURS]) + (" ..." if len(left.hours) > NAMED_HOURS else "")
        lines.append(
            f"{left.name}: {left.share:.1%} left out, " + ("in every hour" if always else f"in {counted(len(left.hours), 'hour')}: {named}")
        )
    lines += found.binding
    lines += [give.sentence for give in found.gives if give.needed_s is not None]
    lines += found.late
    lines += [give.sentence for give in found.gives if give.needed_s is None]
    if not found.examined:
        lines.append("which promise would have to give: `optimize --explain full` relaxes each in turn (minutes)")
    return lines


def why_json(plan: Plan) -> dict[str, Any] | None:
    """The explanation as plain numbers; None where nothing was explained."""
    why = plan.why
    if why is None:
        return None
    tables = {table.name: table for table in why_tables(plan)}
    return {
        "attribution_rule": why.attribution.rule if why.attribution is not None else None,
        **{name: _rows(tables[name]) for name in tables if name != "class_cost"},
        "class_cost": [row for row in _rows(tables["class_cost"]) if row["hour"] == ALL] if "class_cost" in tables else [],
        "relays": list(why.notes),
        "no_plan": None if why.no_plan is None else _no_plan_json(plan, why.no_plan),
    }


def _no_plan_json(plan: Plan, found: NoPlan) -> dict[str, Any]:
    least = found.smallest_budget_usd
    return {
        "smallest_budget_per_month": None if least is None else _money(plan, least),
        "served_share": _round(found.served_share),
        "never": list(found.never),
        "nobody": list(found.nobody),
        "binding": list(found.binding),
        "late": list(found.late),
        "left": [{"class": each.name, "share": _round(each.share), "hours": list(each.hours)} for each in found.left],
        "promises": [
            {
                "class": each.class_name,
                "metric": each.metric,
                "quantile": each.quantile,
                "limit_s": each.limit_s,
                "needed_s": None if each.needed_s is None else _round(each.needed_s),
                "then_per_month": None if each.then_usd is None else _money(plan, each.then_usd),
                "sentence": each.sentence,
            }
            for each in found.gives
        ],
        "promises_examined": found.examined,
        "too_long": [_too_long_json(each) for each in found.too_long],
    }


def _too_long_json(found: TooLong) -> dict[str, Any]:
    values = asdict(found)
    return {"class": values.pop("class_name"), **values, "sentence": found.sentence}


def _rows(table: Table) -> list[dict[str, Any]]:
    names = [column.name for column in table.columns]
    return [{name: _round(value) for name, value in zip(names, row, strict=True)} for row in table.rows]


def _round(value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _money(plan: Plan, usd: float) -> float:
    return round(cents_of(plan, usd)) / 100


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
