"""How many hosts to own over the whole fleet: the base load that runs in most hours, the rest rented by the hour."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimize.finance.own_or_rent import OWNED, own_host
from optimize.money.amounts import month_usd, share_of
from optimize.money.contracts import hosts_usd
from optimize.money.ownership import OwnHost, Values, owned_month, values_of
from optimize.money.quantities import pool_work
from optimize.records import Floats, Ints
from optimize.result import Plan
from sim.catalog.facts import Offer
from sim.exact import dot

STAFF = "staff_usd_per_month"


@dataclass(frozen=True)
class Need:
    """Hosts of one offer that run, over all its pools: `hosts` [slices]; `busy` [slices] share of them that works."""

    offer: Offer
    host: OwnHost
    hosts: Ints
    busy: Floats


@dataclass(frozen=True)
class Base:
    """What to own of one offer. Money a month, without staff.

    rent_usd      everything rented;  mixed_usd  `owned` hosts bought, the rest rented
    used_share    hours in which an owned host runs, of all
    breaks_even   share of the hours from which an own host costs less than a rented one; above 1: never
    """

    offer: str
    most: int
    owned: int
    rent_usd: float
    mixed_usd: float
    used_share: float
    breaks_even: float


@dataclass(frozen=True)
class OwnedFleet:
    """The decision over the fleet; `staff_usd` is paid once if anything is owned, None while it is open.

    `open` names the parts of owning that have no figure: what is saved must pay for them.
    """

    bases: tuple[Base, ...]
    staff_usd: float | None
    open: tuple[str, ...]

    @property
    def rent_usd(self) -> float:
        return math.fsum(base.rent_usd for base in self.bases)

    @property
    def best_usd(self) -> float:
        """The cheapest mix of own and rented hosts, known staff included."""
        mixed = math.fsum(base.mixed_usd for base in self.bases)
        return mixed + (self.staff_usd or 0.0) if any(base.owned for base in self.bases) else mixed

    def sentences(self) -> tuple[str, ...]:
        """For people."""
        words = []
        for base in self.bases:
            runs = f", which run in {base.used_share:.0%} of the hours" if base.owned else ""
            edge = f"an own host costs less than a rented one where it runs in {base.breaks_even:.0%} of the hours or more"
            words.append(f"{base.offer}: {edge}; of {base.most} hosts at the peak, own {base.owned}{runs}")
        owned = sum(base.owned for base in self.bases)
        if owned:
            parts = " and ".join(filter(None, (", ".join(self.open[:-1]), *self.open[-1:])))
            left = f"; what is saved must pay {parts}, which are open and not zero" if parts else ""
            cost = f"${self.best_usd:,.0f} a month against ${self.rent_usd:,.0f} for rent alone"
            words.append(f"whole fleet: own {owned} {'host' if owned == 1 else 'hosts'}, rent the peak: {cost}{left}")
        elif self.bases:
            words.append(f"whole fleet: rent everything, ${self.rent_usd:,.0f} a month; no number of own hosts is cheaper")
        return tuple(words)


def owned_fleet(plan: Plan) -> OwnedFleet:
    """For each rented offer of the plan, the number of own hosts of least cost; all pools of an offer share its own hosts.

    Every number from none to the peak is tried. Staff, where it is given, is paid once for the fleet and must be saved too. An owned host
    is paid in every hour and takes load before rented ones do. Approximations: routing stays as planned, so hours that a relay could
    serve are rented; an own host can serve any pool of its offer in any hour.
    """
    values = values_of(plan.scenario.finance)
    staff, bare = values[STAFF].value, {**values}
    bare[STAFF] = type(values[STAFF])(**{**vars(values[STAFF]), "value": None})
    found = tuple(base_of(need, plan.demand.weight_h, bare) for need in needs(plan))
    saved = math.fsum(base.rent_usd - base.mixed_usd for base in found)
    if staff is not None and saved < staff:
        found = tuple(Base(b.offer, b.most, 0, b.rent_usd, b.rent_usd, 0.0, b.breaks_even) for b in found)
    missing = owned_month(needs(plan)[0].host, 1, 1.0, values).open if found else ()
    return OwnedFleet(found, staff, missing)


def needs(plan: Plan) -> list[Need]:
    """Rented offers that the plan uses and whose GPU has a purchase price."""
    hosts: dict[str, Ints] = {}
    work: dict[str, Floats] = {}
    hold: dict[str, tuple[Offer, OwnHost]] = {}
    for p, terms in enumerate(plan.program.pools):
        offer, billed = terms.option.offer, plan.solution.billed[p]
        bought = own_host(plan, terms)
        if offer.term == OWNED or not billed.any() or bought is None:
            continue
        replicas = pool_work(terms, plan.solution.pool_flow[p]) / terms.option.replicas_per_host
        hosts[offer.id] = hosts.get(offer.id, np.zeros_like(billed)) + billed
        work[offer.id] = work.get(offer.id, np.zeros(len(billed))) + replicas
        hold[offer.id] = (offer, bought)
    return [
        Need(offer, host, hosts[name], np.minimum(work[name] / np.maximum(hosts[name], 1), 1.0)) for name, (offer, host) in hold.items()
    ]


def base_of(need: Need, weight_h: Floats, values: Values) -> Base:
    """The number of own hosts of least cost, of equals the fewest."""
    most = int(need.hosts.max())
    costs: Mapping[int, float] = {n: mixed_usd(need, weight_h, values, n) for n in range(most + 1)}
    owned = min(costs, key=lambda n: (costs[n], n))
    busy = load_of(need, weight_h, 1)
    breaks_even = owned_month(need.host, 1, busy, values).known_usd
    rent = month_usd(need.offer.usd_per_hour)
    used = dot(np.minimum(need.hosts, owned).astype(np.float64), weight_h) / (owned * float(weight_h.sum())) if owned else 0.0
    share = share_of(breaks_even, rent) if rent > 0 else math.inf
    return Base(need.offer.id, most, owned, costs[0], costs[owned], float(used), share)


def mixed_usd(need: Need, weight_h: Floats, values: Values, owned: int) -> float:
    """A month of `owned` own hosts and rent for what runs beyond them."""
    rented = np.maximum(need.hosts - owned, 0)
    rent = hosts_usd(rented, weight_h, need.offer.usd_per_hour)
    return rent + (owned_month(need.host, owned, load_of(need, weight_h, owned), values).known_usd if owned else 0.0)


def load_of(need: Need, weight_h: Floats, owned: int) -> float:
    """Share of the capacity of so many own hosts that works, over all hours."""
    works = np.minimum(need.hosts, owned) * need.busy
    return float(dot(works, weight_h)) / (owned * float(weight_h.sum()))
