"""Charts of money where a strategy serves only part of the demands, or an input has one end."""

from __future__ import annotations

import math

import pytest

from optimize.report.page.drawing import PAPER
from optimize.report.page.money_charts import break_even_chart, sensitivity_chart
from optimize.tables.columns import Column, Table
from optimize.tables.finance_columns import SENSITIVITY

NAMES = ("demand", "users", "requests", "plan", "all_api", "self_hosted", "self_hosted_low", "self_hosted_high")


@pytest.mark.filterwarnings("error")
def test_a_strategy_that_ends_somewhere_is_drawn_as_far_as_it_goes() -> None:
    rows = (
        (0.5, None, 1e6, 50.0, 50.0, 90.0, 80.0, 100.0),
        (1.0, None, 2e6, 90.0, 100.0, 90.0, 80.0, 100.0),
        (2.0, None, 4e6, 180.0, 200.0, None, None, None),
    )
    table = Table("break_even", "", tuple(Column(name, "float", "", "") for name in NAMES), rows)
    (axes,) = break_even_chart(table, "USD", PAPER).axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["self-hosted"][:2] == [90.0, 90.0] and math.isnan(lines["self-hosted"][2])
    assert lines["all API"] == [50.0, 100.0, 200.0]


def test_an_end_that_is_not_known_has_no_bar() -> None:
    table = Table("sensitivity", "", SENSITIVITY, (("x", 0.1, None, 120.0, None, "solved"),))
    (axes,) = sensitivity_chart(table, "USD", 100.0, PAPER).axes
    assert [bar.get_width() for bar in axes.patches] == [0.0, 20.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x  ±10%"]
