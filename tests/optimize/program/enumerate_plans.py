"""The optimum of a small program by trying every whole number; flows by scipy's LP. Shares nothing with the model.

Whole numbers: hosts of each pool (base ones for the month, elastic ones per hour), provisioned units, the tier of each account.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from optimize.records import ProgramInput, RelayTerms

Hosts = tuple[int, ...]


@dataclass(frozen=True)
class Terms:
    """A relay as it is bought: its tier's price factor and limits, and its units."""

    factor: float
    rpm: float | None
    tpm: float | None
    least_usd: float
    units: int


@dataclass
class Rows:
    """An LP: columns by key, `price` [columns], rows `upper` x <= `limit`, `equal` x = `value`."""

    keys: list[tuple[object, ...]]
    price: list[float]
    upper: list[list[float]]
    limit: list[float]
    equal: list[list[float]]
    value: list[float]


def working(given: ProgramInput, p: int, hosts: int) -> float:
    """Replicas' worth of load that `hosts` of pool `p` carry."""
    terms = given.pools[p]
    per_host = terms.slope * terms.option.replicas_per_host
    if given.spot is not None and terms.option.offer.term == "spot":
        per_host *= given.spot.availability
    return max(0.0, per_host * (hosts - int(given.n_plus_one)) - terms.intercept) if hosts else 0.0


def most_hosts(given: ProgramInput, p: int) -> int:
    """The fewest hosts of pool `p` that carry all it may serve in the busiest hour at its heaviest level, or its stock."""
    terms = given.pools[p]
    loads = np.max(
        [[level.load[c] if c in terms.option.classes else 0.0 for c in range(len(given.demand.mean_rps))] for level in terms.levels], axis=0
    )
    need = float((loads @ given.demand.mean_rps).max())
    stock = math.inf if terms.option.offer.stock is None else terms.option.offer.stock
    n = 0
    while n < stock and working(given, p, n) < need - 1e-12:
        n += 1
    return n


def tiers_of(terms: RelayTerms) -> list[Terms | None]:
    """Every way to have an account, None: not to have one."""
    hard = terms.hard_limits
    rpm, tpm = (terms.relay.rpm, terms.relay.tpm) if hard else (None, None)
    if not terms.tiers:
        return [Terms(1.0, rpm, tpm, terms.committed_usd, 0)]
    ways: list[Terms | None] = [
        Terms(t.price_factor, t.rpm or rpm, t.tpm or tpm, max(t.from_usd, terms.committed_usd), 0) for t in terms.tiers
    ]
    return ways if terms.committed_usd > 0 else [*ways, None]


def bought_ways(given: ProgramInput) -> Iterator[tuple[Terms | None, ...]]:
    """Every combination of tiers and units."""
    choices: list[list[Terms | None]] = []
    for terms in given.relays:
        ways = tiers_of(terms)
        if terms.units is not None:
            rates = given.demand.mean_rps * given.demand.peak_factor
            need = max(math.ceil(max(np.where(terms.eligible, terms.units.load, 0.0) @ rates)), terms.units.least)
            most = need if terms.units.most is None else min(need, terms.units.most)
            counts = [0, *range(terms.units.least, most + 1)]
            ways = [Terms(w.factor, w.rpm, w.tpm, w.least_usd, n) for w in ways if w is not None for n in counts]
        choices.append(ways)
    yield from itertools.product(*choices)


