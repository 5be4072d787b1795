"""Hosts for each hour of a log by itself: its hours differ in bursts and lengths, and capacity was measured in the busiest one only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optimize.money import plan_cost_usd
from optimize.records import Ints, ProgramSolution
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS, MORE_SEEDS, RARE_SEEDS
from optimize.search.hour_evidence import HourEvidence, quantiles_of
from optimize.search.loop import Market, Settled, all_hold, hold_out
from optimize.search.stability import grows
from optimize.search.verify import verify
from sim.scenario.scenario import LogTraffic

EFFORT = 20_000_000  # simulated requests that a search may take
MOST = 64  # times the hosts of the plan: beyond that an hour is given up
LOOKS = 7  # at an hour until its fewest hosts are known, about


def fit_hours(market: Market, settled: Settled) -> Settled:
    """The plan with as few hosts in each hour of a log as keep every promise in it, pool by pool, more where the hour has bursts.

    Only of offers that follow the hour; any other plan comes back as it is, and so does one that would break stock or budget.
    """
    if not isinstance(market.scenario.traffic, LogTraffic) or market.scenario.policy.n_plus_one or settled.unserved:
        return settled
    best, left = settled, float(EFFORT)
    for p, terms in enumerate(settled.problem.pools):
        for t in np.flatnonzero(settled.solution.hosts[p]).tolist() if terms.option.offer.elastic else ():
            requests = float(settled.problem.demand.mean_rps[:, t].sum()) * 3600
            left -= requests * LOOKS
            best = fewest(market, best, p, t) if left > 0 else best
    return best if affordable(market, best) else settled


def refit(market: Market, settled: Settled, evidence: list[HourEvidence]) -> tuple[Settled, list[HourEvidence]]:
    """The plan after `fit_hours` where it then holds, and did not before or cost more; else as it was."""
    fitted = fit_hours(market, settled)
    held = all_hold(settled, evidence)
    if fitted is settled or (held and fitted.solution.cost_usd > settled.solution.cost_usd - 0.005):
        return settled, evidence
    proof = hold_out(market, fitted, 1)
    stable = not grows(market.scenario, fitted.problem, fitted.solution, [state.cost for state in fitted.pools])
    return (fitted, proof) if stable and all_hold(fitted, proof) else (settled, evidence)


def fewest(market: Market, settled: Settled, p: int, t: int) -> Settled:
    """The plan with the fewest hosts of pool `p` in hour `t` with which the hour holds; as it was where up to MOST times them do not."""
    today = int(settled.solution.hosts[p, t])
    low, high, step = 0, today, 1  # `low` does not hold
    while not holds(market, with_hosts(settled, p, t, high), t):
        low, high, step = high, high + step, 2 * step
        if high > MOST * today:
            return settled
    while high - low > 1:
        middle = (low + high) // 2
        if holds(market, with_hosts(settled, p, t, middle), t):
            high = middle
        else:
            low = middle
    return with_hosts(settled, p, t, high)


def with_hosts(settled: Settled, p: int, t: int, hosts: int) -> Settled:
    """The plan with so many hosts of pool `p` in hour `t`, and what it costs then."""
    if hosts == settled.solution.hosts[p, t]:
        return settled
    run, billed = settled.solution.hosts.copy(), settled.solution.billed.copy()
    run[p, t] = billed[p, t] = hosts
    solution: ProgramSolution = replace(settled.solution, hosts=run, billed=billed)
    return replace(settled, solution=replace(solution, cost_usd=plan_cost_usd(settled.problem, solution)))


def holds(market: Market, settled: Settled, t: int) -> bool:
    """Whether every promise holds in hour `t` on the seeds of the proof."""
    costs = [state.cost for state in settled.pools]
    scenario, problem, solution = market.scenario, settled.problem, settled.solution
    more = (*MORE_SEEDS, *RARE_SEEDS)  # as the proof asks: what is seen here it need not simulate again
    (seen,) = verify(scenario, problem, solution, costs, HOLD_OUT_SEEDS, market.jobs, [t], store=market.store, more_seeds=more)
    return bool(seen.holds(quantiles_of(problem)).all())


def affordable(market: Market, settled: Settled) -> bool:
    """Whether the plan is inside the budget and the stock of its offers."""
    problem, used = settled.problem, dict[str, Ints]()
    for p, terms in enumerate(problem.pools):
        used[terms.option.offer.id] = used.get(terms.option.offer.id, 0) + settled.solution.hosts[p]
    stock = {terms.option.offer.id: terms.option.offer.stock for terms in problem.pools}
    inside = all(most is None or int(used[name].max()) <= most for name, most in stock.items())
    return inside and settled.solution.cost_usd <= market.budget_usd * (1 + 1e-9)
