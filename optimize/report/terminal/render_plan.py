"""A plan as one screen of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from optimize.market.serve_line import serve_command
from optimize.money.all_in import all_in
from optimize.program.rows.escalations import answered_shares
from optimize.records import HostMove
from optimize.report.terminal import render_grid
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.report.terminal.render_first import first_screen
from optimize.result import Plan
from optimize.tables import confidence_words, decision_why, price_table, tables, uncertainty_table
from optimize.tables.all_in_words import open_or_sum
from optimize.tables.bill_lines import Bill, bill_of, cents_of
from optimize.tables.finance_tables import Money
from optimize.tables.phrases import bounds, pool_label, seeds_used, told_flips
from optimize.tables.plain_numbers import count, duration, percent, promise
from optimize.tables.quality_table import quality_lines
from sim.errors import InputError
from sim.exact import dot

FIRST_WIDTH = 100
BAR = 10
LABEL, CELL = 12, 4  # characters of a day's name and of each of its 24 hours
LISTED = 5  # dropped candidates that the screen names


def render(plan: Plan, colour: bool | None = None, show: Sequence[str] = ("all",)) -> str:
    """The first screen and the sections named in `show` (names of SECTIONS, or "all"); the same bytes for the same plan."""
    console = screen(colour)
    bill = bill_of(plan)
    wide, console.width = console.width, min(console.width, FIRST_WIDTH)
    _head(console, plan)
    first_screen(console, plan, bill, whole=bool(show))
    console.width = wide
    for name, parts in SECTIONS.items():
        if name in show or "all" in show:
            for part in parts:
                part(console, plan, bill)
    return output(console)


def _label(plan: Plan, name: object) -> str:
    return pool_label(str(name), len(plan.program.class_names))


def _head(console: Console, plan: Plan) -> None:
    scenario = plan.scenario
    console.print(Text(scenario.name, style="bold") + Text(f"  {scenario.description}" if scenario.description else ""))
    console.print(Text(f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})", style="dim"))


def _cost(console: Console, plan: Plan, bill: Bill) -> None:
    section(console, "Monthly cost")
    listing = table("", f"{bill.currency} a month", "share", "", "", right=(1, 2))
    for row in tables.cost_table(plan, bill).named():
        part = float(row["share"] or 0)
        bar = "▪" * round(BAR * max(0.0, part))
        listing.add_row(_label(plan, row["name"]), f"{row['per_month']:,.2f}", percent(part), bar, Text(str(row["detail"]), style="dim"))
    listing.add_row(Text("total", style="bold"), Text(f"{bill.total / 100:,.2f}", style="bold"), "")
    show(console, listing)
    words = bounds(plan, bill)
    if words:
        show(console, Text(words, style="dim"))


def _hours(console: Console, plan: Plan, bill: Bill) -> None:
    """Demand, replicas of each pool, and the part that relays take, in every hour."""
    demand = plan.demand
    total = demand.mean_rps.sum(axis=0)
    relayed = (plan.solution.relay_flow * answered_shares(plan.program)[1][:, :, None]).sum(axis=(0, 1))
    section(console, "Fleet by hour")
    if render_grid.days(demand.slices) is not None and cells(console) == render_grid.HOURS:
        show(console, Text(" " * LABEL + "".join(f"{hour:>{CELL}}" for hour in range(render_grid.HOURS)), style="dim"))
    _series(console, plan, "requests/s", total)
    for p in tables.used_pools(plan):
        option = plan.program.pools[p].option
        _series(console, plan, f"{_label(plan, option.id)}, replicas", plan.solution.hosts[p] * option.replicas_per_host)
        if option.deployment is not None:
            show(console, Text(f"  {serve_command(option.deployment)}", style="dim"))
    if relayed.any():
        _series(console, plan, "to relays, % of requests", np.round(100 * relayed / np.maximum(total, 1e-12)))


def _series(console: Console, plan: Plan, name: str, values: Any) -> None:
    """One value per hour slice, a row per kind of day; one line if it never changes."""
    numbers = [float(value) for value in values]
    if len(set(numbers)) == 1:
        show(console, Text(f"{name}: {cell(numbers[0])} in every hour"))
        return
    show(console, Text(name))
    for day, row in render_grid.rows(plan.demand.slices, numbers):
        held = cells(console)
        if len(row) > held:
            show(console, Text(f"  {day}"))
        for start in range(0, len(row), held):
            part = row[start : start + held]
            label = day if len(row) <= held else f"  {start:02d}-{start + len(part) - 1:02d}"
            show(console, Text(f"  {label:<{LABEL - 2}.{LABEL - 3}}" + "".join(f"{cell(value):>{CELL}}" for value in part)))


def cells(console: Console) -> int:
    """Hours that one line holds."""
    return next((n for n in (24, 12, 8, 6) if LABEL + n * CELL <= console.width), 4)


def cell(value: float) -> str:
    """A number in at most four characters; one decimal below 10 if it has any.

    >>> cell(3.0), cell(2.25), cell(157.4), cell(11021.0)
    ('3', '2.2', '157', '11k')
    """
    if value >= 999.5:
        return f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 9.95 or value == round(value) else f"{value:.1f}"


def _flows(console: Console, plan: Plan, bill: Bill) -> None:
    section(console, "Who serves what")
    listing = table("class", "requests a month", "tokens in / out", "served by", "share", right=(1, 2, 4))
    flows, demand = tables.flow_table(plan).named(), plan.demand
    for c, name in enumerate(plan.program.class_names):
        total = float(dot(demand.mean_rps[c], demand.weight_h)) * 3600
        first = (name, count(total), f"{demand.input_tokens[c]:,.0f} / {demand.output_tokens[c]:,.0f}")
        for k, flow in enumerate(row for row in flows if row["class"] == name):
            target, share = str(flow["target"]), flow["share"]
            style = "red" if target == tables.UNSERVED else ""
            listing.add_row(*(first if k == 0 else ("", "", "")), Text(_label(plan, target), style=style), percent(float(share or 0)))
    show(console, listing)


def _promises(console: Console, plan: Plan, bill: Bill) -> None:
    section(console, "Promises, each in its worst hour")
    proof = plan.verification
    if proof is None or not proof.verdicts:
        show(console, Text("not simulated"))
        return
    columns = ("class", "promise", "simulated", "95 % interval", "attained", "requests", "hour", "")
    listing = table(*columns, right=(2, 3, 4, 5))
    for v in proof.verdicts:
        listing.add_row(
            plan.program.class_names[v.row.class_index],
            promise(v.row.metric, v.row.quantile, v.row.limit_s),
            duration(v.simulated_s),
            f"{duration(v.ci95_s[0])} .. {duration(v.ci95_s[1])}",
            percent(v.attainment),
            f"{v.requests:,}",
            v.hour,
            Text("met", style="green") if v.met else Text("MISSED", style="bold red"),
        )
    show(console, listing)
    hours = "hour" if len(proof.hours) == 1 else "hours"
    seeds = f"{seeds_used(proof)} seeds each, from {proof.seeds[0]} on"
    words = f"{proof.requests_simulated:,} requests in {len(proof.hours)} {hours}, {seeds}; round {plan.rounds}"
    show(console, Text(words, style="dim"))


def _changes(console: Console, plan: Plan, _: Bill) -> None:
    """What users feel when the timetable changes: of each change that was played, the promise that its first minutes keep least."""
    proof = plan.verification
    changes = [each for each in proof.played if each.moves] if proof is not None else []
    if not changes:
        return
    minutes = f"first {changes[0].soon_s / 60:g} min"
    section(console, "Changes of the timetable, each after the hour before it")
    listing = table("hour", "hosts", "class", "promise", minutes, "attained", "hour", "attained", "", right=(4, 5, 6, 7))
    for each in changes:
        hosts = "; ".join(_move(move) for move in each.moves)
        whole = {verdict.row: verdict for verdict in each.verdicts}
        pairs = [(verdict, whole[verdict.row]) for verdict in each.soon if verdict.row in whole]
        if not pairs:
            continue
        soon, hour = min(pairs, key=lambda pair: (pair[1].met, pair[0].attainment - pair[0].row.quantile))
        listing.add_row(
            each.hour,
            hosts,
            plan.program.class_names[hour.row.class_index],
            promise(hour.row.metric, hour.row.quantile, hour.row.limit_s),
            duration(soon.simulated_s),
            percent(soon.attainment),
            duration(hour.simulated_s),
            percent(hour.attainment),
            Text("met", style="green") if each.met else Text("MISSED", style="bold red"),
        )
    show(console, listing)


def _move(move: HostMove) -> str:
    """Hosts of one pool, by its offer, before and after the full hour, and how long they are held beyond it."""
    early = f", up {move.lead_s / 60:g} min early" if move.lead_s and move.after > move.before else ""
    late = f", gone within {move.linger_s / 60:g} min" if move.linger_s and move.after < move.before else ""
    return f"{move.pool.split('/')[0]} {move.before} -> {move.after}{early}{late}"


def _trust(console: Console, plan: Plan, bill: Bill) -> None:
    """Errors of the step cost by pool, what they do to the verdict, and the pilot that would settle it."""
    found = plan.uncertainty
    if found is not None and not found.pools and plan.chance is not None:
        _listed(console, "How far to trust it", confidence_words.sentences(plan, bill))
    if found is None or not found.pools:
        return
    section(console, "How far to trust it: error on measurements not seen, median / 90th percentile")
    listing = table(*uncertainty_table.COLUMNS, right=(3, 4, 5, 6))
    for name, *cells in uncertainty_table.error_rows(found):
        listing.add_row(_label(plan, name), *cells)
    show(console, listing)
    money = None if found.safety_usd is None else bill.money(cents_of(plan, found.safety_usd))
    bullets(console, [*confidence_words.sentences(plan, bill), *uncertainty_table.sentences(found, money)])
    if found.pilot is not None:
        serve, load, *runs, fit = found.pilot.commands
        rest = f"and {len(runs)} shorter runs: uncertainty_table.pilot.commands in plan.json"
        show(console, Text("\n".join((serve, load, rest, fit)), style="dim"))


def _alternatives(console: Console, plan: Plan, bill: Bill) -> None:
    if not plan.alternatives:
        return
    section(console, "Instead of this plan")
    whole = {row.name: row for row in all_in(plan)}
    heads = ["all-in"] if any(row.parts for row in whole.values()) else []
    listing = table("", f"{bill.currency} a month", "against plan", *heads, "status", "", right=(1, 2, 3)[: 2 + len(heads)])
    for other in tables.alternatives_table(plan, bill).named():
        name, amount, difference = str(other["name"]), other["per_month"], other["difference"]
        cost = "-" if amount is None else f"{amount:,.2f}"
        sums = "-" if amount is None else open_or_sum(whole[name], lambda usd: f"{cents_of(plan, usd) / 100:,.2f}")
        more = "" if difference is None or not bill.total else f"{100 * float(difference) / (bill.total / 100):+.0f} %"
        how = "" if other["simulated"] or amount is None else "not simulated"
        words = "; ".join(word for word in (how, str(other["note"])) if word)
        listing.add_row(name, cost, more, *[sums for _ in heads], str(other["status"]).replace("_", " "), Text(words, style="dim"))
    show(console, listing)


def _causes(console: Console, plan: Plan, bill: Bill) -> None:
    """The bill by class; `marginal` is what a thousand requests more would cost, hosts divisible."""
    rows = decision_why.class_rows(plan)
    if len(rows) < 2:
        return
    section(console, f"Who causes the cost, {bill.currency}")
    listing = table("class", "a month", "per 1,000 requests", "marginal per 1,000", "dearest hour", "marginal there", right=(1, 2, 3, 5))
    for name, cost, each, marginal, hour, top in rows:
        listing.add_row(name, f"{cost:,.2f}", f"{each:.4f}", "-" if marginal is None else f"{marginal:.4f}", hour, f"{top:.4f}")
    show(console, listing)


def _prices(console: Console, plan: Plan, bill: Bill) -> None:
    """List prices next to quoted, contracted and claimed ones, of what the plan buys, and what to heed in them; own or rent."""
    money = Money(plan)
    lines = price_table.price_lines(money.prices)
    if lines:
        section(console, "Price book, USD")
        heads, right, rows = price_table.told(lines)
        listing = table(*heads, right=right)
        for cells in rows:
            listing.add_row(*cells)
        show(console, listing)
    warned = money.fresh_warnings()
    rest = [f"and {len(warned) - LISTED} more: `finance.price_warnings` in plan.json"] if warned[LISTED:] else []
    _listed(console, "Own or rent", [*money.owned_fleet.sentences(), *(f"{_label(plan, row.pool)}: {row.sentence}" for row in money.own)])
    _listed(console, "Price book warns", warned[:LISTED] + rest)


def _why(console: Console, plan: Plan, bill: Bill) -> None:
    """What one more is worth, where it is narrow, what binds, where the answer changes, other demand, the quality of answers."""
    band = [
        f"{per_user:g} requests per user-day: {bill.money(cents_of(plan, usd))} a month"
        for per_user, usd in plan.demand_band
        if math.isfinite(usd)
    ]
    for title, lines in (
        ("Quality of answers", quality_lines(plan, bill)),
        *decision_why.sections(plan, bill),
        ("What binds", list(plan.binding)),
        ("Where the answer changes", told_flips(plan)),
        ("At another demand", band),
    ):
        _listed(console, title, lines)


def _candidates(console: Console, plan: Plan, bill: Bill) -> None:
    dropped = [f"{d.name}: {d.reason}" for d in plan.dropped]
    more = len(dropped) - LISTED
    rest = [f"and {more} more: `dropped` in plan.json"] if more > 0 else []
    _listed(console, f"Dropped candidates ({len(dropped)})", dropped[:LISTED] + rest)


def _warnings(console: Console, plan: Plan, bill: Bill) -> None:
    _listed(console, "Warnings", plan.warnings)


def _assumptions(console: Console, plan: Plan, bill: Bill) -> None:
    _listed(console, "Assumptions", plan.assumptions)


def _solver(console: Console, plan: Plan, bill: Bill) -> None:
    solver = f"{plan.solution.solver}: {plan.solution.status.replace('_', ' ')}, gap {plan.solution.gap:.2%}"
    _listed(console, "Solver", [solver, *(f"{key}: {value}" for key, value in sorted(plan.extra.items()))])


def _listed(console: Console, title: str, lines: Sequence[str]) -> None:
    if lines:
        section(console, title)
        bullets(console, lines)


SECTIONS: dict[str, tuple[Callable[[Console, Plan, Bill], None], ...]] = {  # what `--show` names, in the order of the whole answer
    "cost": (_cost,),
    "fleet": (_hours, _flows),
    "promises": (_promises, _changes),
    "trust": (_trust,),
    "alternatives": (_alternatives,),
    "money": (_causes, _prices),
    "why": (_why,),
    "candidates": (_candidates,),
    "warnings": (_warnings,),
    "assumptions": (_assumptions,),
    "solver": (_solver,),
}


def sections_named(text: str) -> tuple[str, ...]:
    """The names in `text`, separated by commas. Raises InputError for one that is no section.

    >>> sections_named("fleet, trust"), sections_named("")
    (('fleet', 'trust'), ())
    """
    names = tuple(name for each in text.split(",") if (name := each.strip()))
    wrong = [name for name in names if name not in SECTIONS and name != "all"]
    if wrong:
        raise InputError(f'--show: there is no section "{wrong[0]}"; write {", ".join(SECTIONS)} or all')
    return names
