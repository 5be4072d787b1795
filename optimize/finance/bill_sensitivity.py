"""How the bill of the plan's fleet moves when one input moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from optimize.finance.break_even import PROGRAMS, capacity_error
from optimize.finance.curves import Curves
from optimize.money.amounts import scaled_usd
from optimize.money.charges import Charge, charges
from optimize.money.quantities import scaling
from optimize.result import Plan

CHANGE = 0.2
MOST = 8  # prices that are shown, by what they cost


@dataclass(frozen=True)
class Sensitivity:
    """Cost of a month, USD, with one input `change` lower and higher.

    how  "solved": the program is solved again; "scaled": the fleet follows its capacity lines, an upper estimate, where no work was left;
         "fleet as it is": hosts and routing stay, only prices move
    """

    name: str
    change: float
    low_usd: float
    high_usd: float
    how: str

    @property
    def span_usd(self) -> float:
        return abs(self.high_usd - self.low_usd)


def sensitivity(plan: Plan, curves: Curves | None = None) -> tuple[Sensitivity, ...]:
    """One row per input, the widest first: demand, the simulator's error in capacity, all API prices, all GPU prices, each price.

    Demand and capacity are solved by the curves of the break-even, so that one demand has one cost everywhere.
    """
    curves = curves or Curves(plan, PROGRAMS)
    error = capacity_error(plan)
    curves.solve_today()
    found = charges(plan.program, plan.solution, plan.lines)
    total = sum(charge.usd for charge in found)
    rows = [_demand(curves)]
    if any(charge.item == "host-hour" for charge in found):
        rows.append(_load(curves, error))
    for name, kind in (("all GPU prices", "gpu"), ("all API prices", "relay")):
        part = sum(charge.usd for charge in found if charge.kind == kind)
        if part:
            rows.append(_price(name, total, part))
    rows += [_price(f"price: {name}", total, usd) for name, usd in _by_price(found)]
    return tuple(sorted(rows, key=lambda row: -row.span_usd))


def _price(name: str, total: float, part: float) -> Sensitivity:
    low, high = (total + scaled_usd(part, k) for k in (-CHANGE, CHANGE))
    return Sensitivity(name, CHANGE, low, high, "fleet as it is")


def _demand(curves: Curves) -> Sensitivity:
    ends = (1 - CHANGE, 1 + CHANGE)
    for demand in ends:
        curves.solve_pure(demand)
        curves.mixed.solve(demand)
    return _row("requests a month", CHANGE, [curves.plan_usd(demand) for demand in ends], [scaling(curves.plan).at(x).usd for x in ends])


def _load(curves: Curves, error: float) -> Sensitivity:
    ends = (1 - error, 1 + error)
    name = "what a request occupies on own GPUs (simulator error)"
    return _row(name, error, [curves.loaded_usd(k) for k in ends], [scaling(curves.plan).at(1.0, load=k).usd for k in ends])


def _row(name: str, change: float, solved: list[float], scaled: list[float]) -> Sensitivity:
    known = all(math.isfinite(usd) for usd in solved)
    low, high = solved if known else scaled
    return Sensitivity(name, change, low, high, "solved" if known else "scaled")


def _by_price(found: tuple[Charge, ...]) -> list[tuple[str, float]]:
    """(price, what is paid at it) of the prices that cost most; several pools on one offer share its price."""
    paid: dict[str, float] = {}
    for charge in found:
        paid[charge.price_name] = paid.get(charge.price_name, 0.0) + charge.usd
    return sorted(paid.items(), key=lambda item: (-item[1], item[0]))[:MOST]
