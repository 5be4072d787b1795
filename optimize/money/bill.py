"""The lines of a plan's bill."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from optimize.money.contracts import hosts_usd, least_payment_usd, paid_request_usd, start_s, starts, starts_usd, units_usd
from optimize.money.off_peak import LEAST_SHARE, off_peak_part
from optimize.money.token_prices import calls_usd, requests_per_month
from optimize.records import BootTerms, CostLine, Floats, ProgramInput, ProgramSolution
from sim.exact import dot
from sim.plural import plural
from sim.requests import Demand


def cost_lines(problem: ProgramInput, solution: ProgramSolution) -> tuple[CostLine, ...]:
    """The bill of a solution: a line per pool and relay that costs anything, dearest first, then fixed costs; names are their ids."""
    weight_h = problem.demand.weight_h
    lines = []
    for p, terms in enumerate(problem.pools):
        billed = solution.billed[p]
        usd = hosts_usd(billed, weight_h, terms.option.offer.usd_per_hour)
        if billed.any():
            lines.append(CostLine(terms.option.id, "gpu", usd, f"{float(dot(billed, weight_h)):,.0f} host-hours"))
    for a in range(len(problem.relays)):
        lines += relay_lines(problem, solution, a)
    if problem.boot is not None:
        lines += start_lines(problem, solution, problem.boot)
    lines.sort(key=lambda line: (-line.per_month_usd, line.name))
    looked = classifier_usd(problem.demand, problem.classifier_usd)
    if problem.classifier_usd is not None and looked > 0:
        count = classified_requests(problem.demand, problem.classifier_usd)
        lines.append(CostLine(CLASSIFIER, "fixed", looked, f"{count:,.0f} requests"))
    if problem.fixed_usd - looked > 1e-9 * problem.fixed_usd:
        lines.append(CostLine("fixed costs", "fixed", problem.fixed_usd - looked))
    return tuple(lines)


def relay_lines(problem: ProgramInput, solution: ProgramSolution, a: int) -> list[CostLine]:
    """The calls of one relay at the prices of its tier, what its contract asks for beyond them, and its provisioned units."""
    terms, flow, lines = problem.relays[a], solution.relay_flow[a], []
    tier = -1 if solution.relay_tier is None else int(solution.relay_tier[a])
    used = 0.0
    if flow.any():
        requests = requests_per_month(flow.sum(axis=0), problem.demand.weight_h)
        used = calls_usd(flow, paid_request_usd(terms, tier), problem.demand.weight_h)
        part = off_peak_part(terms, flow, problem.demand.weight_h)
        cheap = f", {part:.0%} of them off peak" if part > LEAST_SHARE else ""
        lines.append(CostLine(terms.relay.id, "relay", used, f"{requests:,.0f} requests{cheap}"))
    least = least_payment_usd(terms, tier)
    if least > used:
        lines.append(CostLine(f"{terms.relay.id} minimum", "relay", least - used, f"the contract asks for ${least:,.0f} a month"))
    units = 0 if solution.relay_units is None else int(solution.relay_units[a])
    if units:
        lines.append(CostLine(f"{terms.relay.id} units", "relay", units_usd(terms, units), f"{units} provisioned {plural(units, 'unit')}"))
    return lines


def share_of_relays(lines: Sequence[CostLine], relays: Collection[str]) -> float:
    """The part of the bill that is paid to these relays, 0..1."""
    whole = math.fsum(line.per_month_usd for line in lines)
    paid = [line.per_month_usd for line in lines if line.kind == "relay" and line.name.split(" ")[0] in relays]
    return math.fsum(paid) / whole if whole > 0 else 0.0


def start_lines(problem: ProgramInput, solution: ProgramSolution, boot: BootTerms) -> list[CostLine]:
    """Hosts that are paid while they boot, before their hour and after it, by pool."""
    lines = []
    for p, terms in enumerate(problem.pools):
        offer = terms.option.offer
        usd = starts_usd(solution.hosts[p], boot, start_s(boot, terms), offer.usd_per_hour)
        if usd > 0:
            count = float(dot(starts(solution.hosts[p], boot), boot.times))
            lines.append(CostLine(f"{terms.option.id} starts", "gpu", usd, f"{count:,.0f} starts"))
    return lines


def plan_cost_usd(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Monthly cost of a solution: the sum of its lines."""
    return float(sum(line.per_month_usd for line in cost_lines(problem, solution)))


CLASSIFIER = "request classifier"  # name of its line


def classified_requests(demand: Demand, usd_per_request: Floats) -> float:
    """Requests a month of the classes that a classifier looks at: those with a price [classes]."""
    return requests_per_month(demand.mean_rps[usd_per_request > 0].sum(axis=0), demand.weight_h)


def classifier_usd(demand: Demand, usd_per_request: Floats | None) -> float:
    """Monthly cost of a classifier that looks at every request of a class once, `usd_per_request` [classes].

    >>> import numpy as np
    >>> day = Demand(("all",), np.array([730.0]), np.array([[2.0], [1.0]]), 1.0, *3 * (np.ones(2),))
    >>> round(classifier_usd(day, np.array([5e-6, 0.0])), 2), classifier_usd(day, None)
    (26.28, 0.0)
    """
    if usd_per_request is None:
        return 0.0
    each = [requests_per_month(rate, demand.weight_h) for rate in demand.mean_rps]
    return float(sum(count * float(usd) for count, usd in zip(each, usd_per_request, strict=True)))


def accepted_usd(usd: float, requests: float, accepted_share: float) -> float:
    """Cost of one answer that is accepted: what all of them cost, over those that were; infinite where none was.

    >>> accepted_usd(90.0, 1000.0, 0.9), accepted_usd(1.0, 10.0, 0.0)
    (0.1, inf)
    """
    accepted = requests * accepted_share
    return usd / accepted if accepted > 0 else math.inf
