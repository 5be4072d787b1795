"""What the plan would cost if demand is not what was assumed."""

from __future__ import annotations

import math
from dataclasses import replace

from optimize.search.loop import Market, Restriction, settle
from sim.scenario.records import Scenario, SyntheticTraffic


def band_ends(scenario: Scenario) -> tuple[float, float] | None:
    """The ends of the plausible band of requests per user-day; None without a band."""
    return scenario.requests_per_user_band if isinstance(scenario.traffic, SyntheticTraffic) else None


def cost_at(requests_per_user: float, market: Market) -> float:
    """Monthly cost of a plan for that many requests per user-day, measured in two rounds."""
    market.tell(f"demand band: {requests_per_user:g} requests per user-day")
    scaled = replace(market.demand, mean_rps=market.demand.mean_rps * (requests_per_user / today(market.scenario)))
    name = f"{requests_per_user:g} requests per user-day"
    return settle(market, Restriction(name, budget_usd=math.inf, demand=scaled, gap=0.01, rough=True), 2).solution.cost_usd


def today(scenario: Scenario) -> float:
    """Requests per user-day as the scenario has them."""
    assert isinstance(scenario.traffic, SyntheticTraffic)
    return scenario.traffic.conversations_per_user * scenario.traffic.turns_per_conversation
