"""How the bill of the plan's fleet moves when one input moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from optimize.finance.break_even import capacity_error
from optimize.money.amounts import scaled_usd
from optimize.money.charges import Charge, charges
from optimize.money.quantities import scaling
from optimize.result import Plan

CHANGE = 0.2
MOST = 8  # prices that are shown, by what they cost


@dataclass(frozen=True)
class Sensitivity:
    """Cost of a month, USD, with one input `change` lower and higher; routing and today's hosts as they are, except under demand."""

    name: str
    change: float
    low_usd: float
    high_usd: float

    @property
    def span_usd(self) -> float:
        return abs(self.high_usd - self.low_usd)


def sensitivity(plan: Plan) -> tuple[Sensitivity, ...]:
    """One row per input, the widest first: demand, the simulator's error in capacity, all API prices, all GPU prices, each price."""
    month, error = scaling(plan), capacity_error(plan)
    found = charges(plan.program, plan.solution, plan.lines)
    total = sum(charge.usd for charge in found)
    rows = [_row("requests a month", CHANGE, lambda k: month.at(k).usd)]
    if any(charge.item == "host-hour" for charge in found):
        rows.append(_row("what a request occupies on own GPUs (simulator error)", error, lambda k: month.at(1.0, load=k).usd))
    for name, kind in (("all GPU prices", "gpu"), ("all API prices", "relay")):
        part = sum(charge.usd for charge in found if charge.kind == kind)
        if part:
            rows.append(_row(name, CHANGE, lambda k, part=part: total + scaled_usd(part, k - 1)))  # type: ignore[misc]
    for name, usd in _by_price(found):
        rows.append(_row(f"price: {name}", CHANGE, lambda k, usd=usd: total + scaled_usd(usd, k - 1)))  # type: ignore[misc]
    return tuple(sorted(rows, key=lambda row: -row.span_usd))


def _row(name: str, change: float, usd: Callable[[float], float]) -> Sensitivity:
    return Sensitivity(name, change, usd(1 - change), usd(1 + change))


def _by_price(found: tuple[Charge, ...]) -> list[tuple[str, float]]:
    """(price, what is paid at it) of the prices that cost most; several pools on one offer share its price."""
    paid: dict[str, float] = {}
    for charge in found:
        paid[charge.price_name] = paid.get(charge.price_name, 0.0) + charge.usd
    return sorted(paid.items(), key=lambda item: (-item[1], item[0]))[:MOST]
