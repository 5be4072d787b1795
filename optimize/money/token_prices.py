"""What relays bill: tokens of every kind, per request."""

from __future__ import annotations

import numpy as np

from optimize.money.units import HOUR_S, MTOK
from optimize.records import Floats
from sim.catalog.facts import Relay
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
