"""Cost over demand of three strategies, and from where on own GPUs are cheaper than relays."""

from __future__ import annotations

import math
from dataclasses import dataclass

from optimize.growth import scaling
from optimize.records import Plan
from optimize.strategies import Strategy, all_api, self_hosted

DEMANDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
LOW, HIGH, STEPS = 1e-3, 1e3, 120  # demand that the search for a crossing looks at, times today's, in equal ratios
DEFAULT_ERROR = 0.26  # 90th percentile of the throughput error of fitted laws, cross-validated, where a row states none


@dataclass(frozen=True)
class Point:
    """USD of a month at `demand` times today's requests; None: no such plan. The band of own GPUs is that of the simulator's error."""

    demand: float
    plan_usd: float
    api_usd: float | None
    own_usd: float | None
    own_low_usd: float | None
    own_high_usd: float | None


@dataclass(frozen=True)
class BreakEven:
    """All-API against self-hosted. `at`: the demand, times today's, from which own GPUs are first cheaper; None: at none up to 1,000.

    `at_low`, `at_high`: the same if a request occupies `error` less or more of own GPUs than the simulator says.
    """

    points: tuple[Point, ...]
    error: float
    at: float | None
    at_low: float | None
    at_high: float | None
    notes: tuple[str, ...]


def break_even(plan: Plan) -> BreakEven:
    """The three curves and their crossing.

    The plan is its fleet scaled with routing as it is (see `growth`); the two others are made of whole hosts by hour and brought to the
    level of today's solved alternatives (see `strategies`). Approximation: none of them is solved again at another demand.
    """
    scaled, error = scaling(plan), capacity_error(plan)
    api, own = all_api(plan), self_hosted(plan)
    notes = [f"{what}: {other}" for what, other in (("all-API", api), ("self-hosted", own)) if isinstance(other, str)]
    if isinstance(own, Strategy) and not own.measured:
        notes.append("self-hosted: rests on capacities that were not measured, which are optimistic")
    points = []
    for demand in DEMANDS:
        band = [own.at(demand, load=k) if isinstance(own, Strategy) else None for k in (1.0, 1 - error, 1 + error)]
        api_usd = api.at(demand) if isinstance(api, Strategy) else None
        points.append(Point(demand, scaled.at(demand).usd, api_usd, band[0], band[1], band[2]))
    ats: list[float | None] = [None, None, None]
    if isinstance(api, Strategy) and isinstance(own, Strategy):
        ats = [crossing(api, own, load) for load in (1.0, 1 - error, 1 + error)]
    return BreakEven(tuple(points), error, ats[0], ats[1], ats[2], tuple(notes))


def crossing(api: Strategy, own: Strategy, load: float) -> float | None:
    """The least demand examined from which own GPUs are cheaper there and at all larger demand examined; None: they never are.

    Whole hosts make the cost of own GPUs a staircase: below the crossing there may be other demands at which a full host wins.
    """
    ratio = (HIGH / LOW) ** (1 / STEPS)
    at = None
    for k in range(STEPS, -1, -1):
        demand = LOW * ratio**k
        if own.at(demand, load=load) >= api.at(demand):
            break
        at = demand
    return at


def capacity_error(plan: Plan) -> float:
    """How far the simulator was off in throughput on measurements it had not seen (90th percentile), worst over the used GPU types."""
    used = {t.option.offer.gpu for p, t in enumerate(plan.program.pools) if plan.solution.hosts[p].any()}
    stated = [row.error["throughput_p90"] for row in plan.scenario.catalog.calibration if row.gpu in used and "throughput_p90" in row.error]
    return min(0.9, max((x for x in stated if math.isfinite(x)), default=DEFAULT_ERROR))