def hour_rows(given: ProgramInput, t: int, hosts: Hosts, ways: Sequence[Terms | None], penalty: float | None) -> Rows:
    """The LP of hour `t`: cost of calls a month (and penalty), everything served or left out."""
    rate, weight = given.demand.mean_rps[:, t], float(given.demand.weight_h[t])
    classes = range(len(rate))
    keys: list[tuple[object, ...]] = []
    for p, terms in enumerate(given.pools):
        if hosts[p]:
            keys += [("x", p, j, c) for j, level in enumerate(terms.levels) for c in terms.option.classes if math.isfinite(level.load[c])]
    callable_ = [a for a, way in enumerate(ways) if way is not None and (given.relays[a].units is None or way.units)]
    calls = [
        (a, c) for a in callable_ for c in classes if given.relays[a].eligible[c] and math.isfinite(given.relays[a].usd_per_request[c])
    ]
    keys += [("y", a, c) for a, c in calls]
    if given.relay_outage_reserve:
        for out in callable_:
            keys += [("rx", out, p, c) for p, terms in enumerate(given.pools) if hosts[p] for c in terms.option.classes]
            keys += [("ry", out, a, c) for a, c in calls if a != out]
    if penalty is not None:
        keys += [("z", c) for c in classes]
    price = []
    for key in keys:
        usd = 0.0
        if key[0] == "y":
            way = ways[key[1]]
            usd = float(given.relays[key[1]].usd_per_request[key[2]]) * way.factor * 3600 * weight
            by_hour = given.relays[key[1]].hour_factors
            usd *= 1.0 if by_hour is None else float(by_hour[key[2]][t])
        elif key[0] == "z":
            usd = float(penalty or 0.0) * 3600 * weight
        price.append(usd)
    rows = Rows(keys, price, [], [], [], [])
    _capacity(given, rows, hosts)
    _promises(given, rows)
    _relays(given, rows, ways)
    _policy(given, rows, rate)
    for c in classes:
        rows.equal.append([1.0 if (k[0] in ("x", "y") and k[-1] == c) or k == ("z", c) else 0.0 for k in keys])
        rows.value.append(float(rate[c]))
    if given.relay_outage_reserve:
        for out in callable_:
            for c in classes:
                gone = [(1.0 if k == ("y", out, c) else -1.0 if k[0] in ("rx", "ry") and k[1] == out and k[-1] == c else 0.0) for k in keys]
                rows.upper.append(gone)
                rows.limit.append(0.0)
    return rows


def _capacity(given: ProgramInput, rows: Rows, hosts: Hosts) -> None:
    outages = [None, *({k[1] for k in rows.keys if k[0] in ("rx", "ry")} or {k[1] for k in rows.keys if k[0] == "y"})]
    for p, terms in enumerate(given.pools):
        if not hosts[p]:
            continue
        least = np.min([level.load for level in terms.levels], axis=0)
        for out in outages if given.relay_outage_reserve else [None]:
            rows.upper.append(
                [
                    float(terms.levels[k[2]].load[k[3]])
                    if k[0] == "x" and k[1] == p
                    else float(least[k[3]])
                    if k[0] == "rx" and k[1] == out and k[2] == p
                    else 0.0
                    for k in rows.keys
                ]
            )
            rows.limit.append(working(given, p, hosts[p]))


def _promises(given: ProgramInput, rows: Rows) -> None:
    for i, slo in enumerate(given.slos):
        row = []
        for k in rows.keys:
            if k[0] == "x" and k[3] == slo.class_index:
                row.append(float(given.pools[k[1]].levels[k[2]].miss[i]) - (1 - slo.quantile))
            elif k[0] == "y" and k[2] == slo.class_index:
                row.append(float(given.relays[k[1]].miss[i]) - (1 - slo.quantile))
            else:
                row.append(0.0)
        rows.upper.append(row)
        rows.limit.append(0.0)


def _relays(given: ProgramInput, rows: Rows, ways: Sequence[Terms | None]) -> None:
    peak = 60 * given.demand.peak_factor
    for a, way in enumerate(ways):
        if way is None:
            continue
        for out in [None, *range(len(given.relays))] if given.relay_outage_reserve else [None]:
            if out == a:
                continue
            mine = [1.0 if (k[0] == "y" and k[1] == a) or (k[0] == "ry" and k[1] == out and k[2] == a) else 0.0 for k in rows.keys]
            if way.rpm is not None:
                rows.upper.append([peak * m for m in mine])
                rows.limit.append(way.rpm)
            if way.tpm is not None:
                rows.upper.append(
                    [peak * m * float(given.relays[a].tokens_per_request[k[-1]]) for m, k in zip(mine, rows.keys, strict=True)]
                )
                rows.limit.append(way.tpm)
            units = given.relays[a].units
            if units is not None:
                rows.upper.append([given.demand.peak_factor * m * float(units.load[k[-1]]) for m, k in zip(mine, rows.keys, strict=True)])
                rows.limit.append(float(way.units))


