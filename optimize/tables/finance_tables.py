"""The money of a plan as tables: charges, unit costs, months, break-even, sensitivity, prices, own or rent, figures, FOCUS rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from functools import cached_property

from optimize.finance.bill_sensitivity import sensitivity
from optimize.finance.break_even import PROGRAMS, TOKENS, BreakEven, break_even
from optimize.finance.curves import Curves
from optimize.finance.horizon import Horizon, horizon
from optimize.finance.own_base import OwnedFleet, owned_fleet
from optimize.finance.own_or_rent import OwnOrRent, own_or_rent
from optimize.finance.unit_costs import unit_costs
from optimize.money.all_in import all_in
from optimize.money.amounts import amount_usd, per_unit_usd
from optimize.money.charges import Charge, charges, rounded
from optimize.money.ownership import values_of
from optimize.money.price_book import PriceBook, month_after, price_book
from optimize.money.quantities import requests_of, tokens_per_month
from optimize.money.token_kinds import item_of
from optimize.money.units import HOURS_PER_MONTH, to_currency
from optimize.result import Plan
from optimize.tables import finance_columns
from optimize.tables.bill_lines import Bill, bill_of, cents_of, split
from optimize.tables.columns import Table, Value
from sim.exact import dot
from sim.scenario.scenario import SyntheticTraffic

Rows = tuple[tuple[Value, ...], ...]


class Money:
    """What the tables of one plan share, each computed once when it is first asked for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.bill: Bill = bill_of(plan)
        self.charges: tuple[Charge, ...] = tuple(map(rounded, charges(plan.program, plan.solution, plan.lines)))
        self.cents: tuple[int, ...] = charge_cents(plan, self.bill, self.charges)
        self.prices: PriceBook = price_book(
            plan.scenario, {charge.source for charge in self.charges}, {(charge.source, charge.item) for charge in self.charges}
        )
        self.own: tuple[OwnOrRent, ...] = own_or_rent(plan)

    @cached_property
    def horizon(self) -> Horizon:
        """Months ahead; seconds of work, so not before somebody asks."""
        return horizon(self.plan)

    @cached_property
    def owned_fleet(self) -> OwnedFleet:
        """How many hosts to own, over the whole fleet."""
        return owned_fleet(self.plan)

    @cached_property
    def curves(self) -> Curves:
        """Cost over demand: one engine for the break-even and the sensitivity."""
        return Curves(self.plan, PROGRAMS)

    @cached_property
    def break_even(self) -> BreakEven:
        """Three strategies over demand; seconds of work, so not before somebody asks."""
        return break_even(self.plan, curves=self.curves)

    def fresh_warnings(self) -> list[str]:
        """Warnings of the price book that the plan does not give itself: a retirement is told once."""
        told = {text.partition(" on ")[0] for text in self.plan.warnings if " retires on " in text}
        found = self.prices.warnings
        return [text for text in found if text not in self.plan.warnings and text.partition(" on ")[0] not in told]

    def units(self, usd: float | None) -> float | None:
        """An amount in the scenario's currency, to the cent; None where it is not finite."""
        return None if usd is None or not math.isfinite(usd) else round(cents_of(self.plan, usd)) / 100


def charge_cents(plan: Plan, bill: Bill, found: Sequence[Charge]) -> tuple[int, ...]:
    """Cents of each charge; those of a line sum to the line."""
    totals: dict[str, int] = {}
    for line, cents in zip(plan.lines, bill.lines, strict=True):
        totals[line.name] = totals.get(line.name, 0) + cents
    answer = [0] * len(found)
    for name, total in totals.items():
        mine = [i for i, charge in enumerate(found) if charge.line == name]
        for i, cents in zip(mine, split([cents_of(plan, found[i].usd) for i in mine], total), strict=True):
            answer[i] = cents
    return tuple(answer)


def finance_tables(money: Money) -> tuple[Table, ...]:
    """Every table, in the order of FINANCE_TABLES."""
    makers: dict[str, tuple[str, Callable[[Money], Rows]]] = {
        "charges": ("Charges", charge_rows),
        "unit_costs": ("Unit economics", unit_rows),
        "months": ("Months ahead", month_rows),
        "break_even": ("Break-even", break_even_rows),
        "break_even_tokens": ("Break-even by tokens", break_even_token_rows),
        "sensitivity": ("Sensitivity", sensitivity_rows),
        "prices": ("Price book", price_rows),
        "own_or_rent": ("Own or rent", own_rows),
        "own_parts": ("A month of own hosts", own_part_rows),
        "figures": ("Figures", figure_rows),
        "focus": ("FOCUS rows", focus_rows),
    }
    return tuple(Table(name, makers[name][0], columns, makers[name][1](money)) for name, columns in finance_columns.FINANCE_TABLES.items())


