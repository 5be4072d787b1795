"""A plan against an invoice: which row belongs to which line of the plan, and the bridge between the two bills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from optimize.audit.bill_bridge import STEPS, BillModel, Step, Target, bridge
from optimize.audit.compare_plans import Comparison, Json, bill_of_plan, whole_plan
from optimize.audit.invoice_file import Invoice, InvoiceRow, read_invoice

LISTED = 5
UNSPLIT = "volume and price, not split"
UNSPLIT_MEANING = "the invoice has no requests, tokens or hours of these lines that the plan bills by: their whole difference"


@dataclass(frozen=True)
class Billed:
    """An invoice as a bill model of what can be split; `unsplit` line -> cost of lines that state a cost alone; `credit` below zero."""

    model: BillModel
    unsplit: Mapping[str, float]
    credit: float


@dataclass
class _Part:
    """What the invoice says of one target."""

    cost: float = 0.0
    units: dict[str, float] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)  # where a row has one item, its cost is that item's
    mixed: float = 0.0  # cost of rows with several items
    requests: float = 0.0
    attempts: float = 0.0


def compare_actual(plan_path: Path, actual: Path) -> Comparison:
    """The plan and the invoice side by side, and the bridge from plan to invoice. Both in the plan's currency."""
    plan = whole_plan(plan_path)
    planned = bill_of_plan(plan, "plan", plan_path)
    invoice = read_invoice(actual, plan["cost"]["currency"])
    notes: list[str] = []
    read = bill_of_invoice(invoice, planned, aliases(plan), notes)
    billed, counted = read.model, None if read.unsplit else read.model.requests
    each = ((planned.total, planned.requests), (billed.total, counted))
    rows: list[tuple[str, tuple[float | str | None, ...]]] = [
        ("cost of the period", (planned.total, billed.total)),
        ("requests", (planned.requests, counted)),
        ("cost of 1,000 requests", tuple(total / count * 1000 if count else None for total, count in each)),
    ]
    for name in dict.fromkeys([*planned.targets, *billed.targets]):
        rows.append((f"line: {name}", (_cost(planned, name), read.unsplit.get(name, _cost(billed, name)))))
    if read.credit:
        rows.append(("credits", (None, read.credit)))
    rows.append(("not quantity x price, or not in the plan", (round(planned.other, 2), round(billed.other, 2))))
    return Comparison(invoice.currency, (planned, billed), tuple(rows), (steps_to(planned, read),), tuple(notes))


def steps_to(planned: BillModel, read: Billed) -> tuple[Step, ...]:
    """The bridge of what can be split, and one step for lines of which the invoice states a cost alone; exact to the cent."""
    if not read.unsplit:
        return bridge(planned, read.model)
    cost = round(sum(_cost(planned, name) or 0.0 for name in read.unsplit), 2)
    paid = round(sum(read.unsplit.values()), 2)
    share = sum(planned.targets[name].share for name in read.unsplit)
    kept = {name: target for name, target in planned.targets.items() if name not in read.unsplit}
    rest = max(1.0 - share, 0.0) if kept else 0.0
    targets = {name: replace(target, share=target.share / rest if rest > 0 else 0.0) for name, target in kept.items()}
    first = replace(planned, requests=planned.requests * rest, targets=targets, total=round(planned.total - cost, 2))
    steps = bridge(first, replace(read.model, total=round(read.model.total - paid, 2)))
    return (*steps[: len(STEPS) - 1], Step(UNSPLIT, round(paid - cost, 2), UNSPLIT_MEANING), *steps[len(STEPS) - 1 :])


def _cost(bill: BillModel, name: str) -> float | None:
    target = bill.targets.get(name)
    return None if target is None else round(bill.requests * target.per_request(), 2)


def aliases(plan: Json) -> dict[str, str]:
    """Texts by which an invoice may name a line of the plan: the line, its offer or relay, its model; a text of two lines names neither."""
    found: dict[str, set[str]] = {}
    for charge in plan.get("charges", []):
        for text in (charge["line"], charge["source"]):
            found.setdefault(str(text).lower(), set()).add(charge["line"])
    for relay in plan["relays"]:
        for text in (relay["relay"], relay["model"]):
            found.setdefault(str(text).lower(), set()).add(relay["relay"])
    for pool in plan["fleet"]:
        for text in (pool["pool"], pool["offer"]):
            found.setdefault(str(text).lower(), set()).add(pool["pool"])
    return {text: next(iter(lines)) for text, lines in found.items() if len(lines) == 1}


