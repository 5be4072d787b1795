"""Constraint family: what an account pays a month, and the terms that it gets for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pulp

from optimize.market.contract_terms import bought_terms
from optimize.money.amounts import calls_at
from optimize.program.rows.model import Model, Pair
from optimize.records import Ints, ProgramInput, ProgramSolution, RelayTerms, SpendTier


@dataclass(frozen=True)
class Wide:
    """A problem in which each spend tier of a relay is a relay of its own, at the tier's prices and limits.

    origin, tier   per relay of `problem`: the relay of the given problem that it is, and which tier (-1: none)
    """

    problem: ProgramInput
    origin: tuple[int, ...]
    tier: tuple[int, ...]


def widened(given: ProgramInput) -> Wide:
    """`given` with one relay per spend tier; where the lowest tier is not free, not to have an account is a choice next to them."""
    relays: list[RelayTerms] = []
    origin: list[int] = []
    tier: list[int] = []
    for a, terms in enumerate(given.relays):
        variants = [(k, variant(terms, each)) for k, each in enumerate(terms.tiers)] or [(-1, terms)]
        if terms.tiers and min(v.tiers[0].from_usd for _, v in variants) > 0 and terms.committed_usd <= 0:
            variants.append((-1, replace(terms, eligible=np.zeros_like(terms.eligible), tiers=(SpendTier(0.0),))))
        relays += [v for _, v in variants]
        origin += [a] * len(variants)
        tier += [k for k, _ in variants]
    return Wide(replace(given, relays=tuple(relays)), tuple(origin), tuple(tier))


def variant(terms: RelayTerms, tier: SpendTier) -> RelayTerms:
    """The relay as one tier sells it; its commitment becomes part of what the tier asks for."""
    return replace(
        calls_at(bought_terms(replace(terms, tiers=(tier,)), 0), tier.price_factor),
        tiers=(SpendTier(max(tier.from_usd, terms.committed_usd)),),
        committed_usd=0.0,
    )


def narrowed(wide: Wide, given: ProgramInput, answer: ProgramSolution) -> ProgramSolution:
    """The answer to the given problem: flows of tiers summed, the tier bought named."""
    _, classes, slices = answer.relay_flow.shape
    flow = np.zeros((len(given.relays), classes, slices))
    tier: Ints = np.full(len(given.relays), -1, dtype=np.int64)
    units: Ints = np.zeros(len(given.relays), dtype=np.int64)
    for v, (a, k) in enumerate(zip(wide.origin, wide.tier, strict=True)):
        flow[a] += answer.relay_flow[v]
        if answer.relay_tier is not None and answer.relay_tier[v] >= 0:
            tier[a] = k
        if answer.relay_units is not None:
            units[a] += answer.relay_units[v]
    sold = any(terms.units is not None for terms in given.relays)
    return replace(
        answer,
        relay_flow=flow,
        relay_tier=tier if any(terms.tiers for terms in given.relays) else None,
        relay_units=units if sold else None,
    )


@dataclass(frozen=True)
class Account:
    """The relays of a wide problem that are one account: one of its tiers is bought.

    least_usd  per member what it pays a month at least;  cap_usd  what it pays at most
    """

    members: tuple[int, ...]
    least_usd: tuple[float, ...]
    cap_usd: float | None

    @property
    def chooses(self) -> bool:
        return len(self.members) > 1

    @property
    def pays_least(self) -> bool:
        return max(self.least_usd) > 0


def accounts(problem: ProgramInput) -> tuple[Account, ...]:
    """Accounts with tiers, a minimum or a cap; all other relays are paid by the call."""
    groups: dict[str, list[int]] = {}
    for a, terms in enumerate(problem.relays):
        if terms.tiers or terms.committed_usd > 0 or terms.spend_cap_usd is not None:
            groups.setdefault(terms.relay.id, []).append(a)
    found = []
    for members in groups.values():
        rows = [problem.relays[a] for a in members]
        least = tuple(terms.tiers[0].from_usd if terms.tiers else terms.committed_usd for terms in rows)
        found.append(Account(tuple(members), least, rows[0].spend_cap_usd))
    return tuple(found)


def payment_variables(model: Model) -> None:
    """b_k per tier and e per account with a minimum; a view of single hours has b_k only where it shares the tier's price."""
    view = model.view
    for g, account in enumerate(accounts(model.problem)):
        for a in account.members if account.chooses else ():
            if a not in view.closed and (view.month or a in view.tier_usd):
                model.tier[a] = model.column("tier", 0, 1, True, relay=a)
                if view.tier_usd.get(a):
                    model.extra.append((model.tier[a], view.tier_usd[a]))
        if view.month and account.pays_least:
            model.topup[g] = model.column("topup", 0, max(account.least_usd), False, account=g)
            model.money.append((model.topup[g], 1.0))


