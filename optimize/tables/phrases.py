"""Words and numbers as people read them: the same in every report."""

from __future__ import annotations

import math

from optimize.finance.announced_prices import leaves
from optimize.money.amounts import above_budget_cents
from optimize.money.price_book import lapsed_words
from optimize.records import Flip, Verification
from optimize.result import Plan
from optimize.search.fresh_seeds import RISK, risk, windows_of
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.plain_numbers import percent
from optimize.tables.tables import UNSERVED, bought_names, flow_table
from sim.plural import counted, plural

STATUS_WORDS = {
    "met": "MET",
    "unverified": "UNVERIFIED",
    "over_budget": "OVER BUDGET",
    "infeasible": "NO PLAN",
    "missed": "MISSED",
}


FEW = 200  # requests over all seeds that a promise should have seen: below, a 95th percentile is a matter of ten requests


def seeds_used(proof: Verification) -> str:
    """How many hold-out seeds the hours took: "10", or "4 to 10"."""
    counts = proof.seeds_by_hour or (len(proof.seeds),)
    return str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def headline(plan: Plan, bill: Bill) -> str:
    """The verdict in one or two sentences, what announced prices make of it within the horizon, and contracts that do not hold."""
    return " ".join([verdict_sentences(plan, bill), *announced_sentences(plan, bill), *lapsed_words(plan.scenario, bought_names(plan))])


def announced_sentences(plan: Plan, bill: Bill) -> list[str]:
    """When the plan leaves its budget because of announced prices, or cannot be bought, within the horizon; empty: it does not."""
    words = []
    for each in leaves(plan) if plan.status in ("met", "missed", "unverified") else ():
        why = "; ".join(each.words)
        if each.per_month_usd is None:
            words.append(f"From {each.label} on it cannot be bought as it is ({why}).")
            continue
        then = cents_of(plan, each.per_month_usd)
        over = bill.money(above_budget_cents(then, plan.scenario.budget.per_month))
        cost = f"up to {bill.money(then)} a month at today's demand, {over} above the budget"
        words.append(f"But from {each.label} on the same plan costs {cost} ({why}).")
    return words


def verdict_sentences(plan: Plan, bill: Bill) -> str:
    """What was simulated, and cost against budget."""
    cost = f"{bill.money(bill.total)} a month"
    over = above_budget_cents(bill.total, plan.scenario.budget.per_month)
    room = f"{bill.money(abs(over))} {'above' if over > 0 else 'below'} the budget"
    proof = plan.verification
    if plan.status == "met" and proof is not None:
        held = held_words(plan, proof)
        fewest = min((v.requests for v in proof.verdicts), default=0)
        held += unanswered_words(plan, proof)
        return f"{cost}, {room}. {held}" + (f" One of them was seen by {fewest} requests only: that proves little." if fewest < FEW else "")
    if plan.status == "missed" and proof is not None:
        missed, unsure = sum(not v.kept for v in proof.verdicts), sum(v.kept and not v.met for v in proof.verdicts)
        of = f"of {counted(len(proof.verdicts), 'promise', 'promises')}"
        told = [f"{missed} {of} {plural(missed, 'is', 'are')} missed in simulation"] if missed else []
        told += [f"{unsure} {of} {plural(unsure, 'holds', 'hold')} on average, but not surely in a fresh hour"] if unsure else []
        return f"{cost}, {room}, but {' and '.join(told)}."
    if plan.status == "unverified":
        why = "Too few requests come to judge a promise."
        if proof is None:
            why = "Built on capacities that you measured; nothing was simulated."
        return f"{cost}, {room}. {why}"
    if plan.status == "over_budget" and proof is not None and not unserved(plan):
        return f"No plan inside the budget holds. {cost}, {room}, would: {held_words(plan, proof)}"
    served = "; ".join(unserved(plan)) or "not every request can be served"
    what = "no plan fits the budget" if plan.status == "over_budget" else "no plan keeps every promise"
    return f"{what[0].upper()}{what[1:]}. For {cost}: {served}."


def held_words(plan: Plan, proof: Verification) -> str:
    """What was simulated, and how sure it is: the risk of the sequential test that the verdict rests on."""
    hours = len(plan.demand.slices)
    span, chance = ("week", RISK) if hours > 1 else ("hour", risk(1))
    sure = f"a fresh {span} breaks one with at most {percent(chance)} chance"
    most = max(proof.seeds_by_hour or (len(proof.seeds),))
    looked = f"{counted(len(proof.hours), 'hour')} on {seeds_used(proof)} hold-out {plural(most, 'seed')}"
    return f"Every promise held in {proof.requests_simulated:,} simulated requests, {looked}; {sure}{together_words(plan, proof)}."


