"""Saved plans side by side, and a plan against an invoice: the same bill model from plan.json and from a provider's export."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optimize.audit.bill_bridge import BillModel, Step, Target, bridge
from optimize.money.amounts import scaled_usd
from optimize.money.units import to_currency, to_usd
from optimize.simulate.saved_plan import read_plan
from sim.catalog.loader import load_catalog
from sim.errors import InputError

Json = dict[str, Any]
MTOK = 1e6


@dataclass(frozen=True)
class LineGap:
    """A line of the plan or of the invoice, in the currency of both: planned + days + quantity + price = invoiced, where they are known.

    planned   for 730 hours; None: the plan has no such line
    days      what the hours of the invoice's period change
    quantity  more or fewer units at planned prices;  price  the price of a unit; both None where the invoice states no units
    state     "matched", "cost alone", "not invoiced", "not in the plan", "ambiguous", "tax" or "credits"
    """

    name: str
    planned: float | None
    days: float
    quantity: float | None
    price: float | None
    invoiced: float
    state: str


@dataclass(frozen=True)
class Comparison:
    """`bills` in the order given, `rows` (name, value per bill), and the bridge from the first to each other one.

    `lines` against an invoice: line by line, where the difference is
    """

    currency: str
    bills: tuple[BillModel, ...]
    rows: tuple[tuple[str, tuple[float | str | None, ...]], ...]
    bridges: tuple[tuple[Step, ...], ...]
    notes: tuple[str, ...]
    lines: tuple[LineGap, ...] = ()

    def as_json(self) -> Json:
        return {
            "schema": "servemix.comparison/1",
            "currency": self.currency,
            "bills": [bill.name for bill in self.bills],
            "rows": [{"name": name, "values": list(values)} for name, values in self.rows],
            "bridges": [
                {
                    "from": self.bills[0].name,
                    "to": bill.name,
                    "before": self.bills[0].total,
                    "after": bill.total,
                    "steps": [{"name": step.name, "amount": step.amount, "meaning": step.meaning} for step in steps],
                }
                for bill, steps in zip(self.bills[1:], self.bridges, strict=True)
            ],
            "lines": [vars(gap) for gap in self.lines],
            "notes": list(self.notes),
        }


def plan_file(path: Path) -> Path:
    """The plan.json that a path means: itself, or the one in a results folder; InputError for a scenario, which has no plan yet."""
    if path.suffix in (".yaml", ".yml"):
        raise InputError(f"{path}: is a scenario; make its plan with `optimize {path} --out DIR`, then compare DIR")
    return path / "plan.json" if os.path.isdir(path) else path


def compare_plans(paths: list[Path]) -> Comparison:
    """Two plans or more, side by side; the bridge goes from the first to each other one, in the currency of the first."""
    if len(paths) < 2:
        raise InputError("compare: needs two plans or more, or one plan and --actual FILE; name plan.json files or results folders")
    plans = [whole_plan(path) for path in paths]
    named = [(str(path), plan["cost"]["currency"]) for path, plan in zip(paths, plans, strict=True)]
    currency, rates = named[0][1], rates_of(plans)
    unknown = [f"{name} is in {other}" for name, other in named if other != currency and not (rates.get(other) and rates.get(currency))]
    if unknown:
        raise InputError(f"compare: {named[0][0]} is in {currency}, but {'; '.join(unknown)}: make them with the same budget.currency")
    factors = [1.0 if other == currency else to_currency(to_usd(1.0, rates[other]), rates[currency]) for _, other in named]
    made = zip(plans, names_of(paths, plans), paths, factors, strict=True)
    bills = tuple(in_currency(bill_of_plan(plan, name, path), factor) for plan, name, path, factor in made)
    notes = [
        f"{bill.name}: made before charges were saved; prices are means of each line"
        for bill, p in zip(bills, plans, strict=True)
        if "charges" not in p
    ]
    notes += [
        f"{bill.name}: is in {other}; one {other} counts as {factor:.6g} {currency}"
        for bill, (_, other), factor in zip(bills, named, factors, strict=True)
        if other != currency
    ]
    notes += [f"{bill.name}: {words}" for bill, p in zip(bills, plans, strict=True) for words in lapsed_contracts(p)]
    rows = side_by_side(plans, bills, factors)
    return Comparison(currency, bills, rows, tuple(bridge(bills[0], bill) for bill in bills[1:]), tuple(notes))


def rates_of(plans: list[Json]) -> dict[str, float]:
    """USD per unit of each currency: the catalogue's, and those that plans were made with."""
    rates = {**load_catalog().fx_usd, "USD": 1.0}
    for plan in plans:
        rate = plan.get("finance", {}).get("usd_per_unit")
        if rate:
            rates[plan["cost"]["currency"]] = float(rate)
    return rates


def in_currency(bill: BillModel, factor: float) -> BillModel:
    """The bill in a currency of which one unit of its own buys `factor`."""
    if factor == 1.0:
        return bill
    targets = {
        name: replace(target, prices={item: scaled_usd(price, factor) for item, price in target.prices.items()})
        for name, target in bill.targets.items()
    }
    total = round(scaled_usd(bill.total, factor), 2)
    model = BillModel(bill.name, bill.requests, targets, 0.0, total)
    return replace(model, other=total - model.modelled())


