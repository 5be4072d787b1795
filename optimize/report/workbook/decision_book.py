"""A decision under commitment as a workbook: weights of the futures can be changed, expected cost and regret follow."""

from __future__ import annotations

import io
from typing import Any

from optimize.finance.commitment.decision import Decision
from optimize.report.workbook.pen import Pen, address, place, span
from optimize.report.workbook.xlsx import created_on
from optimize.tables.columns import Table
from optimize.tables.decision_tables import month_of, tables, verdict

COLOURS = ("#4C8DD6", "#E08A3C", "#3DA37A", "#C65D9E", "#A8912F", "#7C6FD0", "#5AA9B8")
FIRST = 2  # column of the first option: names and weights stand before it


def decision_xlsx(decision: Decision) -> bytes:
    """The workbook; the same decision gives the same bytes."""
    import xlsxwriter  # late: only when a workbook is written

    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(
        buffer, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    )
    book.set_properties({"title": f"ServeMix decision: {decision.scenario.name}", "created": created_on(decision.scenario.catalog.date)})
    pen = Pen(book, decision.scenario.budget.currency)
    stages, outcomes, _, cash = tables(decision)
    first = pen.sheet("Decision", (60, *[20] * len(decision.ranked)))
    _costs(pen, decision)
    _summary(pen, first, decision)
    pen.table(pen.sheet("First stages"), stages)
    _cash(pen, cash)
    pen.table(pen.sheet("Stages by future"), outcomes)
    _notes(pen, decision)
    book.close()
    return buffer.getvalue()


def _costs(pen: Pen, decision: Decision) -> None:
    """Cost by future and option, weights as inputs, regret as formulas below."""
    sheet = pen.sheet("Cost and regret", (44, 12, *[22] * len(decision.ranked)))
    names = [each.stage.name for each in decision.ranked]
    last, options = len(decision.futures), len(names)
    pen.titles(sheet, 0, (f"cost a month, {pen.currency}", "weight", *names), range(1, FIRST + options), 20)
    served = [[outcome.served_share >= 1 - 1e-6 for outcome in each.outcomes] for each in decision.ranked]
    for k, future in enumerate(decision.futures):
        sheet.write_string(k + 1, 0, future.name)
        sheet.write_number(k + 1, 1, future.weight, pen.formats["input"])
        rule = {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": "how likely, relative to the others: 0 or more"}
        sheet.data_validation(k + 1, 1, k + 1, 1, rule)
        for c, each in enumerate(decision.ranked):
            pen.write(sheet, k + 1, FIRST + c, month_of(decision, each.outcomes[k].cost_usd, each.stage.timing.horizon), "money")
    top = last + 2
    pen.titles(sheet, top, (f"regret a month, {pen.currency}", "", *names), range(1, FIRST + options), 20)
    for k, future in enumerate(decision.futures):
        sheet.write_string(top + 1 + k, 0, future.name)
        kept = [address(k + 1, FIRST + c) for c in range(options) if served[c][k]] or [address(k + 1, FIRST + c) for c in range(options)]
        for c, each in enumerate(decision.ranked):
            value = month_of(decision, each.regret[k], each.stage.timing.horizon)
            if value is None:
                sheet.write_string(top + 1 + k, FIRST + c, "unserved", pen.formats["right"])
            else:
                pen.formula(sheet, top + 1 + k, FIRST + c, f"={address(k + 1, FIRST + c)}-MIN({','.join(kept)})", value)
    sheet.freeze_panes(1, 1)
    chart = pen.book.add_chart({"type": "bar"})
    for c, name in enumerate(names):
        points = {
            "categories": ["Cost and regret", top + 1, 0, top + last, 0],
            "values": ["Cost and regret", top + 1, FIRST + c, top + last, FIRST + c],
        }
        chart.add_series({**points, "name": name, "fill": {"color": COLOURS[c % len(COLOURS)]}})
    chart.set_title({"name": f"Regret a month, {pen.currency}"})
    chart.set_y_axis({"reverse": True, "label_position": "low"})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 900, "height": 160 + 24 * last * options})
    sheet.insert_chart(top + last + 3, 0, chart)


def _summary(pen: Pen, sheet: Any, decision: Decision) -> None:
    """Expected cost and worst regret by option, live; the verdict of the run."""
    last, top = len(decision.futures), len(decision.futures) + 2
    sheet.write_string(0, 0, decision.scenario.name, pen.formats["title"])
    sheet.write_string(1, 0, f"{verdict(decision)} (at the weights of the run)", pen.formats["bold"])
    pen.titles(sheet, 3, ("", *(each.stage.name for each in decision.ranked)), range(1, 1 + len(decision.ranked)), 20)
    sheet.write_string(4, 0, f"expected cost a month, {pen.currency}")
    sheet.write_string(5, 0, f"worst regret a month, {pen.currency}")
    weights = place("Cost and regret", 1, 1) + ":" + address(last, 1)
    for c, each in enumerate(decision.ranked):
        months = each.stage.timing.horizon
        costs = f"'Cost and regret'!{span(FIRST + c, 1, last)}"
        regrets = f"'Cost and regret'!{span(FIRST + c, top + 1, top + last)}"
        expected, worst = month_of(decision, each.expected_usd, months), month_of(decision, each.worst_regret_usd, months)
        if expected is None or worst is None:
            for r in (4, 5):
                sheet.write_string(r, 1 + c, "leaves requests unserved", pen.formats["right"])
            continue
        pen.formula(sheet, 4, 1 + c, f"=SUMPRODUCT({weights},{costs})/SUM({weights})", expected)
        pen.formula(sheet, 5, 1 + c, f"=MAX({regrets})", worst)


def _cash(pen: Pen, cash: Table) -> None:
    """Cash by option and month, with its picture."""
    sheet = pen.sheet("Cash exposure")
    end = pen.table(sheet, cash)
    chart = pen.book.add_chart({"type": "line"})
    stages = list(dict.fromkeys(cash.column("stage")))
    months = len(cash.rows) // max(1, len(stages))
    for k, stage in enumerate(stages):
        first, last = 1 + k * months, (k + 1) * months
        points = {"categories": ["Cash exposure", first, 1, last, 1], "values": ["Cash exposure", first, 3, last, 3]}
        chart.add_series({**points, "name": str(stage), "line": {"color": COLOURS[k % len(COLOURS)], "width": 2.25}})
    chart.set_title({"name": f"Cash so far, {pen.currency}"})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 900, "height": 360})
    sheet.insert_chart(end + 2, 0, chart)


def _notes(pen: Pen, decision: Decision) -> None:
    """Stop conditions, warnings, assumptions."""
    sheet = pen.sheet("Notes", (16, 130))
    lines = [("stop", text) for text in decision.stops]
    lines += [("warning", text) for text in (*decision.scenario.warnings, *decision.warnings)]
    lines += [("assumption", text) for text in decision.assumptions]
    for r, (kind, text) in enumerate(lines):
        sheet.write_string(r, 0, kind, pen.formats["wrap"])
        sheet.write_string(r, 1, text, pen.formats["wrap"])
