"""What the plan would cost if demand is not what was assumed."""

from __future__ import annotations

import math
from dataclasses import replace

from optimize.search import Market, Restriction, Settled, settle
from sim.scenario.records import SyntheticTraffic


def demand_band(market: Market, settled: Settled) -> tuple[tuple[float, float], ...]:
    """Monthly cost at the ends of the plausible band of requests per user-day, re-planned; empty without a band."""
    traffic, band = market.scenario.traffic, market.scenario.requests_per_user_band
    if not isinstance(traffic, SyntheticTraffic) or band is None:
        return ()
    today = traffic.conversations_per_user * traffic.turns_per_conversation
    answer = []
    for requests_per_user in band:
        market.tell(f"demand band: {requests_per_user:g} requests per user-day")
        scaled = replace(market.demand, mean_rps=market.demand.mean_rps * (requests_per_user / today))
        name = f"{requests_per_user:g} requests per user-day"
        again = settle(market, Restriction(name, budget_usd=math.inf, demand=scaled, gap=0.01, rough=True), 2)
        answer.append((float(requests_per_user), again.solution.cost_usd))
    return (answer[0], (today, settled.solution.cost_usd), answer[-1])
