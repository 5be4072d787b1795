"""A search in a few hours that stand for all: which pools pay is much the same in similar hours, and each hour is a separate program.

What is found there is measured; the plan itself is made, bounded and proved with every hour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from optimize.records import RelayTerms
from optimize.search.known_market import Market, Restriction
from sim.exact import dot
from sim.requests import Demand
from sim.scenario.scenario import LogTraffic

FEW_GAP = 0.01  # of their programs
FEW_NODES = 40  # likewise, for a question that rough answers are enough for
MANY = 24  # hours from which on some stand for others
ALIKE, ROUGHLY = 6, 12  # hours in a row, by their demand, for which one stands; likewise for a question that rough answers are enough for


def in_few_hours(market: Market, restriction: Restriction) -> Restriction:
    """`restriction` in hours that stand for the rest; itself where there are few, or where an hour depends on the one before it."""
    demand = restriction.demand or market.demand
    if demand.mean_rps.shape[1] < MANY or isinstance(market.scenario.traffic, LogTraffic):
        return restriction
    if market.problem(restriction, market.pools(restriction)).boot is not None:
        return restriction
    kept = [terms for terms in map(restriction.keep_relay, market.relays) if terms is not None]
    groups = alike_hours(demand, kept, ROUGHLY if restriction.rough else ALIKE)
    chosen = [group[len(group) // 2] for group in groups]
    few = Demand(
        tuple(demand.slices[t] for t in chosen),
        np.array([float(np.sum(demand.weight_h[group])) for group in groups]),
        demand.mean_rps[:, chosen],
        demand.peak_factor,
        demand.input_tokens,
        demand.output_tokens,
        demand.prefix_tokens,
    )
    nodes = FEW_NODES if restriction.rough else restriction.nodes
    gap, kept_in = max(restriction.gap, FEW_GAP), in_hours(restriction.keep_relay, chosen)
    return replace(restriction, demand=few, keep_relay=kept_in, gap=gap, nodes=nodes)


def alike_hours(demand: Demand, relays: Sequence[RelayTerms], most: int = ALIKE) -> list[list[int]]:
    """Groups of hours, each from the least demand to the most: `most` hours at most of neighbouring demand at the same prices.

    The busiest hour, the quietest, and the busiest of each class stand for themselves.
    """
    load = dot(demand.input_tokens + demand.output_tokens, demand.mean_rps)
    alone = {int(np.argmax(load)), int(np.argmin(load)), *np.argmax(demand.mean_rps, axis=1).tolist()}
    by_price: dict[bytes, list[int]] = {}
    for t in sorted(range(len(load)), key=lambda t: (float(load[t]), t)):
        price = b"".join(terms.hour_factors[:, t].tobytes() for terms in relays if terms.hour_factors is not None)
        if t not in alone:
            by_price.setdefault(price, []).append(t)
    rows = [hours[k : k + most] for hours in by_price.values() for k in range(0, len(hours), most)]
    return sorted([*rows, *([t] for t in sorted(alone))])


def in_hours(keep: Callable[[RelayTerms], RelayTerms | None], chosen: Sequence[int]) -> Callable[[RelayTerms], RelayTerms | None]:
    """`keep` with the prices of the hours `chosen`."""

    def kept(terms: RelayTerms) -> RelayTerms | None:
        found = keep(terms)
        return found if found is None or found.hour_factors is None else replace(found, hour_factors=found.hour_factors[:, list(chosen)])

    return kept
