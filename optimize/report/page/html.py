"""A plan as one HTML file that needs nothing else: no script, no font, no image from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

from optimize.report.page import charts
from optimize.report.page.decision import decision, reproduce
from optimize.report.page.figures import Figure, figures
from optimize.report.page.latency_panels import latency_summary
from optimize.report.page.page_parts import bullets, contents, details, dim, picture, scrolling, section, table_html
from optimize.report.page.stress_section import tried, untried
from optimize.report.page.style import HEAD, STYLE
from optimize.report.terminal import render_grid
from optimize.report.terminal.render_plan import cell
from optimize.result import Plan
from optimize.tables import decision_why, tables, uncertainty_table
from optimize.tables.all_in_words import all_in_words
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.columns import Table
from optimize.tables.finance_tables import Money, finance_tables
from optimize.tables.phrases import STATUS_WORDS, bounds, seeds_used, told_flips
from optimize.tables.price_table import short_hashes
from optimize.tables.quality_table import quality_lines

UTILISATION = (
    "Utilisation has two meanings: the billed share of hours (scale to zero), and the load of what is paid. "
    "Idle hours are paid and are in every cost per token."
)
LATENCY = "Promises, each in its worst hour"
DISTRIBUTIONS = "Latency distributions"
VIEWS = "Economic view: capital as an annuity once its cost is known. Book view: straight line. Open parts have no citable source."


def html(plan: Plan, money: Money | None = None, manifest: Mapping[str, Any] | None = None, stress: Mapping[str, Any] | None = None) -> str:
    """The report as the text of one file; the same plan gives the same bytes. `stress`: a stress test of it, as in stress.json."""
    money = Money(plan) if money is None else money
    scenario = plan.scenario
    source = f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})"
    by_name = {table.name: table for table in (*tables.all_tables(plan), *finance_tables(money))}
    drawn = {figure.name: figure for figure in figures(plan, money)}
    sections = [
        *_proof_parts(plan, money.bill, by_name, drawn),
        _stress(plan, manifest or {}, stress),
        *_money_parts(money, by_name, drawn),
        *_why_parts(plan, money.bill),
        *_ground_parts(plan, money, by_name, manifest or {}),
    ]
    parts = [
        f"<header><h1>{escape(scenario.name)}</h1><p>{escape(scenario.description)}</p><p class=dim>{escape(source)}</p></header><main>",
        decision(plan, money),
        contents(sections),
        *sections,
        "</main>",
    ]
    title = f"{STATUS_WORDS[plan.status]}: {scenario.name}"
    return (
        f"{HEAD}<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n" + "\n".join(filter(None, parts)) + "\n</body></html>\n"
    )


def _proof_parts(plan: Plan, bill: Bill, by_name: Mapping[str, Table], drawn: Mapping[str, Figure]) -> list[str]:
    """What is bought, and what users feel."""
    return [
        section("Cost by line", picture(drawn.get("cost")), table_html(by_name["cost"], bill), dim(bounds(plan, bill))),
        section(LATENCY, picture(drawn.get("promises")), table_html(by_name["slo"], bill), _proof(plan)),
        section(DISTRIBUTIONS, picture(drawn.get("latency")), details("Figures", table_html(latency_summary(plan), bill))),
        section("How far to trust it", _trust(plan, bill)),
        section("Capacity against demand by hour", picture(drawn.get("hours")), _legend(plan), _grid(plan)),
        section("Fleet", table_html(by_name["fleet"], bill)),
        section("Relays", table_html(by_name["relays"], bill)),
        section("Who serves what", table_html(by_name["flows"], bill)),
        section("Quality of answers", bullets(quality_lines(plan, bill))),
    ]  # fmt: skip


def _stress(plan: Plan, manifest: Mapping[str, Any], said: Mapping[str, Any] | None) -> str:
    """What breaks it; nothing for a plan that no engine can simulate."""
    if plan.verification is None:
        return ""
    return tried(said) if said is not None else untried(manifest.get("command", ""))


def _money_parts(money: Money, by_name: Mapping[str, Table], drawn: Mapping[str, Figure]) -> list[str]:
    """What else it could cost, and what it will."""
    bill, edge = money.bill, money.break_even
    shown = {name: table_html(by_name[name], bill) for name in by_name}
    words = f"Band: own GPUs carry {edge.error:.0%} more or less than simulated. Solved with the capacities known, not simulated."
    curves = shown["break_even"] + shown["break_even_tokens"]
    return [
        section("Instead of this plan", picture(drawn.get("alternatives")), shown["alternatives"]),
        section("Break-even", picture(drawn.get("break_even")), dim(words), bullets(edge.notes), details("Figures", curves)),
        section("Cash flow", picture(drawn.get("cash")), bullets(money.horizon.notes), details("Figures", shown["months"])),
        section("Sensitivity", picture(drawn.get("sensitivity")), shown["sensitivity"]),
        section("Unit economics", shown["unit_costs"], dim(UTILISATION)),
        section("Own or rent", *_own(money, by_name), details("A month of own hosts", shown["own_parts"])),
        section("Charges", shown["charges"]),
        section("Price book", bullets(money.prices.warnings), *_prices(by_name["prices"], bill)),
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
    parts = [section(title, bullets(lines)) for title, lines in decision_why.sections(plan, bill)]
    if "class_cost" in by_name:
        shown = decision_why.month_only(by_name["class_cost"])
        behind = details("By hour", table_html(by_name["class_cost"], bill)) if len(plan.demand.slices) > 1 else ""
        parts.append(section("Who causes the cost", table_html(shown, bill), dim(decision_why.rule(plan)), behind))
    if by_name.get("bottlenecks") is not None and by_name["bottlenecks"].rows:
        parts.append(details("Parts of a step by pool", table_html(by_name["bottlenecks"], bill)))
    return parts


def _ground_parts(plan: Plan, money: Money, by_name: Mapping[str, Table], manifest: Mapping[str, Any]) -> list[str]:
    """What it all rests on."""
    bill = money.bill
    return [
        section("What binds", bullets(plan.binding)),
        section("Where the answer flips", bullets(told_flips(plan))),
        section("Warnings", bullets(plan.warnings)),
        section("Assumptions", bullets(plan.assumptions), details("Figures of money", table_html(by_name["figures"], bill))),
        section("Solver", bullets(_solver(plan))),
        details(f"Dropped candidates ({len(plan.dropped)})", table_html(by_name["dropped"], bill)),
        section("How to reproduce", reproduce(manifest)),
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


def _legend(plan: Plan) -> str:
    keys = (
        f'<span class=keyed><span class=key style="background:{colour}"></span>{escape(name)}</span> '
        for colour, name in charts.hours_legend(plan)
    )
    words = "full line: demand, dashed: what the fleet could carry at this mix" if tables.used_pools(plan) else "line: demand"
    return f"<p class=dim>{''.join(keys)}{words}</p>"


def _trust(plan: Plan, bill: Bill) -> str:
    """Errors of the step cost by pool, what they do to the verdict, and the pilot that would settle it."""
    found = plan.uncertainty
    if found is None or not found.pools:
        return ""
    heads = "".join(f"<th scope=col>{escape(name)}</th>" for name in uncertainty_table.COLUMNS)
    rows = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in uncertainty_table.error_rows(found))
    table = scrolling("Error of the step cost by pool", f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")
    margin = None if found.safety_usd is None else bill.money(cents_of(plan, found.safety_usd))
    words = dim("Error on measurements not seen, median / 90th percentile.")
    return table + words + bullets(uncertainty_table.sentences(found, margin))


def _proof(plan: Plan) -> str:
    proof = plan.verification
    if proof is None:
        return dim("Nothing was simulated.")
    seeds = f"{seeds_used(proof)} seeds each, from {proof.seeds[0]} on"
    return dim(
        f"{proof.requests_simulated:,} requests in {len(proof.hours)} {'hour' if len(proof.hours) == 1 else 'hours'}, {seeds}; "
        "requests that were rejected or failed count as infinitely late."
    )


def _solver(plan: Plan) -> list[str]:
    status = f"{plan.solution.solver}: {plan.solution.status.replace('_', ' ')}, gap {plan.solution.gap:.2%}"
    return [status, *(f"{key}: {value}" for key, value in sorted(plan.extra.items()))]
