"""Which classes share a pool: groups of classes become pools of the market where the program, hoping for them, would use them.

The market begins with a pool for each class and one for all. Few of the groups between them pay, and each takes measurements. So the
program is asked first, with what is known of the classes in other pools of the same deployment, and a group is added only if it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from optimize.market.context_fit import shape_name
from optimize.market.optimistic_load import class_loads
from optimize.market.pools import PoolState
from optimize.money.amounts import scaled_usd
from optimize.program.solve import solve
from optimize.records import Floats, LoadLevel, PoolOption, PoolTerms
from optimize.search.known_market import Market, Restriction, Settled
from sim.exact import dot

FEW = 5  # classes of which all groups are weighed: 31
MOST = 24  # groups weighed at once where there are more classes, those first that leave most of a host idle now
HOPE = 0.85  # of the load that its classes were measured with in other pools: together they seldom take less
WORTH = 0.005  # of the plan's cost that hope must save


def add_groups(market: Market, restriction: Restriction, settled: Settled) -> bool:
    """Adds the groups of classes that the program uses once it hopes for them; whether any was added."""
    options = list(new_groups(market, settled))
    if not options:
        return False
    pools = market.pools(restriction)
    problem = market.problem(restriction, pools)
    hoped = tuple(hoped_terms(market, option) for option in options)
    solution = solve(
        replace(problem, pools=(*problem.pools, *hoped)),
        gap=max(restriction.gap, WORTH),
        node_limit=restriction.nodes,
        exact=False,
    )
    if not settled.unserved and solution.cost_usd > scaled_usd(settled.solution.cost_usd, 1 - WORTH):
        return False
    used = [option for k, option in enumerate(options) if solution.hosts[len(pools) + k].any()]
    market.states += [state_of(market, option) for option in used]
    return bool(used)


def new_groups(market: Market, settled: Settled) -> Iterator[PoolOption]:
    """Groups of classes without a pool, in each deployment on an offer that the solution uses."""
    known = {state.option.id for state in market.states}
    names = [each.name for each in market.scenario.request_classes]
    shapes: dict[str, list[int]] = {}
    for p, state in enumerate(settled.pools):
        if settled.solution.hosts[p].any() and state.cost is not None and state.given is None:
            shapes.setdefault(shape_name(state.option), []).append(p)
    for shape, used in shapes.items():
        widest = max((s for s in market.states if shape_name(s.option) == shape), key=lambda s: len(s.option.classes)).option
        served = tuple(c for c in widest.classes if market.demand.mean_rps[c].any())
        for group in groups_of(served) if len(served) <= FEW else merged(settled, used):
            name = f"{shape}:{'+'.join(names[c] for c in group)}"
            if name not in known:
                known.add(name)
                yield replace(widest, id=name, classes=group)


def groups_of(classes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All groups of two and more of the classes.

    >>> list(groups_of((0, 2, 5)))
    [(0, 2), (0, 5), (2, 5), (0, 2, 5)]
    """
    for size in range(2, len(classes) + 1):
        yield from combinations(classes, size)


def merged(settled: Settled, used: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The classes that each of the pools `used` really gets, and those of two together, the most idle hosts first."""
    sent = {p: tuple(np.flatnonzero(settled.solution.pool_flow[p].any(axis=1)).tolist()) for p in used}
    for p in used:
        if len(sent[p]) > 1:
            yield sent[p]
    idle = {p: idle_hosts(settled, p) for p in used}
    pairs = [(float(np.floor(idle[p] + idle[q] + 1e-9).sum()), p, q) for p, q in combinations(used, 2)]
    for saved, p, q in sorted(pairs, key=lambda each: (-each[0], each[1:]))[:MOST]:
        if saved > 0:
            yield tuple(sorted({*sent[p], *sent[q]}))


def idle_hosts(settled: Settled, p: int) -> Floats:
    """[slices] part of its hosts that pool `p` pays for and does not fill."""
    terms, solution = settled.problem.pools[p], settled.solution
    level = terms.levels[0]
    load = dot(np.where(np.isfinite(level.load), level.load, 0.0), solution.pool_flow[p])
    return np.asarray(np.maximum(solution.billed[p] - load / (terms.slope * terms.option.replicas_per_host), 0.0))


def hoped_terms(market: Market, option: PoolOption) -> PoolTerms:
    """What the group may be worth: HOPE times the least load that each class was measured with on such replicas, at least the ideal."""
    alike = [s for s in market.states if s.points and s.given is None and shape_name(s.option) == shape_name(option)]
    base = state_of(market, option).base
    loads = [terms.levels[0].load / terms.slope for terms in (state.terms() for state in alike)]
    least = np.min([np.full(len(base), np.inf), *loads], axis=0)
    load = np.where(np.isfinite(least), np.maximum(base, HOPE * least), base)
    for state in alike:
        if len(state.option.classes) == 1 and not np.isfinite(state.terms().levels[0].load).any():
            load[list(state.option.classes)] = np.inf  # what the deployment cannot serve alone it cannot serve in company
    return PoolTerms(option, (LoadLevel(load, np.zeros(len(market.slos))),), 1.0, 0.0, False)


def state_of(market: Market, option: PoolOption) -> PoolState:
    """A pool of the group, nothing measured in it yet."""
    cost = next(s.cost for s in market.states if s.option.deployment == option.deployment and s.cost is not None)
    base = class_loads(option, cost, market.demand, market.slos, rigorous=False)
    return PoolState(option, cost, base, market.slos)
