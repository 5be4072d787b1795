"""The decision on one page: verdict, cost, what demand does to it, what flips it, what to sign and what not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from optimize.money.all_in import all_in, on_top
from optimize.report.page.page_parts import bullets
from optimize.result import Plan
from optimize.tables.all_in_words import all_in_words, open_or_sum
from optimize.tables.bill_lines import cents_of
from optimize.tables.decision_why import no_plan_lines
from optimize.tables.finance_tables import Money, daily_users
from optimize.tables.phrases import bounds, headline, told_flips
from optimize.tables.plain_numbers import count
from optimize.tables.quality_table import verdict_words
from sim.plural import counted

FLIPS = 3
SHOWN = 3  # rented pools on the first page
WARNINGS = 4


def decision(plan: Plan, money: Money) -> str:
    """The top of the page, alone on its sheet in print."""
    good = " good" if plan.status == "met" else ""
    verdict = f'<div class="verdict{good}"><b>{escape(verdict_words(plan))}.</b> {escape(headline(plan, money.bill))}</div>'
    tiles = [
        _tile("Cost", _cost(plan, money)),
        _tile("If demand is another", band(plan, money)),
        _turns(plan, money),
        _tile("Instead of this plan", _others(plan, money)),
        _tile("Own GPUs or relays", edge_words(plan, money)),
        _tile("Own or rent", _own(money)),
        _tile(f"The next {counted(len(money.horizon.months), 'month')}", ahead(money)),
    ]
    warnings = list(dict.fromkeys([*plan.warnings, *money.fresh_warnings()]))
    if warnings:
        more = len(warnings) - WARNINGS
        shown = warnings[:WARNINGS] + ([f"and {more} more below"] if more > 0 else [])
        tiles.append(_tile("Before you sign", bullets(shown), " warn"))
    return f"<section class=decision>{verdict}<div class=tiles>{''.join(tiles)}</div></section>"


def _tile(title: str, inside: str, style: str = "") -> str:
    return f'<div class="tile{style}"><h3>{escape(title)}</h3>{inside}</div>'


def _turns(plan: Plan, money: Money) -> str:
    """What flips the answer; where there is no plan, what would make one."""
    if plan.why is not None and plan.why.no_plan is not None:
        return _tile("What would make a plan", bullets(no_plan_lines(plan, money.bill, plan.why.no_plan)[:FLIPS]))
    return _tile("What flips the answer", bullets(told_flips(plan)[:FLIPS]) or "<p>not examined</p>")


def _own(money: Money) -> str:
    """The pools that cost most to rent, each in a sentence."""
    rows = [f"{row.pool}: {row.sentence}" for row in sorted(money.own, key=lambda row: -row.rent_usd)]
    more = [f"and {counted(len(rows) - SHOWN, 'more pool')} below"] if len(rows) > SHOWN else []
    return bullets(rows[:SHOWN] + more) or "<p>this plan rents no hosts</p>"


def _cost(plan: Plan, money: Money) -> str:
    bill, budget = money.bill, plan.scenario.budget.per_month
    words = f"budget {bill.money(100 * budget)}" if math.isfinite(budget) else "no budget"
    return f"<p class=big>{escape(bill.money(bill.total))} a month</p><p>{escape(words)}</p><p class=dim>{escape(bounds(plan, bill))}</p>"


def band(plan: Plan, money: Money) -> str:
    """Cost at the ends of the demand band, re-planned; without one, at half and double demand with the capacities known."""
    if plan.demand_band:
        rows = [
            f"{per_user:g} requests per user-day: {money.bill.money(cents_of(plan, usd))} a month"
            for per_user, usd in plan.demand_band
            if math.isfinite(usd)
        ]
        return bullets(rows)
    at = {point.demand: point.plan_usd for point in money.break_even.points}
    known = [(what, at[k]) for k, what in ((0.5, "half"), (2.0, "twice")) if k in at and math.isfinite(at[k])]
    rows = [f"{what} today's requests: {money.bill.money(cents_of(plan, usd))} a month" for what, usd in known]
    return (bullets(rows) + "<p class=dim>solved again with the capacities known, not simulated</p>") if rows else "<p>not solved</p>"


def _others(plan: Plan, money: Money) -> str:
    """The cheapest alternatives, and what they cost more or less."""
    rows, whole = [], {row.name: row for row in all_in(plan)}
    for other in sorted((o for o in plan.alternatives if o.per_month_usd is not None), key=lambda o: o.per_month_usd or 0.0)[:3]:
        more = round(cents_of(plan, other.per_month_usd or 0.0)) - money.bill.total
        row = whole[other.name]
        sums = open_or_sum(row, lambda usd: money.bill.money(cents_of(plan, usd))) if row.parts or row.open else ""
        words = (
            f"{other.name}: {money.bill.money(money.bill.total + more)}{_more(more, money.bill.total)}",
            f"all-in {sums}" if sums else "",
            other.status.replace("_", " "),
        )
        rows.append(", ".join(filter(None, words)))
    return (bullets(rows) or "<p>none has a plan</p>") + "".join(f"<p>{escape(text)}</p>" for text in all_in_words(plan, money.bill))


def _more(cents: int, total: int) -> str:
    """How much dearer than the plan, in brackets.

    >>> _more(0, 100), _more(4, 10_000), _more(-1_200, 10_000)
    (' (the same)', ' (+0.04%)', ' (-12%)')
    """
    if not cents or not total:
        return " (the same)" if not cents else ""
    share = cents / total
    return f" ({share:+.0%})" if abs(share) >= 0.005 else f" ({share:+.2%})"


def edge_words(plan: Plan, money: Money) -> str:
    """From which demand on own GPUs are cheaper than relays, with the band of the simulator's error."""
    edge = money.break_even
    notes, (least, most) = bullets(edge.notes), (at_words(plan, x) for x in edge.examined)
    if all(point.api_usd is None for point in edge.points) or all(point.own_usd is None for point in edge.points):
        return notes
    if all(point.api_usd == point.own_usd for point in edge.points):
        words = "Every request goes where it must: own GPUs wherever possible and relays wherever possible are the same plan."
        return f"<p>{words}</p>" + notes
    notes = all_in_edge(plan, money) + notes
    if edge.at is None:
        return f"<p>At {escape(most)}, the largest demand solved, relays alone are cheaper than own GPUs alone.</p>" + notes
    if edge.below is None:
        return f"<p>At every demand solved, {escape(least)} to {escape(most)}, own GPUs alone are cheaper than relays alone.</p>" + notes
    words = (
        f"Own GPUs alone are cheaper than relays alone from {at_words(plan, edge.at)} on; at {at_words(plan, edge.below)} relays are. "
        "Both were solved."
    )
    ends = [at_words(plan, x) for x in (edge.at_low, edge.at_high) if x is not None]
    spread = f"{ends[0]} to {ends[1]} if the simulator is off by {edge.error:.0%} in capacity." if len(set(ends)) == 2 else ""
    return f"<p>{escape(words)}</p><p class=dim>{escape(spread)}</p>" + notes


