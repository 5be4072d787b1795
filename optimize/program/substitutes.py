"""What no optimum has, because other pools or relays do the same for less: hosts of a pool beyond some number, calls of a dearer relay."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.money import HOUR_S
from optimize.money.amounts import amount_usd
from optimize.money.contracts import slice_usd
from optimize.program.routes import PoolRoute, breakable, pool_routes, undominated
from optimize.program.rows.escalations import no_more_again
from optimize.program.rows.joining import touched
from optimize.records import Floats, PoolOption, ProgramInput, RelayTerms

LOOK = 64  # hosts of a pool that are exchanged at once, at most
STRICT = 1e-9  # relative: only what is cheaper beyond rounding takes a pool's place


def usable(problem: ProgramInput) -> tuple[PoolRoute, ...]:
    """The pools that can carry something; those that another replaces are left out, unless a row that joins hours counts pools."""
    routes = pool_routes(problem)
    return routes if "pools" in touched(problem) else undominated(problem, routes)


def worth_trying(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> tuple[ProgramInput, tuple[PoolRoute, ...]]:
    """The problem without calls, and the routes without hosts, that no optimum needs."""
    return without_dear_calls(problem, breakable(problem, routes)), with_fewer_hosts(problem, routes)


def with_fewer_hosts(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> tuple[PoolRoute, ...]:
    """The routes with `most` lowered to what can be optimal; those that never are, left out.

    If m hosts of another pool, or calls of a relay without limits, carry whatever k hosts of a pool can and cost less, then no optimum
    has k hosts of it: the exchange would be cheaper and breaks no row. Every optimum keeps all these bounds at once. Needs: elastic,
    starts free, one load level; the substitute cannot run out, serves all its classes and misses no more of the promises that
    anybody breaks.
    """
    if problem.boot is not None or not any(route.elastic for route in routes) or "pools" in touched(problem):
        return routes
    broken = breakable(problem, routes)
    called = called_usd(problem, routes, broken)
    kept = []
    for k, route in enumerate(routes):
        if not route.elastic or len(route.terms.levels) > 1 or route.usd_per_hour <= 0:
            kept.append(route)
            continue
        most = np.minimum(route.most, called[k])
        for other in routes:
            if other is not route and can_stand_in(problem, other, route, broken):
                most = np.minimum(most, hosts_worth(route, other))
        if most.any():
            kept.append(replace(route, most=most.astype(np.int64)))
    return tuple(kept)


def can_stand_in(problem: ProgramInput, one: PoolRoute, other: PoolRoute, broken: frozenset[int]) -> bool:
    """Whether enough hosts of `one` can do what `other` does, whatever they cost."""
    if not one.elastic or len(one.terms.levels) > 1 or one.terms.option.offer.stock is not None:
        return False
    if one.terms.option.offer.term == "spot" and other.terms.option.offer.term != "spot":
        return False
    if not set(other.served[0]) <= set(one.served[0]):
        return False
    rows = [i for i in sorted(broken) if problem.slos[i].class_index in other.served[0]]
    no_more = bool(np.all(one.terms.levels[0].miss[rows] <= other.terms.levels[0].miss[rows]))
    return no_more and no_more_again(one.terms.option, other.terms.option, other.served[0], rows)


def hosts_worth(route: PoolRoute, other: PoolRoute) -> Floats:
    """[slices] hosts of `route` beyond which hosts of `other` cost less.

    A load of one on `route` is at most r = max_c load'_c / load_c on `other`. So k of the hosts of `route`, however many there are, can
    be exchanged for ceil((r k per_host + overhead') / per_host') of the other's; all of them for the other's most.
    """
    classes = list(route.served[0])
    ratio = float(np.max(other.terms.levels[0].load[classes] / route.terms.levels[0].load[classes]))
    price = route.usd_per_hour * (1.0 - STRICT)
    k = np.arange(1.0, LOOK + 1)
    hosts = np.ceil((ratio * route.per_host * k + other.overhead) / other.per_host - 1e-9)
    cheaper = np.flatnonzero(amount_usd(other.usd_per_hour, hosts) < amount_usd(price, k))
    part = float(cheaper[0]) if len(cheaper) else math.inf
    most: Floats = np.minimum(np.floor(amount_usd(other.usd_per_hour, other.most.astype(np.float64)) / price), part)
    return most


def called_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], broken: frozenset[int]) -> Floats:
    """[routes, slices] hosts beyond which calls of relays cost less; inf where relays cannot serve what the pool serves.

    n hosts carry no more than all demand of their classes, and no more than n per_host / load_c of any: the dearer class to call.
    """
    demand = problem.demand.mean_rps
    usd = {a: np.array([slice_usd(terms, t) for t in range(demand.shape[1])]).T for a, terms in enumerate(problem.relays)}
    free = [a for a, terms in enumerate(problem.relays) if unlimited(problem, terms)]
    found = np.full((len(routes), demand.shape[1]), np.inf)
    for k, route in enumerate(routes):
        least = np.full((len(route.served[0]), demand.shape[1]), np.inf)
        for j, c in enumerate(route.served[0]):
            rows = [i for i in sorted(broken) if problem.slos[i].class_index == c]
            for a in free:
                if answers_no_worse(problem.relays[a], route, c, rows):
                    least[j] = np.minimum(least[j], amount_usd(usd[a][c], HOUR_S))
        classes, price = list(route.served[0]), route.usd_per_hour * (1.0 - STRICT)
        if price <= 0:
            continue  # nothing is cheaper than hosts that cost nothing
        least = np.where(demand[classes] > 0, least, 0.0)
        worth = (least / route.terms.levels[0].load[classes][:, None]).max(axis=0) * route.per_host
        all_called = (least * demand[classes]).sum(axis=0) / price
        found[k] = np.where(worth < price, 0.0, np.floor(all_called))
    return found


def without_dear_calls(problem: ProgramInput, broken: frozenset[int]) -> ProgramInput:
    """The problem without calls for which another relay, without limits, asks no more in any hour and breaks no promise; of equals the
    first stays. Relays with an account keep theirs: what is paid there may count towards a minimum.
    """
    demand = problem.demand.mean_rps
    usd = [np.array([slice_usd(terms, t) for t in range(demand.shape[1])]) for terms in problem.relays]
    free = [a for a, terms in enumerate(problem.relays) if unlimited(problem, terms) and terms.escalation is None]

    def dearer(a: int, c: int) -> bool:
        rows = [i for i in broken if problem.slos[i].class_index == c]
        return any(
            b != a
            and bool(problem.relays[b].eligible[c] and np.isfinite(usd[b][:, c]).all())
            and bool((usd[b][:, c] <= usd[a][:, c]).all() and (b < a or (usd[b][:, c] < usd[a][:, c]).any()))
            and bool(np.all(problem.relays[b].miss[rows] <= problem.relays[a].miss[rows]))
            for b in free
        )

    relays = list(problem.relays)
    for a, terms in enumerate(relays):
        if terms.escalation is None and not has_account(terms):
            dear = [c for c in range(len(demand)) if terms.eligible[c] and dearer(a, c)]
            relays[a] = replace(terms, eligible=terms.eligible & ~np.isin(np.arange(len(demand)), dear))
    return replace(problem, relays=tuple(relays))


def has_account(terms: RelayTerms) -> bool:
    """Whether more than calls is paid there, or paid in another way."""
    return bool(terms.tiers) or terms.committed_usd > 0 or terms.spend_cap_usd is not None or terms.units is not None


def unlimited(problem: ProgramInput, terms: RelayTerms) -> bool:
    """Whether calls of a relay are bounded by nothing but demand."""
    if "relays" in touched(problem):
        return False
    if problem.max_relay_share < 1.0 or problem.relay_outage_reserve:
        return False
    if problem.vendor_shares.get(terms.relay.vendor, problem.vendor_shares.get("*", 1.0)) < 1.0:
        return False
    limits = terms.hard_limits and (terms.relay.rpm is not None or terms.relay.tpm is not None)
    return not has_account(terms) and not limits


def answers_no_worse(terms: RelayTerms, route: PoolRoute, c: int, rows: list[int]) -> bool:
    """Whether the relay can take class `c` from a pool without a promise being the worse for it."""
    if not terms.eligible[c] or not math.isfinite(terms.usd_per_request[c]) or terms.escalation is not None:
        return False
    option: PoolOption = route.terms.option
    return option.escalation is None and bool(np.all(terms.miss[rows] <= route.terms.levels[0].miss[rows]))
