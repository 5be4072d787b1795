"""A decision under commitment as a page, and as one sheet of paper for a board."""

from __future__ import annotations

import math
from html import escape

from optimize.finance.commitment.decision import Decision, Ranked
from optimize.report.page.decision_charts import decision_figures
from optimize.report.page.page_parts import bullets, details, dim, picture, section, table_html
from optimize.report.page.style import HEAD, STYLE
from optimize.tables.bill_lines import Bill
from optimize.tables.columns import Table
from optimize.tables.decision_tables import money_of, month_of, tables, verdict
from optimize.tables.plain_numbers import percent
from sim.plural import counted

BOARD = """
body{max-width:58rem}.sheet h2{margin:.9rem 0 .3rem}.sheet table{width:100%}.sheet td,.sheet th{white-space:normal}
.best{font-weight:600;color:var(--good)}.sign{margin-top:1.2rem;display:flex;gap:2rem}
.sign span{flex:1;border-top:1px solid var(--ink);padding-top:.2rem}
@media print{@page{size:A4;margin:11mm}body{font-size:8.5pt;line-height:1.3}
.sheet h1{font-size:13pt}.sheet h2{font-size:10pt;margin:.5rem 0 .15rem}
.sheet .verdict{margin:.4rem 0;padding:.4rem .7rem;font-size:10pt}.sheet table{font-size:7.6pt}.sheet li{margin:0}.sheet figure{margin:0}
.sheet .chart svg{max-height:52mm}.sheet figcaption{display:none}}
"""
STOPS, MOST = 6, 10  # stop conditions and futures on the board's sheet


def decision_html(decision: Decision) -> str:
    """The whole decision as one file that needs nothing else; the same decision gives the same bytes."""
    stages, outcomes, regret, cash = tables(decision)
    bill, drawn = _bill(decision), decision_figures(cash, regret, decision.scenario.budget.currency)
    scenario = decision.scenario
    parts = [
        f"<header><h1>{escape(scenario.name)}</h1><p>{escape(scenario.description)}</p>{dim(_source(decision))}</header><main>",
        f'<div class="verdict good"><b>{escape(verdict(decision))}</b></div>',
        section("First stages", table_html(stages, bill), dim("Amounts are means of a month of the horizon; committed: in all.")),
        section("Cash exposure", picture(drawn[0]), details("Figures", table_html(cash, bill))),
        section("Regret by future", picture(drawn[1]), regret_table(decision)),
        section("When to stop", bullets(decision.stops)),
        section("Who serves", table_html(_served(outcomes), bill)),
        section("Warnings", bullets((*scenario.warnings, *decision.warnings))),
        section("Assumptions", bullets(decision.assumptions)),
        details("Stages by future", table_html(outcomes, bill)),
        "</main>",
    ]
    return _page(f"Decision: {scenario.name}", STYLE + ".best{font-weight:600;color:var(--good)}", "\n".join(filter(None, parts)))


def board_html(decision: Decision) -> str:
    """One sheet of paper: what is decided, what it costs and may cost, when to stop, and who signs."""
    _, _, regret, cash = tables(decision)
    drawn = decision_figures(cash, regret, decision.scenario.budget.currency)
    scenario, months = decision.scenario, decision.scenario.finance.horizon_months
    stops = list(decision.stops[:STOPS])
    if len(decision.stops) > STOPS:
        stops.append(f"and {len(decision.stops) - STOPS} more on the decision's page")
    missing = list(dict.fromkeys(part for each in decision.ranked for part in each.stage.open))
    left_out = f"Not in these figures, because they have no citable price: {', '.join(missing)}." if missing else ""
    parts = [
        "<main class=sheet>",
        f"<h1>For decision: {escape(scenario.description or scenario.name)}</h1>{dim(_source(decision))}",
        f'<div class="verdict good"><b>{escape(verdict(decision))}</b></div>',
        f"<h2>Options over {months} months, {escape(scenario.budget.currency)}</h2>{_options(decision)}{dim(left_out)}",
        f"<h2>Cash so far: line in the first future, band over all</h2>{picture(drawn[0])}",
        f"<h2>Cost above the best option of each future, a month</h2>{regret_table(decision, MOST)}",
        f"<h2>When to stop or change course</h2>{bullets(stops)}",
        "<p class=sign><span>decided on</span><span>by</span><span>next review</span></p>",
        "</main>",
    ]
    return _page(f"Board: {scenario.name}", STYLE + BOARD, "\n".join(filter(None, parts)))


