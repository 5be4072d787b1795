"""Constraint family: the rest carries what any one relay serves when that relay is out."""

from __future__ import annotations

import numpy as np
import pulp

from optimize.program.rows.hosts import hosts_carry
from optimize.program.rows.model import Model, Pair

PEAK_S = 60.0


def reserve_rows(model: Model) -> None:
    """Per relay a that may be out, class c and hour t: sum over others k of r_akct >= y_act, and everybody carries x + r_a, y + r_a.

    r_akct is what k takes over. Pools carry it inside their capacity (at their lowest load level), relays inside hard limits at the
    peak minute and inside their units. Promises, budget and shares do not bind during an outage. Relays fail one at a time.
    """
    if not model.problem.relay_outage_reserve:
        return
    groups: dict[str, list[int]] = {}
    for a in dict.fromkeys(a for a, _, _ in model.calls):
        groups.setdefault(model.problem.relays[a].relay.id, []).append(a)
    for g, members in enumerate(groups.values()):
        _one_outage(model, g, frozenset(members))


def _one_outage(model: Model, g: int, out: frozenset[int]) -> None:
    moved: dict[tuple[int, int], list[Pair]] = {}
    for (a, c, t), variable in model.calls.items():
        if a in out:
            moved.setdefault((c, t), []).append((variable, -1.0))
    _pools_take_over(model, g, moved)
    _relays_take_over(model, g, out, moved)
    for (c, t), terms in moved.items():
        model.add("outage", terms, pulp.LpConstraintGE, 0.0, out=g, class_=c, hour=t)


def _pools_take_over(model: Model, g: int, moved: dict[tuple[int, int], list[Pair]]) -> None:
    demand = model.problem.demand.mean_rps
    by_index = {route.index: route for route in model.routes}
    rows: dict[tuple[int, int], list[Pair]] = {}
    for (p, j, c, t), variable in model.flow.items():
        levels = by_index[p].terms.levels
        rows.setdefault((p, t), []).append((variable, float(levels[j].load[c] * demand[c, t])))
        if (c, t) in moved and j == int(np.argmin([level.load[c] for level in levels])):
            taken = model.column("r", 0, 1, False, out=g, pool=p, class_=c, hour=t)
            moved[c, t].append((taken, 1.0))
            rows[p, t].append((taken, float(levels[j].load[c] * demand[c, t])))
    hosts_carry(model, "outage_pool", rows, out=g)


def _relays_take_over(model: Model, g: int, out: frozenset[int], moved: dict[tuple[int, int], list[Pair]]) -> None:
    demand = model.problem.demand
    rpm: dict[tuple[int, int], list[Pair]] = {}
    tpm: dict[tuple[int, int], list[Pair]] = {}
    units: dict[tuple[int, int], list[Pair]] = {}
    for (a, c, t), variable in model.calls.items():
        if a in out or (c, t) not in moved:
            if a in out:
                continue
            both = [variable]
        else:
            taken = model.column("q", 0, 1, False, out=g, relay=a, class_=c, hour=t)
            moved[c, t].append((taken, 1.0))
            both = [variable, taken]
        terms = model.problem.relays[a]
        rate = demand.peak_factor * float(demand.mean_rps[c, t])
        rpm.setdefault((a, t), []).extend((v, PEAK_S * rate) for v in both)
        tpm.setdefault((a, t), []).extend((v, PEAK_S * rate * float(terms.tokens_per_request[c])) for v in both)
        if terms.units is not None:
            units.setdefault((a, t), []).extend((v, rate * float(terms.units.load[c])) for v in both)
    for kind, rows in (("rpm", rpm), ("tpm", tpm)):
        for (a, t), pairs in rows.items():
            limit = getattr(model.problem.relays[a].relay, kind) if model.problem.relays[a].hard_limits else None
            _limited(model, f"outage_{kind}", pairs, limit, g, a, t)
    for (a, t), pairs in rpm.items():
        if a in model.tier:
            most = PEAK_S * demand.peak_factor * float(demand.mean_rps[:, t].sum())
            _limited(model, "outage_tier", pairs, most, g, a, t)
    for (a, t), pairs in units.items():
        bought = model.units.get(a)
        if bought is None:
            at_hand = float(model.view.units.get(a, 0))
            model.add("outage_units", pairs, pulp.LpConstraintLE, at_hand, out=g, relay=a, hour=t)
        else:
            model.add("outage_units", [*pairs, (bought, -1.0)], pulp.LpConstraintLE, 0.0, out=g, relay=a, hour=t)


def _limited(model: Model, family: str, pairs: list[Pair], limit: float | None, g: int, a: int, t: int) -> None:
    """sum <= limit, times the tier binary where there is one."""
    if limit is None:
        return
    scaled = [(v, rate / max(limit, 1.0)) for v, rate in pairs]
    if a in model.tier:
        model.add(family, [*scaled, (model.tier[a], -float(limit > 0))], pulp.LpConstraintLE, 0.0, out=g, relay=a, hour=t)
    else:
        model.add(family, scaled, pulp.LpConstraintLE, float(limit > 0), out=g, relay=a, hour=t)
