"""The bill in the scenario's currency, rounded so that parts add up to their total exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimize.money import calls_usd, hosts_usd, to_currency
from optimize.money.contracts import paid_request_usd
from optimize.result import Plan

SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "CN¥", "JPY": "JP¥", "INR": "₹", "CHF": "CHF "}


def split(amounts: Sequence[float], total: int | None = None) -> list[int]:
    """Integers next to `amounts` that sum to `total` (default: the rounded sum). Largest remainders round up, the first on a tie.

    Remainders that differ by less than a millionth tie: which is larger would be an accident of the order of multiplication.

    >>> split([1.5, 1.5, 2.0]), split([0.3, 7.3000000001, 0.4])
    ([2, 1, 2], [0, 7, 1])
    """
    floors = [math.floor(amount) for amount in amounts]
    total = round(math.fsum(amounts)) if total is None else total
    by_remainder = sorted(range(len(amounts)), key=lambda i: (round(floors[i] - amounts[i], 6), i))
    for k in range(total - sum(floors)):
        floors[by_remainder[k % len(floors)]] += 1
    return floors


@dataclass(frozen=True)
class Bill:
    """Integer cents of the scenario's currency. `lines` sum to `total`; pools and relays sum to the lines of their kinds.

    lines    per Plan.lines
    pools    per ProgramInput.pools;  relays per ProgramInput.relays (0 where nothing is bought)
    """

    currency: str
    total: int
    lines: tuple[int, ...]
    pools: tuple[int, ...]
    relays: tuple[int, ...]

    def money(self, cents: float) -> str:
        """For people: whole units from 1,000 up, cents below.

        >>> Bill("USD", 0, (), (), ()).money(5731240), Bill("CHF", 0, (), (), ()).money(-950)
        ('$57,312', '-CHF 9.50')
        """
        symbol = SYMBOLS.get(self.currency, f"{self.currency} ")
        sign, value = ("-" if cents < 0 else ""), abs(cents) / 100
        return f"{sign}{symbol}{value:,.0f}" if value >= 1000 else f"{sign}{symbol}{value:,.2f}"

    def units(self, amount: float) -> str:
        """An amount in units of the currency for people.

        >>> Bill("USD", 0, (), (), ()).units(57312.4)
        '$57,312'
        """
        return self.money(100 * amount)

    def unit_money(self, cents: float) -> str:
        """A price per unit, which may be far below a cent: three significant digits.

        >>> Bill("USD", 0, (), (), ()).unit_money(2.5), Bill("USD", 0, (), (), ()).unit_money(123456)
        ('$0.0250', '$1,235')
        """
        if abs(cents) >= 10_000:
            return self.money(cents)
        digits = max(2, 2 - math.floor(math.log10(abs(cents) / 100))) if cents else 2
        return f"{SYMBOLS.get(self.currency, f'{self.currency} ')}{cents / 100:.{digits}f}"


def bill_of(plan: Plan) -> Bill:
    """The bill of a plan; `plan.lines` are the only source of money in it.

    A line belongs to the pool or relay whose id is its name. Lines of a kind that name none (a term that several
    pools share) are spread over the others of the kind by what these would cost at list price.
    """
    lines = split([cents_of(plan, line.per_month_usd) for line in plan.lines])
    problem, solution, weight_h = plan.program, plan.solution, plan.demand.weight_h
    pool_list = [hosts_usd(solution.billed[p], weight_h, terms.option.offer.usd_per_hour) for p, terms in enumerate(problem.pools)]
    relay_list = [calls_usd(solution.relay_flow[a], paid_request_usd(terms, -1), weight_h) for a, terms in enumerate(problem.relays)]
    return Bill(
        currency=plan.scenario.budget.currency,
        total=sum(lines),
        lines=tuple(lines),
        pools=_shares(plan, lines, "gpu", [terms.option.id for terms in problem.pools], pool_list),
        relays=_shares(plan, lines, "relay", [terms.relay.id for terms in problem.relays], relay_list),
    )


def cents_of(plan: Plan, usd: float) -> float:
    """Cents of the scenario's currency, not rounded."""
    return 100 * to_currency(usd, plan.usd_per_unit)


def _shares(plan: Plan, lines: Sequence[int], kind: str, names: Sequence[str], list_usd: Sequence[float]) -> tuple[int, ...]:
    cents, rest, named = dict.fromkeys(names, 0), 0, set()
    for line, amount in zip(plan.lines, lines, strict=True):
        if line.kind == kind and line.name in cents:
            cents[line.name] += amount
            named.add(line.name)
        elif line.kind == kind:
            rest += amount
    weights = [0.0 if name in named else usd for name, usd in zip(names, list_usd, strict=True)]
    if rest and sum(weights) > 0:
        for name, amount in zip(names, split([rest * w / sum(weights) for w in weights], rest), strict=True):
            cents[name] += amount
    return tuple(cents[name] for name in names)
