"""What people, support, contingency and tax do to the answer, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable

from optimize.money.all_in import LATE, AllIn, all_in
from optimize.money.amounts import above_budget_cents, per_unit_usd
from optimize.money.quantities import requests_of, tokens_per_month
from optimize.money.units import MTOK
from optimize.result import Plan
from optimize.tables.bill_lines import Bill, cents_of

KEY = "finance.staff_usd_per_month"
OPEN = f"Staff for GPUs is open, not zero ({KEY})."
Say = Callable[[float], str]


def all_in_words(plan: Plan, bill: Bill) -> list[str]:
    """The month all-in with its parts, what is open, and relays alone all-in next to it; empty where nothing is operated or added."""
    rows = all_in(plan)
    ours = rows[0]
    if not ours.parts and not ours.open:
        return []
    words = [_sum_words(plan, bill, ours)] if ours.parts else []
    return [*words, *_against(plan, bill, rows)]


def _sum_words(plan: Plan, bill: Bill, ours: AllIn) -> str:
    """All-in, its parts, a unit of it, and whether that leaves the budget."""
    told = ", ".join(f"{name} {bill.money(cents_of(plan, usd))}" for name, usd in ours.parts)
    before = " before staff" if ours.open else ""
    words = f"All-in {bill.money(cents_of(plan, ours.usd))} a month{before} with {told}: {unit_words(plan, bill, ours.usd)}."
    over, before_it = (above_budget_cents(cents, plan.scenario.budget.per_month) for cents in (cents_of(plan, ours.usd), bill.total))
    if math.isfinite(over) and over > 0 >= before_it:
        words += f" That is {bill.money(over)} above the budget, which the bill alone keeps."
    return words


def unit_words(plan: Plan, bill: Bill, usd: float) -> str:
    """What 1,000 requests, a million tokens and, where it is known what one takes, a document cost of a month of `usd`."""

    def each(units: float) -> str:
        return bill.unit_money(cents_of(plan, per_unit_usd(usd, units)) if units > 0 else 0.0)

    requests, tokens = requests_of(plan), sum(tokens_per_month(plan))
    words = f"{each(requests / 1000)} per 1,000 requests, {each(tokens / MTOK)} per million tokens"
    taken = plan.scenario.finance.requests_per_document
    return words if taken is None else f"{words}, {each(requests / taken)} per document"


def _against(plan: Plan, bill: Bill, rows: tuple[AllIn, ...]) -> list[str]:
    """The cheapest way without GPUs, all-in; with staff open, what staff may cost before it is the cheaper one."""
    ours, rival = rows[0], min((row for row in rows[1:] if not row.hosts), key=lambda row: (row.usd, row.name), default=None)
    if rival is None or not ours.hosts:
        return [OPEN] if ours.open else []
    cost = bill.money(cents_of(plan, rival.usd))
    late = "" if rival.kept else ", though they break a promise"
    who = "relays alone" if rival.name == LATE else rival.name
    room = rival.usd - ours.usd
    if ours.open and room >= 0:
        most = bill.money(cents_of(plan, room))
        return [f"Staff for GPUs is open, not zero: at {most} a month {who} ({cost}) cost the same{late}."]
    if room < 0:
        more = [OPEN] if ours.open else []
        return [*more, f"Cheaper all-in: {who}, {cost} a month{late}."]
    return [f"All-in {who} cost {cost} a month{late}."]


def open_or_sum(row: AllIn, say: Say) -> str:
    """The all-in figure of a row for people; a row with an open part has none.

    >>> open_or_sum(AllIn("plan", 1.0, True, (), ("staff",), True), str), open_or_sum(AllIn("api", 1.0, False, (), (), True), str)
    ('staff open', '1.0')
    """
    return f"{', '.join(row.open)} open" if row.open else say(row.usd)
