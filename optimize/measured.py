"""The user's own capacities as terms of the program: `measured_capacity`, a CSV `offer,class,rate_rps[,pool_size]`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.records import Alternative, LoadLevel, PoolOption, PoolTerms, ProgramInput, SloRow
from sim.catalog.records import Offer
from sim.scenario.records import Scenario

Rates = dict[int, dict[int, float]]  # pool size -> class -> requests/s of one replica


def measured_terms(scenario: Scenario, slos: tuple[SloRow, ...]) -> tuple[PoolTerms, ...]:
    """One pool per offer, shared by the classes with a positive rate; an offer with none is left out.

    A replica serves `rate_rps` of a class inside its SLO, so a request occupies 1 / rate replica-seconds; classes add. Such a
    pool misses nothing: the rate says so. One host is one replica. Raises InputError with every bad row, `file:line`.
    """
    from sim.scenario.measured import read_measured_capacity  # late: YAML machinery that `--help` must not pay for

    names = {request_class.name: c for c, request_class in enumerate(scenario.request_classes)}
    rates: dict[str, Rates] = {}
    for row in read_measured_capacity(scenario):
        rates.setdefault(row.offer, {}).setdefault(row.pool_size, {})[names[row.class_name]] = row.rate_rps
    terms = [offer_terms(offer, rates.get(offer.id, {}), scenario, len(slos)) for offer in scenario.offers]
    return tuple(each for each in terms if each is not None)


def offer_terms(offer: Offer, rates: Rates, scenario: Scenario, rows: int) -> PoolTerms | None:
    """The pool of one offer from its rates by pool size; None when it serves nobody.

    Loads are those of the largest size; with several sizes the smallest fixes the line slope * n - intercept, at the class that
    suffers most from small pools.
    """
    if not rates:
        return None
    small, large = min(rates), max(rates)
    load = np.full(len(scenario.request_classes), math.inf)
    for c, rate in rates[large].items():
        if rate > 0:
            load[c] = 1.0 / rate
    classes = tuple(int(c) for c in np.flatnonzero(np.isfinite(load)))
    if not classes:
        return None
    slope, intercept = 1.0, 0.0
    if small < large:
        carried = min(small * rates[small].get(c, 0.0) * load[c] for c in classes)
        slope = (large - min(carried, small)) / (large - small)
        intercept = slope * large - large
    served = "+".join(scenario.request_classes[c].name for c in classes)
    option = PoolOption(f"{offer.id}:{served}", offer, None, 1, classes)
    return PoolTerms(option, (LoadLevel(load, np.zeros(rows)),), slope, intercept, True)


def measured_alternatives(problem: ProgramInput) -> tuple[Alternative, ...]:
    """The same question with one offer alone, no relays, budget ignored: what the mix saves."""
    from optimize.program.solve import solve

    answer = []
    for terms in problem.pools:
        alone = solve(replace(problem, pools=(terms,), relays=(), budget_usd=math.inf))
        name = f"{terms.option.offer.id} alone"
        if alone.unserved.any():
            lost = float((alone.unserved @ problem.demand.weight_h).sum() / (problem.demand.mean_rps @ problem.demand.weight_h).sum())
            answer.append(Alternative(name, "infeasible", None, f"{lost:.1%} of requests unserved"))
        else:
            status = "within_budget" if alone.cost_usd <= problem.budget_usd else "over_budget"
            answer.append(Alternative(name, status, alone.cost_usd))
    return tuple(answer)
