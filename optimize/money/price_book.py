"""The price book of a plan: list, quoted, contracted and claimed side by side, with grade of evidence, validity, document and age."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from optimize.money.charges import DIGITS, OFF_PEAK
from optimize.money.metering import token_price
from optimize.money.price_claims import SAME, claim_flags, dated_warnings, official, quote_flags
from optimize.money.price_evidence import Evidence, contract_evidence, contract_warnings, listed_evidence, state_of, written_evidence
from optimize.money.token_kinds import PLAIN, is_own, item_of, priced_kinds
from sim.catalog.facts import Catalog, Offer, Relay, Source
from sim.plural import counted
from sim.scenario.scenario import Scenario

STALE_DAYS = 90
Columns = tuple[float | None, float | None, float | None, float | None]


@dataclass(frozen=True)
class Price:
    """One price of one offer or relay: exactly one of the four columns is the plan's (`grade` says which), others are next to it.

    `reference` is the row that the list price is from; `age_days` counts from the first day that its date allows to the day of the
    book; None: the day of the price is not stated. `state` says that the contract behind it has ended or not begun, `hours_utc`
    in which hours it holds (empty: in all).
    """

    name: str
    item: str
    unit: str
    list_usd: float | None
    quoted_usd: float | None
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
    state: str = ""
    hours_utc: str = ""

    @property
    def graded(self) -> str:
        """The grade as people read it: `contract (ended 2026-06-30)` where its days are over."""
        return f"{self.grade} ({self.state})" if self.state else self.grade

    @property
    def agreed(self) -> bool:
        """Whether a contract or quote states the last day of this price: until then its age does not matter."""
        return self.grade in ("contract", "quote") and bool(self.evidence.valid_until)

    @property
    def plan_usd(self) -> float:
        """The price that the plan is computed with."""
        beside = {"list": self.list_usd, "claimed": self.claimed_usd, "quote": self.quoted_usd}
        return beside.get(self.grade, self.contracted_usd) or 0.0


@dataclass(frozen=True)
class PriceBook:
    """Prices of a plan's candidates on one day, used ones first, and what is wrong or doubtful about them."""

    on: date
    prices: tuple[Price, ...]
    warnings: tuple[str, ...]


def price_book(scenario: Scenario, used: Iterable[str], charged: Collection[tuple[str, str]] = ()) -> PriceBook:
    """The book of the scenario's candidates as of its first month; `used` are the offers and relays that the plan buys.

    Every relay has a row per plain kind of token; `charged` (relay, item of the bill) adds those of batches, long prompts, writes and
    off-peak hours.

    Age and retirement are warned of where the plan uses the row, contradictions of a claim where some class may be sent there.
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
        items = {item_of(item) for name, item in charged if name == relay.id}
        rows = relay_prices(relay, catalog, relay.id in bought, on, written, items)
        prices += rows
        if relay.id not in bought and not may_sell(relay, scenario):
            continue
        warnings += [
            *unstated_warnings(relay, catalog, [row for row in rows if row.item in items]),
            *claim_warnings(relay, catalog),
            *contract_warnings(relay.id, relay.grade, relay.contract, relay.id in bought, on, last),
        ]
        if relay.id in bought:
            warnings += dated_warnings(relay, catalog, on.isoformat(), last.isoformat())
    warnings += stale_warnings(prices)
    order = sorted(prices, key=lambda price: not price.used)
    told = sorted(dict.fromkeys(warnings), key=lambda text: text.partition(":")[0] not in bought)
    return PriceBook(on, tuple(order), tuple(told))


def may_sell(relay: Relay, scenario: Scenario) -> bool:
    """Whether the scenario lets anything be sent to a relay in that place; its model is not looked at."""
    classes = [each for each in scenario.request_classes if not each.self_hosted_only]
    inside = any(not each.data_residency or set(each.data_residency) & set(relay.residency) for each in classes)
    return scenario.policy.max_relay_share > 0 and inside


def lapsed_words(scenario: Scenario, used: Collection[str]) -> list[str]:
    """A sentence per contract behind a used price that does not hold on the first day."""
    on = start_of(scenario)
    rows: tuple[Offer | Relay, ...] = (*scenario.offers, *scenario.relays)
    signed = [(row.id, row.contract) for row in rows if row.id in used and row.contract is not None]
    told = [(name, contract.document, state_of(contract, on).replace(" ", " on ")) for name, contract in signed]
    said = "But {} is priced by the contract {}, which {}: on {} that is no price."
    return [said.format(name, document, state, on) for name, document, state in told if state]


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


def _columns(own: float | None, grade: str, listed: float | None) -> Columns:
    """(list, quoted, contracted, claimed) with the plan's own price under its grade."""
    if grade == "list":
        return own, None, None, None
    return listed, *(own if grade == each else None for each in ("quote", "contract", "claimed"))  # type: ignore[return-value]


