"""CPU seconds of one solve of `scenarios/million_dau.yaml`'s program, in which hours do not depend on each other.

    python -m benchmarks.program_hours [NAME ...] [--times 3] [--json]

Offers, relays and demand are the scenario's; nothing is simulated. Loads are optimistic, or a seed draws for half of the pools what
measurements find (more load, misses, an intercept). The least of `--times` solves counts.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from optimize.market.candidates import candidates
from optimize.market.pools import pool_states, slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.plan import costs_of
from optimize.program.solve import solve
from optimize.records import LoadLevel, PoolTerms, ProgramInput
from sim.scenario import load_scenario
from sim.traffic import demand as demand_of

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "million_dau.yaml"


@dataclass(frozen=True)
class Result:
    """One row; `gap` is (cost - model_bound) / cost."""

    name: str
    pools: int
    slices: int
    cpu_s: float
    cost_usd: float
    gap: float
    status: str


def optimistic() -> ProgramInput:
    """The program before anything is measured."""
    scenario = load_scenario(SCENARIO)
    demand, slos = demand_of(scenario), slo_rows(scenario)
    options, _ = candidates(scenario, demand)
    states = pool_states(options, costs_of(scenario, options), demand, slos)
    relays = tuple(relay_terms(scenario, demand, slos))
    pools = tuple(terms for terms in (state.terms() for state in states) if np.isfinite(terms.levels[0].load).any())
    names = tuple(c.name for c in scenario.request_classes)
    return ProgramInput(demand, slos, pools, relays, math.inf, 1.0, scenario.policy.n_plus_one, names)


def measured(given: ProgramInput, seed: int = 1) -> ProgramInput:
    """Half of the pools carry less than hoped, some far less."""
    rng = np.random.default_rng(seed)

    def one(terms: PoolTerms) -> PoolTerms:
        factor, miss = 1.0 + float(rng.exponential(1.0)), rng.uniform(0.0, 0.05, len(given.slos))
        intercept = float(rng.uniform(0.0, 0.2)) * float(rng.random() < 0.6)
        if rng.random() < 0.5:
            return terms
        return replace(terms, levels=(LoadLevel(terms.levels[0].load * factor, miss),), slope=1.0 + intercept / 8, intercept=intercept)

    return replace(given, pools=tuple(map(one, given.pools)))


def self_hosted(given: ProgramInput) -> ProgramInput:
    """Relays only for classes that no pool serves."""
    served = {c for terms in given.pools for c in terms.option.classes}
    alone = np.array([c not in served for c in range(len(given.class_names))])
    return replace(given, relays=tuple(replace(terms, eligible=terms.eligible & alone) for terms in given.relays))


ROWS: dict[str, Callable[[ProgramInput], ProgramInput]] = {
    "optimistic": lambda given: given,
    "measured": measured,
    "measured_n_plus_one": lambda given: replace(measured(given), n_plus_one=True),
    "self_hosted": lambda given: self_hosted(measured(given)),
    "ten_times": lambda given: replace(measured(given), demand=replace(given.demand, mean_rps=10 * given.demand.mean_rps)),
}


def measure(name: str, times: int) -> Result:
    """The least CPU time of some solves: the same work each time, so the rest is other people's."""
    given, spent = ROWS[name](optimistic()), []
    for _ in range(times):
        start = time.process_time()
        answer = solve(given)
        spent.append(time.process_time() - start)
    slices = len(given.demand.slices)
    return Result(name, len(given.pools), slices, round(min(spent), 3), round(answer.cost_usd, 2), round(answer.gap, 6), answer.status)


def main() -> None:
    """Prints a Markdown row per program, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for name in given.names or ROWS:
        row = measure(name, given.times)
        line = f"| {row.name} | {row.pools} | {row.slices} | {row.cpu_s:.2f} | {row.cost_usd:,.2f} | {row.gap:.4%} | {row.status} |"
        print(json.dumps(asdict(row)) if given.json else line, flush=True)


if __name__ == "__main__":
    main()
