"""Candidates that the plan does not buy: what a request costs there and in the plan at the margin, and the price that would do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optimize.money import HOUR_S
from optimize.money.amounts import amount_usd, month_usd, per_unit_usd
from optimize.records import Floats, PoolTerms, RelayTerms
from optimize.result import Plan
from sim.exact import dot

FEW = 1e-9  # part of a class that is solver dust


@dataclass(frozen=True)
class Considered:
    """One pool or relay that gets nothing, at the class for which it comes nearest. USD; None where nothing is known.

    per_1000      what 1,000 requests of the class cost there; on a host, one that serves as much of the class as it can
    marginal      what these cost in the plan at the margin, by the duals of demand with divisible hosts
    enters_at     the share of today's price at which it would be as cheap; above 1: stock, shares, reserves or the proof keep it out
    late          promises that it breaks alone, in words
    """

    name: str
    kind: str  # pool or relay
    offer: str
    gpu: str
    model: str
    vendor: str
    class_name: str
    per_1000: float | None
    marginal: float | None
    enters_at: float | None
    price: float
    unit: str
    measured: bool
    late: tuple[str, ...]


def considered(plan: Plan) -> tuple[Considered, ...]:
    """Every pool and relay of the program that gets no request in any hour, in the program's order."""
    pools = [_pool(plan, terms) for p, terms in enumerate(plan.program.pools) if not plan.solution.billed[p].any()]
    relays = [_relay(plan, a, terms) for a, terms in enumerate(plan.program.relays) if plan.solution.relay_flow[a].sum() <= _dust(plan)]
    return (*pools, *relays)


def _dust(plan: Plan) -> float:
    return FEW * float(plan.demand.mean_rps.sum())


def _marginal(plan: Plan) -> Floats | None:
    """[classes, slices] USD of one request more; None where nothing was explained."""
    return plan.why.attribution.marginal_usd if plan.why is not None and plan.why.attribution is not None else None


def _pool(plan: Plan, terms: PoolTerms) -> Considered:
    option, offer = terms.option, terms.option.offer
    each: dict[int, tuple[float, float]] = {}
    for c in option.classes:
        load = float(terms.levels[0].load[c])
        if math.isfinite(load) and load > 0:
            each[c] = _first_host(plan, terms, c, option.replicas_per_host * terms.slope / load)
    nearest = _nearest(each)
    return Considered(
        name=option.id,
        kind="pool",
        offer=offer.id,
        gpu=offer.gpu,
        model=option.deployment.model.id if option.deployment else "",
        vendor=offer.provider,
        class_name="" if nearest is None else plan.program.class_names[nearest],
        **_figures(nearest, each),
        price=offer.usd_per_hour,
        unit="USD/host-hour",
        measured=terms.measured,
        late=(),
    )


def _first_host(plan: Plan, terms: PoolTerms, c: int, carries_rps: float) -> tuple[float, float]:
    """(USD of a request on one host that serves as much of class `c` as it can, what that request costs in the plan at the margin).

    A host that follows the hour stands in its best hour, any other in all. NaN where there is no demand, or nothing was explained.
    """
    price, weight_h = terms.option.offer.usd_per_hour, plan.demand.weight_h
    served = np.minimum(plan.demand.mean_rps[c], carries_rps) * HOUR_S  # [slices] requests in an hour
    if not served.any():
        return math.nan, math.nan
    marginal = _marginal(plan)
    row = np.full(len(served), math.nan) if marginal is None else marginal[c]
    if terms.option.offer.elastic:
        worth = np.where(np.isfinite(row), amount_usd(np.nan_to_num(row), served), 0.0)
        t = int(np.argmax(worth)) if worth.any() else int(np.argmax(served))
        return per_unit_usd(price, float(served[t])), float(row[t])
    month = float(dot(served, weight_h))
    worth_usd = float(dot(amount_usd(np.nan_to_num(row), served), weight_h))
    return per_unit_usd(month_usd(price), month), per_unit_usd(worth_usd, month) if np.isfinite(row).any() else math.nan


def _relay(plan: Plan, a: int, terms: RelayTerms) -> Considered:
    usd = terms.usd_per_request
    each = {c: (float(usd[c]), _dearest(plan, c)) for c in range(len(usd)) if terms.eligible[c] and math.isfinite(usd[c])}
    late = _late(plan, terms)
    c = _nearest({c: pair for c, pair in each.items() if c not in late} or each)
    return Considered(
        name=terms.relay.id,
        kind="relay",
        offer="",
        gpu="",
        model=terms.relay.model,
        vendor=terms.relay.vendor,
        class_name="" if c is None else plan.program.class_names[c],
        **_figures(c, each),
        price=terms.relay.usd_per_mtok_output,
        unit="USD/million output tokens",
        measured=True,
        late=tuple(words for told in late.values() for words in told),
    )


def _late(plan: Plan, terms: RelayTerms) -> dict[int, list[str]]:
    """class -> promises of it that the relay breaks alone, with the share of calls that come late."""
    found: dict[int, list[str]] = {}
    for i, row in enumerate(plan.program.slos):
        share = float(terms.miss[i])
        if terms.eligible[row.class_index] and share > 1 - row.needed + 1e-9:
            name = plan.program.class_names[row.class_index]
            words = (
                f"{name} {row.metric.upper()} within {row.limit_s:g} s: {share:.1%} of its calls are later, {1 - row.quantile:.1%} may be"
            )
            found.setdefault(row.class_index, []).append(words)
    return found


def _dearest(plan: Plan, c: int) -> float:
    """What a request of class `c` costs the plan at the margin in its dearest hour."""
    marginal = _marginal(plan)
    known = np.array([]) if marginal is None else marginal[c][np.isfinite(marginal[c])]
    return float(known.max(initial=-math.inf)) if known.size else math.nan


def _nearest(each: dict[int, tuple[float, float]]) -> int | None:
    """The class at which the candidate is nearest to what the plan pays."""
    ranked = sorted(each, key=lambda c: (-(_share(each[c]) or 0.0), c))
    return ranked[0] if ranked else None


def _share(pair: tuple[float, float]) -> float | None:
    """What the plan pays at the margin over what the candidate costs."""
    usd, worth_usd = pair
    return worth_usd / usd if usd > 0 and math.isfinite(worth_usd) else None


def _figures(c: int | None, each: dict[int, tuple[float, float]]) -> dict[str, float | None]:
    if c is None:
        return {"per_1000": None, "marginal": None, "enters_at": None}
    usd, worth_usd = (float(amount_usd(x, 1000.0)) for x in each[c])
    return {
        "per_1000": usd if math.isfinite(usd) else None,
        "marginal": worth_usd if math.isfinite(worth_usd) else None,
        "enters_at": _share(each[c]),
    }
