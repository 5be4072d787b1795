"""What the buyer's contracts and risks tell the program: accounts, provisioned units, spot, starts of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimize.records import BootTerms, RelayTerms, SpendTier, SpotTerms, UnitTerms
from sim.requests import Demand
from sim.scenario.scenario import Policy

UNITS = ".units"  # ends the id of a relay whose calls run on provisioned units


def contracted(relays: Sequence[RelayTerms], policy: Policy, demand: Demand) -> list[RelayTerms]:
    """`relays` with the buyer's accounts, and next to each that sells provisioned units one that runs on them, where policy asks."""
    accounts = {account.relay: account for account in policy.relay_accounts}
    answer = []
    for terms in relays:
        account = accounts.get(terms.relay.id)
        if account is not None:
            tiers = tuple(SpendTier(t.from_usd, t.price_factor, t.rpm, t.tpm) for t in account.tiers)
            answer.append(replace(terms, tiers=tiers, committed_usd=account.committed_usd, spend_cap_usd=account.spend_cap_usd))
        else:
            answer.append(terms)
        if policy.provisioned_units and terms.relay.unit_usd_per_hour is not None:
            answer.append(on_units(terms, demand))
    return answer


def on_units(terms: RelayTerms, demand: Demand) -> RelayTerms:
    """The relay on units: calls are free, the peak minute must fit, and the account's limits do not apply.

    A request occupies (input + output weight x output tokens) x 60 / tokens a minute of a unit. Cached tokens are counted in
    full, though some vendors do not count them: this errs on the safe side.
    """
    relay = terms.relay
    inputs, outputs = terms.tokens(demand)
    load = 60.0 * (inputs + (relay.unit_output_weight or 1.0) * outputs) / max(relay.unit_tokens_per_minute or 0.0, 1e-9)
    return replace(
        terms,
        relay=replace(relay, id=relay.id + UNITS, rpm=None, tpm=None),
        usd_per_request=np.where(terms.eligible, 0.0, np.inf),
        hard_limits=True,
        units=UnitTerms(relay.unit_usd_per_hour or 0.0, load, relay.unit_minimum or 1),
    )


def spot_terms(policy: Policy) -> SpotTerms | None:
    """How far spot hosts are relied on."""
    return SpotTerms(policy.spot.max_share, policy.spot.availability) if policy.spot is not None else None


def boot_terms(policy: Policy, demand: Demand, held: bool = False) -> BootTerms | None:
    """Which hour comes before each, and how often; None where starts are free: boots are not paid, and no pool is `held` beyond its hours.

    A slice stands for as many hours a month as it begins times.
    """
    if not policy.boot_hours_paid and not held:
        return None
    return BootTerms(hours_before(demand), np.asarray(demand.weight_h, dtype=np.float64), policy.boot_hours_paid)


def hours_before(demand: Demand) -> tuple[int, ...]:
    """[slices] the hour before each: hours of a kind of day follow each other in a ring.

    "weekday 00" follows "weekday 23": the two nights a week in which the kind of day changes are taken for any other.
    """
    rings: dict[str, list[int]] = {}
    for t, name in enumerate(demand.slices):
        kind = name.rsplit(" ", 1)[0] if name.rsplit(" ", 1)[-1].isdigit() else ""
        rings.setdefault(kind, []).append(t)
    previous = list(range(len(demand.slices)))
    for ring in rings.values():
        for before, t in zip([ring[-1], *ring[:-1]], ring, strict=True):
            previous[t] = before
    return tuple(previous)


def bought_terms(terms: RelayTerms, tier: int) -> RelayTerms:
    """The relay at the limits of the tier bought (-1: none), for whoever simulates the plan; limits of a tier are hard."""
    if tier < 0:
        return terms
    own = terms.relay if terms.hard_limits else replace(terms.relay, rpm=None, tpm=None)
    rpm, tpm = terms.tiers[tier].rpm, terms.tiers[tier].tpm
    row = replace(own, rpm=own.rpm if rpm is None else rpm, tpm=own.tpm if tpm is None else tpm)
    return replace(terms, relay=row, hard_limits=row.rpm is not None or row.tpm is not None)
