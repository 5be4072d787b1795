"""Commitments of a scenario -> first stages with their money."""

from __future__ import annotations

from optimize.finance.commitment.decision import Stage
from optimize.money.amounts import amount_usd, month_usd, share_of
from optimize.money.assumptions import finance_facts
from optimize.money.commitment_cost import Held, Timing
from optimize.money.owned_price import OwnedPrice, owned_price, written
from optimize.money.ownership import OPEN_WORDS, OwnHost, Values, owned_month, values_of
from sim.catalog.facts import Offer
from sim.scenario.scenario import Commitment, Scenario

TERM_MONTHS = {"reserved_1y": 12.0, "reserved_3y": 36.0}
DAYS_PER_MONTH = 365.0 / 12
OWNED = "owned"


def stages(scenario: Scenario) -> tuple[Stage, ...]:
    """One stage per commitment, in the order of the file."""
    return tuple(stage(scenario, each) for each in scenario.commitments)


def offers_of(scenario: Scenario) -> dict[str, Offer]:
    """Every offer that a commitment may name: the scenario's own rows win over the catalogue's."""
    return {**scenario.catalog.offers, **{offer.id: offer for offer in scenario.offers}}


def stage(scenario: Scenario, commitment: Commitment) -> Stage:
    """The money of one first stage."""
    offers, values, finance = offers_of(scenario), values_of(scenario.finance), scenario.finance
    held, missing, notes = [], [], []
    for name, hosts in commitment.hold:
        terms, lacking, note = held_terms(scenario, offers[name], hosts, values)
        held.append(terms)
        missing += lacking
        notes += note
    lead, lead_note = lead_months(commitment, [offers[name] for name, _ in commitment.hold], values)
    overlap, overlap_note = _months("overlap_months", commitment.overlap_months, values, bool(held), "double running")
    moves = bool(held) or commitment.recourse != "relays"
    once = commitment.once_usd if commitment.once_usd is not None else finance.migration_usd if moves else 0.0
    return Stage(
        commitment=commitment,
        held=tuple(held),
        timing=Timing(float(finance.horizon_months), lead, overlap),
        once_usd=once,
        open=tuple(dict.fromkeys(missing)),
        notes=tuple(dict.fromkeys([*notes, *lead_note, *overlap_note])),
    )


def held_terms(scenario: Scenario, offer: Offer, hosts: int, values: Values) -> tuple[Held, list[str], list[str]]:
    """(terms, open parts, notes) of `hosts` hosts of one offer.

    Owned hosts of a GPU with a purchase price: bought, run at full draw, sold at the end. Everything else is rent by the hour.
    """
    rent = month_usd(amount_usd(offer.usd_per_hour, hosts))
    price = owned_price(offer, scenario)
    if price is not None:
        held = Held(amount_usd(price.purchase_usd, hosts), amount_usd(price.running_usd, hosts), residual_36m=residual_36m(price, values))
        return held, open_parts(scenario, price), [f"{offer.id}: {price.formula()}"]
    if offer.term == OWNED and not written(offer, scenario):
        host = own_host(scenario, offer)
        if host is None:
            note = f"{offer.id}: its price by the hour holds; no purchase price is known (finance.gpu_purchase_usd.{offer.gpu})"
            return Held(month_usd=rent), [], [note]
        month = owned_month(host, hosts, 1.0, values)
        running = sum(line.usd for line in month.lines if line.name != "capital")
        residual = values["residual_share_36m"].value or 0.0
        return Held(purchase_usd=month.purchase_usd, month_usd=running, residual_36m=residual), list(month.open), []
    term = TERM_MONTHS.get(offer.term)
    return Held(month_usd=rent, term_months=term, follows_rent=term is None), [], []


def residual_36m(price: OwnedPrice, values: Values) -> float:
    """Worth after 36 months: by the share that the price holds at the end of its life, else the planning figure."""
    share = share_of(price.residual_usd, price.purchase_usd)
    return share ** (36.0 / price.months) if share > 0 else values["residual_share_36m"].value or 0.0


def open_parts(scenario: Scenario, price: OwnedPrice) -> list[str]:
    """Parts of owning that the price leaves out because no one gave a figure."""
    values, told = values_of(scenario.finance), {name for name, _ in price.parts}
    return [word for name, word in OPEN_WORDS.items() if values[name].value is None and word not in told]


def own_host(scenario: Scenario, offer: Offer) -> OwnHost | None:
    """The host to buy: the scenario's price of its GPU, else the middle of what is quoted; None without either."""
    gpu, quoted = scenario.catalog.gpus.get(offer.gpu), finance_facts().purchase.get(offer.gpu)
    price = scenario.finance.gpu_purchase_usd.get(offer.gpu, quoted.middle if quoted is not None else None)
    return None if price is None or gpu is None else OwnHost(offer.gpus, price, gpu.tdp_w)


def lead_months(commitment: Commitment, offers: list[Offer], values: Values) -> tuple[float, list[str]]:
    """Months from order to first request: the stage's own, else the longest of its offers, else the planning figure, else none."""
    days = [offer.lead_time_days for offer in offers if offer.lead_time_days is not None]
    given = commitment.lead_time_months
    if given is None and days:
        given = max(days) / DAYS_PER_MONTH
    slow = any(offer.term == OWNED or offer.term in TERM_MONTHS for offer in offers)
    return _months("lead_time_months", given, values, slow, "lead time")


def _months(name: str, given: float | None, values: Values, matters: bool, words: str) -> tuple[float, list[str]]:
    """Months, and a note where they are not given."""
    months = given if given is not None else values[name].value
    if months is None:
        return 0.0, [f"{words} is open (finance.{name}): counted as none, in favour of this stage"] if matters else []
    return (months if matters or given is not None else 0.0), []
