"""Constraint family: no pool carries more than its hosts sustain."""

from __future__ import annotations

import pulp

from optimize.program.routes import PoolRoute, largest_share
from optimize.program.rows.model import Model, Pair


def capacity_rows(model: Model) -> None:
    """Per pool p and hour t: sum_jc load_pjc d_ct x_pjct + overhead_p on_pt <= per_host_p hosts_pt.

    per_host = slope x replicas per host; overhead = intercept, and under N+1 one host more: what is left with a host lost still
    carries everything. The line slope * n - intercept is the measured convex capacity from its safe side.
    """
    demand = model.problem.demand.mean_rps
    rows: dict[tuple[int, int], list[Pair]] = {}
    by_index = {route.index: route for route in model.routes}
    for (p, j, c, t), variable in model.flow.items():
        load = float(by_index[p].terms.levels[j].load[c] * demand[c, t])
        rows.setdefault((p, t), []).append((variable, load))
    hosts_carry(model, "capacity", rows)


def hosts_carry(model: Model, family: str, loads: dict[tuple[int, int], list[Pair]], **index: int) -> None:
    """Per (pool, hour) of `loads`: its load is at most per_host hosts_pt - overhead on_pt."""
    by_index = {route.index: route for route in model.routes}
    for (p, t), terms in loads.items():
        route = by_index[p]
        hosts, on = model.hosts_of(route, t), model.on_of(route, t)
        assert hosts is not None
        terms.append((hosts, -route.per_host))
        if on is not None:
            terms.append((on, route.overhead))
        model.add(family, terms, pulp.LpConstraintLE, 0.0, **index, pool=p, hour=t)


def running_rows(model: Model) -> None:
    """Per pool p with overhead and hour t: hosts_pt <= most_pt on_pt and hosts_pt >= (1 + spare) on_pt.

    A pool that has hosts runs, so it pays its overhead; a pool that runs has a host, and a spare one under N+1.
    """
    for route in model.routes:
        if not route.switched:
            continue
        for (p, t), on in model.on.items():
            if p != route.index:
                continue
            hosts = model.hosts_of(route, t)
            assert hosts is not None
            index = {"pool": p, "hour": t} if t >= 0 else {"pool": p}
            model.add("running", [(hosts, 1.0), (on, -float(hosts.upBound))], pulp.LpConstraintLE, 0.0, **index)
            model.add("least", [(hosts, 1.0), (on, -1.0 - route.spare)], pulp.LpConstraintGE, 0.0, **index)


def linking_rows(model: Model) -> None:
    """Per switched pool p with several classes, class c and hour t: sum_j x_pjct <= largest share_p on_pt (1, or what spot may carry).

    Implied for whole numbers; in the relaxation it keeps a shared pool from running a little for one class only.
    """
    rows: dict[tuple[int, int, int], list[Pair]] = {}
    by_index = {route.index: route for route in model.routes}
    for (p, _, c, t), variable in model.flow.items():
        route = by_index[p]
        if route.switched and len(route.terms.option.classes) > 1:
            rows.setdefault((p, c, t), []).append((variable, 1.0))
    for (p, c, t), terms in rows.items():
        on = model.on_of(by_index[p], t)
        assert on is not None
        most = largest_share(model.problem, by_index[p].terms.option)
        model.add("linked", [*terms, (on, -most)], pulp.LpConstraintLE, 0.0, pool=p, class_=c, hour=t)


def stock_rows(model: Model) -> None:
    """Per offer o with a stock and hour t: sum of hosts_pt over its pools <= stock_o. One pool alone has this as its bound."""
    offers: dict[str, list[int]] = {}
    for k, route in enumerate(model.routes):
        if route.terms.option.offer.stock is not None:
            offers.setdefault(route.terms.option.offer.id, []).append(k)
    for offer, members in offers.items():
        routes = [model.routes[m] for m in members]
        if len(routes) < 2:
            continue
        stock = float(routes[0].terms.option.offer.stock or 0)
        for index in stock_rows_of(model, routes):
            t = index.get("hour", model.view.slices[0])
            terms: list[Pair] = [(v, 1.0) for v in (model.hosts_of(route, t) for route in routes) if v is not None]
            model.add("stock", terms, pulp.LpConstraintLE, stock, offer=offer, **index)


def stock_rows_of(model: Model, routes: list[PoolRoute]) -> list[dict[str, int]]:
    """The rows that an offer with these pools needs: one an hour, or a single one where all of them stand in every hour."""
    return [{"hour": t} for t in model.view.slices] if any(route.elastic for route in routes) else [{}]


def spot_rows(model: Model) -> None:
    """Per class c and hour t: sum over spot pools p of x_pjct <= max_share.

    So at least 1 - max_share of every class stands on hosts that are not taken back, on relays, or is unserved. Spot capacity is
    counted times its availability (see `pool_route`).
    """
    spot = model.problem.spot
    if spot is None or spot.max_share >= 1.0:
        return
    taken = {route.index for route in model.routes if route.terms.option.offer.term == "spot"}
    rows: dict[tuple[int, int], list[Pair]] = {}
    for (p, _, c, t), variable in model.flow.items():
        if p in taken:
            rows.setdefault((c, t), []).append((variable, 1.0))
    for (c, t), terms in rows.items():
        model.add("spot", terms, pulp.LpConstraintLE, spot.max_share, class_=c, hour=t)


def start_rows(model: Model) -> None:
    """Per elastic pool p and hour t after hour t': n_pt - n_pt' <= s_pt; s_pt >= 0 costs boot_p times the price of an hour, each time.

    In an hour alone n_pt' is what the hour before was given; where that is not known, prices on n stand in for these rows.
    """
    for (p, t), variable in model.starts.items():
        terms = [(model.hosts[p, t], 1.0), (variable, -1.0)]
        assert model.problem.boot is not None
        if not model.view.month:
            before_it = float((model.view.before or {}).get(p, 0))
            model.add("start", terms, pulp.LpConstraintLE, before_it, pool=p, hour=t)
            continue
        if model.problem.boot.previous[t] == t:  # the same hour all day: hosts never start
            continue
        before = model.hosts.get((p, model.problem.boot.previous[t]))
        if before is not None:
            terms.append((before, -1.0))
        model.add("start", terms, pulp.LpConstraintLE, 0.0, pool=p, hour=t)
