"""Drawings of the page: axes, gaps, legends, words of what is pointed at, money by hour that sums to the bill."""

from __future__ import annotations

import html as escaping
import json
import math
import re

import numpy as np
import pytest

from optimize.money.hourly import hourly_usd
from optimize.report.page.bars_html import Bar, bars_html
from optimize.report.page.chart_html import Chart, Mark, Series, chart_html, legend_html
from optimize.report.page.hour_charts import hours_html, suppliers
from optimize.report.page.money_html import break_even_html
from optimize.report.page.scales import Scale, round_steps
from optimize.tables.bill_lines import bill_of
from optimize.tables.columns import Column, Table
from tests.optimize.report import plan_fixture


def chart(*series: Series) -> Chart:
    return Chart("a chart", [0.0, 1.0, 2.0, 3.0], ["a", "b", "c", "d"], series, Scale(0.0, 3.0), Scale(0.0, 10.0), [(0.0, "a")])


def test_a_line_is_broken_where_a_value_is_missing() -> None:
    drawn = chart_html(chart(Series("x", [1.0, None, math.nan, 4.0], "c0")))
    (path,) = re.findall(r'class="c0 line stroke" d="([^"]+)"', drawn)
    assert path.count("M") == 2


def test_what_is_pointed_at_is_told_in_words_for_every_series() -> None:
    drawn = chart_html(chart(Series("x", [1.0, 2.0, 3.0, 4.0], "c0", said=["$1", "$2", "$3", "$4"]), Series("y", [None] * 4, "c1")))
    (told,) = re.findall(r'data-told="([^"]+)"', drawn)
    names, places, rows = json.loads(escaping.unescape(told))
    assert names == ["a", "b", "c", "d"] and places == [0.0, 0.3333, 0.6667, 1.0]
    assert rows == [["x", "c0", ["$1", "$2", "$3", "$4"]], ["y", "c1", ["", "", "", ""]]]


def test_labels_at_the_ends_of_an_axis_stand_inside() -> None:
    asked = Chart("c", [0.0, 1.0], ["a", "b"], (), Scale(0.0, 1.0), Scale(0.0, 1.0), [(0.0, "left"), (0.5, "middle"), (1.0, "right")])
    assert re.findall(r"<span( class=\w+)? style=\"left", chart_html(asked)) == [" class=left", "", " class=right"]


def test_every_colour_has_a_name_in_the_legend() -> None:
    words = legend_html([Series("hosts", [1.0], "c0", "bars"), Series("so far", [1.0], "ink", key=False)], [Mark("x", 1.0, "limit")])
    assert "hosts" in words and "limit" in words and "so far" not in words


@pytest.mark.parametrize("ends", [(0.0, 47.0), (0.0, 0.003), (12.0, 13.0), (0.0, 1e9)])
def test_ticks_are_few_and_round(ends: tuple[float, float]) -> None:
    ticks = round_steps(*ends)
    assert 2 <= len(ticks) <= 6
    assert all(ends[0] - 1e-12 <= tick <= ends[1] + 1e-12 and float(f"{tick:.4g}") == tick for tick in ticks)


def test_the_limit_stands_where_it_is_and_not_beyond_the_bars() -> None:
    assert 'class=limit style="left:50.00%"' in bars_html("b", [Bar("x", 0.2, "1")], 0.5)
    assert "class=limit" not in bars_html("b", [Bar("x", 0.2, "1")], 1.5)


def test_hours_of_each_line_sum_to_the_line() -> None:
    plan = plan_fixture.plan()
    for line, usd in hourly_usd(plan):
        assert float(usd @ plan.demand.weight_h) == pytest.approx(line.per_month_usd, rel=1e-12)
    flat = dict(hourly_usd(plan))[plan.lines[-1]]
    assert np.ptp(flat) == pytest.approx(0.0, abs=1e-12)  # fixed costs are the same in every hour
    whole = sum(float(usd @ plan.demand.weight_h) for _, usd in suppliers(plan))
    assert whole == pytest.approx(plan.solution.cost_usd)


def test_suppliers_are_named_as_people_name_them() -> None:
    names = [name for name, _ in suppliers(plan_fixture.plan())]
    assert names == ["Lab, API", "Neo, rented hosts", "Host, API", "AWS, reserved hosts", "gateway and monitoring"]


def test_both_kinds_of_day_are_drawn_with_their_demand_below() -> None:
    plan = plan_fixture.plan()
    drawn = hours_html(plan, bill_of(plan))
    assert drawn.count("<svg") == 4 and "USD an hour, weekend" in drawn and "what the fleet could carry" in drawn


def test_a_strategy_that_ends_somewhere_is_drawn_as_far_as_it_goes() -> None:
    names = ("demand", "users", "requests", "plan", "all_api", "self_hosted", "self_hosted_low", "self_hosted_high")
    rows = (
        (0.5, None, 1e6, 50.0, 50.0, 90.0, 80.0, 100.0),
        (1.0, None, 2e6, 90.0, 100.0, 90.0, 80.0, 100.0),
        (2.0, None, 4e6, 180.0, 200.0, None, None, None),
    )
    table = Table("break_even", "", tuple(Column(name, "float", "", "") for name in names), rows)
    bill = bill_of(plan_fixture.plan())
    drawn = break_even_html(table, bill)
    (own,) = re.findall(r'class="c2 dots stroke" d="([^"]+)"', drawn)
    assert own.count("L") == 1 and "requests a month" in drawn
    zero = Table("break_even", "", table.columns, tuple((*row[:3], 0.0, *row[4:]) for row in rows))
    assert break_even_html(zero, bill) == ""