def line_of(row: InvoiceRow, known: Mapping[str, str]) -> str | None:
    """The line of the plan that a row is about: an exact name first, then the longest known name that one of its texts begins with."""
    texts = [text.lower() for text in row.names]
    exact = next((known[text] for text in texts if text in known), None)
    if exact is not None:
        return exact
    begins = [(len(name), line) for name, line in known.items() for text in texts if text.startswith(name)]
    return max(begins)[1] if begins else None


def bill_of_invoice(invoice: Invoice, planned: BillModel, known: Mapping[str, str], notes: list[str]) -> Billed:
    """The invoice as a bill model. Requests come from the file, else from output tokens (hosts: from their hours) at the plan's ratio.

    A line without either is compared by its cost; a negative cost is a credit, of whichever line, and no price.
    """
    parts: dict[str, _Part] = {}
    strange: dict[str, float] = {}
    credits = [row for row in invoice.rows if row.cost < 0]
    for row in (row for row in invoice.rows if row.cost >= 0):
        line = line_of(row, known)
        if line is None or line not in planned.targets:
            name = next(iter(row.names), "a row without a name")
            strange[name] = strange.get(name, 0.0) + row.cost
            continue
        _add(parts.setdefault(line, _Part()), row)
    for name, cost in sorted(strange.items(), key=lambda item: -abs(item[1]))[:LISTED]:
        notes.append(f"not in the plan: {name}, {cost:,.2f} {invoice.currency}")
    for row in sorted(credits, key=lambda row: row.cost)[:LISTED]:
        name = next(iter(row.names), "a row without a name")
        notes.append(f"line {row.line}, {name}: {row.cost:,.2f} {invoice.currency} is negative, so it counts as a credit, not as a price")
    counted = {line: _requests(line, part, planned, notes) for line, part in parts.items()}
    requests = sum(counted.values())
    targets = {line: _target(part, planned.targets[line], counted[line], requests) for line, part in parts.items() if counted[line] > 0}
    unsplit = {line: round(part.cost, 2) for line, part in parts.items() if not counted[line] > 0}
    if unsplit:
        notes.append(f"{', '.join(unsplit)}: compared by cost; {UNSPLIT}: the invoice has no requests")
    if invoice.start:
        notes.append(f"the invoice covers {invoice.start} to {invoice.end}; a plan is a month of 730 hours, nothing is scaled")
    model = BillModel("invoice", requests, targets, 0.0, round(invoice.total, 2))
    credit = round(sum(row.cost for row in credits), 2)
    other = model.total - model.modelled() - sum(unsplit.values()) - credit
    return Billed(BillModel("invoice", requests, targets, other, model.total), unsplit, credit)


def _add(part: _Part, row: InvoiceRow) -> None:
    part.cost += row.cost
    part.requests += row.requests or 0.0
    part.attempts += row.attempts or row.requests or 0.0
    for item, units in row.units.items():
        part.units[item] = part.units.get(item, 0.0) + units
    if len(row.units) == 1:
        item = next(iter(row.units))
        part.costs[item] = part.costs.get(item, 0.0) + row.cost
    elif row.units:
        part.mixed += row.cost


def _requests(line: str, part: _Part, planned: BillModel, notes: list[str]) -> float:
    """Requests that the part stands for."""
    if part.requests > 0:
        return part.requests
    ours = planned.targets[line]
    for item in ("output tokens", "host-hour", "input tokens", "all tokens"):
        if part.units.get(item) and ours.units.get(item):
            notes.append(f"{line}: the invoice counts no requests; taken from its {item} at the plan's {item} per request")
            return part.units[item] / ours.units[item]
    return 0.0


def _target(part: _Part, ours: Target, requests: float, total: float) -> Target:
    """Units per attempt, and prices: rows of several items share their cost by the plan's prices."""
    attempts = max(1.0, part.attempts / requests) if part.requests > 0 else 1.0
    listed = {item: units * ours.prices.get(item, 0.0) for item, units in part.units.items()}
    mixed = {item: listed[item] for item in part.units if item not in part.costs}
    factor = part.mixed / sum(mixed.values()) if sum(mixed.values()) > 0 else 1.0
    prices = {}
    for item, units in part.units.items():
        if item in part.costs and units > 0:
            prices[item] = part.costs[item] / units
        else:
            prices[item] = ours.prices.get(item, 0.0) * factor
    return Target(requests / total, {item: units / requests / attempts for item, units in part.units.items()}, prices, attempts, ours.hosts)
