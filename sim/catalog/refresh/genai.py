"""genai-prices (Pydantic), read offline: the data that the package ships, never its updater."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from sim.catalog.refresh.price_changes import Entry, Package

KEYS = {
    "input_mtok": "usd_per_mtok_input",
    "output_mtok": "usd_per_mtok_output",
    "cache_read_mtok": "usd_per_mtok_cached",
    "cache_write_mtok": "usd_per_mtok_cache_write",
}
BATCH = {"input_mtok": "usd_per_mtok_batch_input", "output_mtok": "usd_per_mtok_batch_output"}
BATCH_CONTEXT = {"processing": "batch"}
HALF_HOURS = [timedelta(minutes=30 * k) for k in range(48)]  # windows by the hour begin and end on these
EXACT = Decimal("1e-9")  # prices in the package may be floats in decimal dress: 0.13999999999999999


def load(on: date) -> Package:
    """The installed package; `newest` counts what began by `on`. Raises ImportError without it."""
    import genai_prices
    from genai_prices.data import providers

    models = {f"{provider.id}/{model.id}": model for provider in providers for model in provider.models}
    starts = [start for model in models.values() for start in starts_of(model) if start <= on]

    def find(key: str) -> Entry | None:
        model = models.get(key)
        return None if model is None else entry_of(model, on)

    return Package("genai-prices", str(genai_prices.__version__), find, max(starts, default=None))


def entry_of(model: Any, on: date) -> Entry:
    """Prices of `model` on that day (UTC); where they follow the hour, those of its dearest half hour."""
    prices, off_peak = dearest(model, on)
    following = announced(model, on, prices)
    return Entry(
        prices=prices | batch_of(model, on),
        next_on=following,
        next_prices=dearest(model, following)[0] if following else {},
        off_peak=off_peak,
        tiers=tiers_of(model, on),
        retires_on="soon" if model.deprecated else "",
    )


def dearest(model: Any, on: date) -> tuple[dict[str, Decimal], Decimal | None]:
    """(prices of the dearest half hour of a day, output price of the cheapest to theirs); dearest by output, then by input."""
    midnight = datetime.combine(on, time(), UTC)
    seen: list[dict[str, Decimal]] = []
    for step in HALF_HOURS:
        prices = _named(model.get_prices(midnight + step), KEYS)
        if prices not in seen:
            seen.append(prices)
    order = ("usd_per_mtok_output", "usd_per_mtok_input")
    seen.sort(key=lambda each: tuple(each.get(key, Decimal(0)) for key in order))
    low, high = (each.get(order[0], Decimal(0)) for each in (seen[0], seen[-1]))
    return seen[-1], low / high if len(seen) > 1 and high else None


def announced(model: Any, on: date, today: dict[str, Decimal]) -> date | None:
    """The first later day on which a dated price differs from today's."""
    later = sorted({start for start in starts_of(model) if start > on})
    return next((start for start in later if dearest(model, start)[0] != today), None)


def batch_of(model: Any, on: date) -> dict[str, Decimal]:
    """Prices of answers within a day; empty where the package has no such variant on that day."""
    for variant in model.price_variants or ():
        if variant.when == BATCH_CONTEXT and (variant.constraint is None or variant.constraint.active(_noon(on))):
            return _named(model.get_prices(_noon(on), BATCH_CONTEXT), BATCH)
    return {}


def tiers_of(model: Any, on: date) -> tuple[tuple[int, dict[str, Decimal]], ...]:
    """Prices above each threshold of the prompt's length; a kind of token without a step there keeps its price."""
    stated = vars(model.get_prices(_noon(on)))
    steps = sorted({tier.start for value in stated.values() for tier in getattr(value, "tiers", ())})
    kinds = {ours: stated[key] for key, ours in KEYS.items() if stated.get(key) is not None}
    return tuple((start, {ours: _above(price, start) for ours, price in kinds.items()}) for start in steps)


def _above(price: Any, start: int) -> Decimal:
    passed = [tier.price for tier in getattr(price, "tiers", ()) if tier.start <= start]
    return _exact(passed[-1] if passed else getattr(price, "base", price))


def starts_of(model: Any) -> Iterator[date]:
    """The days on which prices of a model begin."""
    for part in (*(model.prices if isinstance(model.prices, list) else ()), *(model.price_variants or ())):
        start = getattr(part.constraint, "start_date", None)
        if start is not None:
            yield start


def _named(prices: Any, keys: dict[str, str]) -> dict[str, Decimal]:
    """Prices below the first long-context tier, under our names."""
    stated = {ours: vars(prices).get(theirs) for theirs, ours in keys.items()}
    return {ours: _exact(getattr(value, "base", value)) for ours, value in stated.items() if value is not None}


def _exact(value: Decimal) -> Decimal:
    return Decimal(value).quantize(EXACT).normalize()


def _noon(on: date) -> datetime:
    return datetime.combine(on, time(12), UTC)
