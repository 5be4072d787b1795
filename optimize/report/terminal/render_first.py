"""The first screen: what to do, what it costs, whether the promise is kept, what else there is, what would change it."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from optimize.money.all_in import all_in
from optimize.records import SloVerdict
from optimize.report.terminal import render_grid
from optimize.report.terminal.console import show, table
from optimize.result import Plan
from optimize.tables.all_in_words import OPEN, all_in_words, open_or_sum, unit_words
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.confidence_words import one_line
from optimize.tables.decision_why import no_plan_lines
from optimize.tables.phrases import told_flips
from optimize.tables.plain_numbers import duration, percent, promise
from optimize.tables.quality_table import verdict_words
from optimize.tables.recommendation import BY_API, SELF_HOSTED, dearer, recommendation, replicas_line
from optimize.tables.short_names import alternative_name, names_of
from optimize.tables.tables import used_pools

MOST = 40  # lines of the first screen
LINES = 5  # of the bill, the fleet and the promises that the first screen names, fewer where they wrap; the rest is summed
FLIPS = 2
OTHERS = 3
NOTE, WARNING = 170, 70  # characters of a reason and of a warning
STATUS_STYLES = {"met": "bold green", "unverified": "bold yellow", "over_budget": "bold red"}
MORE = "More: --show all, or some of cost, fleet, promises, trust, money, why; --out DIR writes the report."


def first_screen(console: Console, plan: Plan, bill: Bill, whole: bool = False) -> None:
    """At most MOST lines in all for any plan, from the decision to the next step; `whole`: the sections follow, so none is advertised."""
    for rows in range(LINES, 0, -1):
        with console.capture() as written:
            _decision(console, plan, bill)
            _cost(console, plan, bill, rows)
            _fleet(console, plan, rows)
            _promises(console, plan, rows)
            _others(console, plan, bill, NOTE * rows // LINES)
            _next(console, plan, bill, whole)
        text = written.get()
        if printed(console) + text.count("\n") <= MOST:
            break
    console.file.write(text)


def printed(console: Console) -> int:
    """Lines that the console holds so far."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().count("\n")


def _decision(console: Console, plan: Plan, bill: Bill) -> None:
    console.print()
    word = Text(f"{verdict_words(plan)}.", style=STATUS_STYLES.get(plan.status, "bold red"))
    console.print(word + Text("  " + " ".join(recommendation(plan, bill))))


def _cost(console: Console, plan: Plan, bill: Bill, most: int) -> None:
    """The largest lines of the bill by their names for people, and what a request and a million tokens cost."""
    names = names_of(plan)
    lines = sorted(zip(bill.lines, plan.lines, strict=True), key=lambda each: -each[0])
    listing = table(f"Cost, {bill.currency} a month", "", "share", "", right=(1, 2))
    words = all_in_words(plan, bill)
    for cents, line in lines[:most]:
        listing.add_row(names.get(line.name, line.name), bill.money(cents), percent(cents / bill.total if bill.total else 0.0), line.detail)
    if rest := lines[most:]:
        cents = sum(each for each, _ in rest)
        listing.add_row(f"{len(rest)} smaller lines", bill.money(cents), percent(cents / bill.total if bill.total else 0.0), "")
    console.print()
    console.print(listing)
    per_unit = unit_words(plan, bill, sum(line.per_month_usd for line in plan.lines))
    if words == [OPEN]:
        per_unit, words = f"{per_unit}; staff for GPUs is open, not zero", []
    show(console, Text(per_unit, style="dim"))
    if words:
        console.print(Text(" ".join(words)))


def _fleet(console: Console, plan: Plan, most: int) -> None:
    """Replicas of the largest pools over the day, as bars; nothing without own GPUs or days of 24 hours."""
    pools, days = used_pools(plan), render_grid.days(plan.demand.slices)
    if not pools or days is None:
        return
    names, weight = names_of(plan), plan.demand.weight_h
    by_hours = sorted(pools, key=lambda p: -float(plan.solution.billed[p] @ weight))
    listing = table("Replicas, 0 to 23 h", *days, "")
    for p in by_hours[:most]:
        option = plan.program.pools[p].option
        replicas = plan.solution.hosts[p] * option.replicas_per_host
        top, least = int(replicas.max()), int(replicas.min())
        bars = [replicas_line(replicas[hours], top) for hours in days.values()]
        listing.add_row(names[option.id], *bars, f"{least} to {top}" if least != top else f"always {top}")
    if len(pools) > most:
        listing.add_row(f"{len(pools) - most} more pools", *["" for _ in days], "--show fleet")
    console.print()
    console.print(listing)


