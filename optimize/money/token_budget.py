"""A limit by the million tokens as a limit by the month."""

from __future__ import annotations

from dataclasses import replace

from optimize.money.units import HOUR_S, MTOK
from sim.exact import dot
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of


def with_token_budget(scenario: Scenario) -> Scenario:
    """The scenario whose `budget.per_month` is that of its tokens, prompts and answers together, where `per_mtok` is given.

    Where both are given, the lower one holds.
    """
    per_mtok = scenario.budget.per_mtok
    if per_mtok is None:
        return scenario
    demand = demand_of(scenario)
    tokens = dot(dot(demand.mean_rps, demand.weight_h), demand.input_tokens + demand.output_tokens) * HOUR_S
    return replace(scenario, budget=replace(scenario.budget, per_month=min(scenario.budget.per_month, per_mtok * float(tokens) / MTOK)))
