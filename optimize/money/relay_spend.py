"""What a part of a month costs at a relay, by the plan's own average per request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def spend_usd(entry: Mapping[str, Any], requests: float, usd_per_unit: float) -> float:
    """USD for `requests` at the relay of a plan's entry; `usd_per_unit` of the plan's currency.

    >>> spend_usd({"cost_per_month": 300.0, "requests_per_month": 1000.0}, 10.0, 1.5)
    4.5
    """
    per_month = float(entry["requests_per_month"])
    return float(entry["cost_per_month"]) * (requests / per_month) * usd_per_unit if per_month > 0 else 0.0
