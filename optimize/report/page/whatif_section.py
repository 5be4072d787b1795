"""Live what-if on the page: sliders, the data that its script prices, and what it says before anything is moved."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape
from typing import Any

from optimize.finance.known_fleets import KnownFleet, known_fleets
from optimize.money.ownership import values_of
from optimize.money.quantities import Scaling, pool_work
from optimize.report.page.page_parts import dim
from optimize.result import Plan
from optimize.tables.bill_lines import SYMBOLS
from optimize.tables.finance_tables import Money
from optimize.tables.tables import used_pools, used_relays

TOLERANCE = 0.01  # of the cost: a fleet that is less than that cheaper is no better, for it was not simulated
RATE = 0.1  # a year, where the scenario states no cost of capital
PER_DOUBLING = 24  # positions of a slider
SLIDERS = (  # key, name, doublings to either side
    ("gpu", "price of GPU hosts", 2),
    ("api", "price of tokens", 2),
    ("demand", "requests", 3),
)
HOW = (
    "Prices follow the workbook's formulas: quantity times price. With demand, hosts follow the capacity that was measured, in whole "
    "hosts, and calls follow in proportion; the months ahead move likewise. Green below a slider: no fleet that was examined is more "
    "than 1 % cheaper than this one, or the budget pays for it. The other fleets were solved, not simulated; a decision at other "
    "prices deserves a new run."
)


def whatif_data(money: Money) -> dict[str, Any]:
    """What the page's script needs to price this fleet and its rivals at other inputs: plain numbers, in USD."""
    plan, horizon = money.plan, money.horizon
    finance, budget = plan.scenario.finance, plan.scenario.budget
    return {
        "currency": SYMBOLS.get(budget.currency, f"{budget.currency} "),
        "usd_per_unit": plan.usd_per_unit,
        "budget": budget.per_month if math.isfinite(budget.per_month) else None,
        "rate": default_rate(plan),
        "tolerance": TOLERANCE,
        "weight_h": plan.demand.weight_h.tolist(),
        "months": [[m.gpu_usd, m.relay_usd, m.fixed_usd, m.once_usd] for m in horizon.months],
        "credits": [finance.free_credits_usd, finance.free_credits_months],
        "fleets": [_fleet(fleet) for fleet in known_fleets(money.curves)],
    }


def default_rate(plan: Plan) -> float:
    """The cost of capital that the scenario states, else the low end of the usual range."""
    row = values_of(plan.scenario.finance)["cost_of_capital"]
    return next((rate for rate in (row.value, row.low) if rate is not None), RATE)


def _fleet(fleet: KnownFleet) -> dict[str, Any]:
    return {
        "name": fleet.name,
        "level": fleet.level,
        "fixed": fleet.fixed_usd,
        "looked": fleet.looked_usd,
        "parts": [{"made_for": made_for, **_part(part)} for part, made_for in fleet.parts],
    }


def _part(part: Scaling) -> dict[str, Any]:
    plan = part.plan
    return {
        "token": part.token_usd,
        "relay_rest": part.relay_rest_usd,
        "pool_rest": part.pool_rest_usd,
        "pools": [
            {
                "usd_per_hour": terms.option.offer.usd_per_hour,
                "elastic": terms.option.offer.elastic,
                "slope": max(terms.slope, 1e-12),
                "intercept": terms.intercept,
                "per_host": terms.option.replicas_per_host,
                "hosts": plan.solution.hosts[p].tolist(),
                "billed": plan.solution.billed[p].tolist(),
                "work": pool_work(terms, plan.solution.pool_flow[p]).tolist(),
            }
            for p, terms in ((p, plan.program.pools[p]) for p in used_pools(plan))
        ],
    }


def whatif_html(money: Money) -> str:
    """Sliders and the figures that follow them; without its script the section says so. Empty where nothing is bought."""
    plan = money.plan
    if not plan.lines or not (used_pools(plan) or used_relays(plan)):
        return ""
    data = whatif_data(money)
    bases = _bases(plan)
    sliders = "".join(_slider(key, name, str(span * PER_DOUBLING), bases.get(key, "")) for key, name, span in _moving(plan))
    if data["budget"] is not None:
        sliders += _slider("budget", "budget", str(2 * PER_DOUBLING), "")
    rate = round(1000 * data["rate"])
    sliders += (
        '<div class=slider><label for="at-rate">discount rate</label>'
        f'<input type=range id="at-rate" min=0 max=300 step=1 value={rate} data-start={rate}><i></i>'
        '<output for="at-rate" id="said-rate"></output></div>'
    )
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        "<p class=noscript>The sliders need the page's script, which this reader does not run.</p>"
        f"<div id=whatif hidden><div class=sliders>{sliders}</div><div id=answer aria-live=polite></div>"
        "<p><button type=button id=again>Back to today</button></p></div>"
        f'<script type="application/json" id=whatif-data>{text}</script>{dim(HOW)}'
    )


def _moving(plan: Plan) -> Iterable[tuple[str, str, int]]:
    """The sliders that change anything: those of hosts and tokens where such are candidates."""
    for key, name, span in SLIDERS:
        if (key == "gpu" and not plan.program.pools) or (key == "api" and not plan.program.relays):
            continue
        yield key, name, span


def _slider(key: str, name: str, ends: str, base: str) -> str:
    return (
        f'<div class=slider><label for="at-{key}">{escape(name)}</label>'
        f'<input type=range id="at-{key}" min=-{ends} max={ends} step=1 value=0 data-start=0 data-base="{escape(base)}"><i class=shade></i>'
        f'<output for="at-{key}" id="said-{key}"></output></div>'
    )


def _bases(plan: Plan) -> dict[str, str]:
    """Today's price that a slider moves, where one price says it: that of the offer, and of the model's answers, that cost most."""
    found = {}
    lines = sorted(plan.lines, key=lambda line: -line.per_month_usd)
    offers = {terms.option.id: terms.option.offer for terms in plan.program.pools}
    relays = {terms.relay.id: terms.relay for terms in plan.program.relays}
    offer = next((offers[line.name] for line in lines if line.name in offers), None)
    relay = next((relays[line.name] for line in lines if line.name in relays), None)
    if offer is not None:
        found["gpu"] = f"{offer.usd_per_hour:g}|an hour of {offer.id}"
    if relay is not None:
        found["api"] = f"{relay.usd_per_mtok_output:g}|per million output tokens of {relay.model}"
    return found
