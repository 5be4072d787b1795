"""What a monthly price does not say: egress, one-off costs, free credits, lead time and double running."""

from __future__ import annotations

import math
from collections.abc import Sequence

GB = 1e9


def egress_usd(gigabytes: float, tiers: Sequence[tuple[float, float]]) -> float:
    """Price of a month's egress; `tiers` are (up to GB, USD per GB) in rising order, each part of the volume at the price of its tier.

    >>> aws = ((100, 0.0), (10_000, 0.09), (50_000, 0.085), (150_000, 0.07), (math.inf, 0.05))
    >>> egress_usd(100, aws), round(egress_usd(101, aws), 4), egress_usd(10_000, aws), egress_usd(10_100, aws)
    (0.0, 0.09, 891.0, 899.5)
    """
    usd, below = 0.0, 0.0
    for upto, price in tiers:
        usd += max(0.0, min(gigabytes, upto) - below) * price
        below = upto
    return usd


def answer_gigabytes(output_tokens: float, bytes_per_token: float) -> float:
    """Gigabytes (1e9 bytes) that answers send; streaming wraps each token in an event of some hundred bytes.

    >>> answer_gigabytes(1e9, 200.0)
    200.0
    """
    return output_tokens * bytes_per_token / GB


def after_credits_usd(bills_usd: Sequence[float], credits_usd: float, expire_after_months: int | None = None) -> list[float]:
    """Bills after free credits, which pay the first bills until they are used up or expire.

    >>> after_credits_usd([100.0, 100.0, 100.0], 150.0), after_credits_usd([100.0, 100.0], 150.0, 1)
    ([0.0, 50.0, 100.0], [0.0, 100.0])
    """
    left, paid = credits_usd, []
    for month, bill in enumerate(bills_usd):
        used = min(left, bill) if expire_after_months is None or month < expire_after_months else 0.0
        left -= used
        paid.append(bill - used)
    return paid


def double_running_usd(rent_usd_per_month: float, months: float) -> float:
    """Rent that is paid for months in which it is not in a monthly comparison.

    >>> double_running_usd(1000.0, 4.0)
    4000.0
    """
    return rent_usd_per_month * months


def once_per_year_usd(once_usd: float, usd_per_month: float) -> float:
    """A one-off cost (migration, fine-tuning, training) as a multiple of a year of serving.

    >>> once_per_year_usd(12_000.0, 1000.0)
    1.0
    """
    return once_usd / (12 * usd_per_month) if usd_per_month > 0 else math.inf
