"""The same question under restrictions, so that the reader sees what the mix saves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from optimize.explain.binding import relay_need
from optimize.explain.late import why_unserved
from optimize.explain.loosened import binding_words
from optimize.market.pools import known_all
from optimize.money.amounts import amount_usd
from optimize.records import Alternative, RelayTerms
from optimize.search.loop import Market, Restriction, Settled, settle
from optimize.search.simple_fleets import LIGHT, simplest
from sim.exact import dot

NO_BUDGET = math.inf
ROUNDS = 8


def relay_only_classes(market: Market) -> set[int]:
    """Classes that no pool can serve; those that none may serve at all, where own GPUs would be left without any other."""
    able = {c for state in market.states for c in state.option.classes if math.isfinite(state.terms().levels[0].load[c])}
    asked = {c for c, rates in enumerate(market.demand.mean_rps) if rates.any()}
    allowed = {c for state in market.states for c in state.option.classes}
    return set(range(len(market.scenario.request_classes))) - (able if able & asked else allowed)


def pool_only_classes(market: Market) -> set[int]:
    """Classes that no relay may serve."""
    return {c for c in range(len(market.scenario.request_classes)) if not any(r.eligible[c] for r in market.relays)}


def limited(classes: set[int]) -> Callable[[RelayTerms], RelayTerms | None]:
    """A filter that leaves a relay only the classes given."""

    def keep(terms: RelayTerms) -> RelayTerms | None:
        mask = np.array([bool(e) and c in classes for c, e in enumerate(terms.eligible)])
        return replace(terms, eligible=mask) if mask.any() else None

    return keep


def restrictions(market: Market) -> list[Restriction]:
    """All relay, all self-hosted, each single GPU type, the cheapest relay alone, and limits as they stand today.

    Of kinds that have a candidate: without any, all that such a plan could be is the plan itself.
    """
    own, remote = pool_only_classes(market), relay_only_classes(market)
    answer = []
    if market.relays:
        answer.append(
            Restriction(
                "relays wherever allowed", keep_pool=lambda s: set(s.option.classes) <= own, budget_usd=NO_BUDGET, gap=0.01, rough=True
            )
        )
    if market.states:
        name = "own GPUs wherever possible"
        answer.append(Restriction(name, keep_relay=limited(remote), budget_usd=NO_BUDGET, gap=0.01, rough=True, choose_limits=True))
    for gpu in sorted({s.option.offer.gpu for s in market.states}):
        answer.append(
            Restriction(
                f"own {gpu} only",
                keep_pool=lambda s, gpu=gpu: s.option.offer.gpu == gpu,  # type: ignore[misc]
                keep_relay=limited(remote),
                budget_usd=NO_BUDGET,
                gap=0.01,
                rough=True,
                choose_limits=True,
            )
        )
    if market.relays:
        cheapest = cheapest_relay(market)
        answer.append(
            Restriction(
                f"one relay: {cheapest}",
                keep_pool=lambda s: set(s.option.classes) <= own,
                keep_relay=lambda r: r if r.relay.id == cheapest else limited(classes_without(market, cheapest))(r),
                budget_usd=NO_BUDGET,
                gap=0.01,
                rough=True,
            )
        )
    if any(not r.hard_limits for r in market.relays):
        answer.append(
            Restriction(
                "relay limits as they stand today",
                keep_relay=lambda r: replace(r, hard_limits=True),
                budget_usd=NO_BUDGET,
                gap=0.01,
                rough=True,
            )
        )
    return answer


def cheapest_relay(market: Market) -> str:
    """The relay that may serve the most volume, the cheapest of those."""
    volume = dot(market.demand.mean_rps, market.demand.weight_h)

    def rank(terms: RelayTerms) -> tuple[float, float]:
        served = float(volume[terms.eligible].sum())
        return -served, float(amount_usd(terms.usd_per_request[terms.eligible], volume[terms.eligible]).sum())

    return min(market.relays, key=rank).relay.id


def classes_without(market: Market, name: str) -> set[int]:
    """Classes that the relay `name` may not serve (others must)."""
    for terms in market.relays:
        if terms.relay.id == name:
            return {c for c, eligible in enumerate(terms.eligible) if not eligible}
    return set()


def unserved_note(market: Market, settled: Settled) -> str:
    """Which classes miss what share, in words."""
    demand, left = settled.problem.demand, settled.solution.unserved
    parts = []
    for c, request_class in enumerate(market.scenario.request_classes):
        share = float(dot(left[c], demand.weight_h) / max(dot(demand.mean_rps[c], demand.weight_h), 1e-300))
        if share > 1e-6:
            parts.append(f"{request_class.name} unserved {share:.1%}")
    return "; ".join(parts)


def reasons(market: Market, restriction: Restriction, settled: Settled) -> list[str]:
    """Why the restricted plan leaves requests out: the promise that each candidate breaks, and the policy or limit that binds."""
    left = [c for c, lost in enumerate(settled.solution.unserved) if (lost > 1e-6 * np.maximum(market.demand.mean_rps[c], 1e-12)).any()]
    relays = [terms for terms in map(restriction.keep_relay, market.relays) if terms is not None]
    late = why_unserved(market, [state for state in market.states if restriction.keep_pool(state)], relays, left)
    found = [*late, *binding_words(settled.problem, settled.solution)]
    return found or ["every candidate keeps its promises when idle, but no fleet that was tried carries this load"]


def caveats(settled: Settled) -> str:
    """What a reader must know of this row: unmeasured pools, and account limits that would have to be raised; else empty."""
    words = [] if known_all(settled.problem, settled.solution) else ["an estimate: not every pool was measured"]
    for a, terms in enumerate(settled.problem.relays):
        rpm, tpm = relay_need(settled.problem, settled.solution, a)
        needs = [
            f"{need:,.0f} {unit} of {limit:,.0f}"
            for need, limit, unit in ((rpm, terms.rpm, "RPM"), (tpm, terms.tpm, "TPM"))
            if limit and need > limit * (1 + 1e-9)
        ]
        if needs:
            words.append(f"{terms.relay.id} needs {' and '.join(needs)}")
    return "; ".join(words)


def alternative(restriction: Restriction, plan: Settled | None, market: Market) -> Alternative:
    """One restricted plan: measured like the main one, not re-simulated; its budget is ignored, its cost is what it would take.

    A `plan` that holds and stays inside the restriction is it: what seems cheaper there did not hold, or the search would have found it.
    """
    market.tell(f"alternative: {restriction.name}")
    if plan is not None and obeys(plan, restriction):
        return _priced(restriction.name, plan, market)
    settled = settle(market, restriction, ROUNDS)
    if settled.unserved:
        simple = simplest(market, restriction, NO_BUDGET, LIGHT)
        if simple is None:
            note = "; ".join([*reasons(market, restriction, settled), unserved_note(market, settled)])
            return Alternative(restriction.name, "infeasible", None, note)
        settled = simple[0]
    return _priced(restriction.name, settled, market)


def _priced(name: str, settled: Settled, market: Market) -> Alternative:
    cost = settled.solution.cost_usd
    return Alternative(name, "over_budget" if cost > market.budget_usd else "within_budget", cost, caveats(settled))


def obeys(plan: Settled, restriction: Restriction) -> bool:
    """Whether the plan uses nothing but what the restriction keeps, under the same limits."""
    pools = all(restriction.keep_pool(state) for state, hosts in zip(plan.pools, plan.solution.hosts, strict=True) if hosts.any())
    for terms, flow in zip(plan.problem.relays, plan.solution.relay_flow, strict=True):
        kept = restriction.keep_relay(terms)
        used = flow.any(axis=1)
        if used.any() and (kept is None or kept.hard_limits != terms.hard_limits or (used & ~kept.eligible).any()):
            return False
    return pools
