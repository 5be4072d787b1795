"""When a first stage stops being right, and what leaving it costs then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from optimize.finance.commitment.decision import Ranked
from optimize.money.amounts import per_unit_usd
from sim.scenario.scenario import Future

AXES = (
    ("users", "today's users"),
    ("api_price", "today's API prices"),
    ("gpu_rent", "today's GPU rents"),
    ("step_time", "the simulated step time"),
)
EXITS = (6.0, 12.0)


def stops(ranked: Sequence[Ranked], ahead: Sequence[Future]) -> tuple[str, ...]:
    """For the stage of least worst regret: values of each factor and events at which another is cheaper, and the price of leaving."""
    best, others = ranked[0], ranked[1:]
    if not others:
        return ()
    words = []
    for axis, name in AXES:
        words += crossings(best, others, ahead, axis, name)
    words += events(best, others, ahead)
    if not words:
        words.append(f"{best.stage.name} is the cheapest in every future examined: none of them stops it")
    return (*words, *exits(best), *allowance(best, others))


def allowance(best: Ranked, others: Sequence[Ranked]) -> list[str]:
    """What the parts of owning that have no figure may cost before another stage has the lower expected cost."""
    rival = min(others, key=lambda other: other.expected_usd)
    lead = per_unit_usd(rival.expected_usd - best.expected_usd, best.stage.timing.horizon)
    if not best.stage.open or not math.isfinite(lead):
        return []
    parts = ", ".join(best.stage.open)
    if lead <= 0:
        return [f"{parts} are not in the cost of {best.stage.name}, and {rival.stage.name} is cheaper in the mean without them"]
    return [f"{best.stage.name} is right only below ${lead:,.0f} a month for {parts}: above, {rival.stage.name} is cheaper in the mean"]


def only(future: Future, axis: str) -> bool:
    """Whether nothing but `axis` differs from today."""
    changes: dict[str, Any] = {axis: 1.0}
    return replace(future, name="", weight=1.0, **changes) == Future("")


def lead_usd(best: Ranked, others: Sequence[Ranked], k: int) -> tuple[float, str]:
    """(what the cheapest other stage costs more in future k, its name); infinite where no other serves everything."""
    rivals = [(other.outcomes[k].cost_usd, other.stage.name) for other in others if math.isfinite(other.regret[k])]
    usd, name = min(rivals, default=(math.inf, ""))
    return usd - best.outcomes[k].cost_usd, name


def crossings(best: Ranked, others: Sequence[Ranked], ahead: Sequence[Future], axis: str, name: str) -> list[str]:
    """Where the lead changes sign between neighbouring values of one factor, interpolated on a logarithmic scale."""
    points = sorted((float(getattr(f, axis)), *lead_usd(best, others, k)) for k, f in enumerate(ahead) if only(f, axis))
    points = [point for point in dict.fromkeys(points) if math.isfinite(point[1])]
    words = []
    for (x, lead, rival), (y, next_lead, next_rival) in pairwise(points):
        if (lead < 0) == (next_lead < 0) or x == y:
            continue
        at = math.exp(math.log(x) + (math.log(y) - math.log(x)) * lead / (lead - next_lead))
        side, other = ("below", rival) if lead < 0 else ("above", next_rival)
        words.append(f"stop {best.stage.name} {side} about {at:.2f} x {name}: {other} is cheaper there (between {x:g} and {y:g} examined)")
    return words


def events(best: Ranked, others: Sequence[Ranked], ahead: Sequence[Future]) -> list[str]:
    """Futures that are no point of a factor, in which another stage is cheaper."""
    words = []
    for k, future in enumerate(ahead):
        if any(only(future, axis) for axis, _ in AXES):
            continue
        lead, rival = lead_usd(best, others, k)
        if lead < 0:
            words.append(f"stop {best.stage.name} if {future.name}: {rival} costs ${-lead:,.0f} less over the horizon")
    return words


def exits(best: Ranked) -> list[str]:
    """What leaving costs after half a year and a year: purchase not got back, term still owed."""
    stage = best.stage
    if not stage.committed_usd:
        return []
    costs = [math.fsum(each.exit_usd(months) for each in stage.held) + stage.once_usd for months in EXITS]
    parts = ", ".join(f"after {months:g} months ${usd:,.0f}" for months, usd in zip(EXITS, costs, strict=True))
    return [f"leaving {stage.name} loses, apart from what it has served: {parts} (resale and terms still owed)"]
