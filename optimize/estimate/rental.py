"""What GPU-hours cost at each offer of the catalogue; every amount by the formulas of `optimize.money`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optimize.money import hosts_usd, to_currency
from optimize.money.amounts import amount_usd, gpu_hour_usd, load_hour_usd
from sim.catalog.facts import Catalog, Offer

ON_DEMAND = ("on_demand",)
HOURLY = ("on_demand", "spot")
FOR_A_YEAR = ("on_demand", "reserved_1y")


@dataclass(frozen=True)
class Rental:
    """Hosts of one offer for a span of time; amounts by currency, low and high."""

    offer: str
    gpu: str
    term: str
    hosts: int
    gpus: int  # that are paid: whole hosts
    usd_per_gpu_hour: float
    usd: tuple[float, float]
    by_currency: dict[str, tuple[float, float]]


def rentals(catalog: Catalog, gpu: str, gpus: int, hours: tuple[float, float]) -> tuple[Rental, ...]:
    """The price of `gpus` GPUs for `hours` (low, high) at each offer of that card, cheapest first; whole hosts are paid.

    Only what is sold by the hour: on demand and spot. Reserved and owned hosts are paid by the year.
    """
    sold = [offer for offer in catalog.offers.values() if offer.gpu == gpu and offer.term in HOURLY and offer.grade != "claimed"]
    found = [_rental(catalog, offer, gpus, hours) for offer in sold]
    return tuple(sorted(found, key=lambda rental: (rental.usd, rental.offer)))


def _rental(catalog: Catalog, offer: Offer, gpus: int, hours: tuple[float, float]) -> Rental:
    hosts = math.ceil(gpus / offer.gpus)
    low, high = (hosts_usd(np.array([hosts]), np.array([span]), offer.usd_per_hour) for span in hours)
    return Rental(
        offer=offer.id,
        gpu=offer.gpu,
        term=offer.term,
        hosts=hosts,
        gpus=hosts * offer.gpus,
        usd_per_gpu_hour=gpu_hour_usd(offer),
        usd=(low, high),
        by_currency={name: (to_currency(low, rate), to_currency(high, rate)) for name, rate in sorted(catalog.fx_usd.items())},
    )


def cheapest_host(catalog: Catalog, gpu: str, tensor_parallel: int = 1) -> tuple[Offer, float] | None:
    """The on-demand offer that sells a group of `tensor_parallel` such cards in one host cheapest, and USD per hour of the group.

    The group's share of the host: hosts are rented whole, see `cheapest_hosts`. None when none is for sale.
    """
    priced = [(load_hour_usd(o, tensor_parallel, o.gpus), o.id, o) for o in sellers(catalog, gpu, tensor_parallel)]
    if not priced:
        return None
    usd, _, offer = min(priced, key=lambda entry: entry[:2])
    return offer, usd


def cheapest_hosts(
    catalog: Catalog, gpu: str, tensor_parallel: int, replicas: int, terms: tuple[str, ...] = ON_DEMAND
) -> tuple[Offer, int, float] | None:
    """The offer of these terms that holds `replicas` groups in whole hosts cheapest, how many hosts, and USD per hour of them all."""
    counted = [(o, math.ceil(replicas / (o.gpus // tensor_parallel))) for o in sellers(catalog, gpu, tensor_parallel, terms)]
    if not counted:
        return None
    offer, hosts = min(counted, key=lambda entry: (amount_usd(entry[0].usd_per_hour, entry[1]), entry[0].id))
    return offer, hosts, amount_usd(offer.usd_per_hour, hosts)


def sellers(catalog: Catalog, gpu: str, tensor_parallel: int, terms: tuple[str, ...] = ON_DEMAND) -> list[Offer]:
    """Offers of these terms of which a host divides into groups of that size. Serving never counts on spot: a host can be lost."""
    offers = [o for o in catalog.offers.values() if o.gpu == gpu and o.term in terms and o.grade != "claimed"]
    return [o for o in offers if o.gpus % tensor_parallel == 0]
