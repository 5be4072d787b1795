"""The optimum of a small program by trying every combination of whole hosts; flows by scipy's LP. Shares nothing with the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from optimize.records import ProgramInput


def most_hosts(given: ProgramInput, p: int) -> int:
    """Hosts of pool `p` that could carry all that it may serve in the busiest hour, one more under N+1, no more than its stock."""
    terms = given.pools[p]
    load = max(
        sum(float(terms.levels[0].load[c] * given.demand.mean_rps[c, t]) for c in terms.option.classes)
        for t in range(len(given.demand.weight_h))
    )
    need = math.ceil((load + terms.intercept) / (terms.slope * terms.option.replicas_per_host)) + int(given.n_plus_one)
    stock = terms.option.offer.stock
    return need if stock is None else min(need, stock)


def relay_usd(given: ProgramInput, t: int, hosts: tuple[int, ...]) -> float | None:
    """Relay USD a month of hour `t` with these hosts and everything served; None if impossible."""
    rate, weight = given.demand.mean_rps[:, t], float(given.demand.weight_h[t])
    routes = [("pool", p, c) for p, terms in enumerate(given.pools) if hosts[p] for c in terms.option.classes]
    routes += [("relay", a, int(c)) for a, terms in enumerate(given.relays) for c in np.flatnonzero(terms.eligible)]
    price = [0.0 if kind == "pool" else float(given.relays[k].usd_per_request[c]) * 3600 * weight for kind, k, c in routes]
    upper, limit = [], []

    def at_most(row: list[float], most: float) -> None:
        upper.append(row)
        limit.append(most)

    for p, terms in enumerate(given.pools):
        if hosts[p]:
            working = hosts[p] - int(given.n_plus_one)
            room = terms.slope * working * terms.option.replicas_per_host - terms.intercept
            at_most([float(terms.levels[0].load[c]) if (kind, k) == ("pool", p) else 0.0 for kind, k, c in routes], max(room, 0.0))
    for i, row in enumerate(given.slos):
        misses = [
            float((given.pools[k].levels[0] if kind == "pool" else given.relays[k]).miss[i]) if c == row.class_index else 0.0
            for kind, k, c in routes
        ]
        at_most(misses, (1 - row.quantile) * float(rate[row.class_index]))
    for a, terms_a in enumerate(given.relays):
        if terms_a.hard_limits:
            peak = 60 * given.demand.peak_factor
            mine = [peak if (kind, k) == ("relay", a) else 0.0 for kind, k, _ in routes]
            if terms_a.relay.rpm is not None:
                at_most(mine, terms_a.relay.rpm)
            if terms_a.relay.tpm is not None:
                at_most([100.0 * each for each in mine], terms_a.relay.tpm)
    at_most([1.0 if kind == "relay" else 0.0 for kind, _, _ in routes], given.max_relay_share * float(rate.sum()))
    equal = [[1.0 if c == k else 0.0 for _, _, k in routes] for c in range(len(rate))]
    if not routes:
        return None if rate.any() else 0.0
    answer = linprog(price, A_ub=upper, b_ub=limit, A_eq=equal, b_eq=rate, method="highs")
    return float(answer.fun) if answer.status == 0 else None


def within_stock(given: ProgramInput, hosts: tuple[int, ...]) -> bool:
    """Whether no offer sells more than it has."""
    for terms in given.pools:
        stock = terms.option.offer.stock
        same = [n for q, n in enumerate(hosts) if given.pools[q].option.offer.id == terms.option.offer.id]
        if stock is not None and sum(same) > stock:
            return False
    return True


def combinations(given: ProgramInput, members: list[int]) -> Iterator[tuple[int, ...]]:
    """Every count of hosts for the pools in `members`, zero for the others."""
    ranges = [range(most_hosts(given, p) + 1) if p in members else range(1) for p in range(len(given.pools))]
    yield from itertools.product(*ranges)


def best_usd(given: ProgramInput) -> float:
    """Least monthly cost that serves everything, budget left aside; inf where that is impossible."""
    weight = given.demand.weight_h
    elastic = [p for p, terms in enumerate(given.pools) if terms.option.offer.elastic]
    fixed = [p for p in range(len(given.pools)) if p not in elastic]
    best = math.inf
    for base in combinations(given, fixed):
        total = sum(n * given.pools[p].option.offer.usd_per_hour for p, n in enumerate(base)) * float(weight.sum())
        for t in range(len(weight)):
            hour = math.inf
            for extra in combinations(given, elastic):
                hosts = tuple(a + b for a, b in zip(base, extra, strict=True))
                paid = sum(n * given.pools[p].option.offer.usd_per_hour for p, n in enumerate(extra)) * float(weight[t])
                if paid >= hour or not within_stock(given, hosts):
                    continue
                relays = relay_usd(given, t, hosts)
                if relays is not None:
                    hour = min(hour, paid + relays)
            total += hour
            if total >= best:
                break
        best = min(best, total)
    return best + given.fixed_usd
