"""Which filled value moves the answer most: each is set to both ends of its range, and the cheaper side is priced again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from optimize.estimate.rough_prices import Quick
from sim.catalog.facts import Relay
from sim.start.draft import Gap

MOST_CACHED = 0.8  # share of the input: long system prompts and conversations reach it
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
    return ranked(_effect(gap, now, price) for gap in gaps)


def ranked(found: Iterable[Effect]) -> tuple[Effect, ...]:
    """By falling swing; of equals those that flip the answer first."""
    return tuple(sorted(found, key=lambda each: (-each.swing, not each.flips, each.gap.path)))


def cached_effect(now: Quick, row: Relay) -> Effect | None:
    """What it means when a part of the bill's input was cached: the same bill bought more requests. None where no discount is sold.

    Approximation: whoever serves them instead caches nothing, so the high end is dearer than it would be.
    """
    if row.usd_per_mtok_cached is None:
        return None
    paid = now.at_row(row)
    more = paid / now.at_row(row, MOST_CACHED) if paid > 0 else 1.0
    side, cost = now.best
    source = f"0 to {MOST_CACHED:g} of the input: an assumption; the bill's own lines say it"
    gap = Gap("bill.cached_share", "part of the bill's input that was cached", "0", f"{MOST_CACHED:g}", source)
    return Effect(gap, (side, cost), (side, cost * more), more, False)


def _effect(gap: Gap, now: Quick, price: Price) -> Effect:
    low, high = price(gap.path, gap.low).best, price(gap.path, gap.high).best
    costs = [now.best[1], low[1], high[1]]
    swing = math.inf if math.inf in costs else max(costs) / max(min(costs), 1e-9)
    sides = {side for side, cost in (now.best, low, high) if cost < math.inf}
    return Effect(gap, low, high, swing, len(sides) > 1 or (math.inf in costs and now.best[1] < math.inf))
