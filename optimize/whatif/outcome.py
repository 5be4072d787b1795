"""A plan as one row of plain values: what a point of a what-if keeps of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from optimize.finance.pure_strategies import Strategy, all_api, self_hosted
from optimize.records import SloVerdict
from optimize.result import Plan
from optimize.tables.bill_lines import Bill, bill_of, cents_of
from optimize.tables.columns import Column, Table, Value
from optimize.tables.tables import used_pools, used_relays
from optimize.whatif.study import Axis, Outcome, Point
from sim.exact import dot

Row = dict[str, Any]


def row_of(plan: Plan) -> Row:
    """The columns of `table.POINT` for `plan`. Money in the scenario's currency, to the cent; shares of all requests of a month."""
    bill = bill_of(plan)
    parts = {kind: sum(cents for line, cents in zip(plan.lines, bill.lines, strict=True) if line.kind == kind) for kind in ("gpu", "relay")}
    own, relayed, unserved = shares(plan)
    weakest = tightest(plan)
    return {
        "status": plan.status,
        "per_month": bill.total / 100,
        "gpu_per_month": parts["gpu"] / 100,
        "relay_per_month": parts["relay"] / 100,
        "budget": plan.scenario.budget.per_month,
        "requests_per_month": rounded(float(dot(plan.demand.mean_rps.sum(axis=0), plan.demand.weight_h)) * 3600),
        "relay_share": relayed,
        "own_share": own,
        "unserved_share": unserved,
        "answer": answer_words(plan, own, relayed),
        "gpus_peak": gpus_peak(plan),
        "margin": None if weakest is None else rounded(weakest.attainment - weakest.row.quantile),
        "tightest": "" if weakest is None else promise_words(plan, weakest),
        "fleet": "; ".join(pool_words(plan, p) for p in used_pools(plan)),
        "relays": "; ".join(plan.program.relays[a].relay.id for a in used_relays(plan)),
        "lower_bound": money(plan, plan.solution.model_bound_usd),
        **strategies(plan, bill),
        "requests_simulated": plan.verification.requests_simulated if plan.verification else 0,
        "note": next((text for text in plan.warnings if "cheapest plan that serves everything" in text or "at any budget" in text), ""),
    }


def no_row(status: str, note: str) -> Row:
    """The row of a point that came to no plan, and why."""
    return {"status": status, "note": note}


def shares(plan: Plan) -> tuple[float, float, float]:
    """Parts of the requests of a month on own GPUs, at relays, and unserved."""
    weight_h = plan.demand.weight_h
    parts = [float(dot(flow.sum(axis=(0, 1)), weight_h)) for flow in (plan.solution.pool_flow, plan.solution.relay_flow)]
    left = float(dot(plan.solution.unserved.sum(axis=0), weight_h))
    total = max(sum(parts) + left, 1e-300)
    own, relayed, unserved = (round(part / total, 6) for part in (*parts, left))
    return own, relayed, unserved


def answer_words(plan: Plan, own: float, relayed: float) -> str:
    """The plan in a few words: GPUs by type, least to most, and the part of the requests that relays serve."""
    hosts: dict[str, Any] = {}
    for p in used_pools(plan):
        offer = plan.program.pools[p].option.offer
        hosts[offer.gpu] = hosts.get(offer.gpu, 0) + plan.solution.hosts[p] * offer.gpus
    ends = [(gpu, int(n.min()), int(n.max())) for gpu, n in sorted(hosts.items())]
    words = [f"{low} {gpu}" if low == high else f"{low}-{high} {gpu}" for gpu, low, high in ends]
    if relayed > 0:
        words.append("relays" if own == 0 else f"relays {100 * relayed:.0f} %")
    return " + ".join(words)


def gpus_peak(plan: Plan) -> int:
    """GPUs that run in the busiest hour."""
    gpus = np.zeros(len(plan.demand.slices), np.int64)
    for p in used_pools(plan):
        gpus += plan.solution.hosts[p] * plan.program.pools[p].option.offer.gpus
    return int(gpus.max(initial=0))


def pool_words(plan: Plan, p: int) -> str:
    """Offer, model, format and replicas of a pool: `aws.g6e.xlarge/llama-3.1-8b/fp8:chat x 2-5`."""
    option = plan.program.pools[p].option
    replicas = plan.solution.hosts[p] * option.replicas_per_host
    low, high = int(replicas.min()), int(replicas.max())
    return f"{option.id} x {low}" if low == high else f"{option.id} x {low}-{high}"


def tightest(plan: Plan) -> SloVerdict | None:
    """The promise with least room between attainment and quantile."""
    verdicts = plan.verification.verdicts if plan.verification else ()
    return min(verdicts, key=lambda v: v.attainment - v.row.quantile, default=None)


def promise_words(plan: Plan, verdict: SloVerdict) -> str:
    """Class, metric, quantile and hour of a promise."""
    row = verdict.row
    return f"{plan.program.class_names[row.class_index]} {row.metric} p{row.quantile * 100:g} at {verdict.hour}"


