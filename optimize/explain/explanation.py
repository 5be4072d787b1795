"""What surrounds a plan: alternatives, flips, demand band, uncertainty, reasons, and what less money would serve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from optimize.explain.alternatives import alternative, restrictions
from optimize.explain.confidence import confidence
from optimize.explain.cost_gap import gap_of, margin_usd
from optimize.explain.flips import flip_gpus, gpu_price_flip, limit_flips
from optimize.explain.hit_flip import hit_flip
from optimize.explain.near_optimal import groups, least, near
from optimize.explain.side_questions import side_by_side
from optimize.explain.survives import own_wins
from optimize.explain.uncertainty import uncertainty
from optimize.explain.vendor_alone import cheapest_first, vendor_alone, vendors
from optimize.explain.volume_flip import volume_flips
from optimize.explain.why import known_and_least, why
from optimize.money.amounts import scaled_usd
from optimize.program.solve import solve
from optimize.records import Alternative, CostLine, Flip, GapParts, ProgramInput
from optimize.result import Chance, FrontierPoint, Uncertainty, Why
from optimize.search.loop import Market, Restriction, Settled, settle
from optimize.search.routing import routing_alternative
from sim.exact import dot
from sim.scenario.scenario import Scenario, SyntheticTraffic


@dataclass(frozen=True)
class Surroundings:
    """Parts of a `Plan`, by their names there; `routed` are its alternatives without routing."""

    routed: tuple[Alternative, ...]
    alternatives: tuple[Alternative, ...]
    flips: tuple[Flip, ...]
    demand_band: tuple[tuple[float, float], ...]
    uncertainty: Uncertainty
    gap_parts: GapParts | None
    why: Why


@dataclass(frozen=True)
class Asked:
    """Questions by what their answers are for."""

    by_name: dict[str, list[Callable[[Market], Any]]]

    def answers(self, market: Market) -> dict[str, list[Any]]:
        """All of them answered side by side, dearest kinds of question first, by the same names."""
        flat = side_by_side(market, [question for each in self.by_name.values() for question in each])
        answers = iter(flat)
        return {name: [next(answers) for _ in each] for name, each in self.by_name.items()}


def surroundings(
    market: Market, settled: Settled, status: str, lines: tuple[CostLine, ...], full: bool, chance: Chance | None = None
) -> Surroundings:
    """All of it for one plan, in two rounds: the second asks among the pools that the first one measured."""
    planned = status in ("met", "missed")
    ends = band_ends(market.scenario) if planned else None
    first = Asked(
        {
            "uncertainty": [partial(uncertainty, settled, status == "met")],
            "parts": [partial(gap_of, settled)] if planned else [],
            "why": [partial(why, settled, status, lines, full)],
            "alternatives": [partial(alternative, each, settled if status == "met" else None) for each in restrictions(market)],
            "vendors": [partial(vendor_alone, each, settled if status == "met" else None) for each in vendors(market)],
            "routed": [routing_alternative],
            "prices": [partial(gpu_price_flip, gpu) for gpu in flip_gpus(settled, market)] if planned else [],
            "band": [partial(cost_at, end) for end in ends or ()],
            "hits": [partial(hit_flip, settled)] if planned and full else [],
            "confidence": [partial(confidence, settled, chance)] if chance is not None else [],
        }
    ).answers(market)
    (reasons,) = first["why"]
    known, cost_usd = known_and_least(market, settled, reasons.no_plan)
    near_groups = groups(market, settled) if planned else []
    second = Asked(
        {
            "frontier": [partial(_served_for, part, known, cost_usd) for part in PARTS if cost_usd is not None],
            "kinds": [partial(near, group, settled.solution.cost_usd) for group in near_groups],
            "volume": [partial(volume_flips, settled)] if planned else [],
            "own_wins": [partial(own_wins, settled, chance)] if chance is not None else [],
        }
    ).answers(market)
    (routed,) = first["routed"]
    sure = next(iter(first["confidence"]), None)
    sure = sure if sure is None else replace(sure, own_wins=next(iter(second["own_wins"]), None))
    parts = first["parts"][0] if planned else None
    margin = margin_usd(settled, parts, market.scenario.policy.safety) if status == "met" else None
    close = least(market, settled, list(zip(near_groups, second["kinds"], strict=True)), full)
    flips = [*limit_flips(market, settled), *first["prices"], *(flip for each in second["volume"] for flip in each), *first["hits"]]
    return Surroundings(
        routed=routed,
        alternatives=(*routed, *first["alternatives"], *cheapest_first(first["vendors"]), *close),
        flips=tuple(flip for flip in (flips if planned else ()) if flip is not None),
        demand_band=_band(market, settled, ends, first["band"]),
        uncertainty=replace(first["uncertainty"][0], safety_usd=margin, confidence=sure),
        gap_parts=parts,
        why=replace(reasons, frontier=_frontier(second["frontier"], cost_usd)),
    )


def _served_for(part: float, known: Any, cost_usd: float, market: Market) -> FrontierPoint:
    market.tell(f"what {part:.0%} of the money would serve")
    return served_for(part, known, cost_usd)


def _frontier(points: list[FrontierPoint], cost_usd: float | None) -> tuple[FrontierPoint, ...]:
    """The last point is all of the requests for all of the money."""
    return () if cost_usd is None else (*points, FrontierPoint(cost_usd, 1.0))


def _band(market: Market, settled: Settled, ends: tuple[float, float] | None, costs_usd: list[float]) -> tuple[tuple[float, float], ...]:
    if ends is None:
        return ()
    low, high = zip(ends, costs_usd, strict=True)
    return (low, (today(market.scenario), settled.solution.cost_usd), high)


PARTS = (0.5, 0.75, 0.9)  # of the least cost of serving everything
GAP = 0.02


def served_for(part: float, problem: ProgramInput, least_usd: float) -> FrontierPoint:
    """The share of requests that a plan inside `part` of `least_usd` serves, as planned."""
    demand = problem.demand
    total = max(float(dot(demand.mean_rps, demand.weight_h).sum()), 1e-12)
    budget = max(scaled_usd(least_usd, part), problem.fixed_usd)
    lost = float(dot(solve(replace(problem, budget_usd=budget), gap=GAP).unserved, demand.weight_h).sum())
    return FrontierPoint(budget, max(0.0, 1.0 - lost / total))


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
