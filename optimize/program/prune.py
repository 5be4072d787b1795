"""Pools that another pool beats in every respect need not enter the program."""

from __future__ import annotations

import numpy as np

from optimize.program.variables import price_per_request
from optimize.records import Floats, PoolTerms


def undominated(pools: tuple[PoolTerms, ...]) -> list[int]:
    """Indices of pools that no other pool with the same classes beats.

    p is beaten by q when both follow the hour without a stock limit, and q is no dearer per request of any class, no dearer per host (so no
    coarser in money), starts no later, and misses no more. Exact for the relaxation; whole hosts can make p better by less than one host of q.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for p, terms in enumerate(pools):
        groups.setdefault(terms.option.classes, []).append(p)
    kept: list[int] = []
    for members in groups.values():
        keys = {p: merit(pools[p]) for p in members}
        for p in members:
            if not any(q != p and beats(keys[q], keys[p], pools[q], pools[p], q < p) for q in members):
                kept.append(p)
    return sorted(kept)


def merit(terms: PoolTerms) -> Floats:
    """What is compared, smaller is better: price per request of each class at each level, price per host, start, and miss shares."""
    prices = [price_per_request(terms, float(level.load[c])) for level in terms.levels for c in terms.option.classes]
    misses = [float(m) for level in terms.levels for m in level.miss]
    offer, per_host = terms.option.offer, terms.slope * terms.option.replicas_per_host
    return np.array([*prices, offer.usd_per_hour, terms.intercept * offer.usd_per_hour / per_host, *misses])


def beats(q: Floats, p: Floats, q_terms: PoolTerms, p_terms: PoolTerms, earlier: bool) -> bool:
    """Whether merit `q` is at least as good everywhere, and better somewhere (or the earlier of equals)."""
    free = q_terms.option.offer.elastic and q_terms.option.offer.stock is None
    if not free or len(q) != len(p) or not np.all(q <= p * (1 + 1e-12) + 1e-15):
        return False
    return earlier or bool(np.any(q < p * (1 - 1e-9) - 1e-15))
