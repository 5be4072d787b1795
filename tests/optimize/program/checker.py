"""Whether an answer keeps every rule that the records' docstrings state. Plain loops on purpose: shares nothing with the model."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from optimize.records import ProgramInput, ProgramSolution, RelayTerms


def violations(given: ProgramInput, answer: ProgramSolution, slack: float = 1e-5) -> list[str]:
    """What is wrong with an answer, in words; empty when nothing is."""
    wrong = [*_demand(given, answer, slack), *_pools(given, answer, slack), *_relays(given, answer, slack), *_policy(given, answer, slack)]
    if given.relay_outage_reserve:
        wrong += _outages(given, answer, slack)
    spent = bill(given, answer)
    if abs(spent - answer.cost_usd) > slack * max(spent, 1.0):
        wrong.append(f"cost {answer.cost_usd}, the parts sum to {spent}")
    least = given.fixed_usd + sum(terms.committed_usd for terms in given.relays)
    if spent > max(given.budget_usd, least) * (1 + slack):
        wrong.append(f"{spent} spent of {given.budget_usd}")
    if answer.model_bound_usd > answer.cost_usd * (1 + slack):
        wrong.append(f"bound {answer.model_bound_usd} above cost {answer.cost_usd}")
    return wrong


def _demand(given: ProgramInput, answer: ProgramSolution, slack: float) -> list[str]:
    wrong, rate = [], given.demand.mean_rps
    for c in range(len(rate)):
        for t in range(rate.shape[1]):
            served = sum(answer.pool_flow[p][c][t] for p in range(len(given.pools)))
            served += sum(answer.relay_flow[a][c][t] for a in range(len(given.relays)))
            if abs(served + answer.unserved[c][t] - rate[c][t]) > slack * max(rate[c][t], 1e-9):
                wrong.append(f"class {c} hour {t}: {served} served of {rate[c][t]}")
            if not _promises_hold(given, answer, c, t, slack * max(float(rate[c][t]), 1e-9)):
                wrong.append(f"class {c} hour {t}: misses more than it may")
    return wrong


def _promises_hold(given: ProgramInput, answer: ProgramSolution, c: int, t: int, slack: float) -> bool:
    if any(len(terms.levels) > 1 for terms in given.pools):
        return True  # `_levels_exist` asks for all classes of the hour together
    for i, row in enumerate(given.slos):
        if row.class_index == c:
            flows = [(float(answer.pool_flow[p][c][t]), float(terms.levels[0].miss[i])) for p, terms in enumerate(given.pools)]
            flows += [(float(answer.relay_flow[a][c][t]), float(terms.miss[i])) for a, terms in enumerate(given.relays)]
            if sum(x * m for x, m in flows) > (1 - row.quantile) * sum(x for x, _ in flows) + slack:
                return False
    return True


def _room(given: ProgramInput, p: int, hosts: int) -> float:
    """Replicas' worth of load that the hosts of a pool carry: less one under N+1, spot by its availability, less the intercept."""
    terms = given.pools[p]
    whole = given.spot.availability if given.spot is not None and terms.option.offer.term == "spot" else 1.0
    return terms.slope * (hosts - (1 if given.n_plus_one else 0)) * terms.option.replicas_per_host * whole - terms.intercept


def _pools(given: ProgramInput, answer: ProgramSolution, slack: float) -> list[str]:
    wrong, slices = [], range(len(given.demand.weight_h))
    for p, terms in enumerate(given.pools):
        for t in slices:
            n, paid = int(answer.hosts[p][t]), int(answer.billed[p][t])
            flows = [float(x) for x in answer.pool_flow[p][:, t]]
            if any(x > 0 and c not in terms.option.classes for c, x in enumerate(flows)):
                wrong.append(f"pool {p} hour {t}: serves a class that is not its own")
            load = sum(x * min(float(level.load[c]) for level in terms.levels) for c, x in enumerate(flows) if x > 0)
            if load > 0 and load > _room(given, p, n) + slack:
                wrong.append(f"pool {p} hour {t}: load {load} on {n} hosts")
            if paid < n or n < 0 or (not terms.option.offer.elastic and paid != int(answer.billed[p][0])):
                wrong.append(f"pool {p} hour {t}: {n} hosts, {paid} paid")
    for name in {terms.option.offer.id for terms in given.pools}:
        members = [p for p, terms in enumerate(given.pools) if terms.option.offer.id == name]
        stock = given.pools[members[0]].option.offer.stock
        if stock is not None and any(sum(answer.billed[p][t] for p in members) > stock for t in slices):
            wrong.append(f"offer {name}: more than {stock}")
    if any(len(terms.levels) > 1 for terms in given.pools):
        wrong += [
            f"hour {t}: no split over load levels keeps promises and capacity" for t in slices if not _levels_exist(given, answer, t, slack)
        ]
    return wrong


