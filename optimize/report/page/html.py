"""A plan as one HTML file that needs nothing else: its own small script, no font, no image from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

from optimize.report.page.explained import explained, glossary_html
from optimize.report.page.hour_charts import hours_html
from optimize.report.page.latency_panels import latency_summary, latency_words
from optimize.report.page.money_html import alternative_bars, break_even_html, cash_html, cost_bars, sensitivity_bars
from optimize.report.page.money_words import ahead, edge_words
from optimize.report.page.page_parts import (
    AUDITORS,
    ENGINEERS,
    MANAGERS,
    bullets,
    contents,
    details,
    dim,
    scrolling,
    section,
    table_html,
)
from optimize.report.page.promise_html import latency_panels, promise_bars
from optimize.report.page.scripts import script
from optimize.report.page.sheet import reproduce, sheet
from optimize.report.page.stress_section import tried, untried
from optimize.report.page.style import LIVE_HEAD, STYLE
from optimize.report.page.whatif_section import whatif_html
from optimize.report.terminal import render_grid
from optimize.report.terminal.render_plan import cell
from optimize.result import Plan
from optimize.tables import confidence_words, decision_why, tables, uncertainty_table
from optimize.tables.all_in_words import all_in_words
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.columns import Table
from optimize.tables.finance_tables import Money, finance_tables
from optimize.tables.phrases import STATUS_WORDS, bounds, seeds_used, told_flips
from optimize.tables.price_table import short_hashes
from optimize.tables.quality_table import quality_lines
from optimize.tables.short_names import names_of
from sim.plural import plural

UTILISATION = (
    "Utilisation has two meanings: the billed share of hours (scale to zero), and the load of what is paid. "
    "Idle hours are paid and are in every cost per token."
)
DECISION, WHATIF, HOURS = "Decision", "What if", "Cost by hour"
LATENCY = "Promises, each in its worst hour"
DISTRIBUTIONS = "Latency distributions"
VIEWS = "Economic view: capital as an annuity once its cost is known. Book view: straight line. Open parts have no citable source."
VIEW_NAMES = ("manager", "engineer", "auditor")


def html(plan: Plan, money: Money | None = None, manifest: Mapping[str, Any] | None = None, stress: Mapping[str, Any] | None = None) -> str:
    """The report as the text of one file; the same plan gives the same bytes. `stress`: a stress test of it, as in stress.json."""
    money = Money(plan) if money is None else money
    scenario = plan.scenario
    source = f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})"
    by_name = {table.name: table for table in (*tables.all_tables(plan), *finance_tables(money))}
    sections = [
        sheet(plan, money),
        *_chart_parts(plan, money, by_name),
        *_proof_parts(plan, money.bill, by_name),
        _stress(plan, manifest or {}, stress),
        *_money_parts(money, by_name),
        *_why_parts(plan, money.bill),
        *_ground_parts(plan, money, by_name, manifest or {}),
    ]
    used: set[str] = set()
    told = [_explained(each, used) for each in sections]
    told.append(section("Glossary", glossary_html(used)))
    about = f"<p>{escape(scenario.description)}</p><p class=dim>{escape(source)}</p>"
    parts = [
        f"<header><h1>{escape(scenario.name)}</h1>{about}{_views()}</header>",
        "<main class=framed>",
        contents(told),
        f"<div class=all>{chr(10).join(filter(None, told))}</div>",
        "</main>",
        f"<script>{script()}</script>",
    ]
    title = f"{STATUS_WORDS[plan.status]}: {scenario.name}"
    return f"{LIVE_HEAD}<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def _views() -> str:
    buttons = "".join(f'<button type=button data-view="{name}" aria-pressed=false>{name}</button>' for name in VIEW_NAMES)
    return f'<div class=views data-views role=group aria-label="Show what matters to" hidden><span>Show for</span>{buttons}</div>'


def _explained(part: str, used: set[str]) -> str:
    """A section with its terms linked; that of a stress test stays as it is, for it is replaced when a test is run later."""
    return part if part.startswith("<!--") else explained(part, used)


def _chart_parts(plan: Plan, money: Money, by_name: Mapping[str, Table]) -> list[str]:
    """The four drawings that carry the decision, and what moves it."""
    bill, edge = money.bill, money.break_even
    words = (
        f"Band: self-hosted replicas carry {edge.error:.0%} more or less than simulated. Solved with the capacities known, not simulated."
    )
    figures = details("Figures", table_html(by_name["break_even"], bill) + table_html(by_name["break_even_tokens"], bill))
    return [
        section(WHATIF, whatif_html(money)),
        section(HOURS, hours_html(plan, bill), _grid(plan)),
        section(LATENCY, promise_bars(plan), details("Figures", table_html(by_name["slo"], bill)), _proof(plan)),
        section("Break-even", break_even_html(by_name["break_even"], bill), edge_words(plan, money), dim(words), figures),
        section("Cash flow", cash_html(by_name["months"], bill), ahead(money), bullets(money.horizon.notes),
                details("Figures", table_html(by_name["months"], bill))),
    ]  # fmt: skip


def _proof_parts(plan: Plan, bill: Bill, by_name: Mapping[str, Table]) -> list[str]:
    """What is bought, what users feel, and how far to trust it."""
    drawn = latency_panels(plan)
    return [
        section("Cost by line", cost_bars(plan, bill), details("Figures", table_html(by_name["cost"], bill)), dim(bounds(plan, bill))),
        section(
            "Instead of this plan", alternative_bars(plan, bill), details("Figures and reasons", table_html(by_name["alternatives"], bill))
        ),
        section("How far to trust it", _trust(plan, bill)),
        section(DISTRIBUTIONS, drawn, dim(latency_words(plan)), details("Figures", table_html(latency_summary(plan), bill)), who=ENGINEERS),
        section("Fleet", _names(plan), table_html(by_name["fleet"], bill), who=ENGINEERS),
        section("Relays", table_html(by_name["relays"], bill), who=ENGINEERS),
        section("Who serves what", table_html(by_name["flows"], bill), who=ENGINEERS),
        section("Quality of answers", bullets(quality_lines(plan, bill))),
    ]


def _names(plan: Plan) -> str:
    """What each pool is called in sentences and drawings."""
    names = names_of(plan)
    ids = [plan.program.pools[p].option.id for p in tables.used_pools(plan)]
    return bullets([f"{names[each]}: {each}" for each in ids if names[each] != each])


def _stress(plan: Plan, manifest: Mapping[str, Any], said: Mapping[str, Any] | None) -> str:
    """What breaks it; nothing for a plan that no engine can simulate."""
    if plan.verification is None:
        return ""
    return tried(said) if said is not None else untried(manifest.get("command", ""))


def _money_parts(money: Money, by_name: Mapping[str, Table]) -> list[str]:
    """What else it could cost, and what it is made of."""
    bill = money.bill
    shown = {name: table_html(by_name[name], bill) for name in by_name}
    return [
        section("Sensitivity", sensitivity_bars(by_name["sensitivity"], bill), details("Figures", shown["sensitivity"])),
        section("Unit economics", shown["unit_costs"], dim(UTILISATION)),
        section("Rent or purchase", *_own(money, by_name), details("A month of purchased hosts", shown["own_parts"]), who=MANAGERS),
        section("Charges", shown["charges"], who=AUDITORS),
        section("Price book", bullets(money.prices.warnings), *_prices(by_name["prices"], bill), who=AUDITORS),
    ]


def _prices(book: Table, bill: Bill) -> tuple[str, str]:
    """Prices that the plan buys at, and those of the other candidates on demand."""
    bought = book.column("used")
    book = short_hashes(_without(book, "used"))
    where = [column.name for column in book.columns].index("reference")
    told = [tuple(None if c == where and value == row[0] else value for c, value in enumerate(row)) for row in book.rows]
    used, others = (
        replace(book, rows=tuple(row for row, k in zip(told, bought, strict=True) if bool(k) is flag)) for flag in (True, False)
    )
    return table_html(used, bill), details(f"Prices of candidates that are not bought ({len(others.rows)})", table_html(others, bill))


def _own(money: Money, by_name: Mapping[str, Table]) -> tuple[str, ...]:
    """Verdicts in words, and the figures behind them."""
    told = all_in_words(money.plan, money.bill)
    verdicts = [*told, *money.owned_fleet.sentences(), *(f"{row.pool}: {row.sentence}" for row in money.own)]
    table = table_html(_without(by_name["own_or_rent"], "verdict"), money.bill)
    return (bullets(verdicts), table, dim(VIEWS)) if money.own else ()


def _without(table: Table, name: str) -> Table:
    """The table without one column."""
    place = [column.name for column in table.columns].index(name)
    columns = table.columns[:place] + table.columns[place + 1 :]
    return replace(table, columns=columns, rows=tuple(row[:place] + row[place + 1 :] for row in table.rows))


def _why_parts(plan: Plan, bill: Bill) -> list[str]:
    """Who causes the cost, and the reasons in sentences, each with its table behind it."""
    by_name = {table.name: table for table in decision_why.why_tables(plan)}
    parts = [section(title, bullets(lines), who=ENGINEERS) for title, lines in decision_why.sections(plan, bill)]
    if "class_cost" in by_name:
        shown = decision_why.month_only(by_name["class_cost"])
        behind = details("By hour", table_html(by_name["class_cost"], bill)) if len(plan.demand.slices) > 1 else ""
        parts.append(section("Who causes the cost", table_html(shown, bill), dim(decision_why.rule(plan)), behind))
    if by_name.get("bottlenecks") is not None and by_name["bottlenecks"].rows:
        parts.append(section("Parts of a step", table_html(by_name["bottlenecks"], bill), who=ENGINEERS))
    return parts


def _ground_parts(plan: Plan, money: Money, by_name: Mapping[str, Table], manifest: Mapping[str, Any]) -> list[str]:
    """What it all rests on."""
    bill = money.bill
    dropped = details(f"{len(plan.dropped)} candidates and why they were dropped", table_html(by_name["dropped"], bill))
    return [
        section("What binds", bullets(plan.binding), who=ENGINEERS),
        section("Where the answer flips", bullets(told_flips(plan))),
        section("Warnings", bullets(plan.warnings)),
        section("Assumptions", bullets(plan.assumptions), details("Figures of money", table_html(by_name["figures"], bill)), who=ENGINEERS),
        section("Solver", bullets(_solver(plan)), who=AUDITORS),
        section("Dropped candidates", dropped, who=ENGINEERS),
        section("How to reproduce", reproduce(manifest), who=AUDITORS),
    ]


def _grid(plan: Plan) -> str:
    """Replicas of each pool in every hour, one row per kind of day."""
    by_day = render_grid.days(plan.demand.slices)
    heads = "".join(f"<th>{hour}</th>" for hour in range(render_grid.HOURS)) if by_day else ""
    rows = ""
    for p in tables.used_pools(plan):
        option = plan.program.pools[p].option
        values = [float(n) for n in plan.solution.hosts[p] * option.replicas_per_host]
        for day, row in render_grid.rows(plan.demand.slices, values):
            cells = "".join(f"<td>{cell(value)}</td>" for value in row)
            rows += f"<tr><td>{escape(option.id)}, {escape(day)}</td>{cells}</tr>"
    table = scrolling("Replicas in every hour", f"<table class=grid><tr><th></th>{heads}</tr>{rows}</table>")
    return details("Replicas in every hour", table) if rows else ""


def _trust(plan: Plan, bill: Bill) -> str:
    """Errors of the step cost by pool, what they do to the verdict, and the pilot that would settle it."""
    found = plan.uncertainty
    if found is None or not found.pools:
        sure = confidence_words.sentences(plan, bill)
        return bullets(sure) if sure else ""
    heads = "".join(f"<th scope=col>{escape(name)}</th>" for name in uncertainty_table.COLUMNS)
    rows = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in uncertainty_table.error_rows(found))
    table = scrolling("Error of the step cost by pool", f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")
    margin = None if found.safety_usd is None else bill.money(cents_of(plan, found.safety_usd))
    words = dim("Error on measurements not seen, median / 90th percentile.")
    return table + words + bullets([*confidence_words.sentences(plan, bill), *uncertainty_table.sentences(found, margin)])


def _proof(plan: Plan) -> str:
    proof = plan.verification
    if proof is None:
        return dim("Nothing was simulated.")
    most = max(proof.seeds_by_hour or (len(proof.seeds),))
    seeds = f"{seeds_used(proof)} {plural(most, 'seed')} each, from {proof.seeds[0]} on"
    return dim(
        f"{proof.requests_simulated:,} requests in {len(proof.hours)} {'hour' if len(proof.hours) == 1 else 'hours'}, {seeds}; "
        "requests that were rejected or failed count as infinitely late."
    )


def _solver(plan: Plan) -> list[str]:
    status = f"{plan.solution.solver}: {plan.solution.status.replace('_', ' ')}, gap {plan.solution.gap:.2%}"
    return [status, *(f"{key}: {value}" for key, value in sorted(plan.extra.items()))]
