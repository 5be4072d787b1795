"""Months ahead: what the plan costs as demand and prices move, when the next GPUs are needed, what it is worth today."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimize.finance.announced_prices import Announced, price_move
from optimize.finance.curves import Curves
from optimize.finance.monthly_plans import STEP, Replanning
from optimize.finance.pure_strategies import ALL_API, all_api
from optimize.finance.resolve_program import RelayPrices, Shift, shifted, solved
from optimize.money.amounts import scaled_usd
from optimize.money.capital import drifted, npv_usd, payback_months
from optimize.money.contracts import reservation_usd
from optimize.money.extras import after_credits_usd
from optimize.money.ownership import values_of
from optimize.money.price_book import month_after, start_of
from optimize.money.quantities import Scaled, requests_of
from optimize.result import Plan

PROGRAMS = 1000.0  # hour programs that one horizon may solve: at most 2 s of CPU for a small scenario, 3 s for a large one
ONE_PROGRAM = 200.0  # enough for the hours of a week
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
    solved: bool = False  # whether the program was solved for it; else the fleet of the last solution, or of the plan, is scaled
    changes: tuple[str, ...] = ()  # announced prices and retirements that its relay bill contains
    gone: bool = False  # a relay that it uses can no longer be bought; it is priced as if it could

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


def horizon(plan: Plan, programs: float = PROGRAMS) -> Horizon:
    """The plan month by month, under `finance` of its scenario; the first month is today's demand at today's prices.

    When demand, tokens or a price have moved by more than a tenth since the last solution, the program is solved again, as long as
    work is left (see `resolved.Work`); in between, the fleet follows its capacity line.
    """
    finance = plan.scenario.finance
    start, today = start_of(plan.scenario), requests_of(plan)
    count, ahead, api_only, announced = finance.horizon_months, Replanning(plan, programs), AllApi(plan), Announced(plan)
    answers: list[tuple[Shift, Scaled, bool]] = []
    peaks: list[list[float]] = []
    used, gone = [ahead.used()], []
    for m in range(count):
        gpu, api = drifted(1.0, finance.gpu_price_drift_per_year, m), drifted(1.0, finance.api_price_drift_per_year, m)
        shift = Shift((1 + finance.growth_per_month) ** m, gpu, api, (1 + finance.token_growth_per_month) ** m, announced.month(m))
        answers.append((shift, *ahead.month(shift)))
        peaks.append(ahead.peak_rpm(shift))
        used.append(ahead.used())
        gone.append(ahead.gone(shift))
    told = [announced.words(m, used[m + 1]) for m in range(count)]
    once = [finance.migration_usd + finance.training_usd, *[0.0] * (count - 1)]
    bills = [month.usd + extra for (_, month, _), extra in zip(answers, once, strict=True)]
    paid = after_credits_usd(bills, finance.free_credits_usd, finance.free_credits_months)
    months, cumulative = [], 0.0
    for m, (shift, month, fresh) in enumerate(answers):
        cumulative += paid[m]
        parts = (month.gpu_usd, month.relay_usd, month.fixed_usd, once[m], bills[m] - paid[m], cumulative)
        label, other = month_after(start, m).isoformat()[:7], api_only.usd(shift)
        saved = None if other is None else other - month.usd
        hosts = (month.hosts, month.host_hours, month.short)
        months.append(Month(label, shift.demand, shift.demand * today, *parts, *hosts, saved, fresh, told[m], bool(gone[m])))
    savings = [month.saved_usd for month in months if month.saved_usd is not None]
    payback = payback_months(once[0], savings) if savings else None
    notes = (*announced_notes(announced, set().union(*used), months), *_notes(plan, months, peaks, ahead.ended))
    return Horizon(tuple(months), _present(plan, paid), payback, _next_hosts(plan, months), notes)


class AllApi:
    """What relays alone cost in a month: exact where they bill by the token and nothing depends on how many, else whole hosts scaled."""

    def __init__(self, plan: Plan) -> None:
        curves = Curves(plan, ONE_PROGRAM)
        self.curves, self.strategy = curves, all_api(plan)
        self.last: tuple[RelayPrices, float, set[int]] | None = None  # prices, cost and relays of the last solution
        self.exact = curves.api is not None and curves.api.linear and curves.api.solve(1.0)
        self.level = curves.level_of(ALL_API, curves.api_usd(1.0)) if self.exact else 1.0  # one strategy, one price: the alternative's

    def usd(self, shift: Shift) -> float | None:
        """Cost of the month; None where relays alone cannot serve everything."""
        if isinstance(self.strategy, str):
            return None
        if self.exact and self.curves.api is not None:
            today = self.curves.api.at(1.0) if shift.relays is None else self.announced_usd(shift.relays)
            usd = scaled_usd(today, self.level, shift.demand, shift.api_price, shift.tokens) + self.curves.fixed_usd(shift.demand)
        else:
            usd = self.strategy.at(shift.demand, shift.gpu_price, shift.api_price * shift.tokens, shift.tokens, shift.relays)
        return usd if math.isfinite(usd) else None

    def announced_usd(self, relays: RelayPrices) -> float:
        """All-API at today's demand and announced prices, without fixed costs: solved again where a price that it depends on has moved;
        infinite where no candidate can serve.
        """
        if self.curves.api is None:
            return math.inf
        if self.last is None or price_move(self.last[0], relays, self.last[2]) > 0:
            answer = solved(shifted(self.curves.api.problem, Shift(relays=relays)))
            usd = math.inf if answer is None else answer.cost_usd
            used = set(range(len(relays.usd))) if answer is None else {a for a, flow in enumerate(answer.relay_flow) if flow.any()}
            self.last = (relays, usd, used)
        return self.last[1]


def _present(plan: Plan, paid: Sequence[float]) -> dict[float | None, float]:
    """Present value at the cost of capital that is given, else at both ends of the usual range, next to the plain sum."""
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


def _notes(plan: Plan, months: Sequence[Month], peaks: Sequence[Sequence[float]], ended: bool) -> tuple[str, ...]:
    """What stops the plan from growing as it is, and what the months do not contain."""
    notes = _commitments(plan, len(months))
    for name in dict.fromkeys(name for month in months for name in month.short):
        since = next(month.label for month in months if name in month.short)
        notes.append(f"{name}: its stock does not suffice from {since} on; the months are priced as if it did")
    for a, terms in enumerate(plan.program.relays):
        limit = terms.relay.rpm
        if limit and 0 < peaks[0][a] <= limit:
            first = next((month.label for month, peak in zip(months, peaks, strict=True) if peak[a] > limit), None)
            if first is not None:
                notes.append(f"{terms.relay.id}: {limit:,.0f} requests a minute do not suffice from {first} on")
    fresh = [month.label for month in months if month.solved]
    if fresh:
        notes.append(
            f"Planned anew with the capacities known, not simulated: {', '.join(fresh)} (demand, tokens or a price moved by more than "
            f"{STEP:.0%}); in the other months the last fleet follows its capacity line, routing as it was."
        )
    if ended or (not fresh and any(abs(month.demand - 1) > 1e-9 for month in months)):
        notes.append("Routing stays as it is while demand grows; a plan made for the new demand may be cheaper.")
    return tuple(notes)


def announced_notes(announced: Announced, used: set[int], months: Sequence[Month]) -> list[str]:
    """What the months contain of announced prices and retirements of relays that are used in any of them."""
    rows = [row for a in sorted(used) for row in announced.changes.get(a, ())]
    notes = [f"{row.words}; {'no price is known after that' if row.row is None else 'the months are billed at it'}" for row in rows]
    if rows:
        notes.append(
            "A month in which a price changes is billed by its days. Prices that an announcement leaves out move with input or output; a "
            "successor is taken to need as many tokens, and was not simulated."
        )
    lost = [month.label for month in months if month.gone]
    if lost:
        notes.append(f"From {lost[0]} on months cannot be bought as planned; their figures stand at the last known price.")
    return notes


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
