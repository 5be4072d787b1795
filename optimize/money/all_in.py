"""What a plan and its alternatives cost all in: people, support, contingency, migration and tax next to the bill.

What no one gave a figure for is open, not zero, and named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optimize.money.amounts import scaled_usd
from optimize.money.ownership import values_of
from optimize.result import Plan

BY_RELAYS = ("relays wherever allowed", "all relay")
ONE_RELAY = "one relay: "
THIS = "this plan"
STAFF = "staff"


@dataclass(frozen=True)
class AllIn:
    """A month: `bare_usd` is the bill, `parts` (name, USD) come on top; `open` names what has no figure. `hosts`: GPUs are operated."""

    name: str
    bare_usd: float
    hosts: bool
    parts: tuple[tuple[str, float], ...]
    open: tuple[str, ...]

    @property
    def usd(self) -> float:
        return self.bare_usd + math.fsum(usd for _, usd in self.parts)


def all_in(plan: Plan) -> tuple[AllIn, ...]:
    """The plan, then each alternative that has a price.

    Operations are counted where GPUs run, owned or rented: staff and support once for a fleet, operations once for each pool (an
    alternative with GPUs is taken to have as many pools as the plan, one at least). Migration is spread over the horizon. Contingency is a
    share of bill and operations, tax of all of it.
    """
    pools = int(np.count_nonzero(plan.solution.billed.any(axis=1)))
    bill = math.fsum(line.per_month_usd for line in plan.lines)
    rows = [of(plan, THIS, bill, pools)]
    for other in plan.alternatives:
        if other.per_month_usd is not None:
            rows.append(of(plan, other.name, other.per_month_usd, max(pools, 1) if runs_hosts(plan, other.name) else 0))
    return tuple(rows)


def runs_hosts(plan: Plan, name: str) -> bool:
    """Whether an alternative runs GPUs: one of relays alone does only where some class may not leave own hosts."""
    if name in BY_RELAYS or name.startswith(ONE_RELAY):
        sold = np.any([terms.eligible & np.isfinite(terms.usd_per_request) for terms in plan.program.relays], axis=0)
        return not bool(np.all(sold | ~plan.demand.mean_rps.any(axis=1)))
    return True


def of(plan: Plan, name: str, bare_usd: float, pools: int) -> AllIn:
    """One row; `pools` 0: nothing is operated."""
    finance, parts, missing = plan.scenario.finance, [], []
    staff = values_of(finance)["staff_usd_per_month"].value
    if pools:
        if staff is None:
            missing.append(STAFF)
        else:
            parts.append((STAFF, staff))
        operations = scaled_usd(finance.operations_usd_per_pool_month, pools)
        parts += [(part, usd) for part, usd in (("operations of pools", operations), ("support", finance.support_usd_per_month)) if usd]
        if finance.migration_usd:
            parts.append(("migration", finance.migration_usd / finance.horizon_months))
    if finance.other_usd_per_month:
        parts.append(("other items", finance.other_usd_per_month))
    for part, share in (("contingency", finance.contingency_share), ("tax", finance.tax_share)):
        if share:
            parts.append((part, scaled_usd(bare_usd + math.fsum(usd for _, usd in parts), share)))
    return AllIn(name, bare_usd, bool(pools), tuple(parts), tuple(missing))


def all_in_words(plan: Plan) -> str:
    """What operations do to the answer, in one sentence; empty where nothing is operated and nothing is added."""
    rows = all_in(plan)
    ours, others = rows[0], [row for row in rows[1:] if not row.hosts]
    rival = min(others, key=lambda row: (row.usd, row.name), default=None)
    if ours.open:
        if rival is None:
            return "Staff for GPUs is not in the bill: open, not zero (finance.staff_usd_per_month)."
        room = rival.usd - ours.usd
        if room <= 0:
            return ""
        return f"Staff for GPUs is open, not zero; relays alone cost ${room:,.0f} a month more (finance.staff_usd_per_month)."
    if not ours.parts:
        return ""
    told = ", ".join(f"{name} ${usd:,.0f}" for name, usd in ours.parts)
    words = f"All-in ${ours.usd:,.0f} a month with {told}."
    if rival is not None and rival.usd < ours.usd:
        return f"{words} Cheaper all-in: {rival.name}, ${rival.usd:,.0f}."
    return words if rival is None else f"{words} Relays alone are ${rival.usd:,.0f} all-in."
