"""What follows from relay rows and dates alone: retirement, successors, price changes, and claims that cannot be true."""

from __future__ import annotations

import calendar
from collections.abc import Iterable

from optimize.money.units import credit_discount
from sim.catalog.facts import Catalog, Relay

FASTEST_TTFT_S = 0.2  # best median first token ever measured here: llmperf leaderboard, December 2023 (groq, 0.22 s)
SAME = 0.005  # relative difference below which two prices are one
CLAIM_DISCOUNT, DEEP_DISCOUNT = 0.5, 0.7  # off a list price: from here a claim, or a quote, is doubted
FLOORS_S = 0.05  # a round trip across a continent and one step of a large model take this long


def span(date: str) -> tuple[str, str]:
    """First and last day that an ISO date of any precision may mean.

    >>> span("2026-11"), span("2026")
    (('2026-11-01', '2026-11-30'), ('2026-01-01', '2026-12-31'))
    """
    if len(date) == 10:
        return date, date
    if len(date) == 7:
        return f"{date}-01", f"{date}-{calendar.monthrange(int(date[:4]), int(date[5:]))[1]:02d}"
    return f"{date}-01-01", f"{date}-12-31"


def horizon(date: str) -> str:
    """Last day of the month after `date`: what is planned on that date is paid until then.

    >>> horizon("2026-11"), horizon("2026-12-05")
    ('2026-12-31', '2027-01-31')
    """
    last = span(date)[1]
    year, month = int(last[:4]), int(last[5:7])
    year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return span(f"{year}-{month:02d}")[1]


def retired(relay: Relay, date: str) -> bool:
    """Whether the model was gone before the first day that `date` may mean."""
    return bool(date) and relay.retires_on is not None and relay.retires_on < span(date)[0]


def prices(relay: Relay) -> str:
    """Prices of input and output in words.

    >>> from sim.catalog.loader import load_catalog
    >>> prices(load_catalog().relays["openai.gpt-4.1"])
    '$2 in and $8 out per million tokens'
    """
    return f"${relay.usd_per_mtok_input:g} in and ${relay.usd_per_mtok_output:g} out per million tokens"


def successor_words(relay: Relay, catalog: Catalog) -> str:
    """`; its successor x costs ...`; empty where none is named."""
    if relay.successor is None:
        return ""
    after = catalog.relays.get(relay.successor)
    return f"; its successor {relay.successor}" + (f" costs {prices(after)}" if after else "")


def dated_warnings(relay: Relay, catalog: Catalog, start: str = "", until: str = "") -> list[str]:
    """What dates have in store for a relay that a plan uses: retirement, with successor and price, and announced prices.

    `start` and `until` (ISO days) are those of a horizon: what comes later is left out. Without them all is told, seen from the
    catalogue's date, and sharper within the month after it.
    """
    words = []
    today, last = start or catalog.date, until or "9999"
    if relay.retires_on and relay.retires_on <= last:
        when = "was retired" if retired(relay, today) else "retires"
        near = " inside the month that is planned" if catalog.date and relay.retires_on <= horizon(catalog.date) else ""
        near = f" inside the horizon (to {until})" if until else near
        words.append(f"{relay.id}: {relay.model} {when} on {relay.retires_on}{near}{successor_words(relay, catalog)}; now {prices(relay)}")
    announced = relay.next_price_on is not None and relay.next_price_on <= last
    if announced and relay.next_usd_per_mtok_input is not None and relay.next_usd_per_mtok_output is not None:
        whose = "its list price will be " if relay.grade in ("contract", "quote") else ""
        words.append(
            f"{relay.id}: from {relay.next_price_on} {whose}${relay.next_usd_per_mtok_input:g} in and "
            f"${relay.next_usd_per_mtok_output:g} out per million tokens; now {prices(relay)}"
        )
    return words


def official(relay: Relay, relays: Iterable[Relay]) -> Relay | None:
    """The list row of the vendor that makes the model: the row of that model, not a claim, whose vendor made it (`maker`)."""
    rows = [row for row in relays if row.model == relay.model and row.grade != "claimed" and row.maker]
    return rows[0] if rows else None


