"""How things could turn out: the usual ones, and a program under one of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.money.amounts import pool_at, relay_at
from optimize.records import PoolTerms, ProgramInput, RelayTerms
from sim.scenario.scenario import Future, Scenario

MAIN = "main"
FIXED_TERMS = ("owned", "reserved_1y", "reserved_3y")  # prices that a contract holds
USUAL = (
    Future("as today"),
    Future("users x0.5", users=0.5),
    Future("users x2", users=2.0),
    Future("API prices -50 %", api_price=0.5),
    Future("API prices +50 %", api_price=1.5),
    Future("GPU rents -40 %", gpu_rent=0.6),
    Future("GPU rents +40 %", gpu_rent=1.4),  # one-year H100 rents rose 38 % from October 2025 to March 2026
    Future("steps x1.3 longer", step_time=1.3),
    Future("relays retire the main model", retired=(MAIN,)),
)


def futures(scenario: Scenario) -> tuple[Future, ...]:
    """The scenario's futures, else the usual ones, equally likely; models by their names."""
    given = scenario.futures or USUAL
    return tuple(replace(each, retired=tuple(dict.fromkeys(_named(scenario, model) for model in each.retired))) for each in given)


def _named(scenario: Scenario, model: str) -> str:
    return main_model(scenario) if model == MAIN else model


def main_model(scenario: Scenario) -> str:
    """The model that the largest share of requests accepts first."""
    shares: dict[str, float] = {}
    for each in scenario.request_classes:
        shares[each.models[0]] = shares.get(each.models[0], 0.0) + each.share
    return max(shares, key=lambda name: (shares[name], name))


def is_today(future: Future) -> bool:
    """Whether nothing changes in it."""
    return replace(future, name="", weight=1.0) == Future("")


def under(problem: ProgramInput, future: Future) -> ProgramInput:
    """The program in a future: demand, prices and loads scaled, relays of retired models gone.

    Step time scales what a request occupies, as if latency limits left the same batch: where TPOT binds, a replica loses more than that.
    Provisioned units follow the prices of relays; minimum payments of accounts stay.
    """
    demand = replace(problem.demand, mean_rps=problem.demand.mean_rps * future.users)
    pools = tuple(pool_under(terms, future) for terms in problem.pools)
    relays = tuple(relay_under(terms, future) for terms in problem.relays if terms.relay.model not in future.retired)
    return replace(problem, demand=demand, pools=pools, relays=relays)


def pool_under(terms: PoolTerms, future: Future) -> PoolTerms:
    """A pool at the future's rent and step time."""
    fixed = terms.option.offer.term in FIXED_TERMS
    levels = tuple(replace(level, load=level.load * future.step_time) for level in terms.levels)
    return pool_at(replace(terms, levels=levels), 1.0 if fixed else future.gpu_rent)


def relay_under(terms: RelayTerms, future: Future) -> RelayTerms:
    """A relay at the future's prices."""
    return relay_at(terms, future.api_price)


def relayless(problem: ProgramInput) -> set[int]:
    """Classes that no relay of the program may serve inside their promises."""
    served = set()
    for terms in problem.relays:
        for c in np.flatnonzero(terms.eligible).tolist():
            rows = [i for i, row in enumerate(problem.slos) if row.class_index == c]
            late = any(terms.miss[i] > 1 - problem.slos[i].needed + 1e-9 for i in rows)
            if math.isfinite(terms.usd_per_request[c]) and not late:
                served.add(c)
    return set(range(len(problem.class_names))) - served