def all_in_edge(plan: Plan, money: Money) -> str:
    """The same with what `finance` adds to both; that staff is open where it is."""
    if "staff" in on_top(plan.scenario.finance, 0.0, 1)[1]:
        return "<p class=dim>Without staff, which is open, not zero.</p>"
    edge = money.break_even
    if edge.all_in is None:
        return ""
    below, at = edge.all_in
    if at is None:
        words = f"All-in, relays alone are cheaper still at {at_words(plan, edge.examined[1])}."
    elif below is None:
        words = "All-in, own GPUs alone are cheaper at every demand solved."
    else:
        words = f"All-in, own GPUs alone are cheaper from {at_words(plan, at)} on; at {at_words(plan, below)} relays are."
    return f"<p>{escape(words)}</p>"


def at_words(plan: Plan, demand: float | None) -> str:
    """A demand in users where traffic is stated in them, else as a multiple of today's."""
    if demand is None:
        return "never"
    users = daily_users(plan)
    return f"{count(users * demand)} daily users" if users is not None else f"{demand:.3g} times today's demand"


def ahead(money: Money) -> str:
    """Cash, present value, and the next hosts."""
    seen, bill, plan = money.horizon, money.bill, money.plan
    rows = [f"{bill.money(cents_of(plan, seen.months[-1].cumulative_usd))} in all, the last month {_last(money)}"]
    for rate, usd in seen.present_usd.items():
        if rate is not None:
            known = "" if len(seen.present_usd) == 2 else ", which is open"
            rows.append(f"present value {bill.money(cents_of(plan, usd))} at {rate:.0%} cost of capital{known}")
    rows += [f"{pool}: {counted(then, 'host')} from {month} on (today {today})" for pool, month, then, today in seen.next_hosts]
    if not seen.next_hosts and any(terms.any() for terms in plan.solution.hosts):
        rows.append("no further hosts are needed")
    if seen.months[0].once_usd:
        back = seen.payback_months
        rows.append("one-off costs do not pay back" if back is None else f"one-off costs pay back against all-API in {back:.1f} months")
    return bullets(rows)


def _last(money: Money) -> str:
    return money.bill.money(cents_of(money.plan, money.horizon.months[-1].paid_usd))


def reproduce(manifest: Mapping[str, Any]) -> str:
    """The command, and the hashes of what went in."""
    if not manifest:
        return ""
    rows = [f"{row['path']}: sha256 {row['sha256'] or 'not readable'}" for row in manifest["inputs"]]
    rows += [f"catalogue of {manifest['catalog']['date']}: {manifest['catalog']['digest']}"]
    rows += [f"planning figures: sha256 {manifest['figures']['sha256']}"]
    rows += [", ".join(f"{name} {version}" for name, version in manifest["software"].items())]
    words = "Checks every input, makes the plan again and says whether it is identical: "
    again = f"<p>{words}<code>servemix rerun DIR</code>, DIR being the folder of this report.</p>"
    return f"<p><code>{escape(manifest['command'])}</code></p>{bullets(rows)}{again}"
