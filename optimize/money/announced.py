"""The list prices that a seller has announced for a later day."""

from __future__ import annotations

from dataclasses import replace

from sim.catalog.facts import Relay
from sim.catalog.price_terms import LongPrompt

BOUGHT = ("contract", "quote")  # grades of prices that an announced list price does not touch


def list_priced(relay: Relay) -> bool:
    """Whether an announced list price will be the relay's: neither a contract nor the scenario states the price."""
    return relay.grade not in BOUGHT and relay.next_usd_per_mtok_input is not None


def at_announced(relay: Relay) -> Relay:
    """The row at its announced prices; prices of input and of output without an announcement move in proportion.

    >>> from sim.catalog.loader import load_catalog
    >>> row = at_announced(load_catalog().relays["gemini.gemini-3.8-flash"])
    >>> row.usd_per_mtok_input, row.usd_per_mtok_output, row.usd_per_mtok_cached
    (1.5, 7.5, 0.15)
    """
    inputs = relay.usd_per_mtok_input if relay.next_usd_per_mtok_input is None else relay.next_usd_per_mtok_input
    outputs = relay.usd_per_mtok_output if relay.next_usd_per_mtok_output is None else relay.next_usd_per_mtok_output
    i, o = (new / old if old else 1.0 for new, old in ((inputs, relay.usd_per_mtok_input), (outputs, relay.usd_per_mtok_output)))
    return replace(
        relay,
        usd_per_mtok_input=inputs,
        usd_per_mtok_output=outputs,
        usd_per_mtok_cached=_times(relay.usd_per_mtok_cached, i),
        usd_per_mtok_cache_write=_times(relay.usd_per_mtok_cache_write, i),
        usd_per_mtok_batch_input=_times(relay.usd_per_mtok_batch_input, i),
        usd_per_mtok_batch_output=_times(relay.usd_per_mtok_batch_output, o),
        long_prompts=tuple(_tier(tier, i, o) for tier in relay.long_prompts),
        next_price_on=None,
        next_usd_per_mtok_input=None,
        next_usd_per_mtok_output=None,
    )


def _tier(tier: LongPrompt, i: float, o: float) -> LongPrompt:
    return replace(
        tier,
        usd_per_mtok_input=tier.usd_per_mtok_input * i,
        usd_per_mtok_output=tier.usd_per_mtok_output * o,
        usd_per_mtok_cached=_times(tier.usd_per_mtok_cached, i),
        usd_per_mtok_cache_write=_times(tier.usd_per_mtok_cache_write, i),
    )


def _times(price: float | None, factor: float) -> float | None:
    return None if price is None else price * factor
