"""A plan against an invoice: which row belongs to which line of the plan, line by line, and the bridge between the two bills."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from optimize.audit.bill_bridge import STEPS, BillModel, Step, Target, bridge
from optimize.audit.bill_total import named_model_in
from optimize.audit.compare_plans import Comparison, Json, LineGap, bill_of_plan, whole_plan
from optimize.audit.invoice_file import Invoice, InvoiceRow, read_invoice
from optimize.audit.invoice_names import Match, match, names_of_plan
from optimize.money.units import HOURS_PER_MONTH
from sim.catalog.loader import load_catalog

LISTED = 5
DAYS, QUANTITY, PRICE = "days of the period", "quantity, requests not counted", "price, requests not counted"
UNSPLIT, ABSENT, STRANGE, UNCLEAR, TAX, CREDITS = (
    "volume and price, not split",
    "not invoiced",
    "not in the plan",
    "ambiguous",
    "tax",
    "credits",
)
MEANINGS = {
    DAYS: "hours of the invoice's period against the 730 of a planned month, on what is used by the hour or token",
    QUANTITY: "hours or tokens beyond the plan's, at its prices, of lines whose requests the invoice does not count",
    PRICE: "price of a unit on these lines",
    UNSPLIT: "the invoice has no requests, tokens or hours of these lines that the plan bills by: their whole difference",
    ABSENT: "lines of the plan that no row of the invoice names",
    STRANGE: "rows that no line of the plan explains",
    UNCLEAR: "rows that could be of several lines of the plan",
    TAX: "tax; the plan is without",
    CREDITS: "credits, refunds and discounts that are rows of their own",
}


@dataclass
class Part:
    """What the invoice says of one line or seller."""

    cost: float = 0.0
    units: dict[str, float] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)  # where a row has one item, its cost is that item's
    mixed: float = 0.0  # cost of rows with several items
    requests: float = 0.0
    attempts: float = 0.0

    def add(self, row: InvoiceRow) -> None:
        """Enters a row."""
        self.cost += row.cost
        self.requests += row.requests or 0.0
        self.attempts += row.attempts or row.requests or 0.0
        for item, units in row.units.items():
            self.units[item] = self.units.get(item, 0.0) + units
        if len(row.units) == 1:
            item = next(iter(row.units))
            self.costs[item] = self.costs.get(item, 0.0) + row.cost
        elif row.units:
            self.mixed += row.cost


@dataclass
class Sorted:
    """The rows of an invoice by what they are: `parts` by line or seller of the plan, the rest by kind -> (name -> cost)."""

    parts: dict[str, Part] = field(default_factory=dict)
    rest: dict[str, dict[str, float]] = field(default_factory=lambda: {kind: {} for kind in (STRANGE, UNCLEAR, TAX, CREDITS)})

    def put(self, kind: str, name: str, cost: float) -> None:
        """Enters what belongs to no line."""
        self.rest[kind][name] = self.rest[kind].get(name, 0.0) + cost

    def total(self, kind: str) -> float:
        return math.fsum(self.rest[kind].values())


@dataclass(frozen=True)
class Planned:
    """A plan as an invoice can be held against it.

    targets  line, or seller where the invoice does not tell its lines apart -> what it is made of
    flat     line -> cost of lines that are paid by the month
    """

    model: BillModel
    targets: Mapping[str, Target]
    flat: Mapping[str, float]

    def cost(self, name: str) -> float:
        """Planned cost of a line or seller, for 730 hours."""
        return self.flat[name] if name in self.flat else self.model.requests * self.targets[name].per_request()

    def units(self, name: str) -> dict[str, float]:
        """Units of a month of 730 hours by item."""
        target = self.targets[name]
        return {item: self.model.requests * target.share * target.attempts * units for item, units in target.units.items()}


def compare_actual(plan_path: Path, actual: Path) -> Comparison:
    """The plan and the invoice side by side, line by line, and the bridge from plan to invoice, in the plan's currency."""
    plan, catalog = whole_plan(plan_path), load_catalog()
    currency = plan["cost"]["currency"]
    rates = {**catalog.fx_usd, "USD": 1.0, currency: float(plan.get("finance", {}).get("usd_per_unit", catalog.fx_usd.get(currency, 1.0)))}
    invoice = read_invoice(actual, currency, rates)
    known = names_of_plan(plan, sorted({relay.vendor for relay in catalog.relays.values()}))

    def model_of(text: str) -> str | None:
        return named_model_in(text, catalog)

    matches = [match(row.names, known, model_of) if row.kind == "usage" else Match(None) for row in invoice.rows]
    planned = planned_for(plan, plan_path, matches)
    sorted_rows = sort_rows(invoice, matches, planned)
    days = (invoice.hours or HOURS_PER_MONTH) / HOURS_PER_MONTH
    gaps = line_gaps(planned, sorted_rows, days)
    bills = (planned.model, billed_model(planned, sorted_rows, invoice))
    steps = steps_to(planned, sorted_rows, gaps, days, round(invoice.total, 2))
    notes = notes_of(invoice, matches, planned, sorted_rows, days)
    return Comparison(currency, bills, side_by_side(bills, planned, sorted_rows), (steps,), tuple(notes), gaps)


