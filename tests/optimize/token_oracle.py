"""The price of one request by a price list, written without the meter of the product: what bills are compared with."""

from __future__ import annotations

from dataclasses import dataclass

from sim.errors import InputError

MTOK = 1e6


@dataclass(frozen=True)
class LongContext:
    """Prices of a request whose prompt is longer than `above_tokens`: the whole request is billed at them, not only the excess."""

    above_tokens: int
    usd_in: float
    usd_out: float
    usd_cached: float | None = None
    usd_written: float | None = None


@dataclass(frozen=True)
class TokenPrices:
    """A price list of one endpoint, USD per million tokens; None: no such price, the input price holds.

    written        tokens that enter the cache (some vendors charge 1.25 x input for them)
    batch_factor   what a batch request costs of the normal price (0.5 at most vendors); None: no batch service
    long_context   rising thresholds; the highest one that a request exceeds prices all of it
    hour_factors   24 factors by hour of the vendor's day; empty: the same all day
    """

    usd_in: float
    usd_out: float
    usd_cached: float | None = None
    usd_written: float | None = None
    batch_factor: float | None = None
    long_context: tuple[LongContext, ...] = ()
    hour_factors: tuple[float, ...] = ()


@dataclass(frozen=True)
class TokenCount:
    """Tokens of one request; cached and written ones are part of the input and do not overlap."""

    input: float
    output: float
    cached: float = 0.0
    written: float = 0.0


def token_usd(prices: TokenPrices, tokens: TokenCount, *, batch: bool = False, hour: int | None = None) -> float:
    """Price of ONE request. Tiers depend on the length of its prompt: feeding a month's totals would bill all of them at the top tier.

    (plain x in + cached x cached + written x written + output x out) x batch factor x factor of the hour, per million.
    InputError where batch is asked of an endpoint that has none.

    >>> sonnet = TokenPrices(3.0, 15.0, long_context=(LongContext(200_000, 6.0, 22.5),))
    >>> token_usd(sonnet, TokenCount(200_000, 0)), token_usd(sonnet, TokenCount(200_001, 0))
    (0.6, 1.200006)
    >>> token_usd(TokenPrices(2.0, 8.0, 0.5, 2.5, 0.5), TokenCount(1000, 100, cached=400, written=200), batch=True)
    0.00115
    """
    row: TokenPrices | LongContext = prices
    for tier in sorted(prices.long_context, key=lambda tier: tier.above_tokens):
        if tokens.input > tier.above_tokens:
            row = tier
    cached = row.usd_in if row.usd_cached is None else row.usd_cached
    written = row.usd_in if row.usd_written is None else row.usd_written
    plain = max(0.0, tokens.input - tokens.cached - tokens.written)
    usd = plain * row.usd_in + tokens.cached * cached + tokens.written * written + tokens.output * row.usd_out
    if batch and prices.batch_factor is None:
        raise InputError("batch: this endpoint sells no batch service; send these requests one by one")
    factor = (prices.batch_factor or 0.0) if batch else 1.0
    if hour is not None and prices.hour_factors:
        factor *= prices.hour_factors[hour % len(prices.hour_factors)]
    return round(usd * factor / MTOK, 12)
