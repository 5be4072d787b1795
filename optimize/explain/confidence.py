"""How sure a plan is: its chance, what other chances cost, and what a pilot would be worth."""

from __future__ import annotations

from optimize.explain.confidence_ladder import Slowness, ladder
from optimize.explain.pilot_worth import pilots
from optimize.result import Chance, Confidence
from optimize.search.known_market import Market, Settled


def confidence(settled: Settled, chance: Chance, market: Market) -> Confidence:
    """All of it, for a plan of which the chance is known."""
    slowness = Slowness(market, settled, chance.planned_at)
    return Confidence(chance, ladder(market, settled, chance, slowness), pilots(market, settled, chance, slowness))