def claim_flags(relay: Relay, catalog: Catalog) -> list[str]:
    """How a claimed row contradicts list prices, exchange rates or physics; empty for other rows and for claims that could be true."""
    if relay.grade != "claimed":
        return []
    listed = official(relay, catalog.relays.values())
    against = price_flags(relay, listed, catalog) if listed else ["no list price to compare with"]
    return [*physics_flags(relay), *against, *currency_flags(relay, catalog)]


def quote_flags(relay: Relay, listed: Relay | None, catalog: Catalog) -> list[str]:
    """How a price that was quoted or contracted contradicts the list row `listed`, exchange rates or physics."""
    return [*physics_flags(relay), *(price_flags(relay, listed, catalog) if listed else ())]


def physics_flags(relay: Relay) -> Iterable[str]:
    """Latencies below any that was ever measured."""
    if relay.ttft_p50_s < FASTEST_TTFT_S:
        hard = "; a round trip and one step of a large model take longer" if relay.ttft_p50_s <= FLOORS_S else ""
        yield f"first token after {relay.ttft_p50_s:g} s: the best median ever measured is {FASTEST_TTFT_S:g} s{hard}"


def currency_flags(relay: Relay, catalog: Catalog) -> Iterable[str]:
    """Credit that is sold at another rate than the banks'."""
    rate = catalog.fx_usd.get(relay.billing_currency)
    if relay.credit_per_unit and rate and relay.credit_per_unit > 1.05 * rate:
        words = {"CNY": "yuan"}.get(relay.billing_currency, relay.billing_currency)
        said = f"one {words} is said to buy ${relay.credit_per_unit:g} of credit and costs ${rate:.3g}"
        off = 1 - rate / relay.credit_per_unit
        if relay.credit_applied:
            face = relay.usd_per_mtok_input * relay.credit_per_unit / rate
            yield f"{said}: trusted (trust_credit), so ${face:.3g} of credit is counted as ${relay.usd_per_mtok_input:.2g}, {off:.0%} off"
            return
        paid = relay.usd_per_mtok_input * rate / relay.credit_per_unit
        yield (
            f"{said}: that would make ${paid:.2g} of ${relay.usd_per_mtok_input:g}, {off:.0%} off by exchange rate alone; taken at face "
            "value (`trust_credit: true` in its entry counts on it)"
        )


def price_flags(relay: Relay, listed: Relay, catalog: Catalog) -> list[str]:
    """Prices against a list row: input that is really output; of claims also dearer than the source; far cheaper than the source.

    Far is under half of it for a claim, and 70 % off for a quote or contract: some discount is what a contract is for.
    """
    whose = "the maker's" if listed.maker else f"{listed.id}'s"
    claimed = relay.grade == "claimed"
    sides = (
        ("input", relay.usd_per_mtok_input, listed.usd_per_mtok_input),
        ("output", relay.usd_per_mtok_output, listed.usd_per_mtok_output),
    )
    flags = []
    for side, price, source in sides:
        other = listed.usd_per_mtok_output
        if side == "input" and _same(price, other) and not _same(source, other):
            flags.append(f"its input price ${price:g} is {whose} output price; {whose} input price is ${source:g}")
        elif claimed and price > source:
            times = f"{price / source:.3g} times" if source else "more than"
            flags.append(f"its {side} price ${price:g} is {times} {whose} ${source:g}")
        elif price < (1 - (CLAIM_DISCOUNT if claimed else DEEP_DISCOUNT)) * source:
            why = "no seller resells below cost for long" if claimed else _rate(relay, catalog)
            flags.append(f"its {side} price ${price:g} is {1 - price / source:.0%} below {whose} ${source:g}: {why}")
    return flags


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= SAME * max(abs(a), abs(b))


def _rate(relay: Relay, catalog: Catalog) -> str:
    """What the exchange rate explains of a discount, where the seller's credit rate is known."""
    usd_per_unit = catalog.fx_usd.get(relay.billing_currency)
    if relay.credit_per_unit and usd_per_unit:
        explained = credit_discount(1 / relay.credit_per_unit, usd_per_unit)
        return f"{explained:.1%} of that is the seller's credit rate, not a price"
    return "a discount of that size is usually a claim about an exchange rate; ask what one dollar of credit costs"
