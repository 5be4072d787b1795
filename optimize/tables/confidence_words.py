"""How sure a plan is, in words and plain values: the same in every report."""

from __future__ import annotations

import math
from typing import Any

from optimize.result import Chance, Confidence, PilotWorth, Plan, Rung
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.plain_numbers import percent

NAMED = 3  # deployments of which the longer steps are told


def whole_percent(share: float) -> str:
    """A chance in whole per cent, never rounded up.

    >>> whole_percent(0.8), whole_percent(0.7999), whole_percent(0.955)
    ('80 %', '79 %', '95 %')
    """
    return f"{math.floor(round(100 * share, 6))} %"


def verdict_chance(chance: Chance | None) -> str:
    """What follows MET: the chance that was asked for, or the lower one that was found, less its own error; empty where none was asked for.

    >>> verdict_chance(None)
    ''
    """
    if chance is None:
        return ""
    share = chance.target if chance.share + chance.half_width >= chance.target else chance.share
    return f" with {whole_percent(share)} confidence"


def sentences(plan: Plan, bill: Bill) -> list[str]:
    """The chance, what breaks first, the ladder and the pilots; nothing where no chance was asked for."""
    chance, found = plan.chance, plan.uncertainty.confidence if plan.uncertainty is not None else None
    if chance is None:
        return []
    words = [chance_words(chance), *step_words(chance)]
    words += [f"Breaks first: {each.promise} at {each.hour}, in {percent(each.share)} of them." for each in chance.blame[:1]]
    if found is None:
        return words
    return [*words, *ladder_words(plan, bill, found), *order_words(found), *(pilot_words(plan, bill, each) for each in found.pilots)]


def chance_words(chance: Chance) -> str:
    """The chance, how it was found, and its sampling error."""
    hours, share = ", ".join(chance.hours), f"{percent(chance.share)} (+/- {100 * chance.half_width:.1f})"
    return (
        f"Every promise holds in {share} of {chance.draws:,} draws of what the simulator, relays and forecast may be wrong by; "
        f"asked for: {whole_percent(chance.target)}. Played in {hours}."
    )


def step_words(chance: Chance) -> list[str]:
    """How much longer than simulated steps were planned for."""
    longer = sorted(chance.steps.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"{name} {100 * (factor - 1):+.0f} %" for name, factor in longer[:NAMED])
    rest = f" and {len(longer) - NAMED} more" if longer[NAMED:] else ""
    return (
        [f"Planned for steps that differ from the simulated ones by: {told}{rest}; the latencies shown are those of such steps."]
        if told
        else []
    )


def ladder_words(plan: Plan, bill: Bill, found: Confidence) -> list[str]:
    """A line per rung: chance, cost, fleet, and what the step from the rung below costs."""
    lines, before = [], None
    for rung in found.ladder:
        cost = None if rung.usd is None else cents_of(plan, rung.usd)
        more = "" if cost is None or before is None else f", {bill.money(cost - before)} more"
        proved = " (this plan)" if rung.proved else ""
        lines.append(
            f"{whole_percent(rung.chance)} confidence{proved}: no plan serves everything"
            if cost is None
            else f"{whole_percent(rung.chance)} confidence{proved}: {bill.money(cost)} a month{more}; {rung.fleet}"
        )
        before = cost
    return (
        [*lines, "Only this plan's line is proved by simulation; the others are its program with pools as slow as those chances ask."]
        if lines
        else []
    )


def order_words(found: Confidence) -> list[str]:
    """Whether own GPUs or relays cost less whatever the engines' true speed."""
    if found.own_wins is None:
        return []
    winner, share = ("own GPUs", found.own_wins) if found.own_wins >= 0.5 else ("relays", 1 - found.own_wins)
    other = "relays" if winner == "own GPUs" else "own GPUs"
    return [f"Planned for the engines' true speed, {winner} cost less than {other} in {percent(share)} of the draws."]


def pilot_words(plan: Plan, bill: Bill, worth: PilotWorth) -> str:
    """What a pilot is expected to save a month, next to its price."""
    pilot, saved = worth.pilot, cents_of(plan, worth.saves_usd)
    head = f"A pilot of {pilot.deployment} ({pilot.offer}, {pilot.hours:g} h, about ${pilot.usd:,.2f})"
    if saved < 100:
        return f"{head} is not expected to make the plan cheaper at the same confidence."
    return f"{head} saves {bill.money(saved)} a month in expectation at the same confidence."


def one_line(plan: Plan, bill: Bill) -> str:
    """The ladder in one line, and the pilot that pays best; empty without a ladder."""
    found = plan.uncertainty.confidence if plan.uncertainty is not None else None
    if found is None or not found.ladder:
        return ""
    rungs = ", ".join(f"{whole_percent(rung.chance)} {_cost(plan, bill, rung)}" for rung in found.ladder)
    best = next((each for each in found.pilots if cents_of(plan, each.saves_usd) >= 100), None)
    pilot = (
        f"; a pilot for ${best.pilot.usd:,.0f} saves {bill.money(cents_of(plan, best.saves_usd))} a month in expectation" if best else ""
    )
    return f"certainty costs, a month: {rungs}{pilot}: --show trust"


def _cost(plan: Plan, bill: Bill, rung: Rung) -> str:
    return "no plan" if rung.usd is None else bill.money(cents_of(plan, rung.usd))


def confidence_json(plan: Plan) -> dict[str, Any] | None:
    """The same as plain values, money in the scenario's currency; None where no chance was asked for."""
    chance, found = plan.chance, plan.uncertainty.confidence if plan.uncertainty is not None else None
    if chance is None:
        return None

    def money(usd: float | None) -> float | None:
        return None if usd is None else round(cents_of(plan, usd)) / 100

    return {
        "target": chance.target,
        "chance": round(chance.share, 6),
        "half_width": round(chance.half_width, 6),
        "draws": chance.draws,
        "hours": list(chance.hours),
        "planned_at": chance.planned_at,
        "steps": dict(chance.steps),
        "breaks": [{"promise": each.promise, "hour": each.hour, "share": round(each.share, 6)} for each in chance.blame],
        "ladder": [
            {"chance": rung.chance, "per_month": money(rung.usd), "fleet": rung.fleet, "proved": rung.proved}
            for rung in (found.ladder if found else ())
        ],
        "own_gpus_cost_less_than_relays": None if found is None or found.own_wins is None else round(found.own_wins, 4),
        "pilots": [
            {
                "deployment": each.pilot.deployment,
                "offer": each.pilot.offer,
                "hours": each.pilot.hours,
                "usd": round(each.pilot.usd, 2),
                "saves_per_month": money(each.saves_usd),
                "doubt_left": round(each.left, 4),
                "commands": list(each.pilot.commands),
            }
            for each in (found.pilots if found else ())
        ],
    }
