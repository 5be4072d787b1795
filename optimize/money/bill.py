"""The lines of a plan's bill."""

from __future__ import annotations

from optimize.money.rent import hosts_usd
from optimize.money.tokens import calls_usd, requests_per_month
from optimize.records import CostLine, ProgramInput, ProgramSolution


def cost_lines(problem: ProgramInput, solution: ProgramSolution) -> tuple[CostLine, ...]:
    """The bill of a solution: a line per pool and relay that costs anything, dearest first, then fixed costs; names are their ids."""
    weight_h = problem.demand.weight_h
    lines = []
    for p, terms in enumerate(problem.pools):
        billed = solution.billed[p]
        usd = hosts_usd(billed, weight_h, terms.option.offer.usd_per_hour)
        if billed.any():
            lines.append(CostLine(terms.option.id, "gpu", usd, f"{float(billed @ weight_h):,.0f} host-hours"))
    for a, relay in enumerate(problem.relays):
        flow = solution.relay_flow[a]
        if flow.any():
            requests = requests_per_month(flow.sum(axis=0), weight_h)
            lines.append(CostLine(relay.relay.id, "relay", calls_usd(flow, relay.usd_per_request, weight_h), f"{requests:,.0f} requests"))
    lines.sort(key=lambda line: (-line.per_month_usd, line.name))
    if problem.fixed_usd:
        lines.append(CostLine("fixed costs", "fixed", problem.fixed_usd))
    return tuple(lines)


def plan_cost_usd(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Monthly cost of a solution: the sum of its lines."""
    return float(sum(line.per_month_usd for line in cost_lines(problem, solution)))
