"""Sheets that state what the plan is: summary, unit costs, fleet by hour, FOCUS rows, notes, manifest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from optimize.finance.unit_costs import BESIDE, unit_costs
from optimize.money.amounts import amount_usd
from optimize.money.units import to_currency, to_usd
from optimize.report.workbook.hosts_by_hour import replicas_formula
from optimize.report.workbook.lines import CHARGES_SHEET, EXACT, MONTH
from optimize.report.workbook.pen import LINE_HEIGHT, Pen, address, place
from optimize.report.workbook.scenario_cells import FACTORS
from optimize.tables import tables
from optimize.tables.columns import Table, Value
from optimize.tables.finance_tables import Money

NOTE = 120  # and of a note
TARGET = 22  # and of the name of a pool or relay over its column
COLOURS = ("#4C8DD6", "#E08A3C", "#3DA37A", "#C65D9E", "#A8912F", "#7C6FD0", "#5AA9B8")


def write_units(pen: Pen, money: Money) -> None:
    """Money rows are the live bill over a quantity of this run."""
    sheet = pen.sheet("Unit economics", (66, 18, 30, 70, 18))
    heads = ("what one is asked", "value", "unit", "how", "quantity")
    pen.titles(sheet, 0, heads, (1, 4))
    cells = {c.line: place(CHARGES_SHEET, r, MONTH - 3) for r, c in enumerate(money.charges, start=1) if c.item == "host-hour"}
    for r, unit in enumerate(unit_costs(money.plan, sum(charge.usd for charge in money.charges)), start=1):
        sheet.write_string(r, 0, unit.name)
        pen.write(sheet, r, 3, unit.how)
        if unit.usd is None:
            pen.write(sheet, r, 1, unit.value, "number")
            pen.write(sheet, r, 2, unit.unit)
            continue
        pen.write(sheet, r, 2, f"{pen.currency} / {unit.unit}")
        if unit.line == BESIDE:
            sheet.write_number(r, 4, unit.quantity, pen.formats["number"])
        else:
            pen.formula(sheet, r, 4, f"={unit.quantity!r}*{FACTORS[0]}", unit.quantity, "number")
        fixed = f"{amount_usd(unit.usd, unit.quantity)!r}/usd_per_unit"  # a pool that no line of the bill names
        basis = cells.get(unit.line, fixed) if unit.line else "cost_exact"
        pen.formula(sheet, r, 1, f"={basis}/{address(r, 4)}", to_currency(unit.usd, money.plan.usd_per_unit), "USD")
    sheet.freeze_panes(1, 1)


def write_hours(pen: Pen, money: Money) -> None:
    """One row per hour slice: demand, replicas of each pool, requests to each target; two pictures below."""
    plan = money.plan
    pools, relays = tables.used_pools(plan), tables.used_relays(plan)
    names = [plan.program.pools[p].option.id for p in pools]
    columns = ["hour", "hours a month", "demand, requests/s", *(f"replicas {name}" for name in names)]
    columns += [f"requests/s {name}" for name in names] + [f"requests/s {plan.program.relays[a].relay.id}" for a in relays]
    sheet = pen.sheet("Fleet by hour", (14, 10, 12, *[TARGET] * (len(columns) - 3)))
    pen.titles(sheet, 0, columns, range(1, len(columns)), TARGET)
    for t, hour in enumerate(plan.demand.slices):
        values: list[Value] = [hour, float(plan.demand.weight_h[t]), float(plan.demand.mean_rps[:, t].sum())]
        values += [int(plan.solution.hosts[p, t]) * plan.program.pools[p].option.replicas_per_host for p in pools]
        values += [float(plan.solution.pool_flow[p, :, t].sum()) for p in pools]
        values += [float(plan.solution.relay_flow[a, :, t].sum()) for a in relays]
        for c, value in enumerate(values):
            if c == 2 or c >= 3 + len(pools):
                pen.formula(sheet, t + 1, c, f"={float(str(value))!r}*{FACTORS[0]}", float(str(value)), "requests/s")
            elif c >= 3:
                pen.formula(sheet, t + 1, c, replicas_formula(plan, pools[c - 3], t), float(str(value)), "hosts")
            else:
                pen.write(sheet, t + 1, c, value, "requests/s" if c else "")
    sheet.freeze_panes(1, 1)
    last = len(plan.demand.slices)
    sheet.set_h_pagebreaks([last + 2])  # pictures on a sheet of their own
    flows = range(3 + len(pools), len(columns))
    if flows:
        _areas(pen, sheet, last, flows, columns, "area", "Requests/s by target", 0)
    if pools:
        _areas(pen, sheet, last, range(3, 3 + len(pools)), columns, "column", "Replicas by pool", 20)


def _areas(pen: Pen, sheet: Any, last: int, which: range, columns: list[str], kind: str, title: str, down: int) -> None:
    chart = pen.book.add_chart({"type": kind, "subtype": "stacked"})
    for k, c in enumerate(which):
        points = {"categories": ["Fleet by hour", 1, 0, last, 0], "values": ["Fleet by hour", 1, c, last, c]}
        name = columns[c].removeprefix("requests/s ").removeprefix("replicas ")
        chart.add_series({**points, "name": name, "fill": {"color": COLOURS[k % len(COLOURS)]}, "gap": 10})
    chart.set_title({"name": title})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 1100, "height": 380})
    sheet.insert_chart(last + 3 + down, 0, chart)


def write_focus(pen: Pen, money: Money, table: Table) -> None:
    """FOCUS rows; their costs are the charges, live."""
    sheet = pen.sheet("FOCUS")
    pen.table(sheet, table)
    at = {column.name: c for c, column in enumerate(table.columns)}
    for r, row in enumerate(table.rows, start=1):
        for name, (text, unit) in _focus_formulas(money, r, row, at).items():
            pen.formula(sheet, r, at[name], text, float(row[at[name]] or 0.0), unit)
    r, billed = len(table.rows) + 1, at["BilledCost"]
    sheet.write_string(r, 0, "total", pen.formats["bold"])
    text = f"=SUM({address(1, billed)}:{address(r - 1, billed)})" if table.rows else "=0"
    pen.formula(sheet, r, billed, text, money.bill.total / 100, "total")


def _focus_formulas(money: Money, r: int, row: tuple[Value, ...], at: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """(formula, unit) of each column of a row that follows the inputs: quantities, prices and costs."""
    month, exact, quantity, price = (place(CHARGES_SHEET, r, c) for c in (MONTH, EXACT, 4, 6))
    listed = address(r, at["ListUnitPrice"])
    same = row[at["ListUnitPrice"]] == row[at["ContractedUnitPrice"]]
    list_usd = f"{to_usd(float(row[at['ListUnitPrice']] or 0.0), money.plan.usd_per_unit)!r}"
    found = {
        "BilledCost": (f"={month}", "money"),
        "EffectiveCost": (f"={month}", "money"),
        "ContractedCost": (f"={exact}", "money"),
        "ContractedUnitPrice": (f"={price}/usd_per_unit", "USD"),
        "ListUnitPrice": (f"={price if same else list_usd}/usd_per_unit", "USD"),
        "ListCost": (f"={listed}*{quantity}", "money"),
        "PricingQuantity": (f"={quantity}", "plain"),
        "ConsumedQuantity": (f"={quantity}", "plain"),
    }
    served = row[at["x_Requests"]]
    if served is not None:
        found["x_Requests"] = (f"={float(served)!r}*{FACTORS[0]}", "requests")
    return found


def write_notes(pen: Pen, money: Money) -> None:
    """What the plan assumes, warns of and is bound by."""
    sheet, plan = pen.sheet("Notes", (16, NOTE + 10)), money.plan
    lines = [("assumption", text) for text in plan.assumptions] + [("warning", text) for text in plan.warnings]
    lines += [("binds", text) for text in plan.binding] + [("horizon", text) for text in money.horizon.notes]
    for r, (kind, text) in enumerate(lines):
        sheet.write_string(r, 0, kind, pen.formats["wrap"])
        sheet.write_string(r, 1, text, pen.formats["wrap"])
        sheet.set_row(r, LINE_HEIGHT * max(1, math.ceil(len(text) / NOTE)))


def write_manifest(pen: Pen, manifest: Mapping[str, Any]) -> None:
    """What the run was made from: a value a row, nested keys joined by dots."""
    sheet = pen.sheet("Run manifest", (44, 90))
    for r, (name, value) in enumerate(flat(manifest)):
        sheet.write_string(r, 0, name)
        sheet.write_string(r, 1, "" if value is None else str(value))


def flat(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Nested mappings and lists as (dotted key, value).

    >>> flat({"a": {"b": 1}, "c": [2, 3]})
    [('a.b', 1), ('c.0', 2), ('c.1', 3)]
    """
    if isinstance(value, Mapping):
        return [pair for key, part in value.items() for pair in flat(part, f"{prefix}{key}.")]
    if isinstance(value, list | tuple):
        return [pair for k, part in enumerate(value) for pair in flat(part, f"{prefix}{k}.")]
    return [(prefix.removesuffix("."), value)]
