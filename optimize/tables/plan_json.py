"""A plan as one JSON object, schema servemix.plan/1: plain numbers, rounded, the same bytes for the same plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optimize.market.serve_line import serve_command
from optimize.money import HOUR_S
from optimize.records import Flip, PlayedHour, SloVerdict
from optimize.result import Plan
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.confidence_words import confidence_json
from optimize.tables.considered_json import considered_json
from optimize.tables.decision_why import why_json
from optimize.tables.finance_json import charges_json, finance_json
from optimize.tables.finance_tables import Money
from optimize.tables.quality_table import quality_json
from optimize.tables.tables import UNSERVED, flow_table, relay_table, used_pools, used_relays
from optimize.tables.uncertainty_table import uncertainty_json
from sim.engine.deployment import ENGINE_LIMITS
from sim.exact import dot
from sim.scenario.scenario import SyntheticTraffic

SCHEMA = "servemix.plan/1"
NEVER_S = 1e9  # stands for infinity, which JSON lacks: the request was rejected, failed, or never ended
Json = dict[str, Any]


def _moved(plan: Plan) -> Json:
    """Batch work that waits for other hours; no key where none does."""
    traffic = plan.scenario.traffic
    moved = traffic.moved if isinstance(traffic, SyntheticTraffic) else ()
    names = [each.name for each in plan.scenario.request_classes]
    rows = [{"class": names[each.class_index], "wait_h": each.wait_h, "by_hour": [number(part) for part in each.parts]} for each in moved]
    return {"moved": rows} if rows else {}


def plan_json(plan: Plan, money: Money | None = None) -> Json:
    """The plan under the keys of the contract.

    Money is to the cent in the scenario's currency, and lines sum to `per_month` exactly.
    `classes[].slo` has one row per promise that was simulated and is empty otherwise; `classes[].promises` is always there.
    Seconds of 1e9 mean never. `by_hour` lists follow `hours`.
    `fleet`, `relays`, `routing` and `hours` together are what `simulate --plan` reads.
    """
    money = Money(plan) if money is None else money
    bill = money.bill
    return {
        "schema": SCHEMA,
        "scenario": plan.scenario.name,
        "scenario_digest": plan.scenario.digest,
        "seed": plan.scenario.seed,
        "catalog": {"date": plan.scenario.catalog.date, "digest": plan.scenario.catalog.digest},
        "status": plan.status,
        "cost": _cost(plan, bill),
        "charges": charges_json(money),
        "finance": finance_json(money),
        "hours": [
            {"hour": hour, "weight_h": number(plan.demand.weight_h[t]), "demand_rps": number(plan.demand.mean_rps[:, t].sum())}
            for t, hour in enumerate(plan.demand.slices)
        ],
        **_moved(plan),
        "fleet": [_pool(plan, bill, p) for p in used_pools(plan)],
        "relays": _relays(plan, bill),
        "classes": _classes(plan),
        "routing": _routing(plan),
        "quality": quality_json(plan),
        "alternatives": [
            {
                "name": other.name,
                "status": other.status,
                "per_month": None if other.per_month_usd is None else _money(plan, other.per_month_usd),
                "simulated": other.verified,
                "note": other.note,
            }
            for other in plan.alternatives
        ],
        "flips": [_flip(flip) for flip in plan.flips],
        "demand_band": [{"requests_per_user_day": number(per_user), "per_month": _money(plan, usd)} for per_user, usd in plan.demand_band],
        "binding": list(plan.binding),
        "why": why_json(plan),
        "verification": _verification(plan),
        "solver": {
            "name": plan.solution.solver,
            "status": plan.solution.status,
            "bound": _money(plan, plan.solution.model_bound_usd),
            "gap": number(plan.solution.gap),
        },
        "considered": considered_json(plan),
        "dropped": [{"name": dropped.name, "reason": dropped.reason} for dropped in plan.dropped],
        "uncertainty": uncertainty_json(plan.uncertainty),
        **({} if plan.chance is None else {"confidence": confidence_json(plan)}),
        "assumptions": list(plan.assumptions),
        "warnings": list(plan.warnings),
        "extra": dict(sorted(plan.extra.items())),
    }


def number(value: float) -> float | None:
    """A plain float with nine significant digits; None where it is not finite.

    >>> number(1 / 3), number(np.float64(218_000_000)), number(math.inf)
    (0.333333333, 218000000.0, None)
    """
    return float(f"{float(value):.9g}") if math.isfinite(value) else None


def seconds(value: float) -> float:
    """Seconds to the microsecond; NEVER_S for infinity."""
    return round(float(value), 6) if math.isfinite(value) else NEVER_S


def _money(plan: Plan, usd: float) -> float | None:
    return round(cents_of(plan, usd)) / 100 if math.isfinite(usd) else None


def lower_bound(plan: Plan, bill: Bill) -> float:
    """The program's bound to the cent, between 0 and the plan's cost: the removal of hosts that the program's safety margin
    asks for, and simulation does not, can undercut the bound.
    """
    bound = cents_of(plan, plan.solution.model_bound_usd)
    return min(bill.total, max(0, round(bound))) / 100 if math.isfinite(bound) else 0.0


def _cost(plan: Plan, bill: Bill) -> Json:
    bound, fluid = lower_bound(plan, bill), _money(plan, plan.fluid_bound_usd)
    total = bill.total / 100
    return {
        "currency": bill.currency,
        "per_month": total,
        "budget_per_month": number(plan.scenario.budget.per_month),
        "lines": [
            {"name": line.name, "kind": line.kind, "per_month": cents / 100, "detail": line.detail}
            for line, cents in zip(plan.lines, bill.lines, strict=True)
        ],
        "lower_bound_per_month": bound,
        "fluid_bound_per_month": fluid,
        "gap": number((total - bound) / total) if total > 0 else 0.0,
        "gap_parts": _gap_parts(plan),
    }


def _gap_parts(plan: Plan) -> Json | None:
    """What of the cost is due to reserve, whole hosts, small pools and the safety margin; null where there is no plan."""
    parts = plan.gap_parts
    if parts is None:
        return None
    names = ("reserve", "integrality", "pooling", "margin", "least")
    return {name: _money(plan, getattr(parts, f"{name}_usd")) for name in names}


def _pool(plan: Plan, bill: Bill, p: int) -> Json:
    terms, hosts = plan.program.pools[p], plan.solution.hosts[p]
    option = terms.option
    shape = option.deployment
    replicas = hosts * option.replicas_per_host
    return {
        "pool": option.id,
        "offer": option.offer.id,
        "gpu": option.offer.gpu,
        "model": shape.model.id if shape else None,
        "weights": shape.weights.id if shape else None,
        "tensor_parallel": shape.tensor_parallel if shape else 1,
        "kv_format": shape.kv_format if shape else None,
        "engine": {name: getattr(shape.limits, name) for name in ENGINE_LIMITS} if shape else None,
        "overflow": {"threshold": option.overflow.threshold, "to": option.overflow.relay} if option.overflow else None,
        "serve": serve_command(shape) if shape else None,
        "term": option.offer.term,
        "elastic": option.offer.elastic,
        "replicas_per_host": option.replicas_per_host,
        "replicas": {"base": int(replicas.min()), "peak": int(replicas.max()), "by_hour": replicas.tolist()},
        "hosts_by_hour": hosts.tolist(),
        "lead_s": number(terms.lead_s),
        "linger_s": number(terms.linger_s),
        "billed_hosts_by_hour": plan.solution.billed[p].tolist(),
        "cost_per_month": bill.pools[p] / 100,
    }


def _relays(plan: Plan, bill: Bill) -> list[Json]:
    table = relay_table(plan, bill)
    rows = []
    for a, row in zip(used_relays(plan), table.named(), strict=True):
        cell: Any = row
        relay = plan.program.relays[a].relay
        rows.append(
            {
                "relay": cell["relay"],
                "model": cell["model"],
                "requests_per_month": round(cell["requests_per_month"]),
                "tokens_per_month": {
                    "input": round(cell["input_tokens"]),
                    "cached": round(cell["cached_tokens"]),
                    "output": round(cell["output_tokens"]),
                },
                "peak_minute": {"requests": number(cell["peak_rpm"]), "tokens": number(cell["peak_tpm"])},
                "limits": {"rpm": relay.rpm, "tpm": relay.tpm},
                "limits_enforced": plan.program.relays[a].hard_limits,
                "cost_per_month": cell["per_month"],
            }
        )
    return rows


def _routing(plan: Plan) -> dict[str, dict[str, list[float | None]]]:
    """{class: {target: share of the class's requests by hour}} over targets that get any."""
    demand, answer = plan.demand.mean_rps, {}
    for c, name in enumerate(plan.program.class_names):
        to = {plan.program.pools[p].option.id: plan.solution.pool_flow[p, c] for p in used_pools(plan)}
        to |= {plan.program.relays[a].relay.id: plan.solution.relay_flow[a, c] for a in used_relays(plan)}
        shares = {target: np.divide(flow, demand[c], out=np.zeros_like(flow), where=demand[c] > 0) for target, flow in to.items()}
        answer[name] = {target: [number(x) for x in share] for target, share in shares.items() if share.any()}
    return answer


def _classes(plan: Plan) -> list[Json]:
    flows, rows = flow_table(plan).named(), []
    verdicts = plan.verification.verdicts if plan.verification else ()
    for c, name in enumerate(plan.program.class_names):
        served: dict[str, Any] = {str(row["target"]): number(float(row["share"] or 0)) for row in flows if row["class"] == name}
        unserved = served.pop(UNSERVED, 0.0)
        rows.append(
            {
                "name": name,
                "requests_per_month": round(float(dot(plan.demand.mean_rps[c], plan.demand.weight_h)) * HOUR_S),
                "served_by": served,
                "unserved_share": unserved,
                "promises": [
                    {"metric": row.metric, "quantile": row.quantile, "limit_s": row.limit_s}
                    for row in plan.program.slos
                    if row.class_index == c
                ],
                "slo": [_slo(verdict) for verdict in verdicts if verdict.row.class_index == c],
            }
        )
    return rows


def _slo(verdict: SloVerdict) -> Json:
    return {
        "metric": verdict.row.metric,
        "quantile": verdict.row.quantile,
        "limit_s": verdict.row.limit_s,
        "simulated_s": seconds(verdict.simulated_s),
        "ci95_s": [seconds(bound) for bound in verdict.ci95_s],
        "attainment": number(verdict.attainment),
        "attainment_ci95": [number(bound) for bound in verdict.attainment_ci95],
        "requests": verdict.requests,
        "hour": verdict.hour,
        "met": verdict.met,
        "distribution": [{"share": number(share), "latency_s": seconds(value_s)} for share, value_s in verdict.distribution],
    }


def _flip(flip: Flip) -> Json:
    flips_at = None if flip.flips_at is None else number(flip.flips_at)
    return {"name": flip.name, "today": number(flip.today), "flips_at": flips_at, "sentence": flip.sentence}


def _played(plan: Plan, hour: PlayedHour) -> Json:
    """An hour after the one before it: hosts that came or went, and what users felt in its first minutes and in all of it."""
    names = plan.program.class_names
    soon = {verdict.row: verdict for verdict in hour.soon}
    return {
        "before": hour.before,
        "hour": hour.hour,
        "hosts": [
            {"pool": m.pool, "before": m.before, "after": m.after, "lead_s": number(m.lead_s), "linger_s": number(m.linger_s)}
            for m in hour.moves
        ],
        "seeds": hour.seeds,
        "requests": hour.requests,
        "soon_s": number(hour.soon_s),
        "slo": [
            {
                "class": names[v.row.class_index],
                "metric": v.row.metric,
                "quantile": v.row.quantile,
                "limit_s": v.row.limit_s,
                "simulated_s": seconds(v.simulated_s),
                "attainment": number(v.attainment),
                "soon_simulated_s": seconds(soon[v.row].simulated_s) if v.row in soon else None,
                "soon_attainment": number(soon[v.row].attainment) if v.row in soon else None,
                "met": v.met,
            }
            for v in hour.verdicts
        ],
        "met": hour.met,
    }


def _verification(plan: Plan) -> Json:
    proof = plan.verification
    if proof is None:
        nothing = {"requests_simulated": 0, "by_event": 0, "events": 0, "changes_played": 0, "played": []}
        return {"seeds": [], "hours": [], **nothing, "rounds": plan.rounds, "met": None}
    return {
        "seeds": list(proof.seeds),
        "hours": list(proof.hours),
        "seeds_by_hour": list(proof.seeds_by_hour),
        "requests_simulated": proof.requests_simulated,
        "by_event": proof.by_event,
        "events": proof.events,
        "changes_played": sum(bool(each.moves) for each in proof.played),
        "played": [_played(plan, each) for each in proof.played],
        "rounds": plan.rounds,
        "met": proof.met,
    }
