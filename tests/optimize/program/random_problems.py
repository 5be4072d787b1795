"""Random small programs in which every constraint family appears."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from optimize.records import BootTerms, LoadLevel, PoolTerms, ProgramInput, RelayTerms, SloRow, SpendTier, SpotTerms, UnitTerms
from sim.catalog.facts import Offer
from tests.optimize.program.problems import offer, pool, problem, relay

SLOS = (SloRow(0, "ttft", 0.95, 1.0), SloRow(0, "tpot", 0.9, 0.05), SloRow(1, "ttft", 0.9, 2.0))
HOURS = (300.0, 250.0, 180.0)
FIXED_TERMS = ("reserved_1y", "reserved_3y", "owned")


def random_problem(seed: int) -> ProgramInput:
    """2-3 pools, 2 classes, 3 hours, up to 2 relays; each family of constraints is drawn on its own."""
    rng = np.random.default_rng(seed)
    rates = np.round(rng.uniform(0.4, 1.8, (2, 3)), 2)
    if rng.random() < 0.2:
        rates[rng.integers(2), rng.integers(3)] = 0.0
    pools = random_pools(rng)
    relays = [random_relay(rng, k) for k in range(int(rng.integers(0, 3)))]
    share = round(float(rng.uniform(0.2, 0.9)), 2) if rng.random() < 0.3 else 1.0
    given = problem(rates.tolist(), pools, relays, SLOS, share=share, n_plus_one=bool(rng.random() < 0.2), hours=HOURS)
    return replace(
        given,
        spot=SpotTerms(round(float(rng.uniform(0.3, 0.9)), 2), round(float(rng.uniform(0.6, 1.0)), 2)) if rng.random() < 0.6 else None,
        vendor_shares={"*": 0.7, "v0": round(float(rng.uniform(0.1, 0.6)), 2)} if rng.random() < 0.25 else {},
        relay_outage_reserve=bool(rng.random() < 0.2),
        boot=BootTerms((2, 0, 1), np.array([30.0, 60.0, 90.0])) if rng.random() < 0.3 else None,
    )


def random_misses(rng: np.random.Generator) -> list[float]:
    """Miss shares of the three promises, many of them zero."""
    return [float(m) for m in np.round(rng.uniform(0, 0.15, 3) * (rng.random(3) < 0.6), 3)]


def random_pools(rng: np.random.Generator) -> list[PoolTerms]:
    """2-3 pools; some share an offer, some stand in every hour, some are spot, some have two load levels."""
    pools: list[PoolTerms] = []
    sold: Offer | None = None
    for k in range(int(rng.integers(2, 4))):
        if sold is None or rng.random() < 0.75:
            elastic = bool(rng.random() < 0.5)
            term = ("spot" if rng.random() < 0.4 else "on_demand") if elastic else FIXED_TERMS[int(rng.integers(3))]
            stock = int(rng.integers(1, 4)) if rng.random() < 0.4 else None
            price = round(float(rng.uniform(0.3, 3.0)) * (0.5 if term == "spot" else 1.0), 2)
            sold = offer(f"o{k}", price, elastic, stock, term, boot_s=float(rng.integers(200, 5000)))
        load = [float(x) for x in np.round(rng.uniform(0.1, 0.7, 2), 3)]
        if rng.random() < 0.4:
            load[int(rng.integers(2))] = math.inf
        intercept = round(float(rng.uniform(0.1, 0.5)), 2) if rng.random() < 0.3 else 0.0
        terms = pool(sold, load, random_misses(rng), 1.0 + intercept / 4, intercept, int(rng.integers(1, 3)))
        if rng.random() < 0.3:  # a second operating point: more per replica, more misses
            dense = LoadLevel(terms.levels[0].load * 0.8, np.round(terms.levels[0].miss + rng.uniform(0.02, 0.12, 3), 3))
            terms = replace(terms, levels=(*terms.levels, dense))
        pools.append(terms)
    return pools


def random_relay(rng: np.random.Generator, k: int) -> RelayTerms:
    """A relay that may have limits, spend tiers, a commitment, a cap or provisioned units."""
    usd = [float(x) for x in np.round(rng.uniform(5e-5, 6e-4, 2), 6)]
    if rng.random() < 0.3:
        usd[int(rng.integers(2))] = math.inf
    rpm = float(rng.integers(30, 200)) if rng.random() < 0.4 else None
    tpm = float(rng.integers(3_000, 20_000)) if rng.random() < 0.3 else None
    terms = relay(f"r{k}", usd, random_misses(rng), rpm, tpm, bool(rng.random() < 0.7), vendor=f"v{k}")
    kind = rng.random()
    if kind < 0.25:
        first = SpendTier(0.0 if rng.random() < 0.7 else 50.0, 1.0, rpm=float(rng.integers(20, 80)))
        terms = replace(terms, tiers=(first, SpendTier(float(rng.integers(200, 900)), 0.8, rpm=float(rng.integers(80, 300)))))
    elif kind < 0.5:
        units = UnitTerms(round(float(rng.uniform(0.2, 1.5)), 2), np.round(rng.uniform(0.3, 0.9, 2), 2), int(rng.integers(1, 3)), 4)
        free = np.where(terms.eligible, 0.0, math.inf)
        terms = replace(terms, usd_per_request=free, units=units)
    if rng.random() < 0.2:
        terms = replace(terms, committed_usd=float(rng.integers(50, 600)))
    if rng.random() < 0.2:
        terms = replace(terms, spend_cap_usd=terms.committed_usd + float(rng.integers(300, 1200)))
    return terms


def families(given: ProgramInput) -> Counter[str]:
    """The constraint families that a problem has."""
    offers = [terms.option.offer for terms in given.pools]
    return Counter(
        name
        for name, present in {
            **{term: any(o.term == term for o in offers) for term in ("on_demand", "spot", *FIXED_TERMS)},
            "stock": any(o.stock is not None for o in offers),
            "shared offer": len({o.id for o in offers}) < len(offers),
            "intercept": any(terms.intercept > 0 for terms in given.pools),
            "load levels": any(len(terms.levels) > 1 for terms in given.pools),
            "cannot serve": any(not np.isfinite(terms.levels[0].load).all() for terms in given.pools),
            "spot share": given.spot is not None and any(o.term == "spot" for o in offers),
            "relay share": given.max_relay_share < 1 and bool(given.relays),
            "vendor share": bool(given.vendor_shares) and bool(given.relays),
            "outage reserve": given.relay_outage_reserve and len(given.relays) > 0,
            "starts": given.boot is not None and any(o.elastic for o in offers),
            "n_plus_one": given.n_plus_one,
            "rpm": any(r.hard_limits and r.relay.rpm is not None for r in given.relays),
            "tpm": any(r.hard_limits and r.relay.tpm is not None for r in given.relays),
            "negotiable": any(not r.hard_limits and r.relay.rpm is not None for r in given.relays),
            "tiers": any(r.tiers for r in given.relays),
            "commitment": any(r.committed_usd > 0 for r in given.relays),
            "cap": any(r.spend_cap_usd is not None for r in given.relays),
            "units": any(r.units is not None for r in given.relays),
            "no demand": bool((given.demand.mean_rps == 0).any()),
        }.items()
        if present
    )


def dearer(given: ProgramInput, factor: float) -> ProgramInput:
    """Every price, minimum, cap and penalty times `factor`; the budget too."""

    def priced(terms: RelayTerms) -> RelayTerms:
        units = terms.units
        return replace(
            terms,
            usd_per_request=factor * terms.usd_per_request,
            tiers=tuple(replace(tier, from_usd=factor * tier.from_usd) for tier in terms.tiers),
            committed_usd=factor * terms.committed_usd,
            spend_cap_usd=None if terms.spend_cap_usd is None else factor * terms.spend_cap_usd,
            units=None if units is None else replace(units, usd_per_hour=factor * units.usd_per_hour),
        )

    pools = []
    for terms in given.pools:
        sold = replace(terms.option.offer, usd_per_hour=factor * terms.option.offer.usd_per_hour)
        pools.append(replace(terms, option=replace(terms.option, offer=sold)))
    return replace(
        given,
        pools=tuple(pools),
        relays=tuple(priced(terms) for terms in given.relays),
        unserved_usd_per_request=factor * given.unserved_usd_per_request,
        budget_usd=factor * given.budget_usd,
        fixed_usd=factor * given.fixed_usd,
    )
