"""What a pilot is worth before it is run: draw what it would show, update the law, plan again, and average (pre-posterior analysis).

Source: Raiffa and Schlaifer 1961, Applied Statistical Decision Theory, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optimize.explain.confidence_ladder import GAP, Slowness, kinds_of
from optimize.explain.pilot_run import pilot_of
from optimize.program.solve import solve
from optimize.records import Floats
from optimize.result import Chance, PilotWorth
from optimize.search.chance import law_of, row_of, stated
from optimize.search.known_market import Market, Settled
from sim.calibration.doubt import OWN_LEAST, doubt_of, score_of

MOST = 2  # deployments that are looked at, those with most requests
GRID = (-1.6449, -0.6745, 0.0, 1.2816, 1.8, 2.2, 2.5758)  # scores at which the month is priced, next to the one that was planned for


def left_over(correlations: dict[str, float], scale: float) -> float:
    """Deviation of the score of a deployment's error once a pilot has been run at the plan's own load: what runs of one deployment differ
    by among each other, and no less than repeated runs on one machine do.

    >>> round(left_over({"same_deployment": 0.75}, 0.1), 3), left_over({"same_deployment": 0.75}, 0.026)
    (0.5, 1.0)
    """
    return min(1.0, max(math.sqrt(max(1.0 - correlations.get("same_deployment", 0.0), 0.0)), OWN_LEAST / max(scale, 1e-9)))


def expected_cost(scores: Sequence[float], costs: Sequence[float], planned: float, left: float) -> float:
    """The mean cost of planning after a pilot, at the same chance: the pilot moves the score by a normal law of what it tells, and what it
    leaves is `left` of today's doubt. Between `scores`, costs are linear.

    >>> round(expected_cost((-2.0, 0.0, 2.0), (80.0, 100.0, 120.0), 1.0, 0.0), 3)
    100.0
    """
    told = math.sqrt(max(1.0 - left * left, 0.0))
    means: Floats = told * normal_grid()
    return float(np.mean(np.interp(means + planned * left, scores, costs)))


def normal_grid(points: int = 401) -> Floats:
    """The middles of `points` equally likely parts of a normal law, by the known quantiles.

    >>> abs(float(normal_grid().mean())) < 1e-9
    True
    """
    from scipy.special import ndtri

    return np.asarray(np.round(ndtri((np.arange(points) + 0.5) / points), 9), np.float64)


def pilots(market: Market, settled: Settled, chance: Chance, slowness: Slowness) -> tuple[PilotWorth, ...]:
    """For the deployments that carry most requests: what a pilot saves a month in expectation, and its price; best first.

    A saving may be negative: where a pilot mostly shows that more hosts are needed, what it buys is a plan that holds.
    """
    law, scenario = law_of(market), stated(market)
    found = []
    grid = sorted({*GRID, slowness.planned})
    slowness.measure([z for z in grid if z != slowness.planned])
    for deployment in list(kinds_of(settled).values())[:MOST]:
        pilot = pilot_of(scenario, settled, deployment)
        if pilot is None:
            continue
        market.tell(f"confidence: what a pilot of {deployment.id} is worth")
        costs = [solve(slowness.problem(settled, z, deployment), gap=GAP).cost_usd for z in grid]
        costs = list(np.maximum.accumulate(costs))
        now = float(costs[grid.index(slowness.planned)])
        left = left_over(law.correlations, doubt_of(law, row_of(scenario, deployment)).spreads["tpot"].scale)
        then = expected_cost(grid, costs, score_of(chance.planned_at), left)
        found.append(PilotWorth(pilot, now - then, left))
    return tuple(sorted(found, key=lambda each: (each.pilot.usd - each.saves_usd, each.pilot.deployment)))
