"""What a plan and its alternatives cost all in: people, support, contingency, migration and tax next to the bill.

What no one gave a figure for is open, not zero, and named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimize.money.amounts import scaled_usd
from optimize.money.contracts import paid_request_usd
from optimize.money.ownership import values_of
from optimize.money.token_prices import calls_usd
from optimize.result import Plan
from sim.scenario.scenario import Finance

BY_RELAYS = ("relays wherever allowed", "all relay")
ONE_RELAY = "one relay: "
THIS = "this plan"
LATE = "relays alone, promises set aside"
STAFF = "staff"


@dataclass(frozen=True)
class AllIn:
    """A month: `bare_usd` is the bill, `parts` (name, USD) come on top; `open` names what has no figure. `hosts`: GPUs are operated.

    `kept` False: it stands for comparison only, because it breaks a promise or a limit.
    """

    name: str
    bare_usd: float
    hosts: bool
    parts: tuple[tuple[str, float], ...]
    open: tuple[str, ...]
    kept: bool

    @property
    def usd(self) -> float:
        return self.bare_usd + math.fsum(usd for _, usd in self.parts)


def all_in(plan: Plan) -> tuple[AllIn, ...]:
    """The plan, then each alternative that has a price; relays alone also where they break a promise, last.

    Operations are counted where GPUs run, owned or rented: staff and support once for a fleet, operations once for each pool (an
    alternative with GPUs is taken to have as many pools as the plan, one at least). Migration is spread over the horizon. Contingency is a
    share of bill and operations, tax of all of it.
    """
    pools = pools_of(plan)
    rows = [of(plan, THIS, math.fsum(line.per_month_usd for line in plan.lines), pools)]
    for other in plan.alternatives:
        if other.per_month_usd is not None:
            rows.append(of(plan, other.name, other.per_month_usd, max(pools, 1) if runs_hosts(plan, other.name) else 0))
    if pools and not any(other.name in BY_RELAYS and other.per_month_usd is not None for other in plan.alternatives):
        late = relays_anyway_usd(plan)
        rows += [] if late is None else [of(plan, LATE, late, 0, kept=False)]
    return tuple(rows)


def pools_of(plan: Plan) -> int:
    """How many pools of the plan are paid in any hour."""
    return int(np.count_nonzero(plan.solution.billed.any(axis=1)))


def runs_hosts(plan: Plan, name: str) -> bool:
    """Whether an alternative runs GPUs: one of relays alone does only where some class may not leave own hosts."""
    if name in BY_RELAYS or name.startswith(ONE_RELAY):
        sold = np.any([terms.eligible & np.isfinite(terms.usd_per_request) for terms in plan.program.relays], axis=0)
        return not bool(np.all(sold | ~plan.demand.mean_rps.any(axis=1)))
    return True


def relays_anyway_usd(plan: Plan) -> float | None:
    """A month of each class at the relay that sells it cheapest, whatever promise or account limit that breaks; None where a class is
    sold by none. Minimum payments are left out.
    """
    demand, usd = plan.demand, plan.program.fixed_usd
    for c in range(len(plan.program.class_names)):
        if not demand.mean_rps[c].any():
            continue
        flow = np.zeros_like(demand.mean_rps)
        flow[c] = demand.mean_rps[c]
        sold = [t for t in plan.program.relays if t.units is None and bool(t.eligible[c]) and math.isfinite(t.usd_per_request[c])]
        if not sold:
            return None
        usd += min(calls_usd(flow[[c]], paid_request_usd(terms, -1)[[c]], demand.weight_h) for terms in sold)
    return usd


def of(plan: Plan, name: str, bare_usd: float, pools: int, kept: bool = True) -> AllIn:
    """One row; `pools` 0: nothing is operated."""
    parts, missing = on_top(plan.scenario.finance, bare_usd, pools)
    return AllIn(name, bare_usd, bool(pools), parts, missing, kept)


def on_top(finance: Finance, bare_usd: float, pools: int) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...]]:
    """((part, USD a month) on top of a bill, parts that are open); `pools` 0: nothing is operated.

    >>> on_top(Finance(support_usd_per_month=100.0, items_usd_per_month={"gateway": 50.0}, tax_share=0.5), 850.0, 1)
    ((('support', 100.0), ('gateway', 50.0), ('tax', 500.0)), ('staff',))
    """
    parts = [*_operated(finance, pools), *sorted(finance.items_usd_per_month.items()), ("other items", finance.other_usd_per_month)]
    parts = [(part, usd) for part, usd in parts if usd]
    for part, share in (("contingency", finance.contingency_share), ("tax", finance.tax_share)):
        if share:
            parts.append((part, scaled_usd(bare_usd + math.fsum(usd for _, usd in parts), share)))
    lacking = pools > 0 and values_of(finance)["staff_usd_per_month"].value is None
    return tuple(parts), (STAFF,) if lacking else ()


def _operated(finance: Finance, pools: int) -> Sequence[tuple[str, float]]:
    """What a fleet with GPUs adds."""
    if not pools:
        return []
    return [
        (STAFF, values_of(finance)["staff_usd_per_month"].value or 0.0),
        ("operations of pools", scaled_usd(finance.operations_usd_per_pool_month, pools)),
        ("support", finance.support_usd_per_month),
        ("migration", finance.migration_usd / finance.horizon_months),
    ]


def all_in_usd(finance: Finance, bare_usd: float, pools: int) -> float:
    """A bill with everything on top that has a figure.

    >>> all_in_usd(Finance(values={"staff_usd_per_month": 900.0}, tax_share=0.5), 100.0, 1)
    1500.0
    """
    return bare_usd + math.fsum(usd for _, usd in on_top(finance, bare_usd, pools)[0])