def _policy(given: ProgramInput, rows: Rows, rate: np.ndarray) -> None:
    rows.upper.append([1.0 if k[0] == "y" else 0.0 for k in rows.keys])
    rows.limit.append(given.max_relay_share * float(rate.sum()))
    for vendor in {terms.relay.vendor for terms in given.relays}:
        share = given.vendor_shares.get(vendor, given.vendor_shares.get("*", 1.0))
        rows.upper.append([1.0 if k[0] == "y" and given.relays[k[1]].relay.vendor == vendor else 0.0 for k in rows.keys])
        rows.limit.append(share * float(rate.sum()))
    if given.spot is not None:
        for c in range(len(rate)):
            spot = [k[0] == "x" and k[3] == c and given.pools[k[1]].option.offer.term == "spot" for k in rows.keys]
            rows.upper.append([float(s) for s in spot])
            rows.limit.append(given.spot.max_share * float(rate[c]))


def least(rows: Rows) -> float:
    """The least cost of an LP; inf where it has no solution."""
    if not rows.keys:
        return math.inf if any(rows.value) else 0.0
    answer = linprog(rows.price, A_ub=rows.upper, b_ub=rows.limit, A_eq=rows.equal, b_eq=rows.value, method="highs")
    return float(answer.fun) if answer.status == 0 else math.inf


def paid_together(
    given: ProgramInput, hours: Sequence[Rows], ways: Sequence[Terms | None], hosts_usd: float, budget: float | None
) -> float:
    """The least cost of all hours together where accounts have minima and caps, or where there is a budget; inf if impossible."""
    width = [len(rows.keys) for rows in hours]
    start = np.concatenate([[0], np.cumsum(width)])
    accounts = [a for a, way in enumerate(ways) if way is not None]
    total = int(start[-1]) + len(accounts)
    price = np.zeros(total)
    upper, limit, equal, value = [], [], [], []
    for rows, begin in zip(hours, start[:-1], strict=True):
        end = begin + len(rows.keys)
        price[begin:end] = rows.price
        for source, bound, target, kept in ((rows.upper, rows.limit, upper, limit), (rows.equal, rows.value, equal, value)):
            for line, right in zip(source, bound, strict=True):
                wide = np.zeros(total)
                wide[begin:end] = line
                target.append(wide)
                kept.append(right)
    for k, a in enumerate(accounts):
        way = ways[a]
        assert way is not None
        paid = np.zeros(total)
        paid[start[-1] + k] = 1.0
        for rows, begin in zip(hours, start[:-1], strict=True):
            for i, key in enumerate(rows.keys):
                if key[0] == "y" and key[1] == a:
                    paid[begin + i] = rows.price[i]
        price[start[-1] + k] = 1.0
        upper.append(-paid)
        limit.append(-way.least_usd)
        cap = given.relays[a].spend_cap_usd
        if cap is not None:
            upper.append(paid)
            limit.append(cap)
    if budget is not None:
        money = price.copy()
        for rows, begin in zip(hours, start[:-1], strict=True):
            for i, key in enumerate(rows.keys):
                if key[0] == "z":
                    money[begin + i] = 0.0
        upper.append(money)
        limit.append(budget - hosts_usd)
    answer = linprog(price, A_ub=upper, b_ub=limit, A_eq=equal, b_eq=value, method="highs")
    return float(answer.fun) if answer.status == 0 else math.inf


def within_stock(given: ProgramInput, hosts: Hosts) -> bool:
    """Whether no offer sells more than it has."""
    for terms in given.pools:
        stock = terms.option.offer.stock
        same = [n for q, n in enumerate(hosts) if given.pools[q].option.offer.id == terms.option.offer.id]
        if stock is not None and sum(same) > stock:
            return False
    return True


def combinations(given: ProgramInput, members: list[int]) -> Iterator[Hosts]:
    """Every count of hosts for the pools in `members`, zero for the others."""
    ranges = [range(most_hosts(given, p) + 1) if p in members else range(1) for p in range(len(given.pools))]
    yield from itertools.product(*ranges)


def size(given: ProgramInput) -> int:
    """Combinations of whole numbers over all hours, roughly: what `best_usd` with a budget has to look through."""
    elastic = [p for p, terms in enumerate(given.pools) if terms.option.offer.elastic]
    fixed = [p for p in range(len(given.pools)) if p not in elastic]
    paths = len(list(combinations(given, elastic))) ** len(given.demand.weight_h)
    return paths * len(list(combinations(given, fixed))) * len(list(bought_ways(given)))


