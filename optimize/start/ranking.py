"""Which filled value moves the answer most: each is set to both ends of its range, and the cheaper side is priced again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from optimize.start.pricing import Quick
from sim.scenario.start.draft import Gap

Price = Callable[[str, str], Quick]


@dataclass(frozen=True)
class Effect:
    """One gap. `low` and `high` are the cheapest cost in USD a month at the ends of its range, with the side that gives it.

    swing   largest over smallest cost among both ends and the value as filled; inf where an end cannot be served at all
    flips   the cheaper side changes inside the range
    """

    gap: Gap
    low: tuple[str, float]
    high: tuple[str, float]
    swing: float
    flips: bool


def effects(gaps: tuple[Gap, ...], now: Quick, price: Price) -> tuple[Effect, ...]:
    """Gaps by falling swing; `price(path, text)` prices the scenario with one key replaced.

    Approximation: one key at a time, and nothing is simulated: peaks and queueing move a plan more than they move these costs.
    """
    found = [_effect(gap, now, price) for gap in gaps]
    return tuple(sorted(found, key=lambda each: (-each.swing, not each.flips, each.gap.path)))


def _effect(gap: Gap, now: Quick, price: Price) -> Effect:
    low, high = price(gap.path, gap.low).best, price(gap.path, gap.high).best
    costs = [now.best[1], low[1], high[1]]
    swing = math.inf if math.inf in costs else max(costs) / max(min(costs), 1e-9)
    sides = {side for side, cost in (now.best, low, high) if cost < math.inf}
    return Effect(gap, low, high, swing, len(sides) > 1 or (math.inf in costs and now.best[1] < math.inf))
