"""Constraints of a plan that hold with almost no slack, in words."""

from __future__ import annotations

import numpy as np

from optimize.records import PoolTerms, ProgramInput, ProgramSolution
from optimize.search.loop import Market, Settled
from sim.exact import dot


def relay_need(problem: ProgramInput, solution: ProgramSolution, a: int) -> tuple[float, float]:
    """(requests, tokens) per minute that the plan sends to relay `a` in its peak minute."""
    rate = solution.relay_flow[a] * problem.demand.peak_factor * 60
    return float(rate.sum(axis=0).max()), float(dot(problem.relays[a].tokens_per_request, rate).max())


def binding(market: Market, settled: Settled) -> tuple[str, ...]:
    """Constraints that hold with (almost) no slack, in words."""
    problem, solution = settled.problem, settled.solution
    words = []
    if problem.budget_usd <= 0:
        words.append("budget: there is none")
    elif solution.cost_usd >= 0.98 * problem.budget_usd:
        words.append(f"budget: {solution.cost_usd / problem.budget_usd:.1%} of it is spent")
    for p, terms in enumerate(problem.pools):
        words += pool_words(terms, solution, p, problem)
    for a, relay in enumerate(problem.relays):
        rpm, tpm = relay_need(problem, solution, a)
        if rpm <= 0:
            continue
        for need, limit, unit in ((rpm, relay.rpm, "RPM"), (tpm, relay.tpm, "TPM")):
            if limit and need > 0.95 * limit:
                state = "binds" if relay.hard_limits else "must be raised"
                words.append(f"{relay.relay.id}: peak minute needs {need:,.0f} {unit} of {limit:,.0f}: the limit {state}")
    return tuple(words)


def pool_words(terms: PoolTerms, solution: ProgramSolution, p: int, problem: ProgramInput) -> list[str]:
    """What binds in one pool: its capacity at its fullest hour, and its stock."""
    hosts = solution.hosts[p]
    if not hosts.any():
        return []
    load = dot(np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0), solution.pool_flow[p])
    room = np.maximum(terms.slope * hosts * terms.option.replicas_per_host - terms.intercept, 1e-9)
    share = np.where(hosts > 0, load / room, 0.0)
    t = int(np.argmax(share))
    words = [f"{terms.option.id}: {share[t]:.0%} of measured capacity at {problem.demand.slices[t]}"] if share[t] > 0.95 else []
    stock = terms.option.offer.stock
    if stock is not None and hosts.max() >= stock:
        words.append(f"{terms.option.offer.id}: all {stock} in stock are used")
    return words
