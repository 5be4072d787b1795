"""Whether the order of own GPUs and relays survives what is not known: both priced at rising errors, compared in the same drawn worlds."""

from __future__ import annotations

import math

import numpy as np

from optimize.explain.alternatives import limited, pool_only_classes, relay_only_classes
from optimize.explain.confidence_ladder import Slowness
from optimize.market.drawn_scores import DRAWS, drawn
from optimize.program.solve import solve
from optimize.records import Floats
from optimize.result import Chance
from optimize.search.chance import law_of, stated
from optimize.search.known_market import Market, Restriction, Settled

SCORES = (-1.6449, -0.6745, 0.0, 0.6745, 1.6449)
GAP = 0.02
SAME = 0.001


def own_wins(settled: Settled, chance: Chance, market: Market) -> float | None:
    """The share of drawn worlds in which own GPUs, planned for the engines' true speed, cost less than relays; None where one of the two
    cannot serve everything, and where they are the same plan.

    Approximation: all engines err alike in one world; relays cost the same in each, and so does what only they may serve.
    """
    if not market.states or not market.relays:
        return None
    market.tell("confidence: do own GPUs or relays cost less?")
    own, remote = pool_only_classes(market), relay_only_classes(market)
    by_relay = Restriction("by relays", keep_pool=lambda state: set(state.option.classes) <= own, budget_usd=math.inf)
    by_host = Restriction("own", keep_pool=lambda state: bool(state.points), keep_relay=limited(remote), budget_usd=math.inf)
    relays, hosts = known(market, by_relay), known(market, by_host)
    if relays.unserved or hosts.unserved or same(relays.solution.cost_usd, hosts.solution.cost_usd):
        return None
    slowness = Slowness(market, settled, chance.planned_at)
    costs = np.maximum.accumulate([solve(slowness.problem(hosts, z), gap=GAP).cost_usd for z in SCORES])
    scores = drawn(law_of(market).correlations, {"engines": ("", "")}, (), stated(market).seed, DRAWS).deployments["engines"]
    return share_below(scores, costs, relays.solution.cost_usd)


def known(market: Market, restriction: Restriction) -> Settled:
    """The program of a restriction on what has been measured so far."""
    pools = market.pools(restriction)
    problem = market.problem(restriction, pools)
    return Settled(problem, solve(problem, gap=GAP), tuple(pools))


def same(one_usd: float, other_usd: float) -> bool:
    """Whether two months cost the same within the programs' gap by a thousandth: then there is no choice to speak of.

    >>> same(782.72, 782.72), same(782.0, 900.0)
    (True, False)
    """
    return abs(one_usd - other_usd) <= SAME * max(abs(one_usd), abs(other_usd))


def share_below(scores: Floats, costs: Floats, other_usd: float) -> float:
    """The share of worlds in which the cost at their score, linear between SCORES, is below `other_usd`.

    >>> share_below(np.array([-2.0, 0.1, 1.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 3.0)
    0.3333333333333333
    """
    return float(np.mean(np.interp(scores, SCORES, costs) < other_usd))
