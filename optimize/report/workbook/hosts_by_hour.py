"""Hosts hour by hour as formulas over demand: today's, plus what the capacity line of the pool asks beyond today."""

from __future__ import annotations

import numpy as np

from optimize.money.quantities import needed, pool_work
from optimize.report.workbook.pen import place
from optimize.report.workbook.scenario_cells import FACTORS
from optimize.result import Plan
from optimize.tables.tables import used_pools

SHEET = "Fleet by hour"
FIRST = 3  # column of the first pool's replicas
WEIGHT = 1  # column of the hours a month


def replicas_formula(plan: Plan, p: int, t: int) -> str:
    """Replicas of pool `p` in slice `t`, as `optimize.money.quantities.scaled_hosts` counts hosts; a number where there is no work."""
    terms, hosts = plan.program.pools[p], int(plan.solution.hosts[p, t])
    work = float(pool_work(terms, plan.solution.pool_flow[p])[t])
    per_host = terms.option.replicas_per_host
    if hosts == 0 or work <= 0:
        return f"={hosts * per_host}"
    today = int(needed(terms, np.array([work]))[0])
    asked = f"ROUNDUP(({work!r}*{FACTORS[0]}+{float(terms.intercept)!r})/{max(float(terms.slope), 1e-12)!r}/{per_host}-0.000000001,0)"
    return f"=MAX({hosts - today}+MAX({asked},1),1)*{per_host}"


def column_of(plan: Plan, p: int) -> int:
    """The column of the sheet that holds the replicas of a pool that is used."""
    return FIRST + used_pools(plan).index(p)


def cells(plan: Plan, column: int) -> str:
    """All hours of one column."""
    last = len(plan.demand.slices)
    return f"{place(SHEET, 1, column)}:{place(SHEET, last, column).split('!')[1]}"


def most_hosts(plan: Plan, p: int) -> str:
    """Paid hosts of the busiest hour, without the equals sign."""
    hosts, billed = plan.solution.hosts[p], plan.solution.billed[p]
    more = int(billed.max()) - int(hosts.max())
    return f"(MAX({cells(plan, column_of(plan, p))})/{plan.program.pools[p].option.replicas_per_host}+{more})"


def host_hours(plan: Plan, p: int) -> str:
    """Paid host-hours of a month of pool `p`."""
    hosts, billed = plan.solution.hosts[p], plan.solution.billed[p]
    terms, weight = plan.program.pools[p], plan.demand.weight_h
    if not terms.option.offer.elastic:
        return f"=MAX(0,{most_hosts(plan, p)})*{float(weight.sum())!r}"
    idle = float(np.maximum(billed - hosts, 0) @ weight)
    sums = f"SUMPRODUCT({cells(plan, column_of(plan, p))},{cells(plan, WEIGHT)})"
    return f"={sums}/{terms.option.replicas_per_host}+{idle!r}"
