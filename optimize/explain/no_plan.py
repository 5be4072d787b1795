"""There is no plan: the least budget that works, the best inside the budget, who misses when, and which promise would have to give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.explain.records import Give, Left, NoPlan
from optimize.market import pool_states
from optimize.money import HOUR_S
from optimize.records import SloRow
from optimize.relay_terms import relay_terms
from optimize.search import Market, Restriction, Settled, settle
from sim.engine.deployment import StepCost

WIDEST = 20.0  # times its limit: how far a promise is relaxed
HALVINGS = 5  # of that range in logarithms: limits are found to within 10 %
SMALL = 12  # pools up to which promises are relaxed without being asked: each costs a handful of measurements
ROUNDS = 3


def no_plan(market: Market, settled: Settled, status: str, full: bool) -> NoPlan:
    """The explanation of a plan that leaves requests unserved (`settled`), whose status is over_budget or infeasible."""
    free = settle(market, Restriction("without a budget", budget_usd=math.inf)) if status == "over_budget" else None
    examined = full or len(market.states) <= SMALL
    return NoPlan(
        smallest_budget_usd=free.solution.cost_usd if free is not None and not free.unserved else None,
        served_share=served_share(settled),
        left=left_out(settled),
        gives=gives(market, settled, market.budget_usd if status == "over_budget" else math.inf) if examined else (),
        examined=examined,
    )


def served_share(settled: Settled) -> float:
    """Share of all requests of a month that are served inside their promises, as planned."""
    demand = settled.problem.demand
    lost = float((settled.solution.unserved @ demand.weight_h).sum()) * HOUR_S
    return 1.0 - lost / max(float((demand.mean_rps @ demand.weight_h).sum()) * HOUR_S, 1e-12)


def left_out(settled: Settled) -> tuple[Left, ...]:
    """Classes that lose requests, with the hours in which they do."""
    demand, lost = settled.problem.demand, settled.solution.unserved
    found = []
    for c, name in enumerate(settled.problem.class_names):
        where = np.flatnonzero(lost[c] > 1e-6 * np.maximum(demand.mean_rps[c], 1e-12))
        if len(where):
            share = float((lost[c] @ demand.weight_h) / (demand.mean_rps[c] @ demand.weight_h))
            found.append(Left(name, share, tuple(demand.slices[t] for t in where)))
    return tuple(found)


def gives(market: Market, settled: Settled, budget_usd: float) -> tuple[Give, ...]:
    """For each promise of the classes that lose requests: the limit at which, all else equal, everything is served inside the budget."""
    names = {each.name for each in left_out(settled)}
    answer = []
    for i, row in enumerate(market.slos):
        name = settled.problem.class_names[row.class_index]
        if name not in names or not market.scenario.request_classes[row.class_index].slo:
            continue
        market.tell(f"which promise would have to give? {name} {row.metric}")
        answer.append(give(name, row, needed(market, i, budget_usd)))
    return tuple(answer)


def give(name: str, row: SloRow, needed_s: float | None) -> Give:
    """The record with its sentence."""
    promise = f"{name} {row.metric} p{100 * row.quantile:g}"
    if needed_s is None:
        words = f"{promise} <= {row.limit_s:g} s: even {WIDEST:g} times the limit makes no plan while the other promises stay"
    else:
        words = f"{promise} would have to give from {row.limit_s:g} s to {needed_s:.3g} s ({needed_s / row.limit_s:.2g} times)"
    return Give(name, row.metric, row.quantile, row.limit_s, needed_s, words)


def needed(market: Market, i: int, budget_usd: float) -> float | None:
    """The least limit of promise `i`, to within 10 % and on rough measurements, at which there is a plan; None up to WIDEST times."""
    if not works(market, i, WIDEST, budget_usd):
        return None
    low, high = 1.0, WIDEST
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(market, i, middle, budget_usd) else (middle, high)
    return market.slos[i].limit_s * high


def works(market: Market, i: int, factor: float, budget_usd: float) -> bool:
    """Whether everything is served inside the budget with the limit of promise `i` at `factor` times its value."""
    restriction = Restriction("a promise relaxed", budget_usd=budget_usd, gap=0.01, rough=True)
    return not settle(relaxed(market, i, factor), restriction, ROUNDS).unserved


def relaxed(market: Market, i: int, factor: float) -> Market:
    """The market with one promise relaxed; nothing is measured in it yet."""
    slos = tuple(replace(row, limit_s=row.limit_s * factor) if k == i else row for k, row in enumerate(market.slos))
    options = tuple(state.option for state in market.states)
    costs: dict[str, StepCost] = {
        s.option.deployment.id: s.cost for s in market.states if s.option.deployment is not None and s.cost is not None
    }
    return replace(
        market,
        slos=slos,
        states=pool_states(options, costs, market.demand, slos),
        relays=relay_terms(market.scenario, market.demand, slos),
        tell=lambda _: None,
    )
