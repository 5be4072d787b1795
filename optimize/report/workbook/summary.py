"""The first sheet: verdict, cost, all-in and own or rent, in sentences and figures that follow the inputs."""

from __future__ import annotations

import math
from typing import Any

from optimize.money.all_in import all_in, pools_of
from optimize.money.units import to_currency
from optimize.report.workbook.live import MOVED, REPRICED, grey_when_moved, literal, money_text, sentence
from optimize.report.workbook.pen import LINE_HEIGHT, Pen
from optimize.tables.finance_tables import Money
from optimize.tables.phrases import headline
from optimize.tables.plan_json import lower_bound
from optimize.tables.quality_table import verdict_words

WORDS = 90  # characters on a line of the summary
SAME = "The promises do not depend on prices; another plan may be cheaper at these."
OTHER = "NOT SIMULATED at this demand and these hit rates"
MONEY_ROW, BUDGET_ROW = 4, 5  # counted from 1


def write_summary(pen: Pen, sheet: Any, money: Money) -> None:
    """Verdict and money as formulas; what only a new run knows turns grey once an input is changed."""
    sheet.set_column(0, 0, 62)
    sheet.set_column(1, 1, WORDS)
    rows = [*_answer(pen, money), *_all_in(pen, money)]
    rows += [("Own or rent", text, "wrap", result) for text, result in pen.own_words]
    rows += [("Price book warns", text, "wrap", None) for text in money.prices.warnings]
    for r, (label, value, style, result) in enumerate(rows):
        sheet.write_string(r, 0, label, pen.formats["bold"])
        shown = result if isinstance(result, str) else value if isinstance(value, str) else ""
        if style == "wrap":
            sheet.set_row(r, LINE_HEIGHT * max(1, math.ceil(len(shown) / WORDS)))
        if result is not None:
            sheet.write_formula(r, 1, value, pen.formats["wrap"] if style == "wrap" else pen.left(style), result)
        elif isinstance(value, int | float):
            sheet.write_number(r, 1, value, pen.left(style))
        else:
            pen.write(sheet, r, 1, value, style)
        if label.endswith("of the run"):
            grey_when_moved(pen, sheet, (r, 0, r, 1))


def _answer(pen: Pen, money: Money) -> list[tuple[str, Any, str, float | str | None]]:
    """Verdict, cost and budget."""
    plan, bill = money.plan, money.bill
    budget, cost, bound = plan.scenario.budget.per_month, bill.total / 100, lower_bound(plan, bill)
    said, limited = verdict_words(plan), math.isfinite(budget)
    verdict = sentence(f"IF({MOVED}=1,{literal(f'{OTHER}; at those of the run: {said}')},{literal(said)})")
    left = (f'=IF(budget_per_month="","",budget_per_month-B{MONEY_ROW})', budget - cost if limited else "")
    return [
        ("Scenario", plan.scenario.name, "title", None),
        ("Verdict", verdict, "bold", said),
        ("In words", _words(pen), "wrap", words_now(pen, cost, budget if limited else None)),
        (f"Cost a month, {bill.currency}", "=cost_per_month", "big", cost),
        (f"Budget a month, {bill.currency}", '=IF(budget_per_month="","none",budget_per_month)', "money", budget if limited else "none"),
        ("Left of the budget", left[0], "money", left[1]),
        (f"Lower bound a month, {bill.currency}, of the run", bound, "money", None),
        ("Gap to the lower bound, of the run", (cost - bound) / cost if cost else 0.0, "share", None),
        ("Cost a year at this demand and these prices", f"=12*B{MONEY_ROW}", "money", 12 * cost),
        ("In words, of the run", headline(plan, bill), "wrap", None),
        ("Seed", plan.scenario.seed, "", None),
        ("Catalogue of", plan.scenario.catalog.date, "", None),
    ]


def _words(pen: Pen) -> str:
    """Cost against budget, and what holds at these inputs, as a formula."""
    gap = money_text(pen, "ABS(budget_per_month-cost_per_month)")
    above = f"IF(cost_per_month>budget_per_month,{literal(' above')},{literal(' below')})"
    budget = f'IF(budget_per_month="",{literal(", no budget")},{literal(", ")}&{gap}&{above}&{literal(" the budget")})'
    holds = f"IF({MOVED}=1,{literal(f' {OTHER.capitalize()}.')},IF({REPRICED}=1,{literal(f' {SAME}')},{literal('')}))"
    return sentence(money_text(pen, "cost_per_month"), literal(" a month"), budget, literal("."), holds)


def words_now(pen: Pen, cost: float, budget: float | None) -> str:
    """What that formula gives at the inputs of the run."""
    room = ", no budget" if budget is None else ""
    if budget is not None:
        room = f", {abs(budget - cost):,.2f} {pen.currency} {'above' if cost > budget else 'below'} the budget"
    return f"{cost:,.2f} {pen.currency} a month{room}."


def _all_in(pen: Pen, money: Money) -> list[tuple[str, Any, str, float | str | None]]:
    """The month with everything around the model, as a formula; staff that is open is said."""
    plan = money.plan
    ours, pools = all_in(plan)[0], pools_of(plan)
    staffed = "N(staff_usd_per_month)+" if pools else ""
    hosts = f"{staffed}{pools}*operations_usd_per_pool_month+support_usd_per_month+migration_usd/{plan.scenario.finance.horizon_months}"
    around = "+".join([*([f"({hosts})"] if pools else []), *pen.items])
    bare = f"(cost_exact+({around})/usd_per_unit)"
    total = f"={bare}*(1+contingency_share)*(1+tax_share)"
    is_open = literal("Staff for GPUs is open, not zero: it is not in this figure.") if pools else literal("")
    told = f'=IF(staff_usd_per_month="",{is_open},{literal("")})'
    now = "Staff for GPUs is open, not zero: it is not in this figure." if ours.open else ""
    label = f"All-in a month, {money.bill.currency}: people, support, items, tax"
    return [(label, total, "money", to_currency(ours.usd, plan.usd_per_unit)), ("", told, "wrap", now)]