def _page(title: str, style: str, body: str) -> str:
    return f"{HEAD}<title>{escape(title)}</title><style>{style}</style></head><body>\n{body}\n</body></html>\n"


def _source(decision: Decision) -> str:
    scenario = decision.scenario
    return f"{scenario.name}, seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})"


def _bill(decision: Decision) -> Bill:
    """The currency of the tables; a decision has no bill of its own."""
    return Bill(decision.scenario.budget.currency, 0, (), (), ())


def _options(decision: Decision) -> str:
    """Each option: a month in the mean and at worst, what is committed, the largest sum that may be out."""
    heads = ("option", "a month, expected", "a month, worst", "worst regret a month", "committed in all", "served at least")
    rows = ""
    for each in decision.ranked:
        months, best = each.stage.timing.horizon, each.stage.name == decision.least_regret
        worst = max(outcome.cost_usd for outcome in each.outcomes)
        figures = [month_of(decision, usd, months) for usd in (each.expected_usd, worst, each.worst_regret_usd)]
        cells = [_amount(value) for value in (*figures, money_of(decision, each.stage.committed_usd))]
        served = percent(min(outcome.served_share for outcome in each.outcomes))
        style = " class=best" if best else ""
        rows += (
            f"<tr><td{style}>{escape(each.stage.name)}</td>" + "".join(f"<td class=n>{cell}</td>" for cell in (*cells, served)) + "</tr>"
        )
    return _table(heads, rows)


def regret_table(decision: Decision, most: int | None = None) -> str:
    """Futures by their full names against options; the best option of a future is marked."""
    heads = ("future", *(each.stage.name for each in decision.ranked))
    order = sorted(range(len(decision.futures)), key=lambda k: -max((r for r in _finite(decision.ranked, k)), default=0.0))
    kept = sorted(order[:most] if most is not None else order)
    rows = "".join(
        f"<tr><td>{escape(decision.futures[k].name)}</td>" + "".join(_regret_cell(decision, each, k) for each in decision.ranked) + "</tr>"
        for k in kept
    )
    left = len(decision.futures) - len(kept)
    return _table(heads, rows) + (dim(f"{counted(left, 'future')} with smaller differences left out here.") if left else "")


def _finite(ranked: tuple[Ranked, ...], k: int) -> list[float]:
    return [each.regret[k] if math.isfinite(each.regret[k]) else 1e300 for each in ranked]


def _regret_cell(decision: Decision, each: Ranked, k: int) -> str:
    regret = month_of(decision, each.regret[k], each.stage.timing.horizon)
    if regret is None:
        return "<td class=n>unserved</td>"
    return "<td class='n best'>best</td>" if regret < 0.5 else f"<td class=n>+{regret:,.0f}</td>"


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _table(heads: tuple[str, ...], rows: str) -> str:
    top = "".join(f"<th{' class=n' if k else ''} scope=col>{escape(head)}</th>" for k, head in enumerate(heads))
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _served(outcomes: Table) -> Table:
    """Who serves in the first future."""
    keep = [outcomes.place(name) for name in ("stage", "future", "served_by")]
    first = outcomes.rows[0][outcomes.place("future")] if outcomes.rows else None
    rows = tuple(tuple(row[c] for c in keep) for row in outcomes.rows if row[outcomes.place("future")] == first)
    return Table("served", "Who serves", tuple(outcomes.columns[c] for c in keep), rows)
