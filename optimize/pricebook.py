"""The price book of a plan: list, contracted and claimed side by side, with grade of evidence, validity, document and age."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from optimize.money.metering import ABOVE, BATCH, token_price
from optimize.price_evidence import Evidence, contract_evidence, contract_warnings, listed_evidence, written_evidence
from optimize.relay_facts import SAME, claim_flags, dated_warnings, official, quote_flags
from sim.catalog.price_terms import LongPrompt
from sim.catalog.records import Catalog, Offer, Relay, Source
from sim.plural import counted
from sim.scenario.records import Scenario

STALE_DAYS = 90
PLAIN = ("input", "cached", "output")


@dataclass(frozen=True)
class Price:
    """One price of one offer or relay: exactly one of the three columns is the plan's (`grade` says which), others are beside it.

    `reference` is the row that the list price is from; `age_days` counts from the first day that its date allows to the day of the
    book; None: nobody says when the price was made.
    """

    name: str
    item: str
    unit: str
    list_usd: float | None
    contracted_usd: float | None
    claimed_usd: float | None
    grade: str
    used: bool
    reference: str
    source: Source
    age_days: int | None
    evidence: Evidence
    retires_on: str = ""
    successor: str = ""

    @property
    def agreed(self) -> bool:
        """Whether a contract or quote states the last day of this price: until then its age does not matter."""
        return self.grade in ("contract", "quote") and bool(self.evidence.valid_until)

    @property
    def plan_usd(self) -> float:
        """The price that the plan is computed with."""
        own = self.list_usd if self.grade == "list" else self.claimed_usd if self.grade == "claimed" else self.contracted_usd
        return 0.0 if own is None else own


@dataclass(frozen=True)
class PriceBook:
    """Prices of a plan's candidates on one day, used ones first, and what is wrong or doubtful about them."""

    on: date
    prices: tuple[Price, ...]
    warnings: tuple[str, ...]


def price_book(scenario: Scenario, used: Iterable[str], charged: Collection[tuple[str, str]] = ()) -> PriceBook:
    """The book of the scenario's candidates as of its first month; `used` are the offers and relays that the plan buys.

    Every relay has a row per plain kind of token; `charged` (relay, item of the bill) adds those of batches, long prompts and writes.

    Age and retirement are warned of where the plan uses the row, contradictions of a claim always.
    """
    on, bought, catalog = start_of(scenario), set(used), scenario.catalog
    last = month_after(on, scenario.finance.horizon_months) - timedelta(days=1)
    written = written_evidence(scenario.path)
    prices: list[Price] = []
    warnings: list[str] = []
    for offer in scenario.offers:
        prices.append(offer_price(offer, catalog, offer.id in bought, on, written))
        warnings += [*offer_warnings(offer), *contract_warnings(offer.id, offer.grade, offer.contract, offer.id in bought, on, last)]
    for relay in scenario.relays:
        prices += relay_prices(
            relay, catalog, relay.id in bought, on, written, {item_of(item) for name, item in charged if name == relay.id}
        )
        warnings += [
            *claim_warnings(relay, catalog),
            *contract_warnings(relay.id, relay.grade, relay.contract, relay.id in bought, on, last),
        ]
        if relay.id in bought:
            warnings += dated_warnings(relay, catalog, on.isoformat(), last.isoformat())
    warnings += stale_warnings(prices)
    order = sorted(prices, key=lambda price: not price.used)
    told = sorted(dict.fromkeys(warnings), key=lambda text: text.partition(":")[0] not in bought)
    return PriceBook(on, tuple(order), tuple(told))


def start_of(scenario: Scenario) -> date:
    """First day of the horizon: the scenario's, else the day of the newest price."""
    return first_day(scenario.finance.start or scenario.catalog.date or "2000")


def first_day(text: str) -> date:
    """The first day that a date of any precision allows.

    >>> first_day("2026"), first_day("2026-11"), first_day("2026-11-30")
    (datetime.date(2026, 1, 1), datetime.date(2026, 11, 1), datetime.date(2026, 11, 30))
    """
    return date.fromisoformat((text + "-01-01")[:10] if len(text) <= 7 else text[:10])


def month_after(day: date, months: int) -> date:
    """The first day of the month `months` after that of `day`.

    >>> month_after(date(2026, 11, 30), 14)
    datetime.date(2028, 1, 1)
    """
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, 1)


def _age(source: Source, on: date) -> int | None:
    return max(0, (on - first_day(source.date)).days) if source.date else None


def _columns(own: float | None, grade: str, listed: float | None) -> tuple[float | None, float | None, float | None]:
    """(list, contracted, claimed) with the plan's own price under its grade."""
    if grade == "list":
        return own, None, None
    return (listed, None, own) if grade == "claimed" else (listed, own, None)


def offer_price(offer: Offer, catalog: Catalog, used: bool, on: date, written: Evidence) -> Price:
    """The price of an hour of a host; `written` is the evidence of a price that the scenario writes."""
    row = catalog.offers.get(offer.id)
    overridden = row is not None and row.usd_per_hour != offer.usd_per_hour
    grade = "quote" if offer.grade == "list" and (overridden or row is None) else offer.grade
    columns = _columns(offer.usd_per_hour, grade, row.usd_per_hour if row is not None and row.grade == "list" else None)
    source, evidence = _behind(offer, None if overridden else row, catalog, written)
    return Price(offer.id, "host-hour", "USD/h", *columns, grade, used, row.id if row else "", source, _age(source, on), evidence)


