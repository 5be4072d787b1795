"""Small program inputs for tests, and a checker of solutions that shares nothing with the model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optimize.records import LoadLevel, PoolOption, PoolTerms, ProgramInput, ProgramSolution, RelayTerms, SloRow
from sim.catalog.records import Offer, Relay, Source
from sim.traffic.columns import Demand

SOURCE = Source("made up for a test", "2026-01-01")


def offer(name: str, usd_per_hour: float, elastic: bool = True, stock: int | None = None) -> Offer:
    """A host with one GPU."""
    return Offer(name, "seller", "gpu", 1, usd_per_hour, "on_demand", SOURCE, elastic=elastic, stock=stock)


def pool(
    sold: Offer, load: Sequence[float], miss: Sequence[float] = (), slope: float = 1.0, intercept: float = 0.0, replicas: int = 1
) -> PoolTerms:
    """A pool whose classes are those with finite load."""
    classes = tuple(c for c, each in enumerate(load) if math.isfinite(each))
    option = PoolOption(f"{sold.id}:{'+'.join(map(str, classes))}", sold, None, replicas, classes)
    level = LoadLevel(np.array(load, dtype=float), np.array(miss, dtype=float))
    return PoolTerms(option, (level,), slope, intercept, True)


def relay(
    name: str, usd: Sequence[float], miss: Sequence[float] = (), rpm: float | None = None, tpm: float | None = None, hard: bool = True
) -> RelayTerms:
    """A relay; a class with an infinite price may not use it. 100 tokens per request."""
    row = Relay(name, "vendor", "model", 1.0, 1.0, None, 0.5, 0.2, 50.0, 0.2, SOURCE, SOURCE, rpm=rpm, tpm=tpm)
    price = np.array(usd, dtype=float)
    return RelayTerms(row, np.isfinite(price), price, np.full(len(price), 100.0), np.array(miss, dtype=float), hard)


def problem(
    rates: Sequence[Sequence[float]],
    pools: Sequence[PoolTerms] = (),
    relays: Sequence[RelayTerms] = (),
    slos: Sequence[SloRow] = (),
    budget: float = math.inf,
    share: float = 1.0,
    n_plus_one: bool = False,
    hours: Sequence[float] | None = None,
) -> ProgramInput:
    """`rates` [classes][slices] in requests/s; equal slices of a 730 h month unless `hours` says otherwise."""
    mean = np.array(rates, dtype=float)
    classes, slices = mean.shape
    weight = np.array(hours if hours is not None else [730.0 / slices] * slices)
    ones = np.ones(classes)
    demand = Demand(tuple(f"h{t}" for t in range(slices)), weight, mean, 1.2, 50 * ones, 50 * ones, 0 * ones)
    return ProgramInput(demand, tuple(slos), tuple(pools), tuple(relays), budget, share, n_plus_one, tuple(f"c{c}" for c in range(classes)))


def violations(given: ProgramInput, answer: ProgramSolution, slack: float = 1e-5) -> list[str]:
    """What is wrong with an answer, in words; empty when it keeps every rule of the records' docstrings. Plain loops on purpose."""
    wrong: list[str] = []
    rate, weight = given.demand.mean_rps, given.demand.weight_h
    spent = given.fixed_usd
    for c in range(len(rate)):
        for t in range(len(weight)):
            served = sum(answer.pool_flow[p][c][t] for p in range(len(given.pools)))
            served += sum(answer.relay_flow[a][c][t] for a in range(len(given.relays)))
            if abs(served + answer.unserved[c][t] - rate[c][t]) > slack * max(rate[c][t], 1e-9):
                wrong.append(f"class {c} hour {t}: {served} served of {rate[c][t]}")
            for i, row in enumerate(given.slos):
                if row.class_index == c:
                    missed = sum(answer.pool_flow[p][c][t] * terms.levels[0].miss[i] for p, terms in enumerate(given.pools))
                    missed += sum(answer.relay_flow[a][c][t] * terms.miss[i] for a, terms in enumerate(given.relays))
                    if missed > (1 - row.quantile) * served + slack * max(rate[c][t], 1e-9):
                        wrong.append(f"promise {i} hour {t}: {missed} of {served} miss")
    for p, terms in enumerate(given.pools):
        for t in range(len(weight)):
            n, paid = int(answer.hosts[p][t]), int(answer.billed[p][t])
            flows = [float(x) for x in answer.pool_flow[p][:, t]]
            load = sum(x * float(terms.levels[0].load[c]) for c, x in enumerate(flows) if x > 0)
            working = n - (1 if given.n_plus_one else 0)
            if load > 0 and load > terms.slope * working * terms.option.replicas_per_host - terms.intercept + slack:
                wrong.append(f"pool {p} hour {t}: load {load} on {n} hosts")
            if paid < n or n < 0 or (not terms.option.offer.elastic and paid != int(answer.billed[p][0])):
                wrong.append(f"pool {p} hour {t}: {n} hosts, {paid} paid")
            spent += paid * float(weight[t]) * terms.option.offer.usd_per_hour
    for name in {terms.option.offer.id for terms in given.pools}:
        members = [p for p, terms in enumerate(given.pools) if terms.option.offer.id == name]
        stock = given.pools[members[0]].option.offer.stock
        if stock is not None and any(sum(answer.billed[p][t] for p in members) > stock for t in range(len(weight))):
            wrong.append(f"offer {name}: more than {stock}")
    for a, terms_a in enumerate(given.relays):
        for t in range(len(weight)):
            calls = [float(y) for y in answer.relay_flow[a][:, t]]
            spent += sum(y * float(terms_a.usd_per_request[c]) for c, y in enumerate(calls) if y > 0) * 3600 * float(weight[t])
            if any(y > 0 and not terms_a.eligible[c] for c, y in enumerate(calls)):
                wrong.append(f"relay {a} hour {t}: serves a class that may not use it")
            if terms_a.hard_limits:
                peak = sum(calls) * 60 * given.demand.peak_factor
                tokens = sum(y * float(terms_a.tokens_per_request[c]) for c, y in enumerate(calls)) * 60 * given.demand.peak_factor
                if peak > (terms_a.relay.rpm or math.inf) * (1 + slack) or tokens > (terms_a.relay.tpm or math.inf) * (1 + slack):
                    wrong.append(f"relay {a} hour {t}: {peak} requests, {tokens} tokens a minute")
    for t in range(len(weight)):
        if answer.relay_flow[:, :, t].sum() > (given.max_relay_share + slack) * rate[:, t].sum():
            wrong.append(f"hour {t}: relays serve more than their share")
    if abs(spent - answer.cost_usd) > slack * max(spent, 1.0):
        wrong.append(f"cost {answer.cost_usd}, the parts sum to {spent}")
    if spent > given.budget_usd * (1 + slack):
        wrong.append(f"{spent} spent of {given.budget_usd}")
    return wrong
