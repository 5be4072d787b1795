"""What contracts add to the use of hosts and relays: spend tiers, minimum payments, provisioned units, starts of hosts."""

from __future__ import annotations

import numpy as np

from optimize.money.units import HOUR_S, HOURS_PER_MONTH
from optimize.records import BootTerms, Floats, Ints, PoolTerms, RelayTerms
from sim.exact import dot


def paid_request_usd(terms: RelayTerms, tier: int) -> Floats:
    """Price of a request at the tier bought (-1: list price): [classes], or [classes, slices] where the hour has a price."""
    factor = terms.tiers[tier].price_factor if tier >= 0 else 1.0
    usd: Floats = terms.usd_per_request * factor
    return usd if terms.hour_factors is None else np.asarray(usd[:, None] * terms.hour_factors)


def hour_factor(terms: RelayTerms, c: int, t: int) -> float:
    """What the price of a request of class `c` is multiplied with in slice `t`."""
    return 1.0 if terms.hour_factors is None else float(terms.hour_factors[c, t])


def slice_usd(terms: RelayTerms, t: int) -> Floats:
    """[classes] list price of a request in slice `t`."""
    return terms.usd_per_request if terms.hour_factors is None else np.asarray(terms.usd_per_request * terms.hour_factors[:, t])


def cheapest_and_dearest(terms: RelayTerms, c: int) -> tuple[float, float]:
    """Price of a request of class `c` in the cheapest and in the dearest slice."""
    usd, factors = float(terms.usd_per_request[c]), terms.hour_factors
    return (usd, usd) if factors is None else (usd * float(factors[c].min()), usd * float(factors[c].max()))


def least_payment_usd(terms: RelayTerms, tier: int) -> float:
    """What the account pays a month whatever it uses: its commitment, or what its tier asks for."""
    return max(terms.committed_usd, terms.tiers[tier].from_usd if tier >= 0 else 0.0)


def units_usd(terms: RelayTerms, units: int) -> float:
    """Monthly price of provisioned units."""
    return units * terms.units.usd_per_hour * HOURS_PER_MONTH if terms.units is not None else 0.0


def starts(hosts: Ints, boot: BootTerms) -> Ints:
    """[slices] hosts that start for each slice: those that did not run in the slice before.

    >>> starts(np.array([1, 3, 2]), BootTerms((2, 0, 1), np.ones(3)))
    array([0, 2, 0])
    """
    more: Ints = np.maximum(hosts - hosts[list(boot.previous)], 0)
    return more


def start_s(boot: BootTerms | None, terms: PoolTerms) -> float:
    """Seconds that each start of a host is paid beyond the hours that it serves: its boot, if that is charged, and how long it is held.

    A host that lingers goes within that time; all of it is paid (the safe side).
    """
    if boot is None or not terms.option.offer.elastic:
        return 0.0
    return (terms.option.offer.boot_s if boot.charged else 0.0) + terms.lead_s + terms.linger_s


def start_usd(boot: BootTerms | None, terms: PoolTerms) -> float:
    """What one start of a host of the pool costs beyond the hours that it serves."""
    return terms.option.offer.usd_per_hour * start_s(boot, terms) / HOUR_S


def starts_usd(hosts: Ints, boot: BootTerms, boot_s: float, usd_per_hour: float) -> float:
    """Monthly price of the time in which hosts of one pool boot: paid, and serving no request.

    >>> starts_usd(np.array([1, 3, 2]), BootTerms((2, 0, 1), np.full(3, 30.0)), 360.0, 2.0)
    12.0
    """
    return float(dot(starts(hosts, boot), boot.times)) * boot_s / HOUR_S * usd_per_hour


def hosts_usd(billed: Ints | Floats, weight_h: Floats, usd_per_hour: float) -> float:
    """Monthly cost of the hosts of one offer: paid host-hours times the price of an hour.

    `billed` [slices] hosts that are paid, `weight_h` [slices] hours a month of each slice. An elastic offer is paid for the hours in
    which a host runs; any other has the same count in every slice, so that 730 h are paid, idle ones included.

    >>> hosts_usd(np.array([2, 1]), np.array([365.0, 365.0]), 1.0)
    1095.0
    >>> hosts_usd(np.array([2, 2]), np.array([365.0, 365.0]), 1.0) == 2 * 730.0
    True
    """
    return float(dot(np.asarray(billed, dtype=np.float64), weight_h)) * usd_per_hour


def reservation_usd(hosts: float, usd_per_hour: float, term_months: int, used_months: float) -> tuple[float, float]:
    """(paid so far, still owed) of a reservation of `hosts` for `term_months`, after `used_months`: it is owed whether used or not.

    >>> reservation_usd(2, 1.0, 12, 3)
    (4380.0, 13140.0)
    """
    month = hosts * usd_per_hour * 730.0
    used = min(max(used_months, 0.0), term_months)
    return month * used, month * (term_months - used)