def lapsed_contracts(plan: Json) -> list[str]:
    """A sentence per contract behind a price of a saved plan that did not hold on its first day; none for plans saved without states."""
    rows = [each for each in plan.get("finance", {}).get("contracts") or () if each.get("bought") and each.get("state")]
    said = "{} is priced by the contract {}, which {}: that is no price"
    return [said.format(row.get("name"), row.get("document"), str(row["state"]).replace(" ", " on ")) for row in rows]


def whole_plan(path: Path) -> Json:
    """The plan that `path` means, with every part that a comparison reads; InputError that names the part where one is missing."""
    plan = read_plan(plan_file(path))
    try:
        side_by_side([plan], (bill_of_plan(plan, "", path),), (1.0,))
        [plan["cost"]["currency"], *((each["relay"], each["model"]) for each in plan["relays"]), *(each["offer"] for each in plan["fleet"])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise not_whole(path, error) from None
    return plan


def not_whole(path: Path, error: Exception) -> InputError:
    """What to do about a file that calls itself a plan and lacks what a plan has."""
    return InputError(f"{plan_file(path)}: is not a whole plan ({error!r}); make it again with `optimize --out DIR`")


def names_of(paths: list[Path], plans: list[Json]) -> list[str]:
    """Short names that differ: the scenarios', else the paths."""
    names = [str(plan.get("scenario")) for plan in plans]
    return names if len(set(names)) == len(names) else [path.as_posix().removesuffix("/plan.json") for path in paths]


def bill_of_plan(plan: Json, name: str, path: Path) -> BillModel:
    """The bill model of a saved plan, in its currency; InputError where the file lacks what a plan has."""
    try:
        requests = float(sum(each["requests_per_month"] for each in plan["classes"]))
        targets = _targets(plan, max(requests, 1e-9))
        total = float(plan["cost"]["per_month"])
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise not_whole(path, error) from None
    model = BillModel(name, requests, targets, 0.0, total)
    return BillModel(name, requests, targets, total - model.modelled(), total)


def _targets(plan: Json, requests: float) -> dict[str, Target]:
    """One target per line of the bill that serves requests; its units per request and their prices."""
    served = _served(plan)
    rate = float(plan.get("finance", {}).get("usd_per_unit", 1.0))
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for charge in plan.get("charges") or _old_charges(plan):
        if charge["line"] in served and charge["unit"] != "month":
            rows.setdefault(charge["line"], {})[charge["item"]] = (float(charge["quantity"]), float(charge["usd_per_unit"]) / rate)
    answer = {}
    for line, items in rows.items():
        if served[line] > 0:
            units = {item: quantity / served[line] for item, (quantity, _) in items.items()}
            prices = {item: price for item, (_, price) in items.items()}
            answer[line] = Target(served[line] / requests, units, prices, hosts="host-hour" in items)
    return answer


def _served(plan: Json) -> dict[str, float]:
    """Requests of a month by pool or relay."""
    served: dict[str, float] = {}
    for each in plan["classes"]:
        for target, share in each["served_by"].items():
            served[target] = served.get(target, 0.0) + float(share or 0.0) * float(each["requests_per_month"])
    return served


def _old_charges(plan: Json) -> list[Json]:
    """Charges of a plan that saved none: host-hours, and all tokens of a relay at their mean price."""
    found = []
    for pool in plan["fleet"]:
        hours = sum(n * hour["weight_h"] for n, hour in zip(pool["billed_hosts_by_hour"], plan["hours"], strict=True))
        price = pool["cost_per_month"] / hours if hours else 0.0
        found.append({"line": pool["pool"], "item": "host-hour", "quantity": hours, "unit": "h", "usd_per_unit": price})
    for relay in plan["relays"]:
        tokens = (relay["tokens_per_month"]["input"] + relay["tokens_per_month"]["output"]) / MTOK
        price = relay["cost_per_month"] / tokens if tokens else 0.0
        found.append({"line": relay["relay"], "item": "all tokens", "quantity": tokens, "unit": "million tokens", "usd_per_unit": price})
    return found


def side_by_side(
    plans: list[Json], bills: tuple[BillModel, ...], factors: Sequence[float]
) -> tuple[tuple[str, tuple[float | str | None, ...]], ...]:
    """What people ask first, a row per question; then every line of any bill."""
    rows: list[tuple[str, tuple[float | str | None, ...]]] = [
        ("status", tuple(plan["status"] for plan in plans)),
        ("cost a month", tuple(bill.total for bill in bills)),
        ("lower bound a month", tuple(_times(plan["cost"]["lower_bound_per_month"], k) for plan, k in zip(plans, factors, strict=True))),
        ("requests a month", tuple(bill.requests for bill in bills)),
        ("cost of 1,000 requests", tuple(bill.total / bill.requests * 1000 if bill.requests else None for bill in bills)),
        ("part of requests at relays", tuple(relay_share(bill) for bill in bills)),
        ("most replicas", tuple(sum(pool["replicas"]["peak"] for pool in plan["fleet"]) for plan in plans)),
    ]
    lines = [{line["name"]: _times(line["per_month"], k) for line in plan["cost"]["lines"]} for plan, k in zip(plans, factors, strict=True)]
    names = dict.fromkeys(name for each in lines for name in each)
    return (*rows, *((f"line: {name}", tuple(each.get(name) for each in lines)) for name in names))


def _times(amount: float | None, factor: float) -> float | None:
    return amount if amount is None or factor == 1.0 else round(scaled_usd(amount, factor), 2)


def relay_share(bill: BillModel) -> float:
    """Part of the requests that go to relays."""
    return sum(target.share for target in bill.targets.values() if not target.hosts)