def _levels_exist(given: ProgramInput, answer: ProgramSolution, t: int, slack: float) -> bool:
    """Whether the flows of hour `t` can be split over the load levels so that capacity and promises hold."""
    keys = [
        (p, j, c)
        for p, terms in enumerate(given.pools)
        for j, level in enumerate(terms.levels)
        for c in terms.option.classes
        if math.isfinite(level.load[c])
    ]
    upper, limit, equal, value = [], [], [], []
    for p, terms in enumerate(given.pools):
        if answer.pool_flow[p][:, t].any():
            upper.append([float(terms.levels[j].load[c]) if q == p else 0.0 for q, j, c in keys])
            limit.append(_room(given, p, int(answer.hosts[p][t])) + slack)
        for c in terms.option.classes:
            if any(key[0] == p and key[2] == c for key in keys):
                equal.append([1.0 if (q, d) == (p, c) else 0.0 for q, _, d in keys])
                value.append(float(answer.pool_flow[p][c][t]))
    for i, row in enumerate(given.slos):
        c, allowed = row.class_index, 1 - row.quantile
        upper.append([float(given.pools[p].levels[j].miss[i]) - allowed if d == c else 0.0 for p, j, d in keys])
        calls = sum(float(answer.relay_flow[a][c][t]) * (float(terms.miss[i]) - allowed) for a, terms in enumerate(given.relays))
        limit.append(slack - calls)
    return bool(linprog([0.0] * len(keys), A_ub=upper, b_ub=limit, A_eq=equal, b_eq=value, method="highs").status == 0)


def _bought(given: ProgramInput, answer: ProgramSolution, a: int) -> tuple[float, float, float, float]:
    """(price factor, rpm, tpm, least payment) of relay `a` as it was bought."""
    terms = given.relays[a]
    k = -1 if answer.relay_tier is None else int(answer.relay_tier[a])
    rpm, tpm = (terms.relay.rpm, terms.relay.tpm) if terms.hard_limits else (None, None)
    if k < 0:
        closed = bool(terms.tiers)
        return 1.0, 0.0 if closed else rpm or math.inf, 0.0 if closed else tpm or math.inf, terms.committed_usd
    tier = terms.tiers[k]
    return tier.price_factor, tier.rpm or rpm or math.inf, tier.tpm or tpm or math.inf, max(tier.from_usd, terms.committed_usd)


def _units(answer: ProgramSolution, a: int) -> int:
    return 0 if answer.relay_units is None else int(answer.relay_units[a])


def _relays(given: ProgramInput, answer: ProgramSolution, slack: float) -> list[str]:
    wrong = []
    for a, terms in enumerate(given.relays):
        _, rpm, tpm, _ = _bought(given, answer, a)
        for t in range(len(given.demand.weight_h)):
            calls = [float(y) * given.demand.peak_factor for y in answer.relay_flow[a][:, t]]
            if any(y > 0 and not terms.eligible[c] for c, y in enumerate(calls)):
                wrong.append(f"relay {a} hour {t}: serves a class that may not use it")
            tokens = sum(y * float(terms.tokens_per_request[c]) for c, y in enumerate(calls))
            if sum(calls) * 60 > rpm * (1 + slack) or tokens * 60 > tpm * (1 + slack):
                wrong.append(f"relay {a} hour {t}: {sum(calls) * 60} requests, {tokens * 60} tokens a minute")
            if terms.units is not None and sum(y * float(terms.units.load[c]) for c, y in enumerate(calls)) > _units(answer, a) + slack:
                wrong.append(f"relay {a} hour {t}: more than {_units(answer, a)} units carry")
        if terms.units is not None:
            n, most = _units(answer, a), terms.units.most
            if n and (n < terms.units.least or (most is not None and n > most)):
                wrong.append(f"relay {a}: {n} units")
        if terms.spend_cap_usd is not None and _account_usd(given, answer, a) > terms.spend_cap_usd * (1 + slack):
            wrong.append(f"relay {a}: pays more than {terms.spend_cap_usd}")
    return wrong


def _account_usd(given: ProgramInput, answer: ProgramSolution, a: int) -> float:
    factor, _, _, least = _bought(given, answer, a)
    used = 0.0
    for c, price in enumerate(given.relays[a].usd_per_request):
        for t, hours in enumerate(given.demand.weight_h):
            if answer.relay_flow[a][c][t] > 0:
                by_hour = given.relays[a].hour_factors
                now = 1.0 if by_hour is None else float(by_hour[c][t])
                used += float(answer.relay_flow[a][c][t]) * 3600 * float(hours) * float(price) * factor * now
    return max(used, least)


