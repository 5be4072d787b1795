"""Sellers who sell credit: "1 yuan buys 1 dollar of credit" makes every token cheaper, if it is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sim.catalog.facts import Catalog, Relay
from sim.catalog.price_terms import LongPrompt
from sim.errors import InputError

PRICES = (
    *("usd_per_mtok_input", "usd_per_mtok_output", "usd_per_mtok_cached", "usd_per_mtok_cache_write"),
    *("usd_per_mtok_batch_input", "usd_per_mtok_batch_output", "next_usd_per_mtok_input", "next_usd_per_mtok_output"),
    *("price_low_usd_per_mtok", "price_high_usd_per_mtok"),
)
DIGITS = 9  # of a price


def with_trusted_credit(relay: Relay, catalog: Catalog, path: Path) -> Relay:
    """The relay at what its credit costs: every price times what a dollar of credit is paid with, at the banks' rate.

    Its grade stays what it was, and price books show the list price next to it. Raises InputError where no rate of credit is known.
    """
    rate = catalog.fx_usd.get(relay.billing_currency, 1.0 if relay.billing_currency == "USD" else 0.0)
    if not relay.credit_per_unit or not rate:
        raise InputError(
            f"{path}: candidates.relays: {relay.id}: trust_credit: true, but no rate of credit is known of it; write billing_currency and "
            "credit_per_unit, the USD of credit that one unit of that currency buys"
        )
    factor = rate / relay.credit_per_unit
    given = {name: getattr(relay, name) for name in PRICES}
    prices = {name: round(usd * factor, DIGITS) for name, usd in given.items() if usd is not None}
    return replace(relay, **prices, long_prompts=tuple(_paid(each, factor) for each in relay.long_prompts), credit_applied=True)


def _paid(each: LongPrompt, factor: float) -> LongPrompt:
    given = {name: getattr(each, name) for name in PRICES if getattr(each, name, None) is not None}
    return replace(each, **{name: round(usd * factor, DIGITS) for name, usd in given.items()})
