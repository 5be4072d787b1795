"""What the prefix caches do for the answer: the plan without any hit, and the part of today's hits at which the answer changes kind."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.explain.volume_flip import GAP, MOST, own_share
from optimize.market.candidates import candidates
from optimize.market.engine_settings import caches_prefixes
from optimize.market.pools import pool_states
from optimize.market.relay_bills import metered_prices
from optimize.money import relay_request_usd
from optimize.money.metering import without_any_cache
from optimize.program.solve import solve
from optimize.records import Flip, LoadLevel, PoolTerms, ProgramInput, RelayTerms
from optimize.search.known_market import Market, Restriction, Settled
from optimize.search.loop import settle
from optimize.search.routing import with_escalations
from sim.engine.step_cost import step_cost
from sim.requests import Demand

STEPS = 5


def hit_flip(settled: Settled, market: Market) -> Flip | None:
    """The plan where no prompt finds anything cached, at own replicas (`engine.prefix_caching: false`) and at relays alike.

    None where prefix caches are off already. Between no hits and today's, loads and prices are interpolated: an approximation, hits
    are an outcome of memory and routing.
    """
    if not caches_prefixes(market.scenario):
        return None
    market.tell("prefix hits: measuring what the plan would use without any")
    bare = settle(uncached(market), Restriction("no prefix hits", budget_usd=math.inf, gap=GAP, rough=True, choose_limits=True))
    now, then = own_share(settled.problem, settled.solution), own_share(bare.problem, bare.solution)
    more = bare.solution.cost_usd / max(settled.solution.cost_usd, 1e-9) - 1
    ends = f"without any prefix hit the plan costs {more:+.0%}, own GPUs serve {then:.0%} of requests (today {now:.0%})"
    if bare.unserved or (now > MOST) == (then > MOST):
        return Flip("prefix hits", 1.0, None, f"prefix hits: {ends}; the answer stays of its kind")
    at = crossing(settled.problem, bare.problem, now > MOST)
    words = (
        f"prefix hits: below about {at:.0%} of today's hits most requests change sides; {ends}"
        if at is not None
        else f"prefix hits: {ends}"
    )
    return Flip("prefix hits", 1.0, at, words)


def uncached(market: Market) -> Market:
    """The market in which nothing is cached; nothing is measured in it yet."""
    scenario = replace(market.scenario, engine={**market.scenario.engine, "prefix_caching": False})
    options, _ = candidates(scenario, market.demand)
    deployments = {o.deployment.id: o.deployment for o in options if o.deployment is not None}
    costs = {name: step_cost(each, scenario.catalog.calibration) for name, each in deployments.items()}
    dear = [at_full_price(terms, market.demand) for terms in market.relays]
    options, relays = with_escalations(scenario, market.demand, market.slos, options, costs, dear)
    return replace(market, scenario=scenario, states=pool_states(options, costs, market.demand, market.slos), relays=relays)


def at_full_price(terms: RelayTerms, demand: Demand) -> RelayTerms:
    """The relay without its discount for cached tokens."""
    if terms.units is not None:
        return terms
    if terms.meter is not None:
        bare = without_any_cache(terms.meter)
        usd_metered = metered_prices(replace(terms, meter=bare), terms.relay)
        return replace(terms, usd_per_request=usd_metered, cached=np.zeros(len(usd_metered)), written=None, meter=bare)
    inputs, outputs = terms.tokens(demand)
    usd = [
        relay_request_usd(terms.relay, float(inputs[c]), 0.0, float(outputs[c])) if terms.eligible[c] else np.inf
        for c in range(len(inputs))
    ]
    return replace(terms, usd_per_request=np.array(usd), cached=np.zeros(len(inputs)), written=None)


def crossing(on: ProgramInput, off: ProgramInput, own_today: bool) -> float | None:
    """The part of today's hits at which most requests change sides; None where the pools that both programs know do not show it."""
    low, high = 0.0, 1.0
    if side(on, off, high) != own_today or side(on, off, low) == own_today:
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if side(on, off, middle) == own_today else (middle, high)
    return (low + high) / 2


def side(on: ProgramInput, off: ProgramInput, hits: float) -> bool:
    """Whether most requests stand on own hosts at a part of today's hits."""
    problem = between(on, off, hits)
    return own_share(problem, solve(problem, gap=GAP)) > MOST


def between(on: ProgramInput, off: ProgramInput, hits: float) -> ProgramInput:
    """The program of pools measured in both, interpolated."""
    known = {terms.option.id: terms for terms in off.pools if terms.measured}
    pools = tuple(mixed(terms, known[terms.option.id], hits) for terms in on.pools if terms.measured and terms.option.id in known)
    prices = {terms.relay.id: terms.usd_per_request for terms in off.relays}
    relays = tuple(
        replace(terms, usd_per_request=np.where(terms.eligible, hits * _finite(terms) + (1 - hits) * _known(prices, terms), np.inf))
        for terms in on.relays
    )
    return replace(on, pools=pools, relays=relays, budget_usd=math.inf)


def _finite(terms: RelayTerms) -> np.typing.NDArray[np.float64]:
    return np.where(terms.eligible, terms.usd_per_request, 0.0)


def _known(prices: dict[str, np.typing.NDArray[np.float64]], terms: RelayTerms) -> np.typing.NDArray[np.float64]:
    return np.where(terms.eligible, prices[terms.relay.id], 0.0)


def mixed(on: PoolTerms, off: PoolTerms, hits: float) -> PoolTerms:
    """Load and capacity line of a pool between no hits and today's; miss shares the larger of both."""
    a, b = on.levels[0], off.levels[0]
    load = np.where(np.isfinite(a.load), a.load, 0.0) * hits + np.where(np.isfinite(b.load), b.load, 0.0) * (1 - hits)
    load = np.where(np.isfinite(a.load) & np.isfinite(b.load), load, np.inf)
    level = LoadLevel(load, np.maximum(a.miss, b.miss))
    slope, intercept = hits * on.slope + (1 - hits) * off.slope, hits * on.intercept + (1 - hits) * off.intercept
    return PoolTerms(on.option, (level,), slope, intercept, True)
