"""What follows from relay rows and dates alone: retirement, successors, price changes, and claims that cannot be true."""

from __future__ import annotations

import calendar
from collections.abc import Iterable

from sim.catalog.records import Catalog, Relay

FASTEST_TTFT_S = 0.2  # best median first token ever measured here: llmperf leaderboard, December 2023 (groq, 0.22 s)
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


def dated_warnings(relay: Relay, catalog: Catalog) -> list[str]:
    """What dates have in store for a relay that a plan uses: retirement, with successor and price, and announced prices.

    Sharper where the date lies within the month after that of the catalogue.
    """
    words = []
    if relay.retires_on:
        when = "was retired" if retired(relay, catalog.date) else "retires"
        near = " inside the month that is planned" if catalog.date and relay.retires_on <= horizon(catalog.date) else ""
        words.append(f"{relay.id}: {relay.model} {when} on {relay.retires_on}{near}{successor_words(relay, catalog)}; now {prices(relay)}")
    if relay.next_price_on and relay.next_usd_per_mtok_input is not None and relay.next_usd_per_mtok_output is not None:
        words.append(
            f"{relay.id}: from {relay.next_price_on} ${relay.next_usd_per_mtok_input:g} in and ${relay.next_usd_per_mtok_output:g} out "
            f"per million tokens; now {prices(relay)}"
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
    against = price_flags(relay, listed) if listed else ["no list price to compare with"]
    return [*physics_flags(relay), *against, *currency_flags(relay, catalog)]


def physics_flags(relay: Relay) -> Iterable[str]:
    """Latencies that nobody ever measured."""
    if relay.ttft_p50_s < FASTEST_TTFT_S:
        hard = "; a round trip and one step of a large model take longer" if relay.ttft_p50_s <= FLOORS_S else ""
        yield f"first token after {relay.ttft_p50_s:g} s: the best median ever measured is {FASTEST_TTFT_S:g} s{hard}"


def currency_flags(relay: Relay, catalog: Catalog) -> Iterable[str]:
    """Credit that is sold at another rate than the banks'."""
    rate = catalog.fx_usd.get(relay.billing_currency)
    if relay.credit_per_unit and rate and relay.credit_per_unit > 1.05 * rate:
        words = {"CNY": "yuan"}.get(relay.billing_currency, relay.billing_currency)
        paid = relay.usd_per_mtok_input * rate / relay.credit_per_unit
        yield (
            f"one {words} is said to buy ${relay.credit_per_unit:g} of credit and costs ${rate:.3g}: that would make ${paid:.2g} of "
            f"${relay.usd_per_mtok_input:g}, {1 - rate / relay.credit_per_unit:.0%} off by exchange rate alone; taken at face value"
        )


def price_flags(relay: Relay, listed: Relay) -> list[str]:
    """Prices against the maker's list: input that is really output, dearer than the source, far cheaper than the source."""
    flags = []
    price, source_in, source_out = relay.usd_per_mtok_input, listed.usd_per_mtok_input, listed.usd_per_mtok_output
    if price == source_out != source_in:
        flags.append(f"its input price ${price:g} is the maker's output price; the maker's input price is ${source_in:g}")
    elif price > source_in:
        flags.append(f"its input price ${price:g} is {price / source_in:.3g} times the maker's ${source_in:g}")
    elif price < 0.5 * source_in:
        flags.append(f"its input price ${price:g} is under half of the maker's ${source_in:g}: nobody resells below cost for long")
    output = relay.usd_per_mtok_output
    if output > source_out:
        flags.append(f"its output price ${output:g} is {output / source_out:.3g} times the maker's ${source_out:g}")
    elif output < 0.5 * source_out:
        flags.append(f"its output price ${output:g} is under half of the maker's ${source_out:g}: nobody resells below cost for long")
    return flags
