"""Random edits of the workbook's inputs, recalculated by LibreOffice, against Python: `python -m benchmarks.workbook_edits [--edits 400]`.

Needs LibreOffice Calc and a Python with `uno` (Debian: libreoffice-calc, python3-uno; `--python` names it). The plan is the one that the
tests write by hand, in euros, with months that are planned anew. Every edit sets the scenario in force, its factors, all prices, the
exchange rate, budget, hit rates, and all figures of money, or leaves one open. Python computes the same figures from the plan, without
the workbook's formulas.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optimize.money.all_in import all_in_usd, pools_of
from optimize.money.capital import drifted, npv_usd
from optimize.money.charges import Charge
from optimize.money.extras import after_credits_usd
from optimize.money.ownership import owned_month, values_of
from optimize.money.quantities import FOLLOWS, scaled_hosts
from optimize.report.workbook.owning import own_sentence
from optimize.report.workbook.scenario_cells import SCENARIOS, hit_of, pairs
from optimize.report.workbook.summary import OTHER, SAME, words_now
from optimize.report.workbook.xlsx import xlsx
from optimize.result import Plan
from optimize.tables.bill_lines import split
from optimize.tables.finance_tables import Money
from optimize.tables.quality_table import verdict_words
from sim.exact import dot
from sim.scenario.scenario import Finance

HELPER = Path(__file__).with_name("recalculate.py")
Cell = tuple[str, str]  # sheet, place
SHARES = {"cost_of_capital": (0.01, 0.3), "maintenance_share": (0.0, 0.2)}
OPEN = ("staff_usd_per_month", "cost_of_capital", "maintenance_share", "budget_per_month")


@dataclass(frozen=True)
class Layout:
    """Where the workbook keeps what is compared."""

    names: dict[str, Cell]  # of cells
    rows: dict[str, list[tuple[str, int]]]  # sheet -> (text of column A, row)
    heads: dict[str, dict[str, str]]  # sheet -> header -> column


def layout(book: Any) -> Layout:
    """Of an opened workbook."""
    names = {}
    for name, item in book.defined_names.items():
        sheet, place = item.attr_text.split("!")
        names[name] = (sheet.strip("'"), place.replace("$", ""))
    rows = {sheet.title: [(str(cell.value), cell.row) for cell in sheet["A"] if cell.value is not None] for sheet in book}
    heads = {sheet.title: {str(cell.value).split(",")[0]: cell.column_letter for cell in sheet[1] if cell.value} for sheet in book}
    return Layout(names, rows, heads)


def drawn(rng: random.Random, plan: Plan, money: Money, at: Layout) -> dict[str, Any]:
    """A value for every input, by the name of its cell."""
    edit: dict[str, Any] = {}
    number = rng.randrange(len(SCENARIOS))
    edit["scenario_in_force"] = SCENARIOS[number][0]
    for name, (sheet, _) in at.names.items():
        if sheet != "Assumptions" or name in ("demand_times", "gpu_price_times", "api_price_times", "inputs_moved", "prices_moved"):
            continue
        if name in edit:
            continue
        edit[name] = changed(rng, name, plan, money, at)
    return edit


def changed(rng: random.Random, name: str, plan: Plan, money: Money, at: Layout) -> float | None:
    """A plausible value of one input; the one of the run in a third of all cases."""
    now = current(name, plan, money)
    if name in OPEN and rng.random() < 0.3:
        return None
    if rng.random() < 1 / 3 and now is not None:
        return now
    if name.startswith("hit_rate"):
        return round(rng.uniform(0.0, 1.0), 3)
    if name in SHARES:
        return round(rng.uniform(*SHARES[name]), 3)
    if name.endswith("drift_per_year"):
        return round(rng.uniform(-0.5, 0.5), 3)
    if name.endswith("_months"):
        return float(rng.randint(1, 60))
    if name.endswith("_share"):
        return round(rng.uniform(0.0, 0.5), 3)
    if name == "budget_per_month":
        return round(rng.uniform(1_000.0, 90_000.0), 2)
    if now:
        return float(f"{now * rng.uniform(0.3, 3.0):.4g}")
    return round(rng.uniform(0.0, 20_000.0), 2)


def current(name: str, plan: Plan, money: Money) -> float | None:
    """The value of an input in the run."""
    finance = plan.scenario.finance
    for charge in money.charges:
        if cell_name(f"price {charge.price_name}") == name:
            return charge.usd_per_unit
    for hit, plain, cached in pairs(money):
        if cell_name(hit) == name:
            return hit_of(money.charges[plain - 1], money.charges[cached - 1])
    for row in money.own:
        if row.host is not None and cell_name(f"purchase {row.gpu}") == name:
            return row.host.gpu_usd
    if name == "usd_per_unit":
        return plan.usd_per_unit
    if name == "budget_per_month":
        return plan.scenario.budget.per_month if math.isfinite(plan.scenario.budget.per_month) else None
    if name in (values := values_of(finance)):
        return values[name].value
    if name.startswith("item_"):
        return next(usd for item, usd in finance.items_usd_per_month.items() if cell_name(f"item {item}") == name)
    value = getattr(finance, name)
    return None if value is None else float(value)


def cell_name(wanted: str) -> str:
    """As the workbook names cells."""
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in wanted).strip("_").replace("__", "_")


def edited_charges(plan: Plan, money: Money, edit: dict[str, Any]) -> list[Charge]:
    """Quantities and prices after an edit, price factors included."""
    _, demand, gpu, api = next(row for row in SCENARIOS if row[0] == edit["scenario_in_force"])
    ids = {terms.option.id: p for p, terms in enumerate(plan.program.pools)}
    hits = {row: (edit[cell_name(name)], plain, cached) for name, plain, cached in pairs(money) for row in (plain, cached)}
    answer = []
    for r, charge in enumerate(money.charges, start=1):
        quantity = charge.quantity
        if r in hits:
            rate, plain, cached = hits[r]
            whole = (money.charges[plain - 1].quantity + money.charges[cached - 1].quantity) * demand
            quantity = whole * (rate if r == cached else 1 - rate)
        elif (charge.kind == "relay" and charge.item.endswith(FOLLOWS)) or charge.line == "request classifier":
            quantity *= demand
        elif charge.line in ids and charge.item == "host-hour":
            quantity = float(dot(scaled_hosts(plan, ids[charge.line], demand)[1], plan.demand.weight_h))
        usd = edit[cell_name(f"price {charge.price_name}")] * {"gpu": gpu, "relay": api}.get(charge.kind, 1.0)
        answer.append(replace(charge, quantity=quantity, usd_per_unit=usd))
    return answer


def finance_of(edit: dict[str, Any], plan: Plan) -> Finance:
    """The finance of a scenario that an edit amounts to."""
    old = plan.scenario.finance
    direct = {k: v for k in vars(old) if isinstance(v := edit.get(k), int | float)}
    values = {name: float(edit[name]) for name in values_of(old) if edit.get(name) is not None}
    items = {name: float(edit[cell_name(f"item {name}")]) for name in old.items_usd_per_month}
    months = edit["free_credits_months"]
    return replace(
        old, **{**direct, "free_credits_months": None if months is None else int(months), "values": values, "items_usd_per_month": items}
    )


def expected(plan: Plan, money: Money, edit: dict[str, Any], at: Layout) -> dict[Cell, float | str]:
    """What cells must show after an edit, computed from the plan."""
    rate, finance = float(edit["usd_per_unit"]), finance_of(edit, plan)
    found = edited_charges(plan, money, edit)
    usd = math.fsum(charge.usd for charge in found)
    exact = [math.fsum(c.usd for c in found if c.line == line.name) * 100 / rate for line in plan.lines]
    lines = split(exact)
    total = sum(lines) / 100
    want: dict[Cell, float | str] = {("Summary", f"B{row_of(at, 'Summary', 'Cost a month')}"): total}
    for k, cents in enumerate(lines):
        want["Monthly lines", f"F{k + 2}"] = cents / 100
    want |= charge_cells(plan, found, lines, rate, at)
    want |= month_cells(plan, money, found, finance, edit, rate)
    want |= sentence_cells(plan, money, found, edit, total, rate, finance, at)
    label = row_of(at, "Summary", "All-in a month")
    want["Summary", f"B{label}"] = all_in_usd(finance, usd, pools_of(plan)) / rate
    return want


def row_of(at: Layout, sheet: str, start: str) -> int:
    """The row whose first cell starts so."""
    return next(row for text, row in at.rows[sheet] if text.startswith(start))


def charge_cells(plan: Plan, found: Sequence[Charge], lines: Sequence[int], rate: float, at: Layout) -> dict[Cell, float | str]:
    """Charges to the cent, and their FOCUS rows: quantity, price and costs."""
    want: dict[Cell, float | str] = {}
    head = at.heads["FOCUS"]
    for line, cents in zip(plan.lines, lines, strict=True):
        mine = [r for r, charge in enumerate(found) if charge.line == line.name]
        for r, part in zip(mine, split([found[r].usd * 100 / rate for r in mine], cents), strict=True):
            want["Charges", f"K{r + 2}"] = part / 100
            for name, value in (
                ("BilledCost", part / 100),
                ("ContractedCost", found[r].usd / rate),
                ("PricingQuantity", found[r].quantity),
                ("ContractedUnitPrice", found[r].usd_per_unit / rate),
            ):
                want["FOCUS", f"{head[name]}{r + 2}"] = value
    return want


def month_cells(
    plan: Plan, money: Money, found: Sequence[Charge], finance: Finance, edit: dict[str, Any], rate: float
) -> dict[Cell, float | str]:
    """Cash of each month, and the present value."""
    months, pools = money.horizon.months, [terms.option.id for terms in plan.program.pools]
    old = {c.line: c for c in money.charges if c.item == "host-hour"}
    new = {c.line: c for c in found if c.item == "host-hour"}
    rest = math.fsum(c.usd for c in found if c.kind == "gpu" and c.item != "host-hour")
    rest_old = math.fsum(c.usd for c in money.charges if c.kind == "gpu" and c.item != "host-hour")
    today = math.fsum(line.per_month_usd for line in plan.lines if line.kind == "relay")
    relays, was = math.fsum(c.usd for c in found if c.kind == "relay"), plan.scenario.finance
    fixed, looked = (
        math.fsum(c.usd for c in found if test(c)) for test in (lambda c: c.kind == "fixed", lambda c: c.line == "request classifier")
    )
    bills = []
    for m, month in enumerate(months):
        hours = {pools[p]: h for p, h in enumerate(month.host_hours) if pools[p] in old}
        moved = math.fsum(h * new[n].quantity / old[n].quantity * new[n].usd_per_unit for n, h in hours.items())
        priced = math.fsum(h * plan.program.pools[pools.index(n)].option.offer.usd_per_hour for n, h in hours.items())
        others = month.gpu_usd / drifted(1.0, was.gpu_price_drift_per_year, m) - priced - rest_old
        gpu = drifted(moved + rest + (others if abs(others) > 1e-6 else 0.0), finance.gpu_price_drift_per_year, m)
        volume = month.relay_usd / drifted(1.0, was.api_price_drift_per_year, m) / (today or 1.0)
        relay = drifted((relays if today else 1.0) * volume, finance.api_price_drift_per_year, m)
        once = finance.migration_usd + finance.training_usd if m == 0 else 0.0
        bills.append(gpu + relay + fixed + looked * (month.demand - 1) + once)
    paid = after_credits_usd(bills, finance.free_credits_usd, finance.free_credits_months)
    want: dict[Cell, float | str] = {("Months", f"I{m + 2}"): usd / rate for m, usd in enumerate(paid)}
    want["Months", f"J{len(paid) + 1}"] = math.fsum(paid) / rate
    capital = edit["cost_of_capital"]
    want["Months", f"I{len(paid) + 4}"] = "" if capital is None else npv_usd(paid, capital) / rate
    return want


def sentence_cells(
    plan: Plan, money: Money, found: Sequence[Charge], edit: dict[str, Any], total: float, rate: float, finance: Finance, at: Layout
) -> dict[Cell, float | str]:
    """Verdict, cost against budget, staff, and own or rent."""
    demand = next(row for row in SCENARIOS if row[0] == edit["scenario_in_force"])[1]
    hits = [(edit[cell_name(name)], hit_of(money.charges[a - 1], money.charges[b - 1])) for name, a, b in pairs(money)]
    moved = abs(demand - 1) > 1e-9 or any(abs(new - old) > 1e-9 for new, old in hits)
    changed_price = any(abs(c.usd_per_unit - o.usd_per_unit) > 1e-12 for c, o in zip(found, money.charges, strict=True))
    repriced, said = changed_price or abs(rate - plan.usd_per_unit) > 1e-12, verdict_words(plan)
    tail = f" {OTHER.capitalize()}." if moved else f" {SAME}" if repriced else ""
    pen = type("Pen", (), {"currency": money.bill.currency})
    want: dict[Cell, float | str] = {
        ("Summary", "B2"): f"{OTHER}; at those of the run: {said}" if moved else said,
        ("Summary", "B3"): words_now(pen, total, edit["budget_per_month"]) + tail,  # type: ignore[arg-type]
    }
    is_open = (
        ""
        if edit["staff_usd_per_month"] is not None or not pools_of(plan)
        else "Staff for GPUs is open, not zero: it is not in this figure."
    )
    want["Summary", f"B{row_of(at, 'Summary', 'All-in a month') + 1}"] = is_open
    want |= own_cells(plan, money, found, edit, rate, finance, at, demand)
    return want


def own_cells(
    plan: Plan, money: Money, found: Sequence[Charge], edit: dict[str, Any], rate: float, finance: Finance, at: Layout, demand: float
) -> dict[Cell, float | str]:
    """A month of own hosts and its sentence, per rented pool."""
    want: dict[Cell, float | str] = {}
    rents = {row.pool: math.fsum(c.usd for c in found if c.line == row.pool and c.item == "host-hour") for row in money.own}
    rows = [row for text, row in at.rows["Own or rent"] if text == "in words"]
    for row, place in zip((each for each in money.own if each.month is not None), rows, strict=True):
        p = next(k for k, terms in enumerate(plan.program.pools) if terms.option.id == row.pool)
        values = values_of(finance)
        staff = values["staff_usd_per_month"]
        if staff.value is not None:
            values = {**values, "staff_usd_per_month": replace(staff, value=staff.value * rents[row.pool] / (sum(rents.values()) or 1.0))}
        assert row.host is not None and row.month is not None
        host = replace(row.host, gpu_usd=edit[cell_name(f"purchase {row.gpu}")])
        hosts = int(scaled_hosts(plan, p, demand)[1].max())
        load = min(1.0, row.load_share * row.month.hosts * demand / hosts)
        month = owned_month(host, hosts, load, values)
        want["Own or rent", f"B{place - 3}"] = month.known_usd / rate
        want["Own or rent", f"B{place}"] = own_sentence(
            row.pool, money.bill.currency, rents[row.pool] / rate, month.known_usd / rate, "; ".join(month.open)
        )
    return want


def differences(want: dict[Cell, float | str], got: dict[Cell, float | str]) -> list[tuple[Cell, float | str, float | str]]:
    """Cells that are not equal: numbers to the cent (quantities to nine digits), texts by letter."""
    wrong = []
    for cell, value in want.items():
        other = got[cell]
        words = isinstance(value, str) or isinstance(other, str)
        if not (value == other if words else abs(float(value) - float(other)) <= max(0.005, 1e-9 * abs(float(value)))):
            wrong.append((cell, value, other))
    return wrong


def run(plan: Plan, edits: int, seed: int, python: str) -> tuple[int, int, list[Any]]:
    """(cells compared, of them sentences, differences as (number of the edit, cell, Python, LibreOffice))."""
    import openpyxl

    money, rng = Money(plan), random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "book.xlsx").write_bytes(xlsx(plan, money))
        at = layout(openpyxl.load_workbook(folder / "book.xlsx"))
        asked = [drawn(rng, plan, money, at) for _ in range(edits)]
        wanted = [expected(plan, money, edit, at) for edit in asked]
        cells = list(wanted[0])
        (folder / "asked.json").write_text(json.dumps({"edits": asked, "read": cells}))
        command = [python, str(HELPER), *(str(folder / each) for each in ("book.xlsx", "asked.json", "answer.json"))]
        subprocess.run(command, check=True, timeout=3600)
        answers = json.loads((folder / "answer.json").read_text())
    wrong = []
    for k, (want, values) in enumerate(zip(wanted, answers, strict=True)):
        wrong += [(k, *each) for each in differences(want, dict(zip(cells, values, strict=True)))]
    return len(cells) * edits, sum(isinstance(value, str) for want in wanted for value in want.values()), wrong


def main() -> None:
    """Prints what was compared and every difference; exit 1 with any."""
    from tests.optimize.report.test_recalculated import grown, whole_plan

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edits", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", default="/usr/bin/python3", help="a Python that has uno")
    args = parser.parse_args()
    plan = grown(whole_plan())
    compared, sentences, wrong = run(plan, args.edits, args.seed, args.python)
    for k, cell, python, office in wrong[:20]:
        print(f"edit {k}: {cell[0]}!{cell[1]}: Python {python!r}, LibreOffice {office!r}")
    print(f"{args.edits} edits, seed {args.seed}: {compared} cells compared, {sentences} of them sentences, {len(wrong)} differ")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
