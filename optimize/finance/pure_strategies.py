"""All-API and self-hosted as fleets that scale to any demand: whole hosts by hour, at the capacities that the plan was made with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.finance.resolve_program import RelayPrices
from optimize.money import calls_usd, hosts_usd
from optimize.money.amounts import amount_usd, load_hour_usd, scaled_usd
from optimize.money.contracts import paid_request_usd
from optimize.money.quantities import needed, pool_work
from optimize.records import Alternative, PoolTerms, RelayTerms
from optimize.result import Plan

ALL_API = ("relays wherever allowed", "all relay")
SELF_HOSTED = ("own GPUs wherever possible", "all self-hosted")


@dataclass(frozen=True)
class Strategy:
    """Who serves each class, and the factor that brings today's cost to that of the solved alternative (1 where there is none).

    pools    (index, classes) of pools;  relays  [classes] index of the relay, -1 for classes on pools
    """

    plan: Plan
    pools: tuple[tuple[int, tuple[int, ...]], ...]
    relays: tuple[int, ...]
    anchor: float = 1.0
    measured: bool = True

    def at(
        self, demand: float, gpu_price: float = 1.0, api_price: float = 1.0, load: float = 1.0, relays: RelayPrices | None = None
    ) -> float:
        """USD of a month at `demand` times today's requests; `load` scales what a request occupies on own GPUs, `relays` are announced
        prices. Infinite where a relay can no longer be bought.
        """
        plan, weight_h = self.plan, self.plan.demand.weight_h
        gpu_usd = api_usd = 0.0
        for p, classes in self.pools:
            terms, flow = plan.program.pools[p], np.zeros_like(plan.demand.mean_rps)
            flow[list(classes)] = plan.demand.mean_rps[list(classes)]
            hosts = needed(terms, pool_work(terms, flow) * demand * load)
            paid = hosts if terms.option.offer.elastic else np.full_like(hosts, hosts.max(initial=0))
            gpu_usd += hosts_usd(paid, weight_h, terms.option.offer.usd_per_hour)
        for a in sorted(set(self.relays) - {-1}):
            mine = np.array([relay == a for relay in self.relays])
            flow = np.where(mine[:, None], plan.demand.mean_rps, 0.0)
            sold = plan.program.relays[a]
            if relays is not None:
                sold = replace(sold, usd_per_request=np.array(relays.usd[a]))
                api_usd += math.inf if a in relays.gone else 0.0
            api_usd += calls_usd(flow, paid_request_usd(sold, -1), weight_h)
        fixed = plan.program.fixed_usd
        return scaled_usd(scaled_usd(gpu_usd, gpu_price) + scaled_usd(amount_usd(api_usd, demand), api_price), self.anchor) + fixed


def all_api(plan: Plan) -> Strategy | str:
    """Each class at its cheapest relay that keeps its promises, classes that no relay may serve on pools; or why there is none."""
    relays = [best_relay(plan, c) for c in range(len(plan.program.class_names))]
    if all(a is None for a in relays):
        return "no relay of this scenario may serve any class inside its promises"
    return _strategy(plan, relays, ALL_API)


def self_hosted(plan: Plan) -> Strategy | str:
    """Each class on the pool that serves it cheapest, classes that no pool serves at a relay; or why there is none."""
    pools = [best_pool(plan, c) for c in range(len(plan.program.class_names))]
    if all(p is None for p in pools):
        return "no pool of this scenario serves any class inside its promises"
    relays = [best_relay(plan, c) if pools[c] is None else None for c in range(len(pools))]
    return _strategy(plan, relays, SELF_HOSTED)


def _strategy(plan: Plan, relays: Sequence[int | None], names: Sequence[str]) -> Strategy | str:
    names_of = plan.program.class_names
    rest = [c for c, a in enumerate(relays) if a is None]
    pools = {c: best_pool(plan, c) for c in rest}
    nobody = [names_of[c] for c, p in pools.items() if p is None]
    if nobody:
        return f"no candidate can serve {', '.join(nobody)}"
    chosen = merged(plan, {c: p for c, p in pools.items() if p is not None})
    known = all(plan.program.pools[p].measured for p, _ in chosen)
    free = Strategy(plan, chosen, tuple(-1 if a is None else a for a in relays), measured=known)
    other, today = alternative(plan, names), free.at(1.0) - plan.program.fixed_usd
    solved = math.inf if other is None or other.per_month_usd is None else other.per_month_usd - plan.program.fixed_usd
    if today <= 0 or not math.isfinite(solved) or solved <= 0:
        return free
    return Strategy(plan, chosen, free.relays, solved / today, known)


def alternative(plan: Plan, names: Sequence[str]) -> Alternative | None:
    """The first alternative of one of these names that has a plan."""
    return next((other for other in plan.alternatives if other.name in names and other.per_month_usd is not None), None)


def best_relay(plan: Plan, c: int) -> int | None:
    """The cheapest relay that sells by the token, may serve class `c` and misses none of its promises too often."""

    def fits(terms: RelayTerms) -> bool:
        rows = [i for i, row in enumerate(plan.program.slos) if row.class_index == c]
        late = any(terms.miss[i] > 1 - plan.program.slos[i].needed + 1e-9 for i in rows)
        by_token = terms.units is None  # calls on provisioned units cost nothing, their units do
        return by_token and bool(terms.eligible[c]) and math.isfinite(terms.usd_per_request[c]) and not late

    found = [(float(terms.usd_per_request[c]), a) for a, terms in enumerate(plan.program.relays) if fits(terms)]
    return min(found)[1] if found else None


def best_pool(plan: Plan, c: int) -> int | None:
    """The pool with the least price of the capacity that a request of class `c` occupies; measured pools before others."""
    found = []
    for p, terms in enumerate(plan.program.pools):
        load = float(terms.levels[0].load[c])
        if c in terms.option.classes and math.isfinite(load):
            found.append((not terms.measured, price_of_load(terms, load), p))
    return min(found)[2] if found else None


def price_of_load(terms: PoolTerms, load: float) -> float:
    """USD per hour of the replicas that one request a second occupies in a large pool."""
    return load_hour_usd(terms.option.offer, load / max(terms.slope, 1e-12), terms.option.replicas_per_host)


def merged(plan: Plan, pools: dict[int, int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Classes that chose the same deployment share its pool, where the program knows one for exactly or more than these classes."""
    groups: dict[str, list[int]] = {}
    for c, p in pools.items():
        groups.setdefault(plan.program.pools[p].option.id.rpartition(":")[0], []).append(c)
    answer: list[tuple[int, tuple[int, ...]]] = []
    for shape, classes in sorted(groups.items()):
        shared = [
            p
            for p, terms in enumerate(plan.program.pools)
            if terms.option.id.rpartition(":")[0] == shape and set(classes) <= set(terms.option.classes) and terms.measured
            and all(math.isfinite(terms.levels[0].load[c]) for c in classes)
        ]  # fmt: skip
        if shared:
            answer.append((min(shared, key=lambda p: len(plan.program.pools[p].option.classes)), tuple(classes)))
        else:
            answer += [(pools[c], (c,)) for c in classes]
    return tuple(answer)
