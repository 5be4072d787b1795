"""Curves of a what-if: plans that leave requests out are crosses and no part of the line; axes have round labels."""

from __future__ import annotations

import math

from optimize.report.page.drawing import PAPER
from optimize.report.page.whatif_charts import curve_chart, rounded_amount
from optimize.tables.columns import Column, Table

NAMES = ("users", "status", "per_month", "relays_only", "own_only", "budget")


def test_a_plan_over_budget_is_a_cross_and_breaks_the_line() -> None:
    rows = (
        (1.0, "met", 10.0, 11.0, 20.0, 30.0),
        (12.5992, "over_budget", 30.0, 100.0, 90.0, 30.0),
        (20.0, "infeasible", 30.0, None, None, 30.0),
    )
    columns = tuple(Column(name, "str" if name == "status" else "float", "", "") for name in NAMES)
    table = Table("points", "", columns, rows)
    (axes,) = curve_chart(table, "users", "USD", [(float(row[0]), row) for row in rows], PAPER).axes
    lines = {line.get_label(): line for line in axes.lines}
    plan = list(lines["this plan"].get_ydata())
    assert plan[0] == 10.0 and math.isnan(plan[1]) and math.isnan(plan[2])
    crosses = lines["no plan that keeps every promise inside the budget"]
    assert list(crosses.get_xdata()) == [12.5992, 20.0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "12.6", "20"]


def test_labels_have_three_digits() -> None:
    assert rounded_amount(1_259_921.05) == "1,260,000" and rounded_amount(True) == "True"
