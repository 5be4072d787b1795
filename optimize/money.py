"""The only place where money is computed: one documented formula each. USD; a month has 730 hours."""

from __future__ import annotations

import numpy as np

from optimize.records import CostLine, Floats, Ints, ProgramInput, ProgramSolution
from sim.catalog.records import Offer, Relay

HOURS_PER_MONTH = 730.0
HOUR_S = 3600.0


def hosts_usd(offer: Offer, billed: Ints, weight_h: Floats) -> float:
    """Monthly price of `billed` [slices] hosts: price per host-hour x hosts x hours that each slice stands for.

    >>> offer = Offer("a", "p", "l4", 1, 2.0, "on_demand", source=None)
    >>> hosts_usd(offer, np.array([1, 3]), np.array([600.0, 130.0]))
    1980.0
    """
    return float(offer.usd_per_hour * (billed @ weight_h))


def billed_hosts(offer: Offer, hosts: Ints) -> Ints:
    """Hosts that are paid in each slice: those that run if the offer is elastic, else the most that ever run, in every slice.

    >>> offer = Offer("a", "p", "l4", 1, 2.0, "owned", source=None)
    >>> billed_hosts(offer, np.array([1, 3]))
    array([3, 3])
    """
    return hosts.copy() if offer.elastic else np.full_like(hosts, hosts.max(initial=0))


def relay_request_usd(relay: Relay, input_tokens: float, cached_tokens: float, output_tokens: float) -> float:
    """Price of one request: fresh input, cached input and output tokens, each at its price per million.

    `cached_tokens` are part of `input_tokens`; without a cached price they cost as much as fresh ones.
    """
    cached_price = relay.usd_per_mtok_input if relay.usd_per_mtok_cached is None else relay.usd_per_mtok_cached
    fresh = input_tokens - cached_tokens
    return float(fresh * relay.usd_per_mtok_input + cached_tokens * cached_price + output_tokens * relay.usd_per_mtok_output) / 1e6


def relay_usd(problem: ProgramInput, solution: ProgramSolution, a: int) -> float:
    """Monthly bill of relay `a`: requests of each class x price of one request of that class."""
    requests = solution.relay_flow[a] @ problem.demand.weight_h * HOUR_S
    price = np.where(np.isfinite(problem.relays[a].usd_per_request), problem.relays[a].usd_per_request, 0.0)
    return float(requests @ price)


def cost_lines(problem: ProgramInput, solution: ProgramSolution) -> tuple[CostLine, ...]:
    """The bill: a line per pool that is paid and per relay that is used, dearest first, then fixed costs. Its sum is the cost of the plan."""
    lines = []
    for p, terms in enumerate(problem.pools):
        if solution.billed[p].any():
            offer = terms.option.offer
            hours = float(solution.billed[p] @ problem.demand.weight_h)
            detail = f"{hours:,.0f} host-hours x ${offer.usd_per_hour:g}"
            lines.append(CostLine(terms.option.id, "gpu", hosts_usd(offer, solution.billed[p], problem.demand.weight_h), detail))
    for a, relay in enumerate(problem.relays):
        requests = float(solution.relay_flow[a].sum(axis=0) @ problem.demand.weight_h) * HOUR_S
        if requests > 0.5:
            lines.append(CostLine(relay.relay.id, "relay", relay_usd(problem, solution, a), f"{requests:,.0f} requests"))
    lines.sort(key=lambda line: (-line.per_month_usd, line.name))
    if problem.fixed_usd:
        lines.append(CostLine("fixed costs", "fixed", problem.fixed_usd))
    return tuple(lines)


def plan_cost_usd(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Monthly cost of a solution, without the penalty for unserved demand."""
    pools = sum(hosts_usd(t.option.offer, solution.billed[p], problem.demand.weight_h) for p, t in enumerate(problem.pools))
    return pools + sum(relay_usd(problem, solution, a) for a in range(len(problem.relays))) + problem.fixed_usd
