"""What `servemix new` says: where the scenario is, what it costs at first sight, and which missing inputs matter."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from optimize.estimate.input_ranking import Effect
from optimize.estimate.new_scenario import NewScenario
from optimize.money import to_currency
from sim.plural import counted

MATTERS = 1.005  # swings below are not told apart


def render_new(new: NewScenario, program: str = "servemix") -> str:
    """The answer as text for a terminal; `program` is what the reader types."""
    lines = [f"{new.path}: {sum(new.quick.requests):,.0f} requests a month in {counted(len(new.quick.requests), 'class', 'classes')}"]
    if new.recomputed_usd is not None and new.bill_usd is not None and new.row is not None:
        off = new.recomputed_usd / new.bill_usd - 1
        lines.append(f"the bill again, from the file at {new.row.id}: {money(new, new.recomputed_usd)} ({off:+.2%} of yours)")
    lines.append(f"before any simulation: {_relays_words(new)}; {_own_words(new)}")
    lines += [line for note in new.notes for line in textwrap.wrap(note, 110, break_on_hyphens=False)]
    if new.filled:
        lines += ["", f"{counted(len(new.filled), 'value is', 'values are')} filled, marked `# filled:` in the file"]
    lines += _ranking(new)
    lines += ["", f"Next: {program} optimize {new.path}"]
    return "\n".join(lines) + "\n"


def _relays_words(new: NewScenario) -> str:
    if not math.isfinite(new.quick.relays_usd):
        return "no relay of the list serves all of it"
    return f"{money(new, new.quick.relays_usd)} a month at the cheapest relays"


def _own_words(new: NewScenario) -> str:
    if not math.isfinite(new.quick.own_usd):
        return "no own GPU of the list serves all of it"
    return f"{money(new, new.quick.own_usd)} or more on own GPUs (a floor: always full)"


def _ranking(new: NewScenario) -> list[str]:
    """Two lines for each input that moves the costs, and one sentence for those that do not."""
    lines: list[str] = []
    moving = [each for each in new.effects if each.swing > MATTERS]
    if moving:
        lines += [
            "",
            "Missing inputs, the one that moves the cost most first",
            "(cheapest side at both ends; flips: the cheaper side changes)",
        ]
        lines += [_line(new, each) for each in moving]
    still = [f"{_class(each.gap.path)}{each.gap.label}" for each in new.effects if each.swing <= MATTERS]
    if still:
        words = f"No effect on these costs, which see neither queues nor peaks (`optimize` sees both): {'; '.join(still)}"
        lines += ["", *textwrap.wrap(words, 110)]
    return lines


def money(new: NewScenario, usd: float) -> str:
    """An amount in the scenario's currency; "none" where it is infinite."""
    if not math.isfinite(usd):
        return "none"
    amount = to_currency(usd, new.usd_per_unit)
    return f"{amount:,.{0 if amount >= 100 else 2}f} {new.currency}"


def _line(new: NewScenario, effect: Effect) -> str:
    gap = effect.gap
    low, high = (f"{money(new, cost)} ({side})" if math.isfinite(cost) else "not possible" for side, cost in (effect.low, effect.high))
    swing = f"x {effect.swing:.2f}" if math.isfinite(effect.swing) else "none"
    mark = "flips" if effect.flips else ""
    where = f"{_class(gap.path)}{gap.label}"
    return f"  {swing:>8} {mark:5}  {where}: {gap.ends}\n                  {low} .. {high}"


def _class(path: str) -> str:
    """`class 0, ` for a key of a request class."""
    parts = path.split(".")
    return f"class {parts[1]}, " if parts[0] == "request_classes" else ""


def new_json(new: NewScenario) -> dict[str, Any]:
    """The answer as plain values; amounts in the scenario's currency, null where no candidate can serve."""

    def amount(usd: float | None) -> float | None:
        return None if usd is None or not math.isfinite(usd) else round(to_currency(usd, new.usd_per_unit), 6)

    return {
        "scenario": str(new.path),
        "currency": new.currency,
        "requests_per_month": [float(each) for each in new.quick.requests],
        "bill": amount(new.bill_usd),
        "recomputed_bill": amount(new.recomputed_usd),
        "price_row": new.row.id if new.row is not None else None,
        "cheapest_relays_per_month": amount(new.quick.relays_usd),
        "own_gpus_never_idle_per_month": amount(new.quick.own_usd),
        "filled": list(new.filled),
        "missing_inputs": [
            {
                "key": each.gap.path,
                "label": each.gap.label,
                "low": each.gap.low,
                "high": each.gap.high,
                "cost_at_low": amount(each.low[1]),
                "cost_at_high": amount(each.high[1]),
                "swing": each.swing if math.isfinite(each.swing) else None,
                "flips": each.flips,
                "source": each.gap.source,
            }
            for each in new.effects
        ],
        "notes": list(new.notes),
    }