def _behind(row: Offer | Relay, listed: Offer | Relay | None, catalog: Catalog, written: Evidence) -> tuple[Source, Evidence]:
    """Source and evidence of a price: its contract; the catalogue's row `listed`; without one the scenario, which says no day."""
    if row.contract is not None:
        return row.source, contract_evidence(row.contract)
    if listed is None:
        return replace(row.source, date="") if row.grade != "list" else row.source, written
    file, next_on = ("relays.yaml", row.next_price_on) if isinstance(row, Relay) else ("offers.yaml", None)
    return listed.source, listed_evidence(catalog, file, next_on)


def offer_warnings(offer: Offer) -> list[str]:
    """A price that only a third party states, or that lies outside the band of its sources."""
    words = []
    if offer.grade == "claimed":
        words.append(f"{offer.id}: ${offer.usd_per_hour:g} an hour is a claim that no seller stands behind")
    low, high = offer.price_low_usd_per_hour, offer.price_high_usd_per_hour
    if low is not None and high is not None and not low * (1 - SAME) <= offer.usd_per_hour <= high * (1 + SAME):
        words.append(f"{offer.id}: ${offer.usd_per_hour:g} an hour is outside the ${low:g} to ${high:g} that its sources state")
    return words


def reference(relay: Relay, catalog: Catalog) -> Relay | None:
    """The list row to hold a price against: the catalogue's row of that name, else its maker's, else the dearest list row of the model."""
    row = catalog.relays.get(relay.id)
    if row is not None and row.grade == "list":
        return row
    others = [each for each in catalog.relays.values() if each.model == relay.model and each.grade == "list" and each.id != relay.id]
    return official(relay, others) or max(others, key=lambda each: (each.usd_per_mtok_output, each.id), default=None)


def relay_prices(relay: Relay, catalog: Catalog, used: bool, on: date, written: Evidence, items: Collection[str] = ()) -> list[Price]:
    """A row per plain kind of token that has a price of its own, and per kind of `items`."""
    beside, grade, listed = reference(relay, catalog), relay.grade, catalog.relays.get(relay.id)
    overridden = listed is not None and _prices(listed) != _prices(relay)
    if grade == "list" and overridden:
        grade = "quote"
    source, evidence = _behind(relay, None if overridden else listed, catalog, written)
    ends = (relay.retires_on or "", relay.successor or "")
    named = beside.id if beside else ""
    rows = []
    for kind in [each for each in priced_kinds(relay) if each in PLAIN or item_of(each) in items]:
        against = token_price(beside, kind) if beside is not None and kind in priced_kinds(beside) else None
        columns = _columns(token_price(relay, kind), grade, against)
        rows.append(
            Price(relay.id, item_of(kind), "USD/million tokens", *columns, grade, used, named, source, _age(source, on), evidence, *ends)
        )
    return rows


def priced_kinds(relay: Relay) -> list[str]:
    """Kinds of tokens, as bills name them, that the relay states a price of.

    >>> from sim.catalog.loader import load_catalog
    >>> priced_kinds(load_catalog().relays["openai.gpt-4.1"])
    ['input', 'cached', 'output', 'batch input', 'batch output']
    """
    kinds = []
    tiers: list[tuple[Relay | LongPrompt, str]] = [(relay, ""), *((tier, f"{ABOVE}{tier.above_tokens:,}") for tier in relay.long_prompts)]
    for row, above in tiers:
        stated = {"cached": row.usd_per_mtok_cached, "written": row.usd_per_mtok_cache_write}
        kinds += [f"{kind}{above}" for kind in ("input", "cached", "written", "output") if stated.get(kind, 0.0) is not None]
    batches = {"input": relay.usd_per_mtok_batch_input, "output": relay.usd_per_mtok_batch_output}
    return kinds + [f"{BATCH}{kind}" for kind, price in batches.items() if price is not None]


def item_of(charged: str) -> str:
    """The item of the book that a charge or kind of token is priced by.

    >>> item_of("cached tokens"), item_of("batch input tokens"), item_of("host-hour")
    ('cached input', 'batch input', 'host-hour')
    """
    kind = charged.removesuffix(" tokens")
    plain, above, tokens = kind.partition(ABOVE)
    return f"{ {'cached': 'cached input', 'written': 'cache write'}.get(plain, plain) }{above}{tokens}"


def _prices(relay: Relay) -> tuple[float | None, ...]:
    return tuple(token_price(relay, kind) for kind in PLAIN)


def claim_warnings(relay: Relay, catalog: Catalog) -> list[str]:
    """What a claim contradicts; and what looks wrong in a price that the scenario itself quotes."""
    beside = reference(relay, catalog)
    same = beside is None or _prices(beside) == _prices(relay)
    if relay.grade == "claimed":
        flags = claim_flags(relay, catalog)
    elif relay.grade == "list" and same:
        flags = []
    else:
        flags = quote_flags(relay, None if same else beside, catalog)
    return [f"{relay.id}: {flag}" for flag in flags]


def stale_warnings(prices: Sequence[Price]) -> list[str]:
    """Used prices that are older than 90 days on the day of the book and state no last day; nor those of which nobody said the day."""
    old: dict[str, tuple[int, str]] = {}
    for price in prices:
        dated = price.grade != "quote" or price.evidence.valid_from
        if price.used and price.age_days is not None and price.age_days > STALE_DAYS and dated and not price.agreed:
            old[price.name] = (price.age_days, price.source.date)
    return [
        f"{name}: its price is of {day}, {counted(days, 'day')} before the first month; ask again before signing"
        for name, (days, day) in old.items()
    ]