def planned_for(plan: Json, path: Path, matches: list[Match]) -> Planned:
    """The plan's lines; those of one seller are one where some row of the invoice names the seller alone."""
    model = bill_of_plan(plan, "plan", path)
    flat = {line["name"]: float(line["per_month"]) for line in plan["cost"]["lines"] if line["name"] not in model.targets}
    lines: dict[str, list[str]] = {}
    starts: dict[str, dict[str, float]] = {}
    for charge in plan.get("charges", []):
        if charge["line"] in model.targets and charge["line"] not in lines.get(charge["source"], []):
            lines.setdefault(charge["source"], []).append(charge["line"])
        if charge["item"] == "host-hour" and charge["line"] in flat:
            starts.setdefault(charge["source"], {})[charge["line"]] = float(charge["quantity"])
    targets = dict(model.targets)
    for seller in {each.seller for each in matches if each.seller and not each.line}:
        mine = [name for name in lines.get(seller, []) if name in targets]
        if len(mine) > 1 or (mine and seller in starts):
            together = merged([targets.pop(name) for name in mine], sum(starts.get(seller, {}).values()) / model.requests)
            targets[mine[0] if len(mine) == 1 else seller] = together
            for name in starts.get(seller, {}):
                flat.pop(name)
    return Planned(model, targets, flat)


def merged(targets: list[Target], more_hours: float) -> Target:
    """Several pools on one offer as one target; `more_hours` per request of all traffic are paid next to them (starts)."""
    share = sum(target.share for target in targets)
    items = dict.fromkeys(item for target in targets for item in target.units)
    units = {item: sum(target.share * target.attempts * target.units.get(item, 0.0) for target in targets) for item in items}
    if "host-hour" in units:
        units["host-hour"] += more_hours
    prices = {item: price for target in targets for item, price in target.prices.items()}
    return Target(share, {item: amount / share for item, amount in units.items()}, prices, 1.0, targets[0].hosts)


def sort_rows(invoice: Invoice, matches: list[Match], planned: Planned) -> Sorted:
    """Every row under its line, or as tax, credit, ambiguous or not in the plan."""
    found = Sorted()
    for row, what in zip(invoice.rows, matches, strict=True):
        name = next(iter(row.names), "") or "a row without a name"
        line = next((each for each in (what.line, what.seller) if each in planned.targets or each in planned.flat), None)
        if line is None and what.seller is not None:  # the one line of this seller
            line = next((each for each in planned.targets if each.startswith(f"{what.seller}/")), None)
        if row.kind != "usage":
            found.put(TAX if row.kind == "tax" else CREDITS, name, row.cost)
        elif line is not None:
            found.parts.setdefault(line, Part()).add(row)
        else:
            found.put(UNCLEAR if what.candidates else STRANGE, name, row.cost)
    return found


