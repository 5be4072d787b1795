"""A plan as tables: the one form from which terminal, JSON, HTML, XLSX and CSV are made."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from optimize.money import HOUR_S
from optimize.money.all_in import all_in
from optimize.money.charges import cached_tokens
from optimize.program.rows.escalations import answered_shares
from optimize.records import SloVerdict
from optimize.result import Plan
from optimize.tables import columns
from optimize.tables.bill_lines import Bill, bill_of, cents_of
from optimize.tables.columns import Table, Value, table_of
from sim.engine.deployment import ENGINE_LIMITS
from sim.exact import dot

UNSERVED = "(unserved)"
LEAST_SHARE = 1e-9  # flows below this part of a class are solver dust


def all_tables(plan: Plan) -> tuple[Table, ...]:
    """Every table, in the order of columns.TABLES."""
    bill = bill_of(plan)
    return (
        cost_table(plan, bill),
        fleet_table(plan, bill),
        hours_table(plan),
        relay_table(plan, bill),
        flow_table(plan),
        slo_table(plan),
        latency_table(plan),
        alternatives_table(plan, bill),
        Table("flips", "Where the answer flips", columns.FLIPS, tuple(
            (flip.name, flip.today, flip.flips_at, flip.sentence) for flip in plan.flips
        )),
        Table("band", "Demand band", columns.BAND, tuple(
            (per_user, _units(cents_of(plan, usd))) for per_user, usd in plan.demand_band
        )),
        Table("dropped", "Candidates dropped", columns.DROPPED, tuple((d.name, d.reason) for d in plan.dropped)),
    )  # fmt: skip


def cost_table(plan: Plan, bill: Bill) -> Table:
    """One row per line of the bill; `per_month` sums to the total to the cent."""
    rows: Iterable[dict[str, Value]] = (
        {
            "name": line.name,
            "kind": line.kind,
            "per_month": cents / 100,
            "share": cents / bill.total if bill.total else 0.0,
            "detail": line.detail,
        }
        for line, cents in zip(plan.lines, bill.lines, strict=True)
    )
    return table_of("cost", "Monthly cost", columns.COST, rows)


def fleet_table(plan: Plan, bill: Bill) -> Table:
    """One row per pool that runs or is paid."""
    rows: list[dict[str, Value]] = []
    for p in used_pools(plan):
        option, shape = plan.program.pools[p].option, plan.program.pools[p].option.deployment
        replicas = plan.solution.hosts[p] * option.replicas_per_host
        rows.append(
            {
                "pool": option.id,
                "offer": option.offer.id,
                "gpu": option.offer.gpu,
                "model": shape.model.id if shape else "",
                "weights": shape.weights.id if shape else "",
                "tensor_parallel": shape.tensor_parallel if shape else 1,
                "kv_format": shape.kv_format if shape else "",
                **{name: getattr(shape.limits, name) if shape else None for name in ENGINE_LIMITS},
                "term": option.offer.term,
                "base": int(replicas.min()),
                "peak": int(replicas.max()),
                "host_hours": float(dot(plan.solution.billed[p], plan.demand.weight_h)),
                "per_month": bill.pools[p] / 100,
            }
        )
    return table_of("fleet", "Fleet", columns.FLEET, rows)


def hours_table(plan: Plan) -> Table:
    """One row per hour slice and target that is used in any hour."""
    rows: list[dict[str, Value]] = []
    for t, hour in enumerate(plan.demand.slices):
        when: dict[str, Value] = {"hour": hour, "weight_h": float(plan.demand.weight_h[t])}
        for p in used_pools(plan):
            option, hosts = plan.program.pools[p].option, int(plan.solution.hosts[p, t])
            rate_rps = float(plan.solution.pool_flow[p, :, t].sum())
            replicas = hosts * option.replicas_per_host
            rows.append({**when, "target": option.id, "kind": "gpu", "hosts": hosts, "replicas": replicas, "rate_rps": rate_rps})
        for a in used_relays(plan):
            rate_rps = float(plan.solution.relay_flow[a, :, t].sum())
            target = plan.program.relays[a].relay.id
            rows.append({**when, "target": target, "kind": "relay", "hosts": 0, "replicas": 0, "rate_rps": rate_rps})
    return table_of("hours", "Fleet by hour", columns.HOURS, rows)


def relay_table(plan: Plan, bill: Bill) -> Table:
    """One row per relay that gets requests; the peak minute is the busiest hour's mean times the peak factor."""
    rows: list[dict[str, Value]] = []
    demand = plan.demand
    for a in used_relays(plan):
        terms, flow = plan.program.relays[a], plan.solution.relay_flow[a]
        requests = dot(flow, demand.weight_h) * HOUR_S
        minute = demand.peak_factor * 60
        inputs, outputs = terms.tokens(demand)
        rows.append(
            {
                "relay": terms.relay.id,
                "model": terms.relay.model,
                "requests_per_month": float(requests.sum()),
                "input_tokens": float(dot(requests, inputs)),
                "cached_tokens": float(dot(requests, cached_tokens(plan.program, terms))),
                "output_tokens": float(dot(requests, outputs)),
                "peak_rpm": float(flow.sum(axis=0).max() * minute),
                "peak_tpm": float(dot(np.nan_to_num(terms.tokens_per_request), flow).max() * minute),
                "per_month": bill.relays[a] / 100,
            }
        )
    return table_of("relays", "Relays", columns.RELAYS, rows)