def _promises(console: Console, plan: Plan, most: int) -> None:
    """The promises that are nearest to their limit, missed ones first."""
    verdicts = plan.verification.verdicts if plan.verification is not None else ()
    console.print()
    if not verdicts:
        console.print(Text("Promises: not simulated."))
        return
    listing = table("Promises in their worst hour", "", "simulated", "attained", "", right=(2, 3))
    ordered = sorted(verdicts, key=_room)
    for verdict in ordered[:most]:
        row = verdict.row
        listing.add_row(
            plan.program.class_names[row.class_index],
            promise(row.metric, row.quantile, row.limit_s),
            duration(verdict.simulated_s),
            percent(verdict.attainment),
            Text("met", style="green") if verdict.met else Text("MISSED", style="bold red"),
        )
    console.print(listing)
    if rest := ordered[most:]:
        missed = sum(not each.met for each in rest)
        show(console, Text(f"{len(rest)} more, {'all met' if not missed else f'{missed} of them missed'}: --show promises", style="dim"))


def _room(verdict: SloVerdict) -> tuple[bool, float]:
    """Missed ones first, then by the part of the allowed misses that is used."""
    return verdict.met, -(1 - verdict.attainment) / max(1 - verdict.row.quantile, 1e-12)


def _others(console: Console, plan: Plan, bill: Bill, longest: int) -> None:
    """By API, self-hosted, and the cheapest of the others: what each costs, or why it is none."""
    ranked = sorted(plan.alternatives, key=lambda o: (o.name not in (BY_API, SELF_HOSTED), o.per_month_usd is None, o.per_month_usd or 0.0))
    if not ranked:
        return
    whole = {row.name: row for row in all_in(plan)}
    added = any(row.parts for row in whole.values())  # else all-in is the bill
    listing = table("Instead", f"{bill.currency} a month", "", *(["all-in"] if added else []), "", right=(1, 2, 3) if added else (1, 2))
    for other in ranked[:OTHERS]:
        cents = None if other.per_month_usd is None else cents_of(plan, other.per_month_usd)
        cost, more = (
            ("-", "")
            if cents is None
            else (bill.money(cents), dearer(cents, bill.total) or ("same" if bill.total > 0 or cents < 0.5 else ""))
        )
        note = _short(other.note, longest) if cents is None or other.status == "over_budget" else ""
        row = whole.get(other.name)
        sums = ["-" if row is None else open_or_sum(row, lambda usd: bill.money(cents_of(plan, usd)))] if added else []
        told = "; ".join(filter(None, (other.status.replace("_", " "), note)))
        listing.add_row(alternative_name(other.name), cost, more, *sums, Text(told, style="dim"))
    console.print()
    console.print(listing)


def _next(console: Console, plan: Plan, bill: Bill, whole: bool) -> None:
    """What would change the answer, what to heed, and where the rest is."""
    found = plan.why.no_plan if plan.why is not None else None
    lines = told_flips(plan)[1 : 1 + FLIPS] if found is None else no_plan_lines(plan, bill, found)[:LINES]
    if certainty := one_line(plan, bill):
        lines.append(certainty)
    elif plan.uncertainty is not None and plan.uncertainty.pilot is not None:
        pilot = plan.uncertainty.pilot
        lines.append(f"a pilot of {pilot.hours:g} h on {pilot.offer} would settle the largest doubt: --show trust")
    if plan.warnings:
        lines.append(f"warnings: {len(plan.warnings)}, the first: {_short(plan.warnings[0], WARNING)}")
    console.print()
    for line in lines:
        show(console, Text(f"- {line}"))
    if not whole:
        console.print(Text(MORE, style="dim"))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4].rsplit(' ', 1)[0]} ..."
