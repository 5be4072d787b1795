"""What is known of the quality of answers, for terminal and JSON; computed in optimize/explain/answer_quality.py."""

from __future__ import annotations

import math
from typing import Any

from optimize.money.amounts import amount_usd
from optimize.money.units import to_currency
from optimize.result import Plan
from optimize.tables.bill_lines import Bill, cents_of
from optimize.tables.confidence_words import verdict_chance
from optimize.tables.phrases import STATUS_WORDS
from optimize.tables.plain_numbers import percent

Json = dict[str, Any]


def verdict_words(plan: Plan) -> str:
    """The verdict as a signer reads it: "MET", "MET with 80 % confidence", or "MET; answer quality not evaluated"."""
    more = plan.quality.verdict if plan.quality is not None and plan.status == "met" else ""
    word = STATUS_WORDS[plan.status] + (verdict_chance(plan.chance) if plan.status == "met" else "")
    return f"{word}; {more}" if more else word


def quality_json(plan: Plan) -> Json | None:
    """The plan's key `quality`; null where no class lets more than one model answer, and nothing is routed."""
    found = plan.quality
    if found is None:
        return None
    return {
        "verdict": found.verdict,
        "routing": found.routing,
        "classified": [each.name for each in plan.scenario.request_classes if each.classifier is not None],
        "classes": [
            {
                "name": each.name,
                "accepted_share": _rounded(each.accepted),
                "per_accepted_answer": None
                if each.usd_per_accepted is None
                else _rounded(to_currency(each.usd_per_accepted, plan.usd_per_unit)),
                "models": [
                    {
                        "model": row.model,
                        "share": _rounded(row.share),
                        "accepted": _rounded(row.accepted),
                        "surely_accepted": _rounded(row.least),
                        "n": row.n,
                    }
                    for row in each.models
                ],
            }
            for each in found.classes
        ],
    }


def quality_lines(plan: Plan, bill: Bill) -> list[str]:
    """A line per class that somebody evaluated, and what routing saves."""
    if plan.quality is None:
        return []
    lines = [f"routing {plan.quality.routing}"] if plan.quality.routing else []
    for each in plan.quality.classes:
        if each.accepted is None or each.usd_per_accepted is None:
            continue
        models = ", ".join(f"{row.model} {percent(row.accepted or 0.0)} of {row.n:,}" for row in each.models)
        cost = cents_of(plan, amount_usd(each.usd_per_accepted, 1000)) / 100
        lines.append(
            f"{each.name}: {percent(each.accepted)} of answers accepted ({models}); {bill.currency} {cost:,.4f} per 1,000 accepted"
        )
    return lines


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.9g}")