def flow_table(plan: Plan) -> Table:
    """Whose answers count in which class, largest share first; unserved demand is a row of its own."""
    own, remote = answered_shares(plan.program)
    rows: list[dict[str, Value]] = []
    month_s = plan.demand.weight_h * HOUR_S
    for c, name in enumerate(plan.program.class_names):
        total = float(dot(plan.demand.mean_rps[c], month_s))
        to = {plan.program.pools[p].option.id: plan.solution.pool_flow[p, c] * own[p, c] for p in used_pools(plan)}
        to |= {plan.program.relays[a].relay.id: plan.solution.relay_flow[a, c] * remote[a, c] for a in used_relays(plan)}
        to[UNSERVED] = plan.solution.unserved[c]
        sent = sorted(((float(dot(flow, month_s)), target) for target, flow in to.items()), key=lambda x: (-x[0], x[1]))
        rows += [
            {"class": name, "target": target, "requests_per_month": requests, "share": requests / total}
            for requests, target in sent
            if requests > LEAST_SHARE * total
        ]
    return table_of("flows", "Who serves what", columns.FLOWS, rows)


def slo_table(plan: Plan) -> Table:
    """One row per promise, in the hour that is worst for it; empty if the plan was not simulated."""
    verdicts = plan.verification.verdicts if plan.verification else ()
    rows: Iterable[dict[str, Value]] = (
        {
            "class": plan.program.class_names[v.row.class_index],
            "metric": v.row.metric,
            "quantile": v.row.quantile,
            "limit_s": v.row.limit_s,
            "simulated_s": v.simulated_s,
            "ci95_low_s": v.ci95_s[0],
            "ci95_high_s": v.ci95_s[1],
            "attainment": v.attainment,
            "requests": v.requests,
            "hour": v.hour,
            "met": v.met,
        }
        for v in verdicts
    )
    return table_of("slo", "Promises in simulation", columns.SLO, rows)


def drawn_verdicts(plan: Plan) -> tuple[SloVerdict, ...]:
    """Verdicts that have kept their distribution."""
    return tuple(v for v in (plan.verification.verdicts if plan.verification else ()) if v.distribution)


def latency_table(plan: Plan) -> Table:
    """A row per promise and cumulative share, in the hour that is worst for the promise."""
    rows = tuple(
        (plan.program.class_names[v.row.class_index], v.row.metric, v.hour, share, value_s, v.row.quantile, v.row.limit_s)
        for v in drawn_verdicts(plan)
        for share, value_s in v.distribution
    )
    return Table("latency", "Latency distributions", columns.LATENCY, rows)


def alternatives_table(plan: Plan, bill: Bill) -> Table:
    """The same question under restrictions, in the plan's order; `difference` is what the restriction costs."""
    rows: list[dict[str, Value]] = []
    whole = {row.name: None if row.open else _units(cents_of(plan, row.usd)) for row in all_in(plan)}
    for other in plan.alternatives:
        cents = None if other.per_month_usd is None else round(cents_of(plan, other.per_month_usd))
        cost = None if cents is None else cents / 100
        more = None if cents is None else (cents - bill.total) / 100
        money: dict[str, Value] = {"per_month": cost, "difference": more, "all_in": whole.get(other.name)}
        rows.append({"name": other.name, "status": other.status, **money, "simulated": other.verified, "note": other.note})
    return table_of("alternatives", "Instead of the plan", columns.ALTERNATIVES, rows)


def used_pools(plan: Plan) -> list[int]:
    """Indices of pools that run or are paid in any hour."""
    hosts, billed = plan.solution.hosts, plan.solution.billed
    return [p for p in range(len(plan.program.pools)) if hosts[p].any() or billed[p].any()]


def used_relays(plan: Plan) -> list[int]:
    """Indices of relays that get more than solver dust."""
    least = LEAST_SHARE * float(plan.demand.mean_rps.sum())
    flow = plan.solution.relay_flow
    return [a for a in range(len(plan.program.relays)) if flow[a].sum() > least]


def bought_names(plan: Plan) -> set[str]:
    """Ids of the offers and relays that the plan buys, provisioned units included."""
    units = plan.solution.relay_units
    relays = {*used_relays(plan), *(() if units is None else (a for a, each in enumerate(units) if each))}
    return {plan.program.pools[p].option.offer.id for p in used_pools(plan)} | {plan.program.relays[a].relay.id for a in relays}


def _units(cents: float) -> float | None:
    return round(cents) / 100 if math.isfinite(cents) else None
