"""Can a fleet drawn by hand beat the plan? Random fleets, cheaper than the plan, judged by the simulator and the product's own rule.

    python -m benchmarks.beaten [FILE ...] [--fleets 20] [--kinds homogeneous,two_pools] [--seed 1] [--plans FOLDER] [--json]

Each scenario is planned; then fleets are drawn that cost less than the plan by more than one percent: hosts of one deployment, of two, a
pool with a relay next to it, relays alone, other engine limits. One that keeps every promise on the hold-out seeds in every hour, with
no backlog that grows, and that breaks no row of the scenario, beats the plan. None should. Exit code 1 where one does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.hand_fleets import KINDS, Drawn, allowed, overloaded, settled_of
from optimize.money.amounts import scaled_usd
from optimize.plan import market_for, optimize, proven_status
from optimize.search.cache_key import content_hash
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS, seeds_of
from optimize.search.loop import Market, Settled, hold_out
from optimize.search.simulated_hour import fleet_of, simulate_hour
from optimize.search.stability import grows
from optimize.search.verify import hours_to_simulate
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import LogTraffic, Scenario

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
MARGIN = 0.01  # of its cost by which a fleet must undercut a plan
LEAST = 0.2  # of a plan's cost: what costs less than that is not worth a simulation
TRIES = 50  # draws for one new fleet that is cheap enough and allowed
QUICK_HOURS = 3


@dataclass(frozen=True)
class Beaten:
    """A fleet that holds at `usd` a month where the plan costs `plan_usd`."""

    scenario: str
    kind: str
    fleet: str
    usd: float
    plan_usd: float


@dataclass
class Contest:
    """Distinct fleets drawn; of the cheaper ones, by kind: those that arithmetic calls overloaded, those simulated; which beat the plan."""

    drawn: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    simulated: dict[str, int] = field(default_factory=dict)
    beaten: list[Beaten] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """One scenario, its plan, and what the contest found."""

    scenario: str
    status: str
    plan_usd: float
    contest: Contest
    seconds: float
    note: str = ""


def holds(fleet: Drawn, settled: Settled) -> bool:
    """Whether the product would call this fleet `met`; asked first are single seeds of the hours that bind, in the kernel."""
    market, costs = fleet.market, [state.cost for state in fleet.states]
    problem, solution = settled.problem, settled.solution
    for t in hours_to_simulate(problem, solution, limit=QUICK_HOURS):
        hour = fleet_of(market.scenario, problem, solution, costs, t)
        sample = simulate_hour(market.scenario, problem, hour, seeds_of(market.scenario.seed, HOLD_OUT_SEEDS)[0])
        met, seen = sample.met.sum(axis=0), sample.seen.sum(axis=0)
        if any(met[i] < row.quantile * seen[i] for i, row in enumerate(problem.slos)):
            return False
    if grows(market.scenario, problem, solution, costs):
        return False
    return proven_status(settled, hold_out(market, settled, 1)) == "met"


def planned(scenario: Scenario, plans: Path | None, jobs: int) -> tuple[str, float]:
    """(status, USD a month) of the plan: that of the folder `plans`, where it is of the same scenario and catalogue, else a new one."""
    file = None if plans is None else plans / f"{content_hash(scenario)}.json"
    if file is not None and file.exists():
        known = json.loads(file.read_text(encoding="utf-8"))
        return known["status"], known["usd"]
    plan = optimize(scenario, jobs, only_plan=True)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        told = {"name": scenario.name, "status": plan.status, "usd": plan.solution.cost_usd}
        file.write_text(json.dumps(told), encoding="utf-8")
    return plan.status, plan.solution.cost_usd


def try_scenario(path: Path, fleets: int, kinds: Sequence[str], seed: int, jobs: int, plans: Path | None = None) -> Row:
    """Plans one scenario and draws fleets against it."""
    began = time.perf_counter()
    try:
        scenario = load_scenario(path)
        if scenario.measured_capacity is not None or scenario.policy.relay_outage_reserve:
            return Row(path.stem, "", 0.0, Contest(), 0.0, "measured capacities or a reserve for outages: not judged here")
        if any(each.classifier is not None for each in scenario.request_classes):
            return Row(path.stem, "", 0.0, Contest(), 0.0, "a classifier sends answers round again: fleets by hand do not pay for that")
        status, usd = planned(scenario, plans, jobs)
    except InputError as error:
        return Row(path.stem, "bad input", 0.0, Contest(), 0.0, str(error).splitlines()[0])
    cost = usd if status == "met" else float("inf")
    found = contest(market_for(scenario, jobs)[0], cost, fleets, kinds, seed)
    return Row(path.stem, status, cost, found, round(time.perf_counter() - began, 1))


def contest(market: Market, plan_usd: float, fleets: int, kinds: Sequence[str], seed: int) -> Contest:
    """Up to `fleets` cheaper fleets against a plan of `plan_usd` a month; infinite where none is met: any fleet that holds beats that."""
    rng, found, known = np.random.default_rng([seed, len(market.scenario.name)]), Contest(), set[str]()
    for kind in (kinds[k % len(kinds)] for k in range(fleets)):
        drawn = cheaper(market, kind, rng, plan_usd, known)
        if drawn is None:
            continue
        fleet, settled = drawn
        if overloaded(fleet, settled) and not isinstance(market.scenario.traffic, LogTraffic):
            found.excluded[kind] = found.excluded.get(kind, 0) + 1
            continue
        found.simulated[kind] = found.simulated.get(kind, 0) + 1
        if holds(fleet, settled):
            found.beaten.append(Beaten(market.scenario.name, kind, fleet.words, settled.solution.cost_usd, plan_usd))
    found.drawn = len(known)
    return found


def cheaper(market: Market, kind: str, rng: np.random.Generator, plan_usd: float, known: set[str]) -> tuple[Drawn, Settled] | None:
    """A new fleet of this kind that is allowed and cheaper than the plan, but not next to nothing; `known` learns all that were drawn.

    None where TRIES draws find only dearer ones, which beat nothing.
    """
    met = np.isfinite(plan_usd)
    low, high = (scaled_usd(plan_usd, LEAST), scaled_usd(plan_usd, 1 - MARGIN)) if met else (0.0, float("inf"))
    for _ in range(TRIES):
        fleet = KINDS[kind](market, rng)
        if fleet is None or (name := f"{fleet.hosts} {fleet.words}") in known:
            continue
        known.add(name)
        settled = settled_of(fleet)
        if low <= settled.solution.cost_usd < high and allowed(settled.problem, settled.solution):
            return fleet, settled
    return None


def told(row: Row) -> str:
    """The row for people."""
    found = row.contest
    head = f"{row.scenario}: {row.status} {row.plan_usd:,.2f}; drawn {found.drawn}, cheaper: overloaded {found.excluded}"
    lines = [f"{head}, simulated {found.simulated}; {row.seconds} s {row.note}"]
    return "\n".join([*lines, *(f"  BEATEN by {each.kind} at {each.usd:,.2f}: {each.fleet}" for each in found.beaten)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="scenarios; every shipped one but those of a million users where none is named")
    parser.add_argument("--fleets", type=int, default=20, help="fleets for each scenario")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--plans", type=Path, help="folder that keeps what each plan costs; empty it after a change of the code")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    files = options.files or [path for path in sorted(SCENARIOS.glob("*.yaml")) if not path.stem.startswith("million")]
    rows = []
    for path in files:
        row = try_scenario(path, options.fleets, options.kinds.split(","), options.seed, options.jobs, options.plans)
        rows.append(row)
        if not options.json:
            print(told(row), flush=True)
    summary = {
        "scenarios": len(rows),
        "drawn": sum(row.contest.drawn for row in rows),
        "overloaded": sum(sum(row.contest.excluded.values()) for row in rows),
        "simulated": sum(sum(row.contest.simulated.values()) for row in rows),
        "beaten": sum(len(row.contest.beaten) for row in rows),
    }
    print(json.dumps({**summary, "rows": [asdict(row) for row in rows]} if options.json else summary))
    sys.exit(1 if summary["beaten"] else 0)


if __name__ == "__main__":
    main()
