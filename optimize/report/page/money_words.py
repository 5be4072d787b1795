"""Break-even and the months ahead in sentences."""

from __future__ import annotations

from html import escape

from optimize.money.all_in import on_top
from optimize.report.page.page_parts import bullets
from optimize.result import Plan
from optimize.tables.bill_lines import cents_of
from optimize.tables.finance_tables import Money, daily_users
from optimize.tables.plain_numbers import count
from sim.plural import counted


def edge_words(plan: Plan, money: Money) -> str:
    """From which demand on own GPUs are cheaper than relays, with the band of the simulator's error."""
    edge = money.break_even
    notes, (least, most) = bullets(edge.notes), (at_words(plan, x) for x in edge.examined)
    if all(point.api_usd is None for point in edge.points) or all(point.own_usd is None for point in edge.points):
        return notes
    if all(point.api_usd == point.own_usd for point in edge.points):
        words = "Every request goes where it must: self-hosting and APIs wherever possible are the same plan."
        return f"<p>{words}</p>" + notes
    notes = all_in_edge(plan, money) + notes
    if edge.at is None:
        return f"<p>At {escape(most)}, the largest demand solved, APIs alone are cheaper than self-hosting alone.</p>" + notes
    if edge.below is None:
        return f"<p>At every demand solved, {escape(least)} to {escape(most)}, self-hosting alone is cheaper than APIs alone.</p>" + notes
    words = (
        f"Self-hosting alone is cheaper than APIs alone from {at_words(plan, edge.at)} on; at {at_words(plan, edge.below)} APIs are. "
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
        words = f"All-in, APIs alone are cheaper still at {at_words(plan, edge.examined[1])}."
    elif below is None:
        words = "All-in, self-hosting alone is cheaper at every demand solved."
    else:
        words = f"All-in, self-hosting alone is cheaper from {at_words(plan, at)} on; at {at_words(plan, below)} APIs are."
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
