"""Months ahead: what the plan costs as demand and prices move, when the next GPUs are needed, what it is worth today."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimize.growth import Scaled, requests_of, scaling
from optimize.money.capital import drifted, npv_usd, payback_months
from optimize.money.extras import after_credits_usd
from optimize.money.ownership import values_of
from optimize.money.rent import reservation_usd
from optimize.pricebook import month_after, start_of
from optimize.records import Plan
from optimize.strategies import Strategy, all_api

TERM_MONTHS = {"reserved_1y": 12, "reserved_3y": 36}


@dataclass(frozen=True)
class Month:
    """One month of the horizon, USD. `saved_usd` is what all-API would cost more than the plan, None where no such plan exists."""

    label: str  # YYYY-MM
    demand: float  # times today's requests
    requests: float
    gpu_usd: float
    relay_usd: float
    fixed_usd: float
    once_usd: float
    credits_usd: float
    cumulative_usd: float
    hosts: tuple[int, ...]
    host_hours: tuple[float, ...]
    short: tuple[str, ...]
    saved_usd: float | None

    @property
    def paid_usd(self) -> float:
        """Cash of the month."""
        return self.gpu_usd + self.relay_usd + self.fixed_usd + self.once_usd - self.credits_usd


@dataclass(frozen=True)
class Horizon:
    """`present_usd` maps a cost of capital to the present value of all months; the key None stands for no discount.

    payback_months   until savings against all-API repay the one-off costs; None: not inside the horizon, or nothing to compare with
    next_hosts       per pool that grows: (pool, month label, hosts then, hosts today)
    """

    months: tuple[Month, ...]
    present_usd: dict[float | None, float]
    payback_months: float | None
    next_hosts: tuple[tuple[str, str, int, int], ...]
    notes: tuple[str, ...]


def horizon(plan: Plan) -> Horizon:
    """The plan month by month, under `finance` of its scenario; the first month is today's demand at today's prices."""
    finance, scaled = plan.scenario.finance, scaling(plan)
    start, today = start_of(plan.scenario), requests_of(plan)
    count, api_only = finance.horizon_months, all_api(plan)
    answers: list[tuple[float, Scaled, float | None]] = []
    for m in range(count):
        demand = (1 + finance.growth_per_month) ** m
        longer = (1 + finance.token_growth_per_month) ** m
        gpu, api = drifted(1.0, finance.gpu_price_drift_per_year, m), drifted(1.0, finance.api_price_drift_per_year, m)
        other = api_only.at(demand, gpu, api * longer, longer) if isinstance(api_only, Strategy) else None
        answers.append((demand, scaled.at(demand, gpu, api * longer, longer), other))
    once = [finance.migration_usd + finance.training_usd, *[0.0] * (count - 1)]
    bills = [month.usd + extra for (_, month, _), extra in zip(answers, once, strict=True)]
    paid = after_credits_usd(bills, finance.free_credits_usd, finance.free_credits_months)
    months, cumulative = [], 0.0
    for m, (demand, month, other) in enumerate(answers):
        cumulative += paid[m]
        parts = (month.gpu_usd, month.relay_usd, month.fixed_usd, once[m], bills[m] - paid[m], cumulative)
        label = month_after(start, m).isoformat()[:7]
        saved = None if other is None else other - month.usd
        months.append(Month(label, demand, demand * today, *parts, month.hosts, month.host_hours, month.short, saved))
    savings = [month.saved_usd for month in months if month.saved_usd is not None]
    payback = payback_months(once[0], savings) if savings else None
    return Horizon(tuple(months), _present(plan, paid), payback, _next_hosts(plan, months), _notes(plan, months))


def _present(plan: Plan, paid: Sequence[float]) -> dict[float | None, float]:
    """Present value at the cost of capital that is given, else at both ends of the usual range, beside the plain sum."""
    row = values_of(plan.scenario.finance)["cost_of_capital"]
    rates = [row.value] if row.value is not None else [rate for rate in (row.low, row.high) if rate is not None]
    return {None: math.fsum(paid), **{rate: npv_usd(paid, rate) for rate in rates}}


def _next_hosts(plan: Plan, months: Sequence[Month]) -> tuple[tuple[str, str, int, int], ...]:
    found = []
    for p, terms in enumerate(plan.program.pools):
        today = int(plan.solution.hosts[p].max(initial=0))
        first = next((month for month in months if month.hosts[p] > today), None)
        if first is not None:
            found.append((terms.option.id, first.label, first.hosts[p], today))
    return tuple(found)


def _notes(plan: Plan, months: Sequence[Month]) -> tuple[str, ...]:
    """What stops the plan from growing as it is, and what the months do not contain."""
    notes = _commitments(plan, len(months))
    for name in dict.fromkeys(name for month in months for name in month.short):
        since = next(month.label for month in months if name in month.short)
        notes.append(f"{name}: its stock does not suffice from {since} on; the months are priced as if it did")
    for a, terms in enumerate(plan.program.relays):
        peak = float(plan.solution.relay_flow[a].sum(axis=0).max()) * plan.demand.peak_factor * 60
        limit = terms.relay.rpm
        if limit and peak > 0:
            first = next((month.label for month in months if peak * month.demand > limit), None)
            if first is not None and peak <= limit:
                notes.append(f"{terms.relay.id}: {limit:,.0f} requests a minute do not suffice from {first} on")
    if any(abs(month.demand - 1) > 1e-9 for month in months):
        notes.append("Routing stays as it is while demand grows; a plan made for the new demand may be cheaper.")
    return tuple(notes)


def _commitments(plan: Plan, horizon_months: int) -> list[str]:
    """What reservations owe, and what is still outstanding when the horizon ends; a term that ends is taken to be renewed."""
    words = []
    for p, terms in enumerate(plan.program.pools):
        offer, hosts = terms.option.offer, int(plan.solution.billed[p].max(initial=0))
        term = TERM_MONTHS.get(offer.term)
        if term is None or not hosts:
            continue
        owed = reservation_usd(hosts, offer.usd_per_hour, term, 0)[1]
        used = (horizon_months - 1) % term + 1
        left = reservation_usd(hosts, offer.usd_per_hour, term, used)[1]
        words.append(
            f"{offer.id} ({offer.term}): ${owed:,.0f} are owed per term, used or not; ${left:,.0f} are outstanding after the horizon"
        )
    return words
