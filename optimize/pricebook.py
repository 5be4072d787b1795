"""The price book of a plan: list, contracted and claimed side by side, with grade of evidence, age, and what contradicts what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from optimize.money.units import credit_discount
from optimize.relay_facts import claim_flags, official, physics_flags
from sim.catalog.records import Catalog, Offer, Relay, Source
from sim.scenario.records import Scenario

STALE_DAYS = 90
SAME = 0.005  # relative difference below which two prices are one
DEEP_DISCOUNT = 0.7
CONTRACTED = ("contract", "quote")
ITEMS = (
    ("input", "usd_per_mtok_input"),
    ("cached input", "usd_per_mtok_cached"),
    ("output", "usd_per_mtok_output"),
)


@dataclass(frozen=True)
class Price:
    """One price of one offer or relay: exactly one of the three columns is the plan's (`grade` says which), others are beside it.

    `reference` is the row that the list price is from; `age_days` counts from the first day that its date allows.
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
    age_days: int
    retires_on: str = ""
    successor: str = ""

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


def price_book(scenario: Scenario, used: Iterable[str]) -> PriceBook:
    """The book of the scenario's candidates as of its first month; `used` are the offers and relays that the plan buys.

    Age and retirement are warned of where the plan uses the row, contradictions of a claim always.
    """
    on, bought = start_of(scenario), set(used)
    end = month_after(on, scenario.finance.horizon_months)
    prices: list[Price] = []
    warnings: list[str] = []
    for offer in scenario.offers:
        prices.append(offer_price(offer, scenario.catalog, offer.id in bought, on))
        warnings += offer_warnings(offer, scenario.catalog)
    for relay in scenario.relays:
        prices += relay_prices(relay, scenario.catalog, relay.id in bought, on)
        warnings += claim_warnings(relay, scenario.catalog)
        if relay.id in bought:
            warnings += retirement_warnings(relay, scenario.catalog, on, end)
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


def _age(source: Source, on: date) -> int:
    return max(0, (on - first_day(source.date)).days) if source.date else 0


def _columns(own: float | None, grade: str, listed: float | None) -> tuple[float | None, float | None, float | None]:
    """(list, contracted, claimed) with the plan's own price under its grade."""
    if grade == "list":
        return own, None, None
    return (listed, None, own) if grade == "claimed" else (listed, own, None)


def offer_price(offer: Offer, catalog: Catalog, used: bool, on: date) -> Price:
    """The price of an hour of a host."""
    row = catalog.offers.get(offer.id)
    overridden = row is not None and row.usd_per_hour != offer.usd_per_hour
    grade = "quote" if overridden or (row is None and offer.grade == "list") else offer.grade
    columns = _columns(offer.usd_per_hour, grade, row.usd_per_hour if row is not None and row.grade == "list" else None)
    source = offer.source
    return Price(offer.id, "host-hour", "USD/h", *columns, grade, used, row.id if row else "", source, _age(source, on))


def offer_warnings(offer: Offer, catalog: Catalog) -> list[str]:
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


def relay_prices(relay: Relay, catalog: Catalog, used: bool, on: date) -> list[Price]:
    """A row per kind of token that has a price."""
    beside, grade = reference(relay, catalog), relay.grade
    if grade == "list" and beside is not None and beside.id == relay.id and _prices(beside) != _prices(relay):
        grade = "quote"  # the scenario overrides the list
    rows = []
    for item, field in ITEMS:
        own = getattr(relay, field)
        if own is None:
            continue
        columns = _columns(own, grade, getattr(beside, field) if beside else None)
        named = beside.id if beside else ""
        more = (relay.retires_on or "", relay.successor or "")
        rows.append(Price(relay.id, item, "USD/million tokens", *columns, grade, used, named, relay.source, _age(relay.source, on), *more))
    return rows


def _prices(relay: Relay) -> tuple[float | None, ...]:
    return tuple(getattr(relay, field) for _, field in ITEMS)


def _equal(a: float, b: float) -> bool:
    return abs(a - b) <= SAME * max(abs(a), abs(b))


def claim_warnings(relay: Relay, catalog: Catalog) -> list[str]:
    """What a claim contradicts; and what looks wrong in a price that the scenario itself quotes."""
    if relay.grade == "claimed":
        return [f"{relay.id}: {flag}" for flag in claim_flags(relay, catalog)]
    beside = reference(relay, catalog)
    if relay.grade == "list" and (beside is None or _prices(beside) == _prices(relay)):
        return []
    words = [f"{relay.id}: {flag}" for flag in physics_flags(relay)]
    if beside is None or _prices(beside) == _prices(relay):
        return words
    given = relay.usd_per_mtok_input
    if _equal(given, beside.usd_per_mtok_output) and not _equal(given, beside.usd_per_mtok_input):
        words.append(
            f"{relay.id}: its input price ${given:g} is the list price of output at {beside.id}; "
            f"input lists at ${beside.usd_per_mtok_input:g} there"
        )
    sides = ((given, beside.usd_per_mtok_input, "input"), (relay.usd_per_mtok_output, beside.usd_per_mtok_output, "output"))
    for own, listed, side in sides:
        if listed > 0 and 1 - own / listed >= DEEP_DISCOUNT:
            off = f"{1 - own / listed:.0%} below the list price ${listed:g} of {beside.id}"
            words.append(f"{relay.id}: {side} at ${own:g} is {off}{_rate(relay, catalog)}")
    return words


def _rate(relay: Relay, catalog: Catalog) -> str:
    """What the exchange rate explains of a discount, where the seller's credit rate is known."""
    usd_per_unit = catalog.fx_usd.get(relay.billing_currency)
    if relay.credit_per_unit and usd_per_unit:
        explained = credit_discount(1 / relay.credit_per_unit, usd_per_unit)
        return f"; {explained:.1%} of that is the seller's credit rate, not a price"
    return "; a discount of that size is usually a claim about an exchange rate: ask what one dollar of credit costs"


def retirement_warnings(relay: Relay, catalog: Catalog, on: date, end: date) -> list[str]:
    """A model that retires before the horizon ends; names the successor and its price."""
    if relay.retires_on is None or first_day(relay.retires_on) >= end:
        return []
    when = "has retired" if first_day(relay.retires_on) <= on else "retires"
    words = f"{relay.id}: {relay.model} {when} on {relay.retires_on}, inside the horizon (to {end - timedelta(days=1)})"
    after = catalog.relays.get(relay.successor or "")
    if after is None:
        return [f"{words}; no successor is named"]
    own, next_usd = (f"${row.usd_per_mtok_input:g}/${row.usd_per_mtok_output:g}" for row in (relay, after))
    return [f"{words}; successor {after.id} at {next_usd} per million tokens in/out (today {own})"]


def stale_warnings(prices: Sequence[Price]) -> list[str]:
    """Used prices that are older than 90 days on the day of the book; not those that the user wrote, whose day nobody said."""
    old: dict[str, tuple[int, str]] = {}
    for price in prices:
        if price.used and price.age_days > STALE_DAYS and price.grade != "quote":
            old[price.name] = (price.age_days, price.source.date)
    return [
        f"{name}: its price is of {day}, {days} days before the first month; ask again before signing" for name, (days, day) in old.items()
    ]
