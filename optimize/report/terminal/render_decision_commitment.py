"""A decision under commitment for people."""

from __future__ import annotations

import math
import textwrap

from rich.text import Text

from optimize.finance.commitment.decision import Decision, Ranked
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.tables.columns import Value
from optimize.tables.decision_tables import month_of, tables, verdict
from optimize.tables.plain_numbers import percent

LISTED = 3
HEAD = 18  # characters of a name on a line over its column


def render_decision(decision: Decision) -> str:
    """The answer on one screen."""
    scenario, months = decision.scenario, decision.scenario.finance.horizon_months
    currency = scenario.budget.currency
    console = screen()
    console.print(Text(scenario.name, style="bold") + Text(f"  {scenario.description}" if scenario.description else ""))
    source = f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})"
    console.print(Text(source, style="dim"))
    console.print()
    console.print(Text("DECIDE", style="bold") + Text("  " + verdict(decision)))
    section(console, f"First stages, {currency} a month over {months} months, rounded")
    names = ("", "expected", "worst", "worst regret", "where", "committed in all", "served least")
    listing = table(*names, right=(1, 2, 3, 5, 6))
    for row in tables(decision)[0].rows:
        name, expected, worst, regret, where, _, committed, served, _, _ = row
        listing.add_row(str(name), _cell(expected), _cell(worst), _cell(regret), str(where), _cell(committed), percent(float(served or 0)))
    show(console, listing)
    section(console, f"Cost in each future, {currency} a month, and regret; each rounded by itself")
    heads = ("\n".join(textwrap.wrap(each.stage.name, HEAD)) for each in decision.ranked)
    listing = table("", *heads, right=tuple(range(1, len(decision.ranked) + 1)))
    for k, future in enumerate(decision.futures):
        listing.add_row(future.name, *(_both(decision, each, k) for each in decision.ranked))
    show(console, listing)
    section(console, "Who serves, as today")
    bullets(console, [f"{each.stage.name}: {_used(each)}" for each in decision.ranked])
    for title, lines in (
        ("Stop conditions", decision.stops),
        ("Warnings", (*scenario.warnings, *decision.warnings)),
        ("Assumptions", decision.assumptions),
    ):
        if lines:
            section(console, title)
            bullets(console, [f"{line}" for line in lines])
    return output(console)


def _both(decision: Decision, ranked: Ranked, k: int) -> str:
    months, regret = ranked.stage.timing.horizon, ranked.regret[k]
    cost = _cell(month_of(decision, ranked.outcomes[k].cost_usd, months))
    if math.isinf(regret):
        return f"{cost} (unserved)"
    more = month_of(decision, regret, months) or 0.0
    return f"{cost} (best)" if more < 0.5 else f"{cost} (+{more:,.0f})"


def _used(ranked: Ranked) -> str:
    used = ranked.outcomes[0].used
    rest = sum(share for _, share in used[LISTED:])
    words = [f"{name} {percent(share)}" for name, share in used[:LISTED]]
    return ", ".join([*words, f"others {percent(rest)}"] if rest > 0 else words)


def _cell(value: Value) -> str:
    return "-" if value is None else f"{float(value):,.0f}"