def line_gaps(planned: Planned, rows: Sorted, days: float) -> tuple[LineGap, ...]:
    """A row per line of the plan or invoice: planned, what the days of the period change, quantity, price, invoiced."""
    gaps = []
    for name in [*planned.targets, *planned.flat]:
        cost, part = planned.cost(name), rows.parts.get(name)
        scaled = cost if name in planned.flat else cost * days
        if part is None:
            gaps.append(LineGap(name, cost, scaled - cost, None, None, 0.0, ABSENT))
        elif name in planned.flat or not comparable(part, planned.targets[name]):
            gaps.append(LineGap(name, cost, scaled - cost, None, None, part.cost, "cost alone"))
        else:
            prices, units = planned.targets[name].prices, planned.units(name)
            items = dict.fromkeys([*units, *part.units])
            paid = paid_prices(part, planned.targets[name])
            more = {item: part.units.get(item, 0.0) - days * units.get(item, 0.0) for item in items}
            quantity = math.fsum(more[item] * prices.get(item, paid.get(item, 0.0)) for item in items)
            gaps.append(LineGap(name, cost, scaled - cost, quantity, part.cost - scaled - quantity, part.cost, "matched"))
    for kind, found in rows.rest.items():
        gaps += [LineGap(name, None, 0.0, None, None, cost, kind) for name, cost in found.items()]
    return tuple(gaps)


def comparable(part: Part, target: Target) -> bool:
    """Whether the invoice states units that the plan bills by."""
    return any(part.units.get(item) for item in target.units)


def paid_prices(part: Part, ours: Target) -> dict[str, float]:
    """Prices of units on the invoice: rows of several items share their cost by the plan's prices."""
    listed = {item: units * ours.prices.get(item, 0.0) for item, units in part.units.items() if item not in part.costs}
    factor = part.mixed / sum(listed.values()) if sum(listed.values()) > 0 else 1.0
    return {
        item: part.costs[item] / units if item in part.costs and units > 0 else ours.prices.get(item, 0.0) * factor
        for item, units in part.units.items()
    }


def counted(name: str, rows: Sorted, planned: Planned) -> bool:
    """Whether a line can enter the bridge of requests: the invoice counts them, and units that the plan bills by."""
    return name in planned.targets and rows.parts[name].requests > 0 and comparable(rows.parts[name], planned.targets[name])


def steps_to(planned: Planned, rows: Sorted, gaps: tuple[LineGap, ...], days: float, total: float) -> tuple[Step, ...]:
    """From the plan to the invoice, exact to the cent: days, then what counted requests explain, then lines without them, then the rest."""
    whole = {name: counted(name, rows, planned) for name in rows.parts}
    bridged = [name for name, yes in whole.items() if yes]
    first = _model(planned, {name: planned.targets[name] for name in bridged}, days)
    second = _billed(planned, {name: rows.parts[name] for name in bridged})
    amounts = {step.name: step for step in bridge(first, second)}
    paired = [gap for gap in gaps if gap.state == "matched" and not whole[gap.name]]
    alone = [gap for gap in gaps if gap.state == "cost alone" and gap.name in planned.targets]
    more = {
        DAYS: math.fsum(gap.days for gap in gaps),
        QUANTITY: math.fsum(gap.quantity or 0.0 for gap in paired),
        PRICE: math.fsum(gap.price or 0.0 for gap in paired),
        UNSPLIT: math.fsum(gap.invoiced - (gap.planned or 0.0) - gap.days for gap in alone),
        ABSENT: -math.fsum((gap.planned or 0.0) + gap.days for gap in gaps if gap.state == ABSENT),
        **{kind: rows.total(kind) for kind in rows.rest},
    }
    found = [Step(DAYS, round(more.pop(DAYS), 2), MEANINGS[DAYS])]
    found += [amounts[name] for name in STEPS[:-1]] if bridged else []
    found += [Step(name, round(amount, 2), MEANINGS[name]) for name, amount in more.items()]
    found = [step for step in found if step.amount or step.name in STEPS]
    left = round(100 * total) - round(100 * planned.model.total) - sum(round(100 * step.amount) for step in found)
    return (*found, Step(STEPS[-1], left / 100, amounts[STEPS[-1]].meaning))


def _model(planned: Planned, targets: Mapping[str, Target], days: float) -> BillModel:
    """The plan's part of the bridge at the days of the period."""
    share = math.fsum(target.share for target in targets.values())
    requests = planned.model.requests * share * days
    parts = {name: replace(target, share=target.share / share) for name, target in targets.items()} if share > 0 else {}
    model = BillModel("plan", requests, parts, 0.0, 0.0)
    return replace(model, total=round(model.modelled(), 2))


