"""The inputs that are not prices: the scenario in force, budget, hit rates of relays, and what stands around the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from optimize.money.charges import Charge
from optimize.report.workbook.live import MOVED, REPRICED, any_of
from optimize.report.workbook.pen import LINE_HEIGHT, Pen, address, place, span
from optimize.tables.finance_tables import Money

SHEET = "Assumptions"
SCENARIOS = (  # name, demand, GPU prices, API prices: times those of the run
    ("as planned", 1.0, 1.0, 1.0),
    ("half the demand", 0.5, 1.0, 1.0),
    ("twice the demand", 2.0, 1.0, 1.0),
    ("API prices halved", 1.0, 1.0, 0.5),
    ("API prices +50 %", 1.0, 1.0, 1.5),
    ("GPU prices -40 %", 1.0, 0.6, 1.0),
    ("GPU prices +40 %", 1.0, 1.4, 1.0),
    ("your own", 1.0, 1.0, 1.0),
)
FACTORS = ("demand_times", "gpu_price_times", "api_price_times")
INPUT, CACHED = "input tokens", "cached tokens"
WHY_HITS = "own GPUs: what the prefix cache finds is an outcome of memory, routing and sessions; only a new run knows it"


def write_scenarios(pen: Pen, sheet: Any, r: int) -> int:
    """A cell that selects a scenario, the table of them, and what is in force; the row after them."""
    pen.titles(sheet, r, ("Scenario, times the run", "demand", "GPU prices", "API prices"), (1, 2, 3))
    sheet.set_row(r, LINE_HEIGHT)
    first, last = r + 2, r + 1 + len(SCENARIOS)
    sheet.write_string(r + 1, 0, "scenario in force: choose from the list", pen.formats["bold"])
    sheet.write_string(r + 1, 1, SCENARIOS[0][0], pen.formats["input_text"])
    names = span(0, first, last)
    sheet.data_validation(r + 1, 1, r + 1, 1, {"validate": "list", "source": f"={names}"})
    pen.name("scenario_in_force", SHEET, address(r + 1, 1))
    for k, (name, *factors) in enumerate(SCENARIOS):
        sheet.write_string(first + k, 0, name)
        for c, factor in enumerate(factors, start=1):
            sheet.write_number(first + k, c, factor, pen.formats["input"])
            positive(sheet, first + k, c)
    chosen = f"MATCH(scenario_in_force,{names},0)"
    for k, name in enumerate(FACTORS):
        row = last + 1 + k
        sheet.write_string(row, 0, f"{name.replace('_', ' ')} those of the run, in force")
        pen.formula(sheet, row, 1, f"=INDEX({span(1 + k, first, last)},{chosen})", 1.0, "number")
        pen.name(name, SHEET, address(row, 1))
    words = "Hosts follow demand hour by hour along the capacity of the run, tokens in proportion; routing stays, nothing is simulated."
    sheet.write_string(r + 1, 5, words, pen.formats["dim"])
    return last + 1 + len(FACTORS)


def positive(sheet: Any, r: int, c: int) -> None:
    """The cell takes numbers above zero only."""
    message = "a number above 0, for example 1.2 for 20 % more than in the run"
    rule = {"validate": "decimal", "criteria": ">", "value": 0, "error_title": "Not a factor", "error_message": message}
    sheet.data_validation(r, c, r, c, rule)


def write_budget(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    """The monthly budget; empty: none."""
    budget = money.plan.scenario.budget.per_month
    sheet.write_string(r, 0, f"budget a month, {money.bill.currency}")
    pen.input(sheet, SHEET, r, "budget_per_month", budget if math.isfinite(budget) else None)
    sheet.write_string(r, 5, "empty: no budget. The plan was made inside the budget of the run", pen.formats["dim"])
    return r + 1


def pairs(money: Money) -> Iterator[tuple[str, int, int]]:
    """(name of the hit rate, row of its uncached input among the charges, row of its cached input) for each relay and hour price."""
    rows = {(charge.line, charge.item): r for r, charge in enumerate(money.charges, start=1)}
    for (line, item), r in rows.items():
        cached = (line, item.replace(INPUT, CACHED))
        if item.endswith(INPUT) and cached in rows:
            yield f"hit rate {line} {item.removesuffix(INPUT)}".strip(), r, rows[cached]


def write_hits(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    """One hit rate for each relay that bills cached input; what cannot follow is grey and says why."""
    pen.titles(sheet, r, ("Hit rates", "value"), (1,))
    sheet.set_row(r, LINE_HEIGHT)
    for name, plain, cached in pairs(money):
        r += 1
        sheet.write_string(r, 0, f"{name}, share of its input billed as cached")
        given = pen.input(sheet, SHEET, r, name, hit_of(money.charges[plain - 1], money.charges[cached - 1]), share=True)
        for row in (plain, cached):
            pen.hits[row] = (given, plain, cached)
    if any(charge.kind == "gpu" for charge in money.charges):
        r += 1
        sheet.write_string(r, 0, WHY_HITS, pen.formats["dim"])
    return r + 1


def hit_of(plain: Charge, cached: Charge) -> float:
    """Share of the input that is billed as cached, 0..1."""
    return cached.quantity / (plain.quantity + cached.quantity)


def write_around(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    """People, support, items, contingency and tax: on top of the bill in the all-in figure. Staff stands under own hosts."""
    pen.titles(sheet, r, ("Around the model, all-in", "value", "unit"), (1,))
    sheet.set_row(r, LINE_HEIGHT)
    finance = money.plan.scenario.finance
    rows = [
        ("operations_usd_per_pool_month", finance.operations_usd_per_pool_month, "USD/month and pool", False),
        ("support_usd_per_month", finance.support_usd_per_month, "USD/month", False),
        *((f"item {name}", usd, "USD/month", False) for name, usd in sorted(finance.items_usd_per_month.items())),
        ("other_usd_per_month", finance.other_usd_per_month, "USD/month", False),
        ("contingency_share", finance.contingency_share, "share", True),
        ("tax_share", finance.tax_share, "share", True),
    ]
    for name, value, unit, share in rows:
        r += 1
        sheet.write_string(r, 0, in_words(name))
        given = pen.input(sheet, SHEET, r, name, value, share=share)
        pen.write(sheet, r, 2, unit)
        if name.startswith(("item ", "other_")):
            pen.items.append(given)
    return r + 1


def in_words(name: str) -> str:
    """The name of a figure as people read it.

    >>> in_words("colocation_usd_per_kw_month")
    'colocation USD per kW month'
    """
    return name.replace("_", " ").replace(" usd", " USD").replace(" kw ", " kW ").replace(" kwh", " kWh").replace("gpu", "GPU")


def write_marks(pen: Pen, sheet: Any, money: Money, r: int) -> int:
    """Two cells that are 1 when demand or a hit rate, or a price, differs from the run: what reports of the run heed."""
    hits = {given: hit_of(money.charges[plain - 1], money.charges[cached - 1]) for given, plain, cached in pen.hits.values()}
    tests = [f"ABS({FACTORS[0]}-1)>0.000000001", *(f"ABS({given}-{value!r})>0.000000001" for given, value in hits.items())]
    sheet.write_string(r, 0, "1: demand or a hit rate is not that of the run", pen.formats["dim"])
    pen.formula(sheet, r, 1, any_of(tests), 0.0, "number")
    pen.name(MOVED, SHEET, address(r, 1))
    prices = [f"ABS({place('Charges', k, 6)}-{charge.usd_per_unit!r})>0.000000000001" for k, charge in enumerate(money.charges, start=1)]
    prices.append(f"ABS(usd_per_unit-{money.plan.usd_per_unit!r})>0.000000000001")
    sheet.write_string(r + 1, 0, "1: a price or the exchange rate is not that of the run", pen.formats["dim"])
    pen.formula(sheet, r + 1, 1, any_of(prices[:200]), 0.0, "number")
    pen.name(REPRICED, SHEET, address(r + 1, 1))
    return r + 2
