"""The decision in sentences: what to rent, reserve or buy, what it costs, what the others cost, and what would change it."""

from __future__ import annotations

import math

from optimize.money import HOUR_S
from optimize.money.amounts import above_budget_cents
from optimize.records import Alternative, Ints
from optimize.result import Plan
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.phrases import headline, told_flips
from optimize.tables.plain_numbers import percent
from optimize.tables.short_names import acquired, company, gpus_of
from optimize.tables.tables import used_pools, used_relays
from sim.plural import counted

BY_API, SELF_HOSTED = "relays wherever allowed", "own GPUs wherever possible"  # names of alternatives
RELAYS = 3  # named in a sentence
BARS = "▁▂▃▄▅▆▇█"
NOT_EXAMINED = "prices and volumes were not examined, `servemix whatif` does"
WHOLE = 0.995  # of a class: all of it, for people


def recommendation(plan: Plan, bill: Bill) -> list[str]:
    """Sentences in the order in which a manager asks: what to do, at what cost, against what, and until when it holds."""
    if plan.status in ("over_budget", "infeasible") and not any([*_hosts(plan), *_calls(plan)]):
        return [nothing_bought(plan, bill), *rivals(plan, bill)]
    if plan.status in ("over_budget", "infeasible"):
        told = plan.why is not None and plan.why.no_plan is not None  # what would make a plan is said below
        return [headline(plan, bill), f"The closest found: {_lower(to_do(plan))}", *rivals(plan, bill), *([] if told else change(plan))]
    return [to_do(plan), headline(plan, bill), *rivals(plan, bill), *change(plan)]


def nothing_bought(plan: Plan, bill: Bill) -> str:
    """Why nothing at all is bought: what the cheapest plan costs, or which promises no candidate keeps, each with the nearest miss."""
    found = plan.why.no_plan if plan.why is not None else None
    if found is not None and found.smallest_budget_usd is not None:
        least = cents_of(plan, found.smallest_budget_usd)
        over = bill.money(above_budget_cents(least, plan.scenario.budget.per_month))
        return f"The budget buys no plan, not even in part. The cheapest costs {bill.money(least)} a month, {over} above the budget."
    names = ", ".join(plan.program.class_names)
    why = [*found.binding, *found.late][:1] if found is not None else []
    return f"No candidate keeps every promise of {names}, so nothing is bought{': ' if why else ''}{''.join(why)}."


def to_do(plan: Plan) -> str:
    """What to rent, reserve, run and buy, in one sentence; what is left out is not said here.

    "Rent 6 to 24 H100 by the hour from Verda for llama-3.3-70b; buy all reasoning requests from DeepSeek (deepseek-v4-flash)."
    """
    words = "; ".join([*_hosts(plan), *_calls(plan)]) or "there is nothing to buy"
    return f"{_upper(words)}."


def _upper(words: str) -> str:
    return words[0].upper() + words[1:]


def _lower(words: str) -> str:
    return words[0].lower() + words[1:]


def _hosts(plan: Plan) -> list[str]:
    """One clause per offer: GPUs in the least and the most busy hour, and the models that they run."""
    by_offer: dict[str, list[int]] = {}
    for p in used_pools(plan):
        by_offer.setdefault(plan.program.pools[p].option.offer.id, []).append(p)
    clauses = []
    for pools in by_offer.values():
        offer = plan.program.pools[pools[0]].option.offer
        hosts = plan.solution.billed[pools].sum(axis=0)
        least, most = int(hosts.min()), int(hosts.max())
        amount = gpus_of(offer, most) if least == most else f"{least * offer.gpus:,} to {gpus_of(offer, most)}"
        models = dict.fromkeys(d.model.id for p in pools if (d := plan.program.pools[p].option.deployment))
        what = f" for {' and '.join(models)}" if models else ""
        clauses.append(acquired(offer, amount) + what)
    return clauses


def _calls(plan: Plan) -> list[str]:
    """One clause for all relays: which share of which class is bought from whom."""
    month_s = plan.demand.weight_h * HOUR_S
    total = plan.demand.mean_rps @ month_s
    sold = []
    for a in used_relays(plan):
        requests = plan.solution.relay_flow[a] @ month_s
        relay = plan.program.relays[a].relay
        who = [_share(name, requests[c] / total[c]) for c, name in enumerate(plan.program.class_names) if requests[c] > 0.0005 * total[c]]
        if who:
            sold.append((float(requests.sum()), f"{' and '.join(who)} from {company(relay.vendor)} ({relay.model})"))
    told = [words for _, words in sorted(sold, key=lambda each: -each[0])]
    more = len(told) - RELAYS
    rest = [f"the rest from {counted(more, 'more relay')}"] if more > 0 else []
    parts = [*told[:RELAYS], *rest]
    return [f"buy {', '.join(parts[:-1])}{' and ' if parts[:-1] else ''}{parts[-1]}"] if parts else []


def _share(name: str, share: float) -> str:
    return f"all {name} requests" if share >= WHOLE else f"{percent(round(share, 3))} of {name}"


def rivals(plan: Plan, bill: Bill) -> list[str]:
    """How much dearer everything by API and everything self-hosted would be, or that no such plan keeps the promises."""
    named = {other.name: other for other in plan.alternatives}
    both = ((BY_API, "By API wherever allowed"), (SELF_HOSTED, "Self-hosted wherever possible"))
    return [f"{words}: {_against(plan, bill, named[name])}." for name, words in both if name in named]


def _against(plan: Plan, bill: Bill, other: Alternative) -> str:
    if other.per_month_usd is None:
        return "no such plan keeps every promise"
    cents = cents_of(plan, other.per_month_usd)
    same = "the same plan" if bill.total > 0 or cents < 0.5 else f"{bill.money(cents)} a month"  # nothing bought compares with nothing
    return (dearer(cents, bill.total) or same) + (", over budget" if other.status == "over_budget" else "")


def dearer(cents: float, total: float) -> str:
    """The difference to the plan in percent; empty where there is none.

    >>> dearer(133.0, 100.0), dearer(100.0, 100.0), dearer(10_020, 10_000)
    ('+33 %', '', '+0.2 %')
    """
    if abs(cents - total) < 0.5 or total <= 0:
        return ""
    share = 100 * (cents / total - 1)
    return f"{share:+.0f} %" if abs(share) >= 0.95 else f"{share:+.1f} %"


def change(plan: Plan) -> list[str]:
    """The nearest price, volume or limit at which the answer changes, or that none was looked for."""
    flips = told_flips(plan)
    return [f"What would change this: {flips[0] if flips else NOT_EXAMINED}."]


def replicas_line(values: Ints, top: int) -> str:
    """One bar an hour, `top` replicas as the highest; an hour without any is a dot.

    >>> import numpy as np
    >>> replicas_line(np.array([0, 1, 4, 8]), 8)
    '·▁▄█'
    """
    return "".join(BARS[max(0, math.ceil(8 * value / top) - 1)] if value > 0 else "·" for value in values)
