"""Rent of hosts, by term."""

from __future__ import annotations

import numpy as np

from optimize.records import Floats, Ints


def hosts_usd(billed: Ints | Floats, weight_h: Floats, usd_per_hour: float) -> float:
    """Monthly cost of the hosts of one offer: paid host-hours times the price of an hour.

    `billed` [slices] hosts that are paid, `weight_h` [slices] hours a month of each slice. An elastic offer is paid for the hours in
    which a host runs; any other has the same count in every slice, so that 730 h are paid, idle ones included.

    >>> hosts_usd(np.array([2, 1]), np.array([365.0, 365.0]), 1.0)
    1095.0
    >>> hosts_usd(np.array([2, 2]), np.array([365.0, 365.0]), 1.0) == 2 * 730.0
    True
    """
    return float(np.asarray(billed, dtype=np.float64) @ weight_h) * usd_per_hour


def spot_hour_usd(usd_per_hour: float, availability: float, fallback_usd_per_hour: float) -> float:
    """Mean price of an hour that must be served: spot while there is some, the fallback offer else.

    >>> spot_hour_usd(1.0, 0.9, 3.0)
    1.2
    """
    return round(availability * usd_per_hour + (1 - availability) * fallback_usd_per_hour, 12)


def reservation_usd(hosts: float, usd_per_hour: float, term_months: int, used_months: float) -> tuple[float, float]:
    """(paid so far, still owed) of a reservation of `hosts` for `term_months`, after `used_months`: it is owed whether used or not.

    >>> reservation_usd(2, 1.0, 12, 3)
    (4380.0, 13140.0)
    """
    month = hosts * usd_per_hour * 730.0
    used = min(max(used_months, 0.0), term_months)
    return month * used, month * (term_months - used)


def reserve_instead_share(on_demand_usd_per_hour: float, reserved_usd_per_hour: float) -> float:
    """The share of hours of a month above which a reserved host is cheaper than one on demand; above 1 it never is.

    >>> reserve_instead_share(2.0, 1.2)
    0.6
    """
    return reserved_usd_per_hour / on_demand_usd_per_hour if on_demand_usd_per_hour > 0 else float("inf")
