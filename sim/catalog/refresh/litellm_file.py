"""LiteLLM's price file, read from the installed package without importing it (an import takes 20 s and goes to the network)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sim.catalog.refresh.price_changes import Entry, Package

FILE = "model_prices_and_context_window_backup.json"
KEYS = {
    "input_cost_per_token": "usd_per_mtok_input",
    "output_cost_per_token": "usd_per_mtok_output",
    "cache_read_input_token_cost": "usd_per_mtok_cached",
    "cache_creation_input_token_cost": "usd_per_mtok_cache_write",
    "input_cost_per_token_batches": "usd_per_mtok_batch_input",
    "output_cost_per_token_batches": "usd_per_mtok_batch_output",
}
TIERED = tuple(KEYS)[:4]
ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
EXACT = Decimal("1e-9")


def load(on: date) -> Package:
    """The price file of the installed package, the same on every day. Raises ImportError without it."""
    spec = find_spec("litellm")
    file = Path(next(iter(spec.submodule_search_locations or ()), "")) / FILE if spec else None
    if file is None or not file.is_file():
        raise ImportError(f"litellm with its {FILE}")
    rows: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
    return Package("litellm", version("litellm"), lambda key: entry_of(rows[key]) if key in rows else None)


def entry_of(row: dict[str, Any]) -> Entry:
    """Prices of one row; the file knows neither days nor hours.

    >>> entry_of({"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07, "deprecation_date": "2027-01-14"}).prices
    {'usd_per_mtok_input': Decimal('0.15'), 'usd_per_mtok_output': Decimal('0.6')}
    """
    prices = prices_of(row, tuple(KEYS))
    if prices.get("usd_per_mtok_cache_write") == 0:
        del prices["usd_per_mtok_cache_write"]  # no charge of its own: such tokens are billed as input
    steps = sorted(int(found[1]) for found in map(ABOVE.fullmatch, row) if found)
    tiers = tuple((step * 1000, prices_of(row, TIERED, f"_above_{step}k_tokens")) for step in steps)
    return Entry(prices=prices, tiers=tiers, retires_on=str(row.get("deprecation_date") or ""))


def prices_of(row: dict[str, Any], keys: Sequence[str], suffix: str = "") -> dict[str, Decimal]:
    """Prices in USD per million tokens, under our names, of those `keys` that the row states with that suffix."""
    return {KEYS[key]: _per_million(row[key + suffix]) for key in keys if row.get(key + suffix) is not None}


def _per_million(value: Any) -> Decimal:
    return (Decimal(str(value)) * 1_000_000).quantize(EXACT).normalize()