def together_words(plan: Plan, proof: Verification) -> str:
    """Which classes have so few requests that their promises are judged over several hours together; empty where none has."""
    seeds, hours = dict(zip(proof.hours, proof.seeds_by_hour, strict=False)), dict[str, float]()
    for each in proof.verdicts:
        name = plan.scenario.request_classes[each.row.class_index].name
        an_hour = each.requests / max(seeds.get(each.hour, len(proof.seeds)), 1)
        hours[name] = max(hours.get(name, 1.0), float(windows_of(an_hour, each.row.quantile)))
    few = [f"{name} over {math.ceil(count)} hours" for name, count in hours.items() if count > 1]
    return f"; judged together, because few requests come: {', '.join(few)}" if few else ""


NOTABLE = 0.001  # share of a class's requests without an answer, from which the verdict says so


def unanswered_words(plan: Plan, proof: Verification) -> str:
    """Which classes have requests that no one answers although the promises hold; empty where none has a notable share."""
    worst = proof.unanswered()
    told = [f"{percent(share)} of {plan.program.class_names[c]}" for c, share in sorted(worst.items()) if share >= NOTABLE]
    return f" Never answered, because they fit no context, fail or do not end: {', '.join(told)}." if told else ""


def unserved(plan: Plan) -> list[str]:
    """For each class with unserved demand, the share that goes without."""
    rows = (row for row in flow_table(plan).named() if row["target"] == UNSERVED)
    return [f"{row['class']} leaves {percent(float(row['share'] or 0))} unserved" for row in rows]


NO_BOUND = 0.999  # gap from which a bound says nothing


def bounds(plan: Plan, bill: Bill) -> str:
    """What no plan can undercut, by two arguments, and how far above them this one is.

    A plan that leaves requests out may cost less than any that serves them: then only what serving them takes is said.
    """
    words = []
    model, fluid = cents_of(plan, plan.solution.model_bound_usd), cents_of(plan, plan.fluid_bound_usd)
    if plan.status in ("over_budget", "infeasible"):
        told = plan.status == "over_budget" and math.isfinite(fluid)
        return f"serving every request costs at least {bill.money(fluid)}, whatever the plan (fluid bound)" if told else ""
    at_all = "no plan from these candidates, reserve or not," if reserves(plan) else "no plan from these candidates"
    for name, bound, what in (("model bound", model, "no plan of this program"), ("fluid bound", fluid, at_all)):
        if not math.isfinite(bound) or bill.total <= 0:
            continue
        gap = (bill.total - bound) / bill.total
        if gap > NO_BOUND:
            words.append(f"{name}: none was found")
            continue
        if gap <= -0.0005:  # below, cents are rounded
            words.append(f"{name} {bill.money(bound)}: simulation allowed {-gap:.1%} less than the program's margin asks")
        else:
            words.append(f"{name} {bill.money(bound)} (gap {max(gap, 0.0):.1%}): {what} costs less")
    parts = plan.gap_parts
    if parts is not None and parts.total_usd > parts.least_usd + 0.005:
        words.append(causes(plan, bill))
    return "; ".join(words)


def causes(plan: Plan, bill: Bill) -> str:
    """What of the cost has which cause, in the order in which they are removed; the reserve only where policy asks for one."""
    parts, asked = plan.gap_parts, reserves(plan)
    assert parts is not None
    shares = [(parts.reserve_usd, f"for the reserve ({' and '.join(asked)})")] if asked else []
    shares += [(parts.margin_usd, "for the margin"), (parts.integrality_usd, "for whole hosts")]
    shares.append((parts.pooling_usd, "for small pools"))
    told = ", ".join(f"{bill.money(cents_of(plan, usd))} {why}" for usd, why in shares)
    return f"of the cost, {told}; the rest is {bill.money(cents_of(plan, parts.least_usd))}"


def reserves(plan: Plan) -> list[str]:
    """The keys of policy that keep something in reserve."""
    return [f"policy.{name}" for name in ("n_plus_one", "relay_outage_reserve") if getattr(plan.program, name)]


def told_flips(plan: Plan) -> list[str]:
    """Where the answer flips, nearest to today first.

    Account limits of which the plan needs less than half are left out where the explanation tells how near each relay is to them.
    """

    def distance(flip: Flip) -> float:
        known = flip.flips_at is not None and flip.flips_at > 0 and flip.today > 0
        return abs(math.log(flip.flips_at / flip.today)) if known else math.inf  # type: ignore[operator]

    far = [f for f in plan.flips if f.name.endswith(" per minute") and distance(f) > math.log(2)]
    kept = [flip for flip in plan.flips if plan.why is None or flip not in far]
    return [flip.sentence for flip in sorted(kept, key=distance)]


def pool_label(pool_id: str, classes: int) -> str:
    """A pool's id for a narrow screen: a pool for every one of three or more classes says "all" instead of listing them.

    >>> pool_label("o/m/fp8:a+b+c", 3), pool_label("o/m/fp8:a+b", 3)
    ('o/m/fp8:all', 'o/m/fp8:a+b')
    """
    shape, colon, names = pool_id.rpartition(":")
    return f"{shape}:all" if colon and classes > 2 and names.count("+") == classes - 1 else pool_id