def charge_rows(money: Money) -> Rows:
    return tuple(
        (c.line, c.kind, c.source, c.item, c.quantity, c.unit, c.usd_per_unit, cents / 100)
        for c, cents in zip(money.charges, money.cents, strict=True)
    )


def unit_rows(money: Money) -> Rows:
    plan = money.plan
    rows: list[tuple[Value, ...]] = []
    whole = all_in(plan)[0]
    for unit in unit_costs(plan, sum(charge.usd for charge in money.charges)):
        if unit.usd is not None:
            of_all = not unit.line and not whole.open and unit.quantity > 0
            total = to_currency(per_unit_usd(whole.usd, unit.quantity), plan.usd_per_unit) if of_all else None
            rows.append((unit.name, to_currency(unit.usd, plan.usd_per_unit), f"{money.bill.currency} / {unit.unit}", unit.how, total))
        else:
            rows.append((unit.name, unit.value, unit.unit, unit.how, None))
    return tuple(rows)


def month_rows(money: Money) -> Rows:
    u = money.units
    return tuple(
        (m.label, m.demand, m.requests, u(m.gpu_usd), u(m.relay_usd), u(m.fixed_usd), u(m.once_usd), u(m.credits_usd), u(m.paid_usd),
         u(m.cumulative_usd), sum(m.hosts), u(m.saved_usd), m.solved, not m.gone, "; ".join(m.changes))
        for m in money.horizon.months
    )  # fmt: skip


def break_even_rows(money: Money) -> Rows:
    plan, u = money.plan, money.units
    requests, tokens, users = requests_of(plan), sum(tokens_per_month(plan)), daily_users(plan)
    return tuple(
        (p.demand, None if users is None else users * p.demand, requests * p.demand, tokens * p.demand,
         u(p.plan_usd), u(p.api_usd), u(p.own_usd), u(p.own_low_usd), u(p.own_high_usd),
         u(p.plan_all_in_usd), u(p.api_all_in_usd), u(p.own_all_in_usd))
        for p in money.break_even.points
    )  # fmt: skip


def break_even_token_rows(money: Money) -> Rows:
    """Where own GPUs are first cheaper than relays, if every request had more or fewer tokens."""
    plan, requests = money.plan, requests_of(money.plan)
    tokens, users = sum(tokens_per_month(plan)) / max(requests, 1e-300), daily_users(plan)
    unit = users if users is not None else requests
    return tuple(
        (factor, tokens * factor, "daily users" if users is not None else "requests a month",
         *(None if at is None else unit * at for at in money.break_even.with_tokens(factor)))
        for factor in TOKENS
    )  # fmt: skip


def daily_users(plan: Plan) -> float | None:
    """Users on a weekday, where traffic is stated in users."""
    traffic = plan.scenario.traffic
    return traffic.daily_active_users if isinstance(traffic, SyntheticTraffic) and traffic.counted_in == "users" else None


def sensitivity_rows(money: Money) -> Rows:
    u = money.units
    return tuple(
        (row.name, row.change, u(row.low_usd), u(row.high_usd), u(row.span_usd), row.how) for row in sensitivity(money.plan, money.curves)
    )


def price_rows(money: Money) -> Rows:
    return tuple(
        (p.name, p.item, p.unit, p.list_usd, p.quoted_usd, p.contracted_usd, p.claimed_usd, p.graded, p.used, p.reference, p.source.title,
         p.source.date, p.age_days, p.evidence.valid_from, p.evidence.valid_until, p.evidence.document, p.evidence.sha256,
         p.retires_on, p.successor, p.hours_utc)
        for p in money.prices.prices
    )  # fmt: skip


def own_rows(money: Money) -> Rows:
    rows: list[tuple[Value, ...]] = []
    u = money.units
    for row in money.own:
        rent, month = u(row.rent_usd), row.month
        if month is None:
            rows.append((row.pool, None, rent, None, None, "", None, None, None, None, row.sentence))
            continue
        known, left = u(month.known_usd), u(row.rent_usd - month.known_usd)
        bought = (u(month.book_usd), u(month.purchase_usd))
        more = (u(row.once_usd), row.payback_months)
        rows.append((row.pool, month.hosts, rent, known, left, ", ".join(month.open), *bought, *more, row.sentence))
    return tuple(rows)