def choice_rows(model: Model) -> None:
    """Per account: sum_k b_k = 1; per tier k and hour t: sum_c d_ct y_kct <= b_k sum_c d_ct.

    b_k buys tier k for the month. Limits of the tier are scaled by b_k in the rows of limits.
    """
    demand = model.problem.demand.mean_rps
    for g, account in enumerate(accounts(model.problem)):
        bought = [(model.tier[a], 1.0) for a in account.members if a in model.tier]
        if not bought:
            continue
        model.add("one_tier", bought, pulp.LpConstraintEQ, 1.0, account=g)
        rows: dict[tuple[int, int], list[Pair]] = {}
        for (a, c, t), variable in model.calls.items():
            if a in model.tier and a in account.members:
                rows.setdefault((a, t), []).append((variable, float(demand[c, t] / demand[:, t].sum())))
        for (a, t), terms in rows.items():
            model.add("tier", [*terms, (model.tier[a], -1.0)], pulp.LpConstraintLE, 0.0, relay=a, hour=t)


def payment_rows(model: Model) -> None:
    """Per account over the month, with s = sum of the prices of its calls and top-up e >= 0: s + e >= sum_k least_k b_k, s + e <= cap.

    In a view of single hours: s <= the allotment of the hours, which sum to the cap.
    """
    for g, account in enumerate(accounts(model.problem)):
        spent = [(v, usd) for (a, _, _), v, usd in model.calls_usd if a in account.members]
        if not model.view.month:
            allotment = model.view.allotment.get(g)
            if allotment is not None and spent:
                scale = max(allotment, 1e-6)
                terms = [(v, usd / scale) for v, usd in spent]
                model.add("allotment", terms, pulp.LpConstraintLE, float(allotment > 0), account=g)
            continue
        if account.pays_least:
            scale = max(account.least_usd)
            spent.append((model.topup[g], 1.0))
            terms = [(v, usd / scale) for v, usd in spent]
            chosen = [(model.tier[a], -usd / scale) for a, usd in zip(account.members, account.least_usd, strict=True) if a in model.tier]
            limit = 0.0 if chosen else account.least_usd[0] / scale
            model.add("least_paid", terms + chosen, pulp.LpConstraintGE, limit, account=g)
        if account.cap_usd is not None:
            scale = max(account.cap_usd, 1e-6)
            terms = [(v, usd / scale) for v, usd in spent]
            model.add("most_paid", terms, pulp.LpConstraintLE, float(account.cap_usd > 0), account=g)


def budget_row(model: Model) -> None:
    """sum over hours of host prices, base hosts and relay calls <= budget (less fixed costs).

    Scaled to 1, so that tolerances mean a share of it. Real money only: the penalty for unserved demand is not spent.
    """
    limit = model.view.budget_usd
    if limit is None:
        return
    scale = max(limit, 1.0)
    model.add("budget", [(v, usd / scale) for v, usd in model.money], pulp.LpConstraintLE, max(limit, 0.0) / scale)
