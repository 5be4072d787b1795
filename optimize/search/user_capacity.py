"""The user's own capacities as terms of the program: `measured_capacity`, a CSV `offer,class,rate_rps[,pool_size]`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimize.program.solve import solve
from optimize.records import Alternative, LoadLevel, PoolOption, PoolTerms, ProgramInput, SloRow
from sim.catalog.facts import Offer
from sim.exact import dot
from sim.scenario.read.measured import read_measured_capacity
from sim.scenario.scenario import Scenario

Rates = dict[int, dict[int, float]]  # pool size -> class -> requests/s of one replica


def measured_terms(scenario: Scenario, slos: tuple[SloRow, ...]) -> tuple[PoolTerms, ...]:
    """One pool per offer, shared by the classes with a positive rate; an offer with none is left out.

    A replica serves `rate_rps` of a class inside its SLO, so a request occupies 1 / rate replica-seconds; classes add. Such a
    pool misses nothing: the rate says so. One host is one replica. Raises InputError with every bad row, `file:line`.
    """

    names = {request_class.name: c for c, request_class in enumerate(scenario.request_classes)}
    rates: dict[str, Rates] = {}
    for row in read_measured_capacity(scenario):
        rates.setdefault(row.offer, {}).setdefault(row.pool_size, {})[names[row.class_name]] = row.rate_rps
    terms = [offer_terms(offer, rates.get(offer.id, {}), scenario, len(slos)) for offer in scenario.offers]
    return tuple(each for each in terms if each is not None)


def offer_terms(offer: Offer, rates: Rates, scenario: Scenario, rows: int) -> PoolTerms | None:
    """The pool of one offer from its rates by pool size; None when it serves no request.

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
    """The same question with each offer alone, with relays alone, and with pools that classes do not share, budget ignored.

    What the mix saves; at least three whenever some offer serves a class.
    """
    free = replace(problem, budget_usd=math.inf)
    answer = [answered(f"{terms.option.offer.id} alone", [replace(free, pools=(terms,), relays=())]) for terms in problem.pools]
    answer.append(answered("relays alone", [replace(free, pools=())]))
    answer.append(answered("pools of its own for each class", [class_alone(free, c) for c in range(len(problem.class_names))]))
    return tuple(
        replace(each, status="over_budget") if each.per_month_usd is not None and each.per_month_usd > problem.budget_usd else each
        for each in answer
    )


def class_alone(problem: ProgramInput, c: int) -> ProgramInput:
    """`problem` with the demand of class `c` only; fixed costs stay with class 0, so that they count once over all classes."""
    only = np.zeros_like(problem.demand.mean_rps)
    only[c] = problem.demand.mean_rps[c]
    return replace(problem, demand=replace(problem.demand, mean_rps=only), fixed_usd=problem.fixed_usd if c == 0 else 0.0)


def answered(name: str, problems: Sequence[ProgramInput]) -> Alternative:
    """Cost of all `problems` together, or the share of their requests that cannot be served."""

    cost, lost, asked = 0.0, 0.0, 0.0
    for problem in problems:
        if not problem.pools and not problem.relays:
            return Alternative(name, "infeasible", None, "there is none")
        solution = solve(problem)
        cost += solution.cost_usd
        lost += float(dot(solution.unserved, problem.demand.weight_h).sum())
        asked += float(dot(problem.demand.mean_rps, problem.demand.weight_h).sum())
    if lost > 0:
        return Alternative(name, "infeasible", None, f"{lost / asked:.1%} of requests unserved")
    return Alternative(name, "within_budget", cost)