def offer_price(offer: Offer, catalog: Catalog, used: bool, on: date, written: Evidence) -> Price:
    """The price of an hour of a host; `written` is the evidence of a price that the scenario writes."""
    row = catalog.offers.get(offer.id)
    overridden = row is not None and row.usd_per_hour != offer.usd_per_hour
    grade = "quote" if offer.grade == "list" and (overridden or row is None) else offer.grade
    columns = _columns(offer.usd_per_hour, grade, row.usd_per_hour if row is not None and row.grade == "list" else None)
    source, evidence = _behind(offer, None if overridden else row, catalog, written)
    state = state_of(offer.contract, on)
    beside = row.id if row else ""
    return Price(offer.id, "host-hour", "USD/h", *columns, grade, used, beside, source, _age(source, on), evidence, state=state)


def _behind(
    row: Offer | Relay, listed: Offer | Relay | None, catalog: Catalog, written: Evidence, own: bool = True
) -> tuple[Source, Evidence]:
    """Source and evidence of a price: its contract, if it is `own`; the catalogue's row `listed`; without one the scenario, of no day."""
    if row.contract is not None and (own or listed is None):
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
    """A row per plain kind of token that has a price of its own, and per kind of `items`; off-peak prices are those of `items`."""
    kinds = priced_kinds(relay)
    plain = [kind for kind in kinds if kind in PLAIN or item_of(kind) in items]
    cheap = [f"{OFF_PEAK} {kind}" for kind in kinds if f"{OFF_PEAK} {item_of(kind)}" in items and relay.off_peak is not None]
    return [_relay_price(relay, catalog, used, on, written, kind) for kind in (*plain, *cheap)]


def _relay_price(relay: Relay, catalog: Catalog, used: bool, on: date, written: Evidence, priced: str) -> Price:
    """One kind of token, which may begin with `off-peak`. What the scenario did not write is the catalogue's, with its grade and source."""
    kind = priced.removeprefix(f"{OFF_PEAK} ")
    beside, listed = reference(relay, catalog), catalog.relays.get(relay.id)
    hours = relay.off_peak if kind != priced else None
    against = token_price(beside, kind) if beside is not None and kind in priced_kinds(beside) else None
    if hours is not None and against is not None and beside is not None and beside.off_peak is not None:
        against = _exact(against * beside.off_peak.factor)
    own = is_own(relay, listed, priced)
    grade = ("quote" if own else "list") if relay.grade == "list" else relay.grade
    if not own and listed is not None and relay.grade != "claimed":
        grade = listed.grade
    source, evidence = _behind(relay, None if own else listed, catalog, written, own)
    usd = token_price(relay, kind) * (1.0 if hours is None else hours.factor)
    return Price(
        relay.id,
        item_of(kind) if hours is None else f"{OFF_PEAK} {item_of(kind)}",
        "USD/million tokens",
        *_columns(_exact(usd), grade, against),
        grade,
        used,
        beside.id if beside else "",
        source,
        _age(source, on),
        evidence,
        relay.retires_on or "",
        relay.successor or "",
        state_of(relay.contract, on) if own else "",
        "" if hours is None else hours.words,
    )


def _exact(usd: float) -> float:
    """Without the noise of floats: 0.3 x 0.75 is 0.225."""
    return float(f"{usd:.{DIGITS}g}")


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


def unstated_warnings(relay: Relay, catalog: Catalog, charged: Sequence[Price]) -> list[str]:
    """List prices that a plan pays together with prices that the scenario writes, and the row's off-peak hours, which then do not hold."""
    listed = catalog.relays.get(relay.id)
    if listed is None or not charged:
        return []
    where = f"the contract {relay.contract.document}" if relay.contract else "the prices that the scenario writes"
    kinds = priced_kinds(relay)
    own = any(is_own(relay, listed, kind) for kind in kinds)
    open_ = [row.item for kind in kinds if not is_own(relay, listed, kind) for row in charged if row.item == item_of(kind)]
    words = []
    if own and open_:
        words.append(f"{relay.id}: {', '.join(open_)}: list prices, not in {where}; ask for them, and write what is agreed")
    if listed.off_peak is not None and relay.off_peak is None:
        hours = listed.off_peak.words
        words.append(
            f"{relay.id}: by its list, tokens cost {listed.off_peak.factor:g} of the price in {hours}; that is not in {where} and not "
            "counted on; write off_peak if it is agreed"
        )
    return words


def stale_warnings(prices: Sequence[Price]) -> list[str]:
    """Used prices that are older than 90 days on the day of the book and state no last day; nor those whose day is not stated."""
    old: dict[str, tuple[int, str]] = {}
    for price in prices:
        dated = price.grade != "quote" or price.evidence.valid_from
        if price.used and price.age_days is not None and price.age_days > STALE_DAYS and dated and not price.agreed:
            old[price.name] = (price.age_days, price.source.date)
    return [
        f"{name}: its price is of {day}, {counted(days, 'day')} before the first month; ask again before signing"
        for name, (days, day) in old.items()
    ]
