"""What the program may choose between, as tight numbers: usable pools, what a host of each carries, and how many could ever be needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optimize.money.amounts import amount_usd, load_usd
from optimize.money.contracts import cheapest_and_dearest, start_usd
from optimize.program.rows.escalations import miss_over, no_more_again
from optimize.records import Ints, PoolOption, PoolTerms, ProgramInput
from sim.exact import dot


@dataclass(frozen=True)
class PoolRoute:
    """A pool that can carry something.

    index      position in ProgramInput.pools
    per_host   replicas' worth of load that one more host carries (slope * replicas per host)
    overhead   load that a running pool loses whatever its size: the intercept and, under N+1, one host
    served     per load level the classes with finite load
    boot_usd   price of the boot of one host; 0 where starts are free or hosts never start
    most       [slices] hosts beyond which nothing is gained: all demand that the pool may serve, at its largest load; stock
    """

    index: int
    terms: PoolTerms
    per_host: float
    overhead: float
    spare: int
    served: tuple[tuple[int, ...], ...]
    most: Ints
    boot_usd: float

    @property
    def elastic(self) -> bool:
        return self.terms.option.offer.elastic

    @property
    def usd_per_hour(self) -> float:
        return self.terms.option.offer.usd_per_hour

    @property
    def switched(self) -> bool:
        """Whether running at all costs something, so that the program needs to know if it runs."""
        return self.overhead > 0


def pool_routes(problem: ProgramInput) -> tuple[PoolRoute, ...]:
    """The pools that serve at least one class in at least one hour; profiles with zero rates (infinite load) are left out."""
    routes = (pool_route(problem, p) for p in range(len(problem.pools)))
    return tuple(route for route in routes if route is not None)


def pool_route(problem: ProgramInput, p: int) -> PoolRoute | None:
    """Pool `p` as a route; None if it can carry nothing."""
    terms = problem.pools[p]
    option, demand = terms.option, problem.demand.mean_rps
    per_host = terms.slope * option.replicas_per_host * spot_availability(problem, option)
    stock = option.offer.stock
    served = tuple(tuple(int(c) for c in option.classes if math.isfinite(level.load[c]) and demand[c].any()) for level in terms.levels)
    if per_host <= 0 or stock == 0 or not any(served):
        return None
    spare = int(problem.n_plus_one)
    overhead = max(0.0, terms.intercept)
    worst = np.zeros(len(demand))
    for level, classes in zip(terms.levels, served, strict=True):
        worst[list(classes)] = np.maximum(worst[list(classes)], level.load[list(classes)])
    load = dot(worst, demand) * largest_share(problem, option)
    most = np.ceil((load + overhead) / per_host - 1e-9) + spare
    most = np.where(load > 0, most, 0)
    if stock is not None:
        most = np.minimum(most, stock)
    boot_usd = start_usd(problem.boot, terms)
    return PoolRoute(p, terms, per_host, overhead + spare * per_host, spare, served, most.astype(np.int64), boot_usd)


def largest_share(problem: ProgramInput, option: PoolOption) -> float:
    """The largest part of a class that this pool can ever carry: all, or what spot may; in reserve there is no such limit."""
    spot = problem.spot if option.offer.term == "spot" else None
    return 1.0 if spot is None or problem.relay_outage_reserve else spot.max_share


def spot_availability(problem: ProgramInput, option: PoolOption) -> float:
    """The part of its capacity that a host of this pool is counted with."""
    return problem.spot.availability if problem.spot is not None and option.offer.term == "spot" else 1.0


def relay_classes(problem: ProgramInput, a: int) -> tuple[int, ...]:
    """Classes that relay `a` may serve and that ask for anything."""
    terms, demand = problem.relays[a], problem.demand.mean_rps
    return tuple(int(c) for c in np.flatnonzero(terms.eligible) if math.isfinite(terms.usd_per_request[c]) and demand[c].any())


def penalty_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> float:
    """USD per unserved request: what the caller asks for, and at least ten times the dearest route at full use.

    Serving a request on a full host or a relay is then always cheaper than leaving it out.
    """
    dearest = 0.0
    for route in routes:
        hours = 1.0 if route.elastic else 730.0 / float(problem.demand.weight_h.min())
        for level, classes in zip(route.terms.levels, route.served, strict=True):
            for c in classes:
                held_usd = amount_usd(route.usd_per_hour, hours) + route.boot_usd
                dearest = max(dearest, load_usd(held_usd, float(level.load[c]), route.per_host))
    for a, terms in enumerate(problem.relays):
        dearest = max([dearest, *(cheapest_and_dearest(terms, c)[1] for c in relay_classes(problem, a))])
    return max(problem.unserved_usd_per_request, 10 * dearest)


def breakable(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> frozenset[int]:
    """Promises that at least one pool or relay would break alone; the others hold whoever serves, and their miss shares do not matter."""
    found = set()
    for i, row in enumerate(problem.slos):
        c, allowed = row.class_index, 1.0 - row.needed
        over = [
            miss_over(route.terms.option.escalation, c, i, float(level.miss[i]), allowed)
            for route in routes
            for level, classes in zip(route.terms.levels, route.served, strict=True)
            if c in classes
        ]
        relays = [terms for a, terms in enumerate(problem.relays) if c in relay_classes(problem, a)]
        over += [miss_over(terms.escalation, c, i, float(terms.miss[i]), allowed) for terms in relays]
        if any(more > 0 for more in over):
            found.add(i)
    return frozenset(found)


def no_worse(problem: ProgramInput, one: PoolRoute, other: PoolRoute, broken: frozenset[int]) -> bool:
    """Whether n hosts of `one` can do all that n hosts of `other` can, for every n, at no higher price.

    Then leaving `other` out does not change the optimum. Needs: as elastic, no dearer to run and to start, no scarcer, spot only for
    spot, every class at no higher load per capacity (checked at the fewest hosts that carry anything and in the limit of many: the
    ratio is monotone between) and no higher miss share of promises that can be broken at all.
    """
    if len(one.terms.levels) > 1 or len(other.terms.levels) > 1 or (other.elastic and not one.elastic):
        return False
    offer = one.terms.option.offer
    if (offer.term == "spot") > (other.terms.option.offer.term == "spot") or one.boot_usd > other.boot_usd:
        return False
    if one.usd_per_hour > other.usd_per_hour or not (offer.stock is None or offer == other.terms.option.offer):
        return False
    a, b = one.terms.levels[0], other.terms.levels[0]
    fewest = math.floor(other.overhead / other.per_host) + 1
    small_one, small_other = one.per_host * fewest - one.overhead, other.per_host * fewest - other.overhead
    for c in other.served[0]:
        if c not in one.served[0]:
            return False
        if a.load[c] * other.per_host > b.load[c] * one.per_host or a.load[c] * small_other > b.load[c] * small_one:
            return False
    rows = [i for i in sorted(broken) if problem.slos[i].class_index in other.served[0]]
    return bool(np.all(a.miss[rows] <= b.miss[rows])) and no_more_again(one.terms.option, other.terms.option, other.served[0], rows)


def undominated(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> tuple[PoolRoute, ...]:
    """The routes without those that another can replace; of equals the first stays.

    Stock is shared by the pools of an offer, so a pool is only replaced by one of the same offer or of one that cannot run out.
    """
    broken = breakable(problem, routes)
    kept: list[PoolRoute] = []
    for route in routes:
        if any(no_worse(problem, other, route, broken) for other in kept):
            continue
        kept = [other for other in kept if not no_worse(problem, route, other, broken)] + [route]
    return tuple(kept)
