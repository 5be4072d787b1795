"""Kinds of tokens that a relay states a price of: how the book names them, which key states them, and whose price each is."""

from __future__ import annotations

from optimize.money.charges import OFF_PEAK, kind_of
from optimize.money.metering import ABOVE, BATCH, token_price
from optimize.money.price_evidence import covered
from sim.catalog.facts import Relay
from sim.catalog.price_terms import LongPrompt

PLAIN = ("input", "cached", "output")


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

    >>> item_of("cached tokens"), item_of("off-peak (0.5) batch input tokens"), item_of("host-hour")
    ('cached input', 'off-peak batch input', 'host-hour')
    """
    kind = kind_of(charged)
    cheap = f"{OFF_PEAK} " if charged.startswith(f"{OFF_PEAK} ") else ""
    plain, above, tokens = kind.removeprefix(cheap).partition(ABOVE)
    return f"{cheap}{ {'cached': 'cached input', 'written': 'cache write'}.get(plain, plain) }{above}{tokens}"


def key_of(kind: str) -> str:
    """The key of a relay's row that states the price of a kind of token.

    >>> key_of("written"), key_of("batch input"), key_of("cached above 272,000")
    ('usd_per_mtok_cache_write', 'usd_per_mtok_batch_input', 'long_prompts')
    """
    return "long_prompts" if ABOVE in kind else f"usd_per_mtok_{kind.replace(' ', '_').replace('written', 'cache_write')}"


def is_own(relay: Relay, listed: Relay | None, priced: str) -> bool:
    """Whether a price is the scenario's or its contract's rather than that of the catalogue's row `listed`.

    A contract states the prices that stand next to it; a factor for off-peak hours makes a price of its own.
    """
    if listed is None:
        return True
    kind = priced.removeprefix(f"{OFF_PEAK} ")
    if kind != priced and (covered(relay.contract, "off_peak") or listed.off_peak != relay.off_peak):
        return True
    stated = covered(relay.contract, key_of(kind))
    if stated is not None or relay.contract is not None:
        return stated is not False
    return kind not in priced_kinds(listed) or token_price(listed, kind) != token_price(relay, kind)
