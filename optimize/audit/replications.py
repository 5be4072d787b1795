"""The same question under other seeds: independent replications of a plan, and how far they spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from optimize.money.units import to_currency
from optimize.result import Plan
from sim.plural import counted
from sim.scenario.scenario import Scenario


@dataclass(frozen=True)
class Replication:
    """What one seed answers: every random number of search and proof is its own. Money in the scenario's currency."""

    seed: int
    status: str
    per_month: float

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.status}, {self.per_month:,.2f}"


def replications(scenario: Scenario, first: Plan, count: int, find: Callable[[Scenario], Plan]) -> Iterator[Replication]:
    """`first`, which was found for `scenario`, and the plans under the next `count - 1` seeds."""
    yield replication(first)
    for k in range(1, count):
        yield replication(find(replace(scenario, seed=scenario.seed + k)))


def replication(plan: Plan) -> Replication:
    """The line of one plan."""
    return Replication(plan.scenario.seed, plan.status, round(to_currency(plan.solution.cost_usd, plan.usd_per_unit), 2))


def spread(found: list[Replication]) -> dict[str, Any]:
    """Least and largest cost, and their distance over the least."""
    costs = [each.per_month for each in found]
    least, most = min(costs), max(costs)
    return {
        "seeds": [vars(each) for each in found],
        "least_per_month": least,
        "most_per_month": most,
        "spread": round(most / least - 1, 6) if least > 0 else 0.0,
        "met": sum(each.status == "met" for each in found),
    }


def spread_words(found: list[Replication], currency: str) -> str:
    """The same for people.

    >>> print(spread_words([Replication(1, "met", 100.0), Replication(2, "missed", 102.0)], "USD"), end="")
    2 independent replications: 100.00 to 102.00 USD a month, 2.0 % apart; 1 of 2 is met
      seed 1: met, 100.00
      seed 2: missed, 102.00
    """
    said = spread(found)
    range_of = f"{said['least_per_month']:,.2f} to {said['most_per_month']:,.2f} {currency} a month, {100 * said['spread']:.1f} % apart"
    met = f"{said['met']} of {len(found)} {'is' if said['met'] == 1 else 'are'} met"
    lines = [f"{counted(len(found), 'independent replication')}: {range_of}; {met}", *(f"  {each}" for each in found)]
    return "\n".join(lines) + "\n"
