"""The money of a plan under `charges` and `finance` of plan.json."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from optimize.finance.announced_prices import leaves
from optimize.money.all_in import all_in
from optimize.money.price_evidence import state_of
from optimize.tables.finance_tables import Money, requests_by_line
from sim.catalog.facts import Offer, Relay

Json = dict[str, Any]


def number(value: float | None) -> float | None:
    """A plain float with nine significant digits; None where it is not finite."""
    return float(f"{float(value):.9g}") if value is not None and math.isfinite(value) else None


def charges_json(money: Money) -> list[Json]:
    """The charges of the bill; `per_month` of a line's charges sum to the line to the cent."""
    served = requests_by_line(money)
    return [
        {
            "line": charge.line,
            "kind": charge.kind,
            "source": charge.source,
            "item": charge.item,
            "quantity": charge.quantity,
            "unit": charge.unit,
            "usd_per_unit": charge.usd_per_unit,
            "per_month": cents / 100,
            "requests_per_month": number(served.get(charge.line)),
        }
        for charge, cents in zip(money.charges, money.cents, strict=True)
    ]


def contracts_json(money: Money) -> list[Json]:
    """The contract of every offer and relay that may be bought and has one: hash of its document, state on the first day."""
    on = money.prices.on
    bought = {price.name for price in money.prices.prices if price.used}
    rows: tuple[Offer | Relay, ...] = (*money.plan.scenario.offers, *money.plan.scenario.relays)
    return [
        {"name": row.id, **asdict(row.contract), "state": state_of(row.contract, on), "bought": row.id in bought}
        for row in rows
        if row.contract is not None
    ]


def finance_json(money: Money) -> Json:
    """The horizon in short, break-even, own or rent, and what the price book warns of."""
    seen, edge, u = money.horizon, money.break_even, money.units
    return {
        "start": seen.months[0].label,
        "horizon_months": len(seen.months),
        "usd_per_unit": money.plan.usd_per_unit,
        "first_month": u(seen.months[0].paid_usd),
        "last_month": u(seen.months[-1].paid_usd),
        "cumulative": u(seen.months[-1].cumulative_usd),
        "present_value": [{"cost_of_capital": rate, "value": u(usd)} for rate, usd in seen.present_usd.items() if rate is not None],
        "payback_months": number(seen.payback_months),
        "next_hosts": [{"pool": pool, "month": label, "hosts": then, "today": today} for pool, label, then, today in seen.next_hosts],
        "break_even": {
            "demand": number(edge.at),
            "relays_cheaper_at": number(edge.below),
            "low": number(edge.at_low),
            "high": number(edge.at_high),
            "error": number(edge.error),
            "all_in_demand": None if edge.all_in is None else number(edge.all_in[1]),
            "all_in_relays_cheaper_at": None if edge.all_in is None else number(edge.all_in[0]),
        },
        "own_or_rent": [
            {
                "pool": row.pool,
                "rent": u(row.rent_usd),
                "known": None if row.month is None else u(row.month.known_usd),
                "left": None if row.month is None else u(row.rent_usd - row.month.known_usd),
                "open": [] if row.month is None else list(row.month.open),
                "verdict": row.sentence,
            }
            for row in money.own
        ],
        "all_in": [
            {
                "name": row.name,
                "bare": u(row.bare_usd),
                "parts": [{"name": name, "per_month": u(usd)} for name, usd in row.parts],
                "open": list(row.open),
                "per_month": u(row.usd),
                "keeps_promises": row.kept,
            }
            for row in all_in(money.plan)
        ],
        "owned_fleet": {
            "rent": u(money.owned_fleet.rent_usd),
            "best": u(money.owned_fleet.best_usd),
            "offers": [
                {
                    "offer": base.offer,
                    "peak_hosts": base.most,
                    "own": base.owned,
                    "rent": u(base.rent_usd),
                    "cost": u(base.mixed_usd),
                    "used_share": number(base.used_share),
                    "breaks_even_at_share": number(base.breaks_even),
                }
                for base in money.owned_fleet.bases
            ],
            "sentences": list(money.owned_fleet.sentences()),
        },
        "contracts": contracts_json(money),
        "price_warnings": list(money.prices.warnings),
        "leaves_budget": [
            {"month": each.label, "per_month": u(each.per_month_usd), "because": list(each.words)} for each in leaves(money.plan)
        ],
        "notes": [*seen.notes, *edge.notes],
    }