def _billed(planned: Planned, parts: Mapping[str, Part]) -> BillModel:
    """The invoice's part of the bridge: units per billed attempt, attempts per request, prices as paid."""
    requests = math.fsum(part.requests for part in parts.values())
    targets = {}
    for name, part in parts.items():
        attempts = max(1.0, part.attempts / part.requests)
        ours = planned.targets[name]
        units = {item: amount / part.requests / attempts for item, amount in part.units.items()}
        targets[name] = Target(part.requests / requests, units, paid_prices(part, ours), attempts, ours.hosts)
    model = BillModel("invoice", requests, targets, 0.0, 0.0)
    return replace(model, total=round(math.fsum(part.cost for part in parts.values()), 2))


def billed_model(planned: Planned, rows: Sorted, invoice: Invoice) -> BillModel:
    """The invoice as a bill: what counts requests as targets, everything else as the rest."""
    parts = {name: part for name, part in rows.parts.items() if counted(name, rows, planned)}
    model = _billed(planned, parts)
    return replace(model, total=round(invoice.total, 2), other=round(invoice.total, 2) - model.modelled())


def side_by_side(bills: tuple[BillModel, BillModel], planned: Planned, rows: Sorted) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
    """What people ask first, then every line."""
    whole = all(counted(name, rows, planned) for name in rows.parts if name in planned.targets)
    count = bills[1].requests if whole and bills[1].requests > 0 else None
    each = ((bills[0].total, bills[0].requests), (bills[1].total, count))
    answer: list[tuple[str, tuple[float | None, ...]]] = [
        ("cost of the period", (bills[0].total, bills[1].total)),
        ("requests", (bills[0].requests, count)),
        ("cost of 1,000 requests", tuple(total / number * 1000 if number else None for total, number in each)),
    ]
    for name in [*planned.targets, *planned.flat]:
        part = rows.parts.get(name)
        answer.append((f"line: {name}", (round(planned.cost(name), 2), None if part is None else round(part.cost, 2))))
    answer += [(kind, (None, round(rows.total(kind), 2))) for kind, found in rows.rest.items() if found]
    return tuple(answer)


def notes_of(invoice: Invoice, matches: list[Match], planned: Planned, rows: Sorted, days: float) -> list[str]:
    """Rows that need a look, the period, and conversions."""
    unit, notes = invoice.currency, []
    for name, cost in _largest(rows.rest[STRANGE]):
        notes.append(f"not in the plan: {name}, {cost:,.2f} {unit}")
    told: dict[str, tuple[str, ...]] = {}
    for row, what in zip(invoice.rows, matches, strict=True):
        if what.candidates:
            told.setdefault(next(iter(row.names), ""), what.candidates)
    for name, cost in _largest(rows.rest[UNCLEAR]):
        several = " or ".join(told.get(name, ()))
        notes.append(f"ambiguous: {name}, {cost:,.2f} {unit}, could be {several}; name the offer or relay in the row")
    for row in sorted((row for row in invoice.rows if row.kind == "credit" and row.cost < 0), key=lambda row: row.cost)[:LISTED]:
        name = next(iter(row.names), "a row without a name")
        notes.append(f"line {row.line}, {name}: {row.cost:,.2f} {unit} is negative, so it counts as a credit, not as a price")
    absent = {name: planned.cost(name) for name in [*planned.targets, *planned.flat] if name not in rows.parts}
    notes += [f"not invoiced: {name}, planned {cost:,.2f} {unit}" for name, cost in _largest(absent)]
    alone = [name for name in rows.parts if name in planned.targets and not comparable(rows.parts[name], planned.targets[name])]
    if alone:
        notes.append(f"{', '.join(alone)}: compared by cost; {UNSPLIT}: the invoice has no requests, tokens or hours of it")
    uncounted = [name for name in rows.parts if name not in alone and name in planned.targets and not counted(name, rows, planned)]
    if uncounted:
        notes.append(f"{', '.join(uncounted)}: the invoice counts no requests; split into quantity and price")
    if invoice.hours is not None:
        told_days = f"{invoice.hours:,.0f} hours; a planned month has 730, so use is planned at {days:.2%} of it"
        notes.append(f"the invoice covers {invoice.start} to {invoice.end}: {told_days}")
    elif invoice.start:
        notes.append(f"the invoice names {invoice.start} and no period; it is compared with a month of 730 hours")
    notes += [f"{count} rows in {other} are converted at {rate:.6g} {unit}" for other, count, rate in invoice.converted]
    return notes


def _largest(found: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(found.items(), key=lambda item: (-abs(item[1]), item[0]))[:LISTED]