def bill(given: ProgramInput, answer: ProgramSolution) -> float:
    """What the answer costs a month."""
    usd, weight = given.fixed_usd, given.demand.weight_h
    for p, terms in enumerate(given.pools):
        price = terms.option.offer.usd_per_hour
        usd += sum(int(answer.billed[p][t]) * float(weight[t]) * price for t in range(len(weight)))
        if given.boot is not None and terms.option.offer.elastic:
            for t, before in enumerate(given.boot.previous):
                started = max(0, int(answer.hosts[p][t]) - int(answer.hosts[p][before]))
                usd += started * float(given.boot.times[t]) * terms.option.offer.boot_s / 3600 * price
    for a, terms_a in enumerate(given.relays):
        usd += _account_usd(given, answer, a)
        if terms_a.units is not None:
            usd += _units(answer, a) * terms_a.units.usd_per_hour * 730
    return usd


def _policy(given: ProgramInput, answer: ProgramSolution, slack: float) -> list[str]:
    wrong, rate = [], given.demand.mean_rps
    for t in range(rate.shape[1]):
        total = float(rate[:, t].sum())
        if answer.relay_flow[:, :, t].sum() > (given.max_relay_share + slack) * total:
            wrong.append(f"hour {t}: relays serve more than their share")
        for vendor in {terms.relay.vendor for terms in given.relays}:
            share = given.vendor_shares.get(vendor, given.vendor_shares.get("*", 1.0))
            sent = sum(answer.relay_flow[a][:, t].sum() for a, terms in enumerate(given.relays) if terms.relay.vendor == vendor)
            if sent > (share + slack) * total:
                wrong.append(f"hour {t}: {vendor} serves more than {share}")
        for c in range(len(rate)) if given.spot is not None else ():
            assert given.spot is not None
            sent = sum(answer.pool_flow[p][c][t] for p, terms in enumerate(given.pools) if terms.option.offer.term == "spot")
            if sent > (given.spot.max_share + slack) * rate[c][t]:
                wrong.append(f"class {c} hour {t}: more than {given.spot.max_share} on spot")
    return wrong


def _outages(given: ProgramInput, answer: ProgramSolution, slack: float) -> list[str]:
    """Hours in which some relay's calls find no room elsewhere while everybody else carries on."""
    wrong = []
    for t in range(len(given.demand.weight_h)):
        for out in range(len(given.relays)):
            gone = [float(y) for y in answer.relay_flow[out][:, t]]
            if sum(gone) > 0 and not _find_room(given, answer, t, out, gone, slack):
                wrong.append(f"hour {t}: no one carries what relay {out} serves")
    return wrong


def _find_room(given: ProgramInput, answer: ProgramSolution, t: int, out: int, gone: list[float], slack: float) -> bool:
    peak, others = given.demand.peak_factor, [a for a in range(len(given.relays)) if a != out]
    keys = [
        ("pool", p, c)
        for p, terms in enumerate(given.pools)
        for c in terms.option.classes
        if answer.hosts[p][t] and np.isfinite([level.load[c] for level in terms.levels]).any()
    ]
    keys += [
        ("relay", a, int(c))
        for a in others
        for c in np.flatnonzero(given.relays[a].eligible)
        if math.isfinite(given.relays[a].usd_per_request[c])
    ]
    upper, limit = [[-1.0 if c == d else 0.0 for _, _, d in keys] for c in range(len(gone))], [slack - y for y in gone]
    for p, terms in enumerate(given.pools):
        low = np.min([level.load for level in terms.levels], axis=0)
        used = sum(float(x) * float(low[c]) for c, x in enumerate(answer.pool_flow[p][:, t]) if x > 0)
        upper.append([float(low[c]) if (kind, k) == ("pool", p) else 0.0 for kind, k, c in keys])
        limit.append(max(0.0, _room(given, p, int(answer.hosts[p][t])) - used) + slack)
    for a in others:
        terms_a: RelayTerms = given.relays[a]
        calls = [float(y) for y in answer.relay_flow[a][:, t]]
        _, rpm, tpm, _ = _bought(given, answer, a)
        counts = [([1.0] * len(calls), rpm / 60), (list(map(float, terms_a.tokens_per_request)), tpm / 60)]
        if terms_a.units is not None:
            counts.append((list(map(float, terms_a.units.load)), float(_units(answer, a))))
        for weight, most in counts:
            if math.isfinite(most):
                upper.append([weight[c] if (kind, k) == ("relay", a) else 0.0 for kind, k, c in keys])
                limit.append(max(0.0, most / peak - sum(y * w for y, w in zip(calls, weight, strict=True))) + slack)
    if not keys:
        return sum(gone) <= slack
    return bool(linprog([0.0] * len(keys), A_ub=upper, b_ub=limit, method="highs").status == 0)
