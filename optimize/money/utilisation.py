"""The two things that people call utilisation, kept apart: which share of hours is billed, and which share of paid capacity works."""

from __future__ import annotations

import math

from optimize.money.units import HOUR_S, HOURS_PER_MONTH, MTOK


def always_on_usd(usd_per_hour: float, replicas: int = 1, hours: float = HOURS_PER_MONTH) -> float:
    """All hours are paid; how well they are used (meaning 2) changes the cost of a token, never the bill.

    >>> always_on_usd(5.0)
    3650.0
    """
    return usd_per_hour * hours * replicas


def capacity_mtok(tokens_per_s: float, load_share: float = 1.0, hours: float = HOURS_PER_MONTH) -> float:
    """Millions of tokens that a replica makes in `hours` when it works `load_share` of its rate (meaning 2).

    >>> round(capacity_mtok(2500.0, hours=729.6) / 1000, 2)
    6.57
    """
    return tokens_per_s * HOUR_S * hours * load_share / MTOK


def usd_per_mtok(usd_per_month: float, volume_mtok: float) -> float:
    """Cost of a million tokens on reservation-based cost: what is paid, idle included, over what is served.

    >>> usd_per_mtok(3650.0, 100.0)
    36.5
    """
    return usd_per_month / volume_mtok if volume_mtok > 0 else math.inf


def break_even_mtok(usd_per_month: float, api_usd_per_mtok: float) -> float:
    """Volume of a month at which a fixed bill equals the API's; above a replica's capacity it is not reachable with that replica.

    >>> round(break_even_mtok(320.0, 3.0), 1), round(break_even_mtok(3650.0, 0.45), 1)
    (106.7, 8111.1)
    """
    return usd_per_month / api_usd_per_mtok if api_usd_per_mtok > 0 else math.inf
