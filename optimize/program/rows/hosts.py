"""Constraint family: no pool carries more than its hosts sustain."""

from __future__ import annotations

import pulp

from optimize.program.routes import largest_share
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
    for (p, t), terms in rows.items():
        route = by_index[p]
        hosts, on = model.hosts_of(route, t), model.on_of(route, t)
        assert hosts is not None
        terms.append((hosts, -route.per_host))
        if on is not None:
            terms.append((on, route.overhead))
        model.add(f"capacity_{p}_{t}", terms, pulp.LpConstraintLE, 0.0)


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
            name = f"{p}_{t}" if t >= 0 else f"{p}"
            model.add(f"running_{name}", [(hosts, 1.0), (on, -float(hosts.upBound))], pulp.LpConstraintLE, 0.0)
            model.add(f"least_{name}", [(hosts, 1.0), (on, -1.0 - route.spare)], pulp.LpConstraintGE, 0.0)


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
        model.add(f"linked_{p}_{c}_{t}", [*terms, (on, -most)], pulp.LpConstraintLE, 0.0)