def own_part_rows(money: Money) -> Rows:
    return tuple(
        (row.pool, line.name, money.units(line.usd), line.how) for row in money.own if row.month is not None for line in row.month.lines
    )


def figure_rows(money: Money) -> Rows:
    return tuple(
        (f.name, f.value, f.unit, f.low, f.high, f.given, f.meaning, "the scenario" if f.given else f.source.title, f.source.date)
        for f in values_of(money.plan.scenario.finance).values()
    )


PRICING_UNITS = {"h": "Hours", "million tokens": "1000000 Tokens", "month": "Months", "million requests": "1000000 Requests"}
FOCUS_VERSION = "1.2"
CATEGORIES = {  # kind of a charge -> ServiceCategory, ServiceSubcategory as FOCUS 1.2 names them
    "gpu": ("Compute", "Virtual Machines"),
    "relay": ("AI and Machine Learning", "Generative AI"),
}
PRICING = {"spot": "Dynamic", "reserved_1y": "Committed", "reserved_3y": "Committed", "owned": "Other"}  # term -> PricingCategory


def focus_rows(money: Money) -> Rows:
    """One row per charge, in the columns of FOCUS 1.2: all mandatory ones, and those conditional ones that a plan can fill.

    BilledCost is in cents and sums to the bill; ContractedCost is unit price x quantity. The period of a charge is the planned month of
    730 hours from the first instant of the billing period.
    """
    listed = {(p.name, p.item): p.list_usd for p in money.prices.prices if p.reference == p.name}  # another vendor's list is no list of his
    served, rows = requests_by_line(money), []
    start = f"{money.horizon.months[0].label}-01T00:00:00Z"
    first = date.fromisoformat(f"{money.horizon.months[0].label}-01")
    end = f"{month_after(first, 1).isoformat()}T00:00:00Z"
    until = f"{(datetime.combine(first, time()) + timedelta(hours=HOURS_PER_MONTH)).isoformat()}Z"
    for charge, cents in zip(money.charges, money.cents, strict=True):
        rows.append(_focus(money, charge, cents / 100, listed, (start, end, start, until), served.pop(charge.line, None)))
    return tuple(rows)


def _focus(
    money: Money, charge: Charge, cost: float, listed: dict[tuple[str, str], float | None], span: tuple[str, ...], requests: float | None
) -> tuple[Value, ...]:
    plan = money.plan
    unit_price = to_currency(charge.usd_per_unit, plan.usd_per_unit)
    list_usd = listed.get((charge.source, item_of(charge.item)))
    list_price = unit_price if list_usd is None else to_currency(list_usd, plan.usd_per_unit)
    contracted, list_cost = amount_usd(unit_price, charge.quantity), amount_usd(list_price, charge.quantity)
    seller, region, term = seller_of(plan, charge.source)
    unit, monthly = PRICING_UNITS.get(charge.unit, charge.unit), charge.unit == "month"
    category, subcategory = CATEGORIES.get(charge.kind, ("Other", "Other (Other)"))
    issuer = seller or plan.scenario.name
    return (
        *span, money.bill.currency, cost, cost, list_cost, contracted, list_price, unit_price,
        charge.quantity, unit, charge.quantity, unit, "Purchase" if monthly else "Usage", f"{charge.line}: {charge.item}",
        issuer, issuer, category, charge.source, charge.price_name, region, charge.line, charge.item, requests,
        f"plan of {plan.scenario.name}", plan.scenario.name, issuer, subcategory, "", "Recurring" if monthly else "Usage-Based",
        PRICING.get(term, "Standard"), f"{charge.price_name} {money.prices.on.isoformat()}", charge.item, money.bill.currency,
    )  # fmt: skip


def seller_of(plan: Plan, source: str) -> tuple[str, str, str]:
    """(who sells an offer or relay, its region, its term)."""
    for terms in plan.program.pools:
        offer = terms.option.offer
        if offer.id == source:
            return offer.provider, offer.region, offer.term
    return next(((terms.relay.vendor, "", "on_demand") for terms in plan.program.relays if terms.relay.id == source), ("", "", ""))


def requests_by_line(money: Money) -> dict[str, float]:
    """Requests of a month by the line of the bill that serves them."""
    plan = money.plan
    month_s = plan.demand.weight_h * 3600.0
    served = {t.option.id: float(dot(plan.solution.pool_flow[p], month_s).sum()) for p, t in enumerate(plan.program.pools)}
    served |= {t.relay.id: float(dot(plan.solution.relay_flow[a], month_s).sum()) for a, t in enumerate(plan.program.relays)}
    return served
