"""What relays bill: tokens of every kind, per request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimize.money.units import HOUR_S, MTOK
from optimize.records import Floats
from sim.catalog.facts import Relay
from sim.errors import InputError
from sim.exact import dot


def request_usd(
    input_tokens: float, cached_tokens: float, output_tokens: float, usd_in: float, usd_cached: float | None, usd_out: float
) -> float:
    """Price of one request; prices in USD per million tokens, `cached_tokens` are part of `input_tokens`.

    (input - cached) x input price + cached x cached price + output x output price; without a cached price all input is dear.

    >>> request_usd(1000, 400, 500, usd_in=2.0, usd_cached=0.5, usd_out=8.0)
    0.0054
    >>> request_usd(1e6, 0, 5e5, usd_in=3, usd_cached=None, usd_out=15)
    10.5
    """
    cached = min(cached_tokens, input_tokens) if usd_cached is not None else 0.0
    usd = (input_tokens - cached) * usd_in + cached * (usd_cached or 0.0) + output_tokens * usd_out
    return float(usd / MTOK)


def relay_request_usd(relay: Relay, input_tokens: float, cached_tokens: float, output_tokens: float, written_tokens: float = 0.0) -> float:
    """Price of one request at `relay`, see `request_usd`; exact for means, because the price is linear in tokens.

    `written_tokens` of the input enter the cache, at a price of their own where the relay has one.
    """
    dearer = 0.0 if relay.usd_per_mtok_cache_write is None else relay.usd_per_mtok_cache_write - relay.usd_per_mtok_input
    return written_tokens * dearer / MTOK + request_usd(
        input_tokens,
        cached_tokens,
        output_tokens,
        relay.usd_per_mtok_input,
        relay.usd_per_mtok_cached,
        relay.usd_per_mtok_output,
    )


def requests_per_month(rate_rps: Floats, weight_h: Floats) -> float:
    """Requests of a month from rates by slice.

    >>> requests_per_month(np.array([1.0, 2.0]), np.array([100.0, 630.0]))
    4896000.0
    """
    return float(dot(np.asarray(rate_rps, dtype=np.float64), weight_h)) * HOUR_S


def calls_usd(flow_rps: Floats, usd_per_request: Floats, weight_h: Floats) -> float:
    """Monthly cost of the calls to one relay; `flow_rps` [classes, slices], `usd_per_request` [classes] or, where the hour has a price,
    [classes, slices]; unused classes may be inf.

    >>> calls_usd(np.array([[1.0], [0.0]]), np.array([0.001, np.inf]), np.array([730.0]))
    2628.0
    >>> calls_usd(np.array([[1.0, 1.0]]), np.array([[0.001, 0.0005]]), np.array([365.0, 365.0]))
    1971.0
    """
    used = np.asarray(flow_rps.any(axis=1))
    if usd_per_request.ndim == 2:
        usd_per_s = (np.where(used[:, None], usd_per_request, 0.0) * flow_rps).sum(axis=0)
    else:
        usd_per_s = dot(np.where(used, usd_per_request, 0.0), flow_rps)
    return round(float(dot(usd_per_s, weight_h)) * HOUR_S, 9)


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


def flat_usd(tokens: float, usd_per_mtok: float) -> float:
    """Price of tokens at one flat rate, whichever way they go.

    >>> flat_usd(100e6, 8.0)
    800.0
    """
    return tokens / MTOK * usd_per_mtok


def blended_usd_per_mtok(usd_in: float, usd_out: float, inputs_per_output: float) -> float:
    """Price of a million tokens of a mix with `inputs_per_output` input tokens to one output token.

    >>> blended_usd_per_mtok(2.0, 8.0, 3.0)
    3.5
    """
    return (inputs_per_output * usd_in + usd_out) / (inputs_per_output + 1)


def largest_saving_usd(list_usd: float) -> float:
    """The most that any other seller can save on a bill of `list_usd` at list price: all of it. A larger claim compares with another price.

    >>> largest_saving_usd(350.0)
    350.0
    """
    return max(0.0, list_usd)


def committed_usd(list_usd: float, commitment_usd: float, discount: float) -> float:
    """A month under a commitment: `commitment_usd` is paid in any case and buys usage at `discount`; what is above pays list price.

    >>> committed_usd(500.0, 800.0, 0.2), committed_usd(1000.0, 800.0, 0.2), committed_usd(1500.0, 800.0, 0.2)
    (800.0, 800.0, 1300.0)
    """
    return commitment_usd + max(0.0, list_usd - commitment_usd / (1 - discount))
