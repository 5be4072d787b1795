"""The decision on one sheet of paper: what is recommended, what it costs, what could go wrong, and where to sign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from optimize.money.all_in import AllIn, all_in
from optimize.money.price_book import STALE_DAYS, Price
from optimize.money.token_kinds import item_of
from optimize.report.page.page_parts import bullets
from optimize.result import Plan
from optimize.tables.all_in_words import all_in_words
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.decision_why import no_plan_lines
from optimize.tables.finance_tables import Money, sensitivity_rows
from optimize.tables.phrases import told_flips
from optimize.tables.plain_numbers import duration, percent
from optimize.tables.quality_table import verdict_words
from optimize.tables.recommendation import BY_API, SELF_HOSTED, dearer, recommendation
from optimize.tables.short_names import alternative_name, sensitivity_name

RISKS, WARNINGS, TURNS = 3, 4, 3
ALL_API = (BY_API, "all relay")
SELF = (SELF_HOSTED, "all self-hosted")
NOT_STATED = {"support": "support_usd_per_month", "contingency": "contingency_share", "tax": "tax_share"}
SIGNERS = ("Recommended by", "Approved by", "Date")


def sheet(plan: Plan, money: Money) -> str:
    """The first section of the page, alone on its sheet in print."""
    bill = money.bill
    good = " good" if plan.status == "met" else ""
    said = "".join(f"<p>{escape(line)}</p>" for line in recommendation(plan, bill))
    verdict = f'<div class="verdict{good}"><b>{escape(verdict_words(plan))}.</b> {said}</div>'
    figures = f"<div class=figures>{''.join(_tile(*each) for each in four_figures(plan, money))}</div>"
    left = _titled("All-in", bullets(all_in_lines(plan, bill))) + _titled(*_turns(plan, bill))
    right = _titled("Three risks and what they cost a month", bullets(risks(money))) + _titled(
        "Prices with weak evidence", bullets(weak_prices(money))
    )
    warnings = list(dict.fromkeys([*plan.warnings, *money.fresh_warnings()]))
    more = len(warnings) - WARNINGS
    shown = warnings[:WARNINGS] + ([f"and {more} more in the section Warnings"] if more > 0 else [])
    sign = f"<div class=signs>{''.join(f'<span>{word}</span>' for word in SIGNERS)}</div>"
    pair = f"<div class=pair><div>{left}</div><div>{right}</div></div>"
    return (
        f'<section id="decision" class="m e a decided"><h2>Decision</h2>{verdict}{figures}{pair}'
        f"{_titled('Before you sign', bullets(shown)) if shown else ''}{sign}</section>"
    )


def _tile(title: str, big: str, small: str) -> str:
    return f"<div class=tile><h3>{escape(title)}</h3><p class=big>{escape(big)}</p><p class=dim>{escape(small)}</p></div>"


def _titled(title: str, inside: str) -> str:
    return f"<h3>{escape(title)}</h3>{inside}" if inside else ""


def four_figures(plan: Plan, money: Money) -> list[tuple[str, str, str]]:
    """(title, figure, words): cost, saving against everything by API, promises, range of the cost."""
    bill, budget = money.bill, plan.scenario.budget.per_month
    words = f"budget {bill.money(100 * budget)}" if math.isfinite(budget) else "no budget"
    return [
        ("Cost a month", bill.money(bill.total), words),
        ("Against everything by API", *_against_api(plan, bill)),
        ("Promises kept", *_promises(plan)),
        ("If demand is another", *_range(plan, money)),
    ]


def _against_api(plan: Plan, bill: Bill) -> tuple[str, str]:
    other = next((o for o in plan.alternatives if o.name in ALL_API), None)
    if other is None:
        return "-", "not examined"
    if other.per_month_usd is None:
        return "-", "no such plan keeps every promise"
    more = round(cents_of(plan, other.per_month_usd)) - bill.total
    word = "saved" if more > 0 else "more expensive"
    today = plan.scenario.finance.today_usd_per_month
    less = "" if today is None else f"; against today's bill {bill.money(round(cents_of(plan, today)) - bill.total)} saved"
    if not more:
        return "same", f"everything by API where allowed is this plan{less}"
    return bill.money(abs(more)), f"a month {word}, by API {dearer(bill.total + more, bill.total) or 'the same'}{less}"


def _promises(plan: Plan) -> tuple[str, str]:
    verdicts = plan.verification.verdicts if plan.verification is not None else ()
    if not verdicts:
        return "not simulated", "built on capacities that were given"
    near = max(verdicts, key=lambda v: v.simulated_s / v.row.limit_s)
    name = f"{plan.program.class_names[near.row.class_index]} {near.row.metric.upper()}"
    nearest = f"nearest to its limit: {name}, {duration(near.simulated_s)} of {duration(near.row.limit_s)}"
    return f"{sum(v.met for v in verdicts)} of {len(verdicts)}", nearest


def _range(plan: Plan, money: Money) -> tuple[str, str]:
    """Cost at the ends of the demand band, else at a fifth less and more demand."""
    band = [(per_user, usd) for per_user, usd in plan.demand_band if math.isfinite(usd)]
    if len(band) > 1:
        low, high = band[0], band[-1]
        costs = [money.bill.money(cents_of(plan, usd)) for _, usd in (low, high)]
        return f"{costs[0]} to {costs[1]}", f"at {low[0]:g} to {high[0]:g} requests per user and day, planned anew"
    row = next((each for each in sensitivity_rows(money) if each[0] == "requests a month"), None)
    if row is None or not isinstance(row[2], float) or not isinstance(row[3], float):
        return "-", "not solved"
    return (
        f"{money.bill.money(100 * row[2])} to {money.bill.money(100 * row[3])}",
        "at a fifth less and more demand, planned anew, not simulated",
    )


def all_in_lines(plan: Plan, bill: Bill) -> list[str]:
    """Plan, everything by API and everything self-hosted with what comes on top; what has no figure; the saving against today."""
    rows = all_in(plan)
    named = [(names, next((row for row in rows if row.name in names), None)) for names in (ALL_API, SELF)]
    lines = [f"this plan: {_all_in(plan, bill, rows[0])}"]
    lines += [f"{alternative_name(names[0])}: {_all_in(plan, bill, row)}" for names, row in named if row is not None]
    lines += all_in_words(plan, bill)[-1:]
    missing = [name for name, key in NOT_STATED.items() if not getattr(plan.scenario.finance, key)]
    if missing:
        lines.append(f"not stated, and not in these figures: {', '.join(missing)}")
    today = plan.scenario.finance.today_usd_per_month
    if today is None:
        lines.append("saving against today: not known; write finance.today_usd_per_month")
    else:
        saved = round(cents_of(plan, today)) - bill.total
        lines.append(
            f"today's bill {bill.money(cents_of(plan, today))}: this plan costs {bill.money(abs(saved))} {'less' if saved >= 0 else 'more'}"
        )
    return lines


def _all_in(plan: Plan, bill: Bill, row: AllIn) -> str:
    parts = ", ".join(f"{name} {bill.money(cents_of(plan, usd))}" for name, usd in row.parts)
    before = f" before {' and '.join(row.open)}, open, not zero" if row.open else ""
    return f"{bill.money(cents_of(plan, row.usd))} a month{f' with {parts}' if parts else ''}{before}"


def _turns(plan: Plan, bill: Bill) -> tuple[str, str]:
    """What would change the answer; where there is no plan, what would make one."""
    if plan.why is not None and plan.why.no_plan is not None:
        return "What would make a plan", bullets(no_plan_lines(plan, bill, plan.why.no_plan)[:TURNS])
    return "What would change the answer", bullets(told_flips(plan)[:TURNS]) or "<p>not examined</p>"


def risks(money: Money) -> list[str]:
    """The inputs whose rise or fall costs most; one price only where prices of all GPUs or APIs do not tell more."""
    today = money.bill.total / 100
    found: list[tuple[float, str]] = []
    for name, change, low, high, _, _ in sensitivity_rows(money):
        ends = [(float(end) - today, word) for end, word in ((low, "lower"), (high, "higher")) if isinstance(end, int | float)]
        if not ends or (str(name).startswith("price: ") and len(found) >= RISKS):
            continue
        more, word = max(ends)
        if more > 0 and isinstance(change, float):
            found.append((more, f"{sensitivity_name(str(name))} {change:.0%} {word}: {money.bill.money(100 * more)} more"))
    whole = [each for each in found if "price of " not in each[1]]
    ranked = sorted(whole, key=lambda each: -each[0])[:RISKS]
    rest = [each for each in sorted(found, key=lambda each: -each[0]) if each not in ranked]
    return [text for _, text in [*ranked, *rest[: RISKS - len(ranked)]]]


def weak_prices(money: Money) -> list[str]:
    """The share of the spend at prices that are claimed, quoted without an end, without a date or old, and the largest of them."""
    spent: dict[tuple[str, str], int] = {}
    for charge, cents in zip(money.charges, money.cents, strict=True):
        key = (charge.source, item_of(charge.item))
        spent[key] = spent.get(key, 0) + cents
    weak = [
        (spent.get((price.name, price.item), 0), price, why) for price in money.prices.prices if price.used and (why := weakness(price))
    ]
    whole = sum(spent.values())
    total = sum(cents for cents, _, _ in weak)
    if not total or not whole:
        return ["none: every price that is paid is listed or agreed, with a date"]
    lines = [f"{percent(total / whole)} of the spend rests on them"]
    return lines + [
        f"{price.name}, {price.item}: {why}, {percent(cents / whole)}" for cents, price, why in sorted(weak, key=lambda e: -e[0])[:2]
    ]


def weakness(price: Price) -> str:
    """Why a price is weak evidence; empty where it is not."""
    if price.grade == "claimed":
        return "only the seller's claim"
    if price.state:
        return price.state
    if price.agreed:
        return ""
    if price.grade == "quote":
        return "a quote without a last day"
    if price.age_days is None:
        return "without a date"
    return f"{price.age_days} days old" if price.age_days > STALE_DAYS else ""


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
