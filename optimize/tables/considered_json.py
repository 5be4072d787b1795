"""Candidates that were not bought, under `considered` of plan.json: what `explain --why-not` answers from."""

from __future__ import annotations

import math
from typing import Any

from optimize.explain.considered import considered
from optimize.money.units import to_currency
from optimize.result import Plan

MONEY = {"per_1000": "per_1000_requests", "marginal": "marginal_per_1000_requests"}


def considered_json(plan: Plan) -> list[dict[str, Any]]:
    """A row per pool and relay that gets nothing; costs per 1,000 requests in the scenario's currency, prices in USD as listed."""
    rows = []
    for each in considered(plan):
        row: dict[str, Any] = {name: getattr(each, name) for name in each.__dataclass_fields__}
        for name, key in MONEY.items():
            usd = row.pop(name)
            row[key] = None if usd is None else _rounded(to_currency(usd, plan.usd_per_unit))
        row["class"] = row.pop("class_name")
        row["enters_at"] = None if row["enters_at"] is None else _rounded(row["enters_at"])
        rows.append(row | {"price": _rounded(row["price"]), "late": list(row["late"])})
    return rows


def _rounded(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
