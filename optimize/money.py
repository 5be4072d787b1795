"""The only place where money is computed. Amounts in USD; a month has 730 hours; prices exclude tax."""

from __future__ import annotations

import numpy as np

from optimize.records import CostLine, Floats, Ints, ProgramInput, ProgramSolution
from sim.catalog.records import Relay

HOURS_PER_MONTH = 730.0
HOUR_S = 3600.0
MTOK = 1e6


def hosts_usd(billed: Ints | Floats, weight_h: Floats, usd_per_hour: float) -> float:
    """Monthly cost of the hosts of one offer: paid host-hours times the price of an hour.

    `billed` [slices] hosts that are paid, `weight_h` [slices] hours a month of each slice. An elastic offer is paid for the hours in
    which a host runs; any other has the same count in every slice, so that 730 h are paid, idle ones included.

    >>> hosts_usd(np.array([2, 1]), np.array([365.0, 365.0]), 1.0)
    1095.0
    >>> hosts_usd(np.array([2, 2]), np.array([365.0, 365.0]), 1.0) == 2 * 730.0
    True
    """
    return float(np.asarray(billed, dtype=np.float64) @ weight_h) * usd_per_hour


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


def relay_request_usd(relay: Relay, input_tokens: float, cached_tokens: float, output_tokens: float) -> float:
    """Price of one request at `relay`, see `request_usd`; exact for means, because the price is linear in tokens."""
    return request_usd(
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
    return float(np.asarray(rate_rps, dtype=np.float64) @ weight_h) * HOUR_S


def calls_usd(flow_rps: Floats, usd_per_request: Floats, weight_h: Floats) -> float:
    """Monthly cost of the calls to one relay; `flow_rps` [classes, slices], `usd_per_request` [classes], unused classes may be inf.

    >>> calls_usd(np.array([[1.0], [0.0]]), np.array([0.001, np.inf]), np.array([730.0]))
    2628.0
    """
    used = flow_rps.any(axis=1)
    usd_per_s = np.where(used, usd_per_request, 0.0) @ flow_rps
    return round(float(usd_per_s @ weight_h) * HOUR_S, 9)


def to_currency(usd: float, usd_per_unit: float) -> float:
    """An amount of USD in a currency of which one unit costs `usd_per_unit` USD.

    >>> to_currency(120.0, 1.2)
    100.0
    """
    return usd / usd_per_unit


def to_usd(amount: float, usd_per_unit: float) -> float:
    """An amount of a currency in USD; the inverse of `to_currency`.

    >>> to_usd(100.0, 1.2)
    120.0
    """
    return amount * usd_per_unit


def cost_lines(problem: ProgramInput, solution: ProgramSolution) -> tuple[CostLine, ...]:
    """The bill of a solution: a line per pool and relay that costs anything, dearest first, then fixed costs; names are their ids."""
    weight_h = problem.demand.weight_h
    lines = []
    for p, terms in enumerate(problem.pools):
        billed = solution.billed[p]
        usd = hosts_usd(billed, weight_h, terms.option.offer.usd_per_hour)
        if billed.any():
            lines.append(CostLine(terms.option.id, "gpu", usd, f"{float(billed @ weight_h):,.0f} host-hours"))
    for a, relay in enumerate(problem.relays):
        flow = solution.relay_flow[a]
        if flow.any():
            requests = requests_per_month(flow.sum(axis=0), weight_h)
            lines.append(CostLine(relay.relay.id, "relay", calls_usd(flow, relay.usd_per_request, weight_h), f"{requests:,.0f} requests"))
    lines.sort(key=lambda line: (-line.per_month_usd, line.name))
    if problem.fixed_usd:
        lines.append(CostLine("fixed costs", "fixed", problem.fixed_usd))
    return tuple(lines)


def plan_cost_usd(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Monthly cost of a solution: the sum of its lines."""
    return float(sum(line.per_month_usd for line in cost_lines(problem, solution)))
