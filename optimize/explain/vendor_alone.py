"""One line for each vendor of relays: what it would cost if all that relays may serve went to that vendor, or why it cannot."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from optimize.explain.alternatives import NO_BUDGET, ROUNDS, alternative, limited, pool_only_classes, reasons, unserved_note
from optimize.records import Alternative
from optimize.search.known_market import Market, Restriction, Settled
from optimize.search.loop import settle


def vendors(market: Market) -> list[str]:
    """Vendors of the market's relays by name; none where there is only one, which "relays wherever allowed" tells of."""
    names = sorted({terms.relay.vendor for terms in market.relays})
    return names if len(names) > 1 else []


def vendor_alone(vendor: str, plan: Settled | None, market: Market) -> Alternative:
    """The plan with relays of one vendor for every class that any relay may serve, and hosts only for classes that none may.

    Infeasible where the vendor may not answer one of these classes, or cannot keep its promise; the note says which.
    """
    own = pool_only_classes(market)
    mine = [terms for terms in market.relays if terms.relay.vendor == vendor]
    wanted = {c for c in map(int, np.flatnonzero(market.demand.mean_rps.any(axis=1))) if c not in own}
    lacking = sorted(c for c in wanted if not any(terms.eligible[c] for terms in mine))
    name = f"relays of {vendor} only"
    if lacking:
        names = [market.scenario.request_classes[c].name for c in lacking]
        return Alternative(name, "infeasible", None, f"it has no relay that may answer {', '.join(names)}")
    keep = limited(wanted)
    restriction = Restriction(
        name,
        keep_pool=lambda state: set(state.option.classes) <= own,
        keep_relay=lambda terms: keep(terms) if terms.relay.vendor == vendor else None,
        budget_usd=NO_BUDGET,
        gap=0.01,
        rough=True,
    )
    settled = settle(market, restriction, ROUNDS)
    if settled.unserved:
        note = "; ".join([*reasons(market, restriction, settled), unserved_note(market, settled)])
        return Alternative(name, "infeasible", None, note)
    return alternative(restriction, plan, market)


def cheapest_first(found: Iterable[Alternative]) -> list[Alternative]:
    """The alternatives by cost, those that cannot be last."""
    return sorted(found, key=lambda each: (each.per_month_usd is None, each.per_month_usd or 0.0, each.name))
