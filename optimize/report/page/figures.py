"""Every picture of a plan under its name, with what it says in words and the table that it draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optimize.report.page import charts, drawing, latency_panels, money_charts
from optimize.report.page.drawing import PAGE, PAPER, Theme
from optimize.result import Plan
from optimize.tables import tables
from optimize.tables.columns import Table
from optimize.tables.finance_tables import Money, finance_tables
from sim.plural import counted


@dataclass(frozen=True)
class Figure:
    """`alt` says in words what the picture shows; `data` is what it draws."""

    name: str
    alt: str
    data: Table
    draw: Callable[[Theme], Any]

    def svg(self) -> str:
        """For the page, in its colours."""
        return drawing.svg(self.draw(PAGE), self.alt)

    def png(self) -> bytes:
        """For a deck, on white."""
        return drawing.png(self.draw(PAPER))


def figures(plan: Plan, money: Money) -> tuple[Figure, ...]:
    """The pictures that the plan has something to show for."""
    bill, currency = money.bill, money.bill.currency
    by_name = {table.name: table for table in (*tables.all_tables(plan), *finance_tables(money))}
    total = bill.total / 100
    found = [
        Figure("cost", _cost_words(by_name["cost"], bill.money(bill.total)), by_name["cost"], lambda t: charts.cost_chart(plan, bill, t)),
        Figure("hours", _hours_words(plan), by_name["hours"], lambda t: charts.hours_chart(plan, t)),
        Figure(
            "alternatives",
            f"Cost of a month of this plan, {total:,.0f} {currency}, and of {counted(len(plan.alternatives), 'alternative')}.",
            by_name["alternatives"],
            lambda t: charts.alternatives_chart(plan, bill, t),
        ),
        Figure(
            "break_even",
            "Cost of a month over demand for this plan, for relays only and for own GPUs only, with a dot for today.",
            by_name["break_even"],
            lambda t: money_charts.break_even_chart(by_name["break_even"], currency, t),
        ),
        Figure(
            "cash",
            f"Cash by month over {counted(len(money.horizon.months), 'month')}, and the sum so far.",
            by_name["months"],
            lambda t: money_charts.cash_chart(by_name["months"], currency, t),
        ),
        Figure(
            "sensitivity",
            f"Cost of a month with one input lower and higher, around {total:,.0f} {currency}.",
            by_name["sensitivity"],
            lambda t: money_charts.sensitivity_chart(by_name["sensitivity"], currency, total, t),
        ),
    ]
    if plan.verification is not None and plan.verification.verdicts:
        verdicts = plan.verification.verdicts
        words = f"{sum(v.met for v in verdicts)} of {counted(len(verdicts), 'promise is', 'promises are')} kept; each against its limit."
        found.insert(1, Figure("promises", words, by_name["slo"], lambda t: charts.promises_chart(plan, t)))
    if by_name["latency"].rows:
        found.insert(
            2, Figure("latency", latency_panels.latency_words(plan), by_name["latency"], lambda t: latency_panels.latency_chart(plan, t))
        )
    return tuple(figure for figure in found if figure.name != "break_even" or _positive(figure.data))


def _cost_words(table: Table, total: str) -> str:
    parts = ", ".join(f"{row['name']} {row['per_month']:,.0f}" for row in table.named())
    return f"Cost of a month, {total}: {parts}."


def _hours_words(plan: Plan) -> str:
    demand = plan.demand.mean_rps.sum(axis=0)
    if len(demand) == 1:
        return f"Requests a second and who serves them: {demand[0]:,.1f} in {plan.demand.slices[0]}."
    most = int(demand.argmax())
    return f"Requests a second by hour and who serves them; the busiest is {plan.demand.slices[most]} with {demand[most]:,.1f}."


def _positive(table: Table) -> bool:
    """Whether every curve of the break-even can stand on a logarithmic axis."""
    return all(isinstance(value, float) and value > 0 for value in table.column("plan"))