def strategies(plan: Plan, bill: Bill) -> Row:
    """What relays alone and own GPUs alone would cost: whole hosts by hour at the capacities known to this plan, not solved again.

    Where the plan is itself one of the two, its own bill stands there. `own_only_measured` is false where the pools of own GPUs were
    not measured: the figure is then an estimate.
    """
    own, relayed, _ = shares(plan)
    api, hosted = all_api(plan), cheapest_own(plan)
    relays_only = money(plan, api.at(1.0)) if isinstance(api, Strategy) else None
    own_only = None if hosted is None else money(plan, hosted.at(1.0))
    measured = hosted is not None and hosted.measured
    if plan.status == "met" and relayed == 1.0:
        relays_only = bill.total / 100
    if plan.status == "met" and own == 1.0:
        own_only, measured = bill.total / 100, True
    return {"relays_only": relays_only, "own_only": own_only, "own_only_measured": measured}


def cheapest_own(plan: Plan) -> Strategy | None:
    """Own GPUs for every class that they can serve: each class on its best pool, or all on one pool, whichever whole hosts cost less."""
    best = self_hosted(plan)
    if not isinstance(best, Strategy):
        return None
    classes = tuple(sorted(c for _, mine in best.pools for c in mine))
    found = [best]
    for p, terms in enumerate(plan.program.pools):
        if set(classes) <= set(terms.option.classes) and all(math.isfinite(terms.levels[0].load[c]) for c in classes):
            found.append(Strategy(plan, ((p, classes),), best.relays, measured=terms.measured))
    return min(found, key=lambda each: each.at(1.0))


def money(plan: Plan, usd: float) -> float | None:
    """USD as the scenario's currency, to the cent; None for infinity."""
    return round(cents_of(plan, usd)) / 100 if math.isfinite(usd) else None


def rounded(value: float) -> float:
    """Nine significant digits: what a table holds.

    >>> rounded(1 / 3)
    0.333333333
    """
    return float(f"{value:.9g}")


POINT = (
    Column("status", "str", "", "met, missed, over_budget, infeasible or unverified; bad_input or failed: no plan, see note"),
    Column("per_month", "float", "money", "cost of a month of 730 h"),
    Column("gpu_per_month", "float", "money", "part of it for own GPUs"),
    Column("relay_per_month", "float", "money", "part of it for relays"),
    Column("budget", "float", "money", "what may be spent"),
    Column("requests_per_month", "float", "requests", "demand of a month"),
    Column("own_share", "float", "share", "part of the requests served by own GPUs"),
    Column("relay_share", "float", "share", "part of the requests served by relays"),
    Column("unserved_share", "float", "share", "part of the requests that is not served inside SLO and budget"),
    Column("answer", "str", "", "GPUs by type, least to most, and the part that relays serve"),
    Column("gpus_peak", "int", "GPUs", "GPUs that run in the busiest hour"),
    Column("margin", "float", "share", "attainment minus quantile of the tightest promise; negative: missed"),
    Column("tightest", "str", "", "the promise with the least margin, and its hour"),
    Column("relays_only", "float", "money", "cost of the cheapest relay per class; empty where a class has none. Not solved again"),
    Column("own_only", "float", "money", "cost of own GPUs for every class that they can serve, relays for the rest. Not solved again"),
    Column("own_only_measured", "bool", "", "false: own_only is an estimate, its pools were not measured"),
    Column("lower_bound", "float", "money", "no plan of the program costs less"),
    Column("fleet", "str", "", "own pools and their replicas, least to most"),
    Column("relays", "str", "", "relays that are used"),
    Column("requests_simulated", "int", "requests", "requests in the verification"),
    Column("note", "str", "", "why there is no plan, or what it would take"),
)


def axis_column(axis: Axis, labels: Sequence[str | float]) -> Column:
    """The column of an input: numbers where all its values are."""
    numeric = all(isinstance(label, int | float) for label in labels)
    return Column(axis.key, "float" if numeric else "str", "", "varied input")


def point_table(axes: Sequence[Axis], points: Sequence[Point], outcomes: Sequence[Outcome | None]) -> Table:
    """A row per finished point, in the order of the points; `point` counts from 1."""
    columns = [axis_column(axis, [point.levels[a].label for point in points]) for a, axis in enumerate(axes)]
    rows: list[tuple[Value, ...]] = []
    for k, (point, outcome) in enumerate(zip(points, outcomes, strict=True)):
        if outcome is None:
            continue
        labels = [level.label if column.dtype == "float" else str(level.label) for level, column in zip(point.levels, columns, strict=True)]
        rows.append((k + 1, *labels, *(outcome.row.get(column.name) for column in POINT)))
    number = Column("point", "int", "", "number of the point, from 1")
    return Table("points", "Points", (number, *columns, *POINT), tuple(rows))
