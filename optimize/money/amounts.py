"""Price x quantity, amount / quantity, and amounts and prices under a factor: what other rooms call instead of multiplying dollars.

Each function is one multiplication or division, in the order written, so that a figure does not depend on who asks for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import overload

import numpy as np

from optimize.money.units import HOUR_S, HOURS_PER_MONTH
from optimize.records import Floats, PoolOption, PoolTerms, RelayTerms
from sim.catalog.facts import Offer


@overload
def amount_usd(usd_per_unit: float, units: float) -> float: ...
@overload
def amount_usd(usd_per_unit: Floats, units: Floats | float) -> Floats: ...
@overload
def amount_usd(usd_per_unit: Floats | float, units: Floats) -> Floats: ...
def amount_usd(usd_per_unit: Floats | float, units: Floats | float) -> Floats | float:
    """What so many units cost.

    >>> amount_usd(2.0, 730.0)
    1460.0
    """
    return usd_per_unit * units


@overload
def per_unit_usd(usd: float, units: float) -> float: ...
@overload
def per_unit_usd(usd: Floats, units: Floats | float) -> Floats: ...
def per_unit_usd(usd: Floats | float, units: Floats | float) -> Floats | float:
    """What one of so many units costs.

    >>> per_unit_usd(10.0, 4.0)
    2.5
    """
    return usd / units


def scaled_usd(usd: float, *factors: float) -> float:
    """An amount or price under factors: a discount, a drift, a share.

    >>> scaled_usd(100.0, 0.75)
    75.0
    """
    for factor in factors:
        usd = usd * factor
    return usd


def share_of(part: float, whole: float) -> float:
    """The part of an amount, 0..1; 0 of nothing.

    >>> share_of(25.0, 100.0), share_of(1.0, 0.0)
    (0.25, 0.0)
    """
    return part / whole if whole > 0 else 0.0


def month_usd(usd_per_hour: float) -> float:
    """A month of 730 hours at a price by the hour."""
    return usd_per_hour * HOURS_PER_MONTH


def gpu_hour_usd(offer: Offer) -> float:
    """An hour of one GPU of a host."""
    return offer.usd_per_hour / offer.gpus


def replica_hour_usd(offer: Offer, replicas_per_host: int) -> float:
    """An hour of one replica of a host that is full."""
    return offer.usd_per_hour / replicas_per_host


def load_hour_usd(offer: Offer, replicas: float, replicas_per_host: int) -> float:
    """An hour of the part of hosts that so many replicas occupy."""
    return replicas * offer.usd_per_hour / replicas_per_host


def offer_at(offer: Offer, factor: float) -> Offer:
    """The offer at `factor` times its price."""
    return offer if factor == 1.0 else replace(offer, usd_per_hour=offer.usd_per_hour * factor)


def pool_at(terms: PoolTerms, factor: float) -> PoolTerms:
    """The pool with its offer at `factor` times its price."""
    return replace(terms, option=replace(terms.option, offer=offer_at(terms.option.offer, factor)))


def calls_at(terms: RelayTerms, factor: float) -> RelayTerms:
    """The relay with its requests at `factor` times their price; units and minimum payments stay."""
    return replace(terms, usd_per_request=terms.usd_per_request * factor)


def relay_at(terms: RelayTerms, factor: float) -> RelayTerms:
    """The relay with requests and provisioned units at `factor` times their price; minimum payments stay."""
    units = None if terms.units is None else replace(terms.units, usd_per_hour=terms.units.usd_per_hour * factor)
    return replace(calls_at(terms, factor), units=units)


def hours_of_load_usd(replica_s: Floats, option: PoolOption) -> Floats:
    """What so many replica-seconds cost on hosts of an option that are full."""
    return np.asarray(replica_s * option.offer.usd_per_hour / option.replicas_per_host / HOUR_S)


def load_usd(usd_per_hour: float, load: float, per_host: float) -> float:
    """What one request costs that occupies `load` replica-seconds of a host that carries `per_host` replicas."""
    return usd_per_hour * load / (per_host * HOUR_S)


def above_budget_cents(cents: float, budget_per_month: float) -> float:
    """Cents by which an amount lies above a monthly budget in whole units; negative below it.

    >>> above_budget_cents(32_850, 100.0)
    22850.0
    """
    return cents - 100 * budget_per_month
