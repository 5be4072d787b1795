"""What it costs a month to plan for what a stress test brings: the same program, solved again with a reserve."""

from __future__ import annotations

import math
from dataclasses import replace

from optimize.market.candidates import candidates
from optimize.market.pools import pool_states, slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.plan import budget_usd, costs_of
from optimize.search.cache import CapacityStore, default_folder
from optimize.search.loop import Market, Restriction, Tell, settle
from optimize.simulate.stress_cases import MORE_DEMAND
from optimize.simulate.stress_records import Hardening
from sim.scenario.scenario import Policy, Scenario
from sim.traffic import demand as demand_of

AS_PLANNED = "as planned"


def hardening(scenario: Scenario, jobs: int, tell: Tell, store: CapacityStore | None = None) -> tuple[Hardening, ...]:
    """Monthly cost as planned, with a spare host per pool, with a reserve for any one relay, and for more demand.

    All four are answers of the program, its pools measured roughly (to about 2 %), not simulated; budgets do not bind. So differences
    between them are to be read, and the cost of the plan itself is the plan's.
    """
    policy, demand = scenario.policy, demand_of(scenario)
    market = _market(scenario, jobs, tell, CapacityStore(default_folder()) if store is None else store)
    more = replace(demand, mean_rps=demand.mean_rps * MORE_DEMAND)
    wanted: tuple[tuple[str, Policy, Restriction], ...] = (
        (AS_PLANNED, policy, Restriction(AS_PLANNED, budget_usd=math.inf, rough=True)),
        (
            "a spare host per pool (n_plus_one)",
            replace(policy, n_plus_one=True),
            Restriction("n_plus_one", budget_usd=math.inf, rough=True),
        ),
        (
            "any one relay out (relay_outage_reserve)",
            replace(policy, relay_outage_reserve=True),
            Restriction("relay_outage_reserve", budget_usd=math.inf, rough=True),
        ),
        (f"demand x{MORE_DEMAND:g}", policy, Restriction("more demand", budget_usd=math.inf, demand=more, rough=True)),
    )
    costs = [_cost_usd(replace(market, scenario=replace(scenario, policy=each)), restriction) for _, each, restriction in wanted]
    base = costs[0]
    return tuple(
        Hardening(name, usd, None if usd is None or base is None else usd - base) for (name, _, _), usd in zip(wanted, costs, strict=True)
    )


def _market(scenario: Scenario, jobs: int, tell: Tell, store: CapacityStore) -> Market:
    demand, slos = demand_of(scenario), slo_rows(scenario)
    options, _ = candidates(scenario, demand)
    states = pool_states(options, costs_of(scenario, options), demand, slos)
    return Market(scenario, demand, slos, states, relay_terms(scenario, demand, slos), budget_usd(scenario), store, jobs, tell)


def _cost_usd(market: Market, restriction: Restriction) -> float | None:
    """Of the cheapest answer that serves everything; `states` of the market are shared, so what is measured once is known to all."""
    settled = settle(market, restriction)
    return None if settled.unserved else float(settled.solution.cost_usd)