def boot_usd(given: ProgramInput, path: Sequence[Hosts]) -> float:
    """Monthly price of all starts of elastic hosts along the hours of `path`."""
    usd = 0.0
    if given.boot is not None:
        for p, terms in enumerate(given.pools):
            offer = terms.option.offer
            for t, before in enumerate(given.boot.previous):
                if offer.elastic:
                    more = max(0, path[t][p] - path[before][p])
                    usd += more * float(given.boot.times[t]) * offer.boot_s / 3600 * offer.usd_per_hour
    return usd


def best_usd(given: ProgramInput, penalty: float | None = None, budget: float | None = None) -> float:
    """Least monthly cost (plus penalty) that serves everything (or may leave out), inside `budget` if one is named; inf: impossible."""
    weight = given.demand.weight_h
    elastic = [p for p, terms in enumerate(given.pools) if terms.option.offer.elastic]
    fixed = [p for p in range(len(given.pools)) if p not in elastic]
    price = [terms.option.offer.usd_per_hour for terms in given.pools]
    best = math.inf
    for base in combinations(given, fixed):
        base_usd = sum(n * price[p] for p, n in enumerate(base)) * float(weight.sum())
        if base_usd >= best:
            continue
        mixes = [tuple(a + b for a, b in zip(base, extra, strict=True)) for extra in combinations(given, elastic)]
        mixes = sorted((m for m in mixes if within_stock(given, m)), key=lambda m: sum(m[p] * price[p] for p in elastic))
        for ways in bought_ways(given):
            units_usd = sum(w.units * r.units.usd_per_hour * 730 for w, r in zip(ways, given.relays, strict=True) if w and r.units)
            if base_usd + units_usd < best:
                best = min(best, _best_hours(given, mixes, ways, penalty, budget, base_usd + units_usd, best))
    return best + given.fixed_usd


def _best_hours(
    given: ProgramInput,
    mixes: list[Hosts],
    ways: Sequence[Terms | None],
    penalty: float | None,
    budget: float | None,
    month_usd: float,
    best: float,
) -> float:
    """The least total over every path through `mixes`; hours apart give a lower bound, and the answer where nothing joins them."""
    hours = range(len(given.demand.weight_h))
    capped = any(w is not None and r.spend_cap_usd is not None for w, r in zip(ways, given.relays, strict=True))
    together = capped or budget is not None or any(w is not None and w.least_usd > 0 for w in ways)
    elastic = [p for p, terms in enumerate(given.pools) if terms.option.offer.elastic]
    most_boot = boot_usd(given, [tuple(most_hosts(given, p) if p in elastic else 0 for p in range(len(given.pools)))] * len(hours))
    most_boot += sum(
        most_hosts(given, p)
        * float(given.boot.times.max())
        * given.pools[p].option.offer.boot_s
        / 3600
        * given.pools[p].option.offer.usd_per_hour
        for p in (elastic if given.boot is not None else [])
    ) * len(hours)
    options: list[list[tuple[float, float, Hosts, Rows]]] = []
    for t in hours:
        found: list[tuple[float, float, Hosts, Rows]] = []
        lowest = math.inf
        for mix in mixes:
            paid = sum(mix[p] * given.pools[p].option.offer.usd_per_hour for p in elastic) * float(given.demand.weight_h[t])
            if paid >= lowest + most_boot and not (capped or budget is not None):
                break
            rows = hour_rows(given, t, mix, ways, penalty)
            calls = least(rows)
            if math.isfinite(calls):
                found.append((paid, calls, mix, rows))
                lowest = min(lowest, paid + calls)
        if not found:
            return math.inf
        options.append(found)
    if not together and given.boot is None:
        return month_usd + sum(min(paid + calls for paid, calls, _, _ in found) for found in options)
    paths = []
    floor = [min(paid + calls for paid, calls, _, _ in found) for found in options]
    for path in itertools.product(*options):
        rest = sum(paid for paid, _, _, _ in path)
        if month_usd + rest >= best:
            continue
        low = month_usd + rest + sum(calls for _, calls, _, _ in path)
        if low < best and low - month_usd >= sum(floor) - 1e-9:
            low += boot_usd(given, [mix for _, _, mix, _ in path])
            paths.append((low, len(paths), path))
    paths.sort(key=lambda each: each[:2])
    for low, _, path in paths:
        if low >= best:
            break
        hosts_usd = low - sum(calls for _, calls, _, _ in path)
        calls = paid_together(given, [rows for _, _, _, rows in path], ways, hosts_usd, budget) if together else low - hosts_usd
        best = min(best, hosts_usd + calls)
    return best
