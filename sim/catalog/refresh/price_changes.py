"""What a price package states, what a row becomes, and what one refresh found. Frozen; no behaviour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

ANNOUNCED = ("next_price_on", "next_usd_per_mtok_input", "next_usd_per_mtok_output")


@dataclass(frozen=True)
class Entry:
    """Prices of one endpoint on one day, by the names of TOKEN_PRICES; what the package does not state is absent.

    off_peak         the price depends on the hour of the day, `prices` are the dearest: what the cheapest hour costs of them; else None
    tiers            (tokens, prices) of requests whose prompt is longer than that, rising
    retires_on       ISO date; "soon" where the package says deprecated and no date
    """

    prices: dict[str, Decimal]
    next_on: date | None = None
    next_prices: dict[str, Decimal] = field(default_factory=dict)
    off_peak: Decimal | None = None
    tiers: tuple[tuple[int, dict[str, Decimal]], ...] = ()
    retires_on: str = ""


@dataclass(frozen=True)
class Package:
    """An installed price package as of one day; `find` gives the entry of exactly that key, None where there is none."""

    name: str
    version: str
    find: Callable[[str], Entry | None]
    newest: date | None = None  # on which its newest price began; None: it has no dates


@dataclass(frozen=True)
class Change:
    """One value of one row; `key` is dotted within `long_prompts`. A key without `old` is new or was null; without `new` it goes."""

    key: str
    old: Decimal | str | None
    new: Decimal | str | None
    large: bool = False  # more than twice, less than half, to zero or from zero


@dataclass(frozen=True)
class RowChange:
    """What the package would change in one row. `notices` are sentences for the reviewer."""

    relay: str
    entry: str
    changes: tuple[Change, ...]
    notices: tuple[str, ...] = ()

    @property
    def large(self) -> tuple[Change, ...]:
        """Those changes that are not written unless they are accepted."""
        return tuple(change for change in self.changes if change.large)


@dataclass(frozen=True)
class Refresh:
    """One comparison of a file with a package. `after` is the text with the changes of `changed`; nothing is written yet.

    changed    rows that differ and are in `after`
    withheld   rows with a large change that was not accepted: not in `after`
    confirmed  ids of rows whose prices the package states as they are
    missing    (id, entry) of rows whose entry the package does not have
    unmapped   ids of list rows that the mapping does not name
    firm       ids of mapped rows that are no list prices: quotes, contracts and claims stay as they are
    """

    file: str
    package: str
    on: date
    before: str
    after: str
    changed: tuple[RowChange, ...]
    withheld: tuple[RowChange, ...]
    confirmed: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    unmapped: tuple[str, ...]
    firm: tuple[str, ...]
    notices: tuple[str, ...]
