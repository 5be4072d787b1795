"""A plan as one HTML file that needs nothing else: no script, no font, no image from anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from optimize.records import Plan
from optimize.report import charts, grid, tables
from optimize.report.bill import Bill, bill_of, cents_of
from optimize.report.columns import Column, Table, Value
from optimize.report.terminal import cell
from optimize.report.words import STATUS_WORDS, bounds, count, duration, headline, percent

STYLE = """
:root{color-scheme:light dark;--ink:#1d2430;--dim:#5d6878;--faint:#d9dee6;--page:#fbfbfc;--card:#fff;--good:#1f8a5b;--bad:#c0392b}
@media(prefers-color-scheme:dark){
:root{--ink:#e4e8ee;--dim:#9aa5b4;--faint:#38414e;--page:#14181e;--card:#1c2229;--good:#4cc38a;--bad:#ef7166}}
body{margin:0 auto;padding:2rem 1.2rem;max-width:76rem;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}p{margin:.3rem 0}.dim{color:var(--dim)}
.verdict{background:var(--card);border:1px solid var(--faint);border-left:5px solid var(--bad);border-radius:6px;
padding:.8rem 1rem;margin:1.2rem 0;font-size:1.05rem}
.verdict.good{border-left-color:var(--good)}.good b,.met{color:var(--good)}.missed{color:var(--bad);font-weight:600}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th{color:var(--dim);font-weight:500;text-align:left;white-space:nowrap}td,th{padding:.22rem .9rem .22rem 0;
border-bottom:1px solid var(--faint);vertical-align:top;white-space:nowrap}td.n,th.n{text-align:right}
td.w{white-space:normal;min-width:18rem}tr.total td{font-weight:600}
.grid td,.grid th{padding:.15rem .3rem;text-align:right;min-width:1.5rem}.grid td:first-child{text-align:left;white-space:nowrap}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .4em 0 1em}.key:first-child{margin-left:0}
svg{width:100%;height:auto;max-width:100%}svg text{font-family:system-ui,sans-serif!important}
summary{cursor:pointer;color:var(--dim)}li{margin:.15rem 0}
"""
SHORT = 48  # characters that a cell keeps on one line


def html(plan: Plan) -> str:
    """The report as the text of one file; the same plan gives the same bytes."""
    bill = bill_of(plan)
    by_name = {table.name: table for table in tables.all_tables(plan)}
    scenario = plan.scenario
    source = f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})"
    good = " good" if plan.status == "met" else ""
    parts = [
        f"<h1>{escape(scenario.name)}</h1><p>{escape(scenario.description)}</p><p class=dim>{escape(source)}</p>",
        f'<div class="verdict{good}"><b>{STATUS_WORDS[plan.status]}</b> {escape(headline(plan, bill))}</div>',
        _section("Monthly cost", charts.cost_chart(plan, bill), _table(by_name["cost"], bill), _dim(bounds(plan, bill))),
        _section("Promises, each in its worst hour", charts.promises_chart(plan), _table(by_name["slo"], bill), _proof(plan)),
        _section("Fleet and demand by hour", charts.hours_chart(plan), _legend(plan), _grid(plan)),
        _section("Fleet", _table(by_name["fleet"], bill)),
        _section("Relays", _table(by_name["relays"], bill)),
        _section("Who serves what", _table(by_name["flows"], bill)),
        _section("Instead of this plan", charts.alternatives_chart(plan, bill), _table(by_name["alternatives"], bill)),
        _section("What binds", _list(plan.binding)),
        _section("Where the answer flips", _list([flip.sentence for flip in plan.flips])),
        _section("If demand is another", _list(_band(plan, bill))),
        _section("Warnings", _list(plan.warnings)),
        _section("Assumptions", _list(plan.assumptions)),
        _section("Solver", _list(_solver(plan))),
        _details(f"Dropped candidates ({len(plan.dropped)})", _table(by_name["dropped"], bill)),
    ]
    title = f"{STATUS_WORDS[plan.status]}: {scenario.name}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n" + "\n".join(filter(None, parts)) + "\n</body></html>\n"
    )


def _section(title: str, *contents: str) -> str:
    """A titled section; nothing at all where there is nothing to say."""
    inside = "\n".join(filter(None, contents))
    return f"<section><h2>{escape(title)}</h2>{inside}</section>" if inside else ""


def _table(table: Table, bill: Bill) -> str:
    if not table.rows:
        return ""
    heads = "".join(f'<th{_align(column)} title="{escape(column.meaning)}">{_head(column, bill)}</th>' for column in table.columns)
    rows = "".join(
        "<tr>" + "".join(_cell(value, column) for value, column in zip(row, table.columns, strict=True)) + "</tr>" for row in table.rows
    )
    if table.name == "cost":
        rows += f"<tr class=total><td>total</td><td></td><td class=n>{bill.total / 100:,.2f}</td><td></td><td></td></tr>"
    return f"<div class=scroll><table><tr>{heads}</tr>{rows}</table></div>"


def _align(column: Column) -> str:
    return " class=n" if column.dtype in ("int", "float") else ""


def _head(column: Column, bill: Bill) -> str:
    unit = {"money": bill.currency, "share": "", "s": ""}.get(column.unit, column.unit)
    name = column.name.removesuffix("_s").replace("_", " ").replace("ci95", "95 %")
    return escape(f"{name}, {unit}" if unit and unit not in name else name)


def _cell(value: Value, column: Column) -> str:
    if isinstance(value, bool):
        word = ("met" if value else "MISSED") if column.name == "met" else ("yes" if value else "no")
        style = {"met": ' class="met"', "MISSED": ' class="missed"'}.get(word, "")
        return f"<td{style}>{word}</td>"
    if value is None:
        return f"<td{_align(column)}>-</td>"
    if isinstance(value, str):
        return f"<td{' class=w' if len(value) > SHORT else ''}>{escape(value)}</td>"
    return f"<td class=n>{_number(value, column)}</td>"


def _number(value: float, column: Column) -> str:
    if column.unit == "s":
        return duration(value)
    if column.name == "quantile":
        return f"p{value * 100:g}"
    if column.unit == "share":
        return percent(value)
    if column.unit == "money":
        return f"{value:,.2f}"
    if abs(value) >= 1e6:
        return count(value)
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:,.2f}"


def _grid(plan: Plan) -> str:
    """Replicas of each pool in every hour, one row per kind of day."""
    by_day = grid.days(plan.demand.slices)
    heads = "".join(f"<th>{hour}</th>" for hour in range(grid.HOURS)) if by_day else ""
    rows = ""
    for p in tables.used_pools(plan):
        option = plan.program.pools[p].option
        values = [float(n) for n in plan.solution.hosts[p] * option.replicas_per_host]
        for day, row in grid.rows(plan.demand.slices, values):
            cells = "".join(f"<td>{cell(value)}</td>" for value in row)
            rows += f"<tr><td>{escape(option.id)}, {escape(day)}</td>{cells}</tr>"
    table = f"<div class=scroll><table class=grid><tr><th></th>{heads}</tr>{rows}</table></div>"
    return _details("Replicas in every hour", table) if rows else ""


def _legend(plan: Plan) -> str:
    keys = (f'<span class=key style="background:{colour}"></span>{escape(name)}' for colour, name in charts.hours_legend(plan))
    return f"<p class=dim>{''.join(keys)}</p>"


def _proof(plan: Plan) -> str:
    proof = plan.verification
    if proof is None:
        return _dim("Nothing was simulated.")
    seeds = ", ".join(map(str, proof.seeds))
    return _dim(
        f"{proof.requests_simulated:,} requests in {len(proof.hours)} {'hour' if len(proof.hours) == 1 else 'hours'} on seeds {seeds}; "
        "requests that were rejected or failed count as infinitely late."
    )


def _band(plan: Plan, bill: Bill) -> list[str]:
    return [
        f"{per_user:g} requests per user-day: {bill.money(cents_of(plan, usd))} a month"
        for per_user, usd in plan.demand_band
        if math.isfinite(usd)
    ]


def _solver(plan: Plan) -> list[str]:
    status = f"{plan.solution.solver}: {plan.solution.status.replace('_', ' ')}, gap {plan.solution.gap:.2%}"
    return [status, *(f"{key}: {value}" for key, value in sorted(plan.extra.items()))]


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _dim(text: str) -> str:
    return f"<p class=dim>{escape(text)}</p>" if text else ""


def _details(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>" if inside else ""
