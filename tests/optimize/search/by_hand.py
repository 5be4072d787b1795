"""A settled plan and the evidence of its hours, written by hand: nothing is simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from optimize.market.pools import PoolState
from optimize.money import plan_cost_usd
from optimize.program.solve import solve
from optimize.records import PoolTerms, ProgramInput, SloRow, SloVerdict
from optimize.search.cache import CapacityStore
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import Market, Settled
from optimize.search.simulated_hour import Hour
from sim.fleet.fleet import Fleet
from sim.scenario.scenario import Scenario

MANY = 1_000_000  # requests of an hour: so many that one seed is taken at its word


def state_of(terms: PoolTerms, rows: tuple[SloRow, ...]) -> PoolState:
    """What the search knows of a pool: these terms."""
    return PoolState(terms.option, None, terms.levels[0].load, rows, given=terms)


def settled_of(problem: ProgramInput, hosts: Sequence[Sequence[int]] | None = None) -> Settled:
    """The problem with its optimum, or with these hosts [pools][slices]."""
    solution = solve(problem, gap=1e-6)
    if hosts is not None:
        run = np.array(hosts, dtype=np.int64)
        solution = replace(solution, hosts=run, billed=run.copy())
        solution = replace(solution, cost_usd=plan_cost_usd(problem, solution))
    return Settled(problem, solution, tuple(state_of(terms, problem.slos) for terms in problem.pools))


def market_of(settled: Settled, scenario: object = None, tell: Any = lambda _: None) -> Market:
    """A market of nothing but what the plan uses."""
    problem = settled.problem
    given = cast(Scenario, scenario)
    return Market(
        given, problem.demand, problem.slos, list(settled.pools), list(problem.relays), problem.budget_usd, CapacityStore(None), 1, tell
    )


def evidence_of(settled: Settled, hour: int, shares: Sequence[float], sent: Sequence[float] | None = None) -> HourEvidence:
    """One seed of one hour with one promise: the share of its requests that each target (pools, then relays) answered in time.

    `sent` is the share of the requests that went there: equal parts where none are named.
    """
    pools, relays = range(len(settled.problem.pools)), range(len(settled.problem.relays))
    parts = np.array(sent if sent is not None else [1 / len(shares)] * len(shares))
    seen = np.round(MANY * parts).astype(np.int64)[:, None]
    met = np.round(seen[:, 0] * np.array(shares)).astype(np.int64)[:, None]
    attained = float(met.sum() / seen.sum())
    row = settled.problem.slos[0]
    verdict = SloVerdict(row, f"h{hour}", 1.0, (1.0, 1.0), attained, (attained, attained), int(seen.sum()), attained >= row.quantile)
    place = Hour(hour, Fleet((), np.zeros((1, 0))), tuple(pools), tuple(relays), 1.0)
    return HourEvidence(place, np.array([[attained]]), met, seen, (verdict,), int(seen.sum()), 1, name=f"h{hour}")
