"""What one request, conversation, million tokens or answer costs, idle hours included; and both meanings of utilisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimize.finance.own_or_rent import own_host
from optimize.money.amounts import amount_usd, per_unit_usd
from optimize.money.assumptions import finance_facts
from optimize.money.extras import answer_gigabytes, egress_usd, once_per_year_usd
from optimize.money.ownership import known, values_of
from optimize.money.power import host_draw_w, joule_per_answer
from optimize.money.quantities import billed_share, load_share, requests_of, tokens_per_month
from optimize.money.units import HOUR_S, MTOK
from optimize.result import Plan
from sim.exact import dot
from sim.scenario.scenario import SyntheticTraffic

BESIDE = "(not in the bill)"


@dataclass(frozen=True)
class UnitCost:
    """Money: what `line` of the bill costs (empty: all of it), `usd`, for each of `quantity` units. Else `value` of `unit`."""

    name: str
    unit: str
    how: str
    usd: float | None = None
    value: float | None = None
    quantity: float = 0.0
    line: str = ""


def _money(name: str, unit: str, how: str, usd: float, quantity: float, line: str = "") -> UnitCost:
    return UnitCost(name, unit, how, usd=per_unit_usd(usd, quantity) if quantity > 0 else 0.0, quantity=quantity, line=line)


def unit_costs(plan: Plan, total_usd: float) -> tuple[UnitCost, ...]:
    """Rows for a plan that costs `total_usd` a month; rows that need users, own pools or a known GPU are left out without them."""
    requests, (inputs, outputs) = requests_of(plan), tokens_per_month(plan)
    tokens = inputs + outputs
    rows = [
        _money("per request", "request", f"month / {requests:,.0f} requests", total_usd, requests),
        _money("per 1,000 requests", "1,000 requests", "month / requests in thousands", total_usd, requests / 1000),
        _money("per million tokens", "million tokens", "month / input and output tokens", total_usd, tokens / MTOK),
        _money("per million output tokens", "million output tokens", "month / output tokens", total_usd, outputs / MTOK),
    ]
    taken = plan.scenario.finance.requests_per_document
    if taken is not None:
        how = f"month / {requests / taken:,.0f} documents of {taken:g} requests"
        rows.append(_money("per document", "document", how, total_usd, requests / taken))
    traffic = plan.scenario.traffic
    if isinstance(traffic, SyntheticTraffic) and traffic.counted_in == "users":
        talks, users = requests / traffic.turns_per_conversation, traffic.daily_active_users
        how = f"month / {talks:,.0f} conversations"
        rows.insert(1, _money("per 1,000 conversations", "1,000 conversations", how, total_usd, talks / 1000))
        rows.append(_money("per daily user", "user and month", f"month / {users:,.0f} users", total_usd, users))
    for p, terms in enumerate(plan.program.pools):
        if plan.solution.billed[p].any():
            rows += _pool_rows(plan, p, terms.option.id)
    return (*rows, *_beside(plan, total_usd))


def _beside(plan: Plan, total_usd: float) -> list[UnitCost]:
    """What the bill does not hold but the scenario lets one price: egress of own pools' answers, and a one-off training."""
    finance, rows = plan.scenario.finance, []
    size = values_of(finance)["egress_bytes_per_output_token"].value
    if finance.egress_provider is not None and size is not None:
        tokens = float(dot(dot(plan.solution.pool_flow.sum(axis=0), plan.demand.weight_h) * HOUR_S, plan.demand.output_tokens))
        sent = answer_gigabytes(tokens, size)
        usd = egress_usd(sent, finance_facts().egress[finance.egress_provider])
        how = f"{sent:,.1f} GB of answers from pools at {finance.egress_provider}; not in the bill"
        rows.append(_money("egress a month", "month", how, usd, 1.0, BESIDE))
    if finance.training_usd:
        share = once_per_year_usd(finance.training_usd, total_usd)
        rows.append(UnitCost("training / a year of serving", "ratio", "one-off cost / twelve months of this bill", value=share))
    return rows


def _pool_rows(plan: Plan, p: int, name: str) -> list[UnitCost]:
    """Cost of a million tokens on the pool, both utilisations, and energy of an answer where the GPU's draw is known."""
    terms, weight_h = plan.program.pools[p], plan.demand.weight_h
    requests = dot(plan.solution.pool_flow[p], weight_h) * HOUR_S
    tokens = float(dot(requests, plan.demand.input_tokens + plan.demand.output_tokens))
    paid_h = float(dot(plan.solution.billed[p], weight_h))
    load, billed = load_share(plan, p), billed_share(plan, p)
    rows = [
        UnitCost(f"{name}: billed share of hours", "0..1", "utilisation, meaning 1: paid host-hours / (most hosts x 730 h)", value=billed),
        UnitCost(f"{name}: load of what is paid", "0..1", "utilisation, meaning 2: capacity that works / capacity paid", value=load),
    ]
    if tokens > 0:
        usd = amount_usd(terms.option.offer.usd_per_hour, paid_h)
        how = "paid host-hours, idle included / tokens served"
        rows.insert(0, _money(f"{name}: per million tokens", "million tokens", how, usd, tokens / MTOK, name))
    host, values = own_host(plan, terms), values_of(plan.scenario.finance)
    if host is not None and requests.any():
        draw = host_draw_w(host.gpus, host.tdp_w * known(values, "idle_share"), host.tdp_w, load, known(values, "host_power_factor"))
        joule = joule_per_answer(draw, known(values, "pue"), paid_h, float(np.sum(requests)))
        how = f"{draw:,.0f} W a host x PUE x paid hours / answers"
        rows.append(UnitCost(f"{name}: energy of an answer", "J", how, value=joule))
    return rows
