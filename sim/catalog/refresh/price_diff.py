"""One relay row against one entry of a price package."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from decimal import Decimal

from sim.catalog.facts import Relay
from sim.catalog.price_terms import TOKEN_PRICES
from sim.catalog.refresh.price_changes import ANNOUNCED, Change, Entry, RowChange

LARGE = Decimal(2)
SAME = Decimal("1e-9")  # USD per million tokens: less is rounding


def compare(relay: Relay, stated: Collection[str], key: str, entry: Entry, on: date) -> RowChange:
    """What `entry` changes in a row; only prices that the row states (`stated`: its keys) move, and announced ones come and go."""
    given = {name: getattr(relay, name) for name in TOKEN_PRICES if name in stated}
    changes, notices = moved(given, entry.prices, "")
    more = {name: price for name, price in entry.prices.items() if name not in stated}
    notices += [f"the package also has {name} {plain(price)}; the row states none" for name, price in more.items()]
    tiers = dict(entry.tiers)
    for index, tier in enumerate(relay.long_prompts):
        if tier.above_tokens not in tiers:
            notices.append(f"the package has no price of prompts above {tier.above_tokens:,} tokens; the row's is kept")
            continue
        own = {name: value for name, value in vars(tier).items() if name in TOKEN_PRICES and value is not None}
        steps, doubts = moved(own, tiers[tier.above_tokens], f"long_prompts.{index}.")
        changes, notices = [*changes, *steps], [*notices, *doubts]
    changes += announcements(relay, entry, on)
    return RowChange(relay.id, key, tuple(changes), (*notices, *_doubts(relay, entry, on, bool(changes))))


def moved(given: Mapping[str, float | None], new: Mapping[str, Decimal], path: str) -> tuple[list[Change], list[str]]:
    """(changes, doubts) of prices that stand side by side; `path` goes before their names. No cached price is billed as input."""
    changes, doubts = [], []
    for name, value in given.items():
        old, price = _decimal(value), new.get(name)
        if price is None and old:
            doubts.append(f"the package has no {path}{name}; {plain(old)} is kept")
        elif price is not None and (old is None or abs(old - price) > SAME):
            before = _decimal(given.get("usd_per_mtok_input")) if old is None else old
            changes.append(Change(f"{path}{name}", old, price, is_large(before, price)))
    return changes, doubts


def announcements(relay: Relay, entry: Entry, on: date) -> list[Change]:
    """Changes of the announced price: the package's, or none where the day of the row's has come."""
    given = {name: getattr(relay, name) for name in ANNOUNCED}
    day, prices = ANNOUNCED[0], ANNOUNCED[1:]
    today = {name: name.removeprefix("next_") for name in prices}
    if entry.next_on is not None and set(today.values()) <= set(entry.next_prices):
        changes = [] if given[day] == entry.next_on.isoformat() else [Change(day, given[day], entry.next_on.isoformat())]
        for name, now in today.items():
            old, new = _decimal(given[name]), entry.next_prices[now]
            if old is None or abs(old - new) > SAME:
                changes.append(Change(name, old, new, is_large(_decimal(getattr(relay, now)) if old is None else old, new)))
        return changes
    if relay.next_price_on and relay.next_price_on <= on.isoformat():
        past = {day: given[day]} | {name: _decimal(given[name]) for name in prices}
        return [Change(name, old, None) for name, old in past.items() if old is not None]
    return []


def is_large(old: Decimal | None, new: Decimal) -> bool:
    """Whether a price moved by more than a factor of two, or to or from zero.

    >>> [is_large(Decimal(1), Decimal(new)) for new in ("2", "2.1", "0.5", "0.49", "0")]
    [False, True, False, True, True]
    """
    if not old or not new:
        return bool(old) != bool(new)
    return not 1 / LARGE <= new / old <= LARGE


def plain(value: Decimal | float | str | None) -> str:
    """A number without exponent or trailing zeros, as it stands in YAML.

    >>> plain(Decimal("1E+1")), plain(Decimal("0.0750")), plain(2.0), plain(None)
    ('10', '0.075', '2', 'null')
    """
    if value is None:
        return "null"
    return value if isinstance(value, str) else f"{Decimal(str(value)).normalize():f}"


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value)).normalize()


def _off_peak(relay: Relay, entry: Entry) -> list[str]:
    """Hours that the row and the package do not see alike; the row's prices are those of the dearest."""
    own, theirs = relay.off_peak, entry.off_peak
    if theirs is None:
        return [] if own is None else ["the package has no cheaper hours; the row's off_peak is kept"]
    if own is None:
        return [f"the dearest hour is taken; the cheapest costs {theirs:.0%} of it, and the row has no off_peak"]
    return (
        []
        if abs(own.factor - float(theirs)) < 0.005
        else [f"off-peak hours cost {theirs:.0%} by the package; the row says {own.factor:.0%}"]
    )


def _doubts(relay: Relay, entry: Entry, on: date, changed: bool) -> list[str]:
    """What else a reviewer of the row should know."""
    words = []
    known = {tier.above_tokens for tier in relay.long_prompts}
    for above, prices in entry.tiers:
        dearer = any(price > entry.prices.get(name, price) for name, price in prices.items())
        if dearer and above not in known and relay.max_context > above:
            reach = f"max_context is {relay.max_context:,}"
            words.append(f"prompts above {above:,} tokens cost more, {reach}, and the row has no such long_prompts")
    if entry.retires_on and entry.retires_on != relay.retires_on:
        words.append(f"retires {entry.retires_on} by the package; the row says {relay.retires_on or 'nothing'}")
    if relay.next_price_on and relay.next_price_on > on.isoformat() and entry.next_on is None:
        words.append(f"the package announces no price of {relay.next_price_on}; the row's is kept")
    words += _off_peak(relay, entry)
    if changed and relay.note:
        words.append(f'its note stays, read it again: "{relay.note}"')
    return words
