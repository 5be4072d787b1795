"""Hours of a month, currencies, and what a unit of prepaid credit costs."""

from __future__ import annotations

HOURS_PER_MONTH = 730.0
HOUR_S = 3600.0
MTOK = 1e6
MONTHS_PER_YEAR = 12
HOURS_PER_YEAR = HOURS_PER_MONTH * MONTHS_PER_YEAR


def to_currency(usd: float, usd_per_unit: float) -> float:
    """An amount of USD in a currency of which one unit costs `usd_per_unit` USD.

    >>> to_currency(120.0, 1.2)
    100.0
    """
    return usd / usd_per_unit


def to_usd(amount: float, usd_per_unit: float) -> float:
    """An amount of a currency in USD; the inverse of `to_currency`.

    >>> to_usd(100.0, 1.2)
    120.0
    """
    return amount * usd_per_unit


def credit_discount(units_per_credit: float, usd_per_unit: float) -> float:
    """The part of a dollar price that a credit rate saves, 0..1; it is a claim on the rate, not on the price.

    >>> round(credit_discount(1.0, 1 / 6.653), 4), credit_discount(1.0, 1.0)
    (0.8497, 0.0)
    """
    return 1.0 - units_per_credit * usd_per_unit
