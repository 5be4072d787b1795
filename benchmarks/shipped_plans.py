"""The plan of each shipped scenario on seeds that were not used before: it should keep every promise on at least 19 of 20.

    python -m benchmarks.shipped_plans [NAME ...] [--all-hours] [--seeds 20] [--out DIR] [--json]

Each scenario is optimised with empty caches, the plan alone, and its plan.json is played in the hours that bind (those of its
verification), one run per seed: the whole week should hold on 95 % of them, and each hour on 99 %. A plan that does not say `met`
promises nothing: it is listed and not played. Exit code 1 when a plan that says `met` holds on fewer seeds than it
should.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.fresh_seeds import Kept, fresh_seeds, held_by_hour, hours_of, play_all, seeds_missed
from optimize.plan import optimize
from optimize.tables.plan_json import plan_json
from sim.scenario import load_scenario

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
GOAL, HOUR_GOAL = 0.95, 0.99  # of the seeds: on which the whole week holds, and on which each hour does
COLUMNS = (
    *("scenario", "status", "a month", "hours", "seeds held", "in the worst hour"),
    *("worst promise", "attained there", "plan CPU s", "seeds CPU s"),
)


@dataclass(frozen=True)
class Row:
    """One scenario. `held` of `seeds` kept every promise in all `hours`; `worst` is the promise that came closest to its quantile or
    fell furthest below; `note` says why a plan was not played.
    """

    scenario: str
    status: str
    per_month: float | None = None
    currency: str = ""
    hours: int = 0
    seeds: int = 0
    held: int = 0
    held_in_worst_hour: int = 0
    worst: str = ""
    attained: float | None = None
    plan_cpu_s: float = 0.0
    seeds_cpu_s: float = 0.0
    note: str = ""

    @property
    def kept_word(self) -> bool:
        """False where a plan that says `met` holds too seldom; a plan that says less is none of the shipped ones' words."""
        week, hour = (math.floor(goal * self.seeds + 1e-9) for goal in (GOAL, HOUR_GOAL))
        return self.status != "met" or (self.held >= week and self.held_in_worst_hour >= hour)

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        if self.note:
            return (self.scenario, self.status, *[""] * 4, self.note, "", f"{self.plan_cpu_s:.1f}", "")
        cost, at = f"{self.per_month:,.2f} {self.currency}", f"{self.attained:.4f}"
        held, cpu = f"{self.held} of {self.seeds}", (f"{self.plan_cpu_s:.1f}", f"{self.seeds_cpu_s:.1f}")
        hour = f"{self.held_in_worst_hour} of {self.seeds}"
        return (self.scenario, self.status, cost, str(self.hours), held, hour, self.worst, at, *cpu)


def shipped() -> list[Path]:
    """The scenarios that come with the project, the million users last: they take minutes."""
    return sorted(SCENARIOS.glob("*.yaml"), key=lambda path: (path.stem.startswith("million"), path.stem))


def worst_of(found: Sequence[Kept]) -> Kept:
    """The promise, seed and hour with the least room, in shares of the misses that it allows."""
    return min(found, key=lambda each: (each.attained - each.quantile) / max(1 - each.quantile, 1e-9))


def cpu_used() -> float:
    """CPU seconds so far, workers included: they are ended, for only then they count."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def row_of(path: Path, count: int, every_hour: bool, jobs: int, folder: Path) -> Row:
    """One scenario optimised and played; its plan is written to `folder`."""
    scenario = load_scenario(path)
    if scenario.measured_capacity is not None:
        return Row(path.stem, "unverified", note="rests on measured capacities: no engine to simulate")
    start = cpu_used()
    with tempfile.TemporaryDirectory() as cache:
        plan = plan_json(optimize(scenario, jobs=jobs, cache=Path(cache), only_plan=True))
    saved = folder / f"{path.stem}.json"
    saved.write_text(json.dumps(plan, indent=2) + "\n", encoding="utf-8")
    planned = cpu_used()
    if plan["status"] != "met":
        return Row(path.stem, plan["status"], note="does not say that it is met", plan_cpu_s=round(planned - start, 1))
    hours = hours_of(plan, every_hour)
    found = play_all(path, saved, hours, fresh_seeds(count), jobs)
    worst, cost = worst_of(found), plan["cost"]
    return Row(
        scenario=path.stem,
        status=plan["status"],
        per_month=cost["per_month"],
        currency=cost["currency"],
        hours=len(hours),
        seeds=count,
        held=count - len(seeds_missed(found)),
        held_in_worst_hour=min(held_by_hour(found, count).values(), default=count),
        worst=f"{worst.name} {worst.promise}, {worst.hour}",
        attained=round(worst.attained, 5),
        plan_cpu_s=round(planned - start, 1),
        seeds_cpu_s=round(cpu_used() - planned, 1),
    )


def rows(paths: Sequence[Path], options: argparse.Namespace) -> Iterator[Row]:
    """The rows one by one, so that what is done is seen."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.out is None else options.out
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            print(f"{path.stem} ...", file=sys.stderr, flush=True)
            yield row_of(path, options.seeds, options.all_hours, options.jobs, folder)


def chosen(names: Sequence[str]) -> list[Path]:
    """The scenarios of these names, all of them without one; exits with code 2 for a name that none has."""
    known = {path.stem: path for path in shipped()}
    if unknown := [name for name in names if name not in known]:
        print(f"no shipped scenario is called {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        raise SystemExit(2)
    return [path for name, path in known.items() if not names or name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="e.g. two_offers; default: every shipped scenario")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--all-hours", action="store_true", help="every hour slice instead of those that bind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the plans here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    paths, done = chosen(options.names), []
    if not options.json:
        print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for row in rows(paths, options):
        done.append(row)
        if not options.json:
            print(f"| {' | '.join(row.cells())} |", flush=True)
    kept = all(row.kept_word for row in done)
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in done], "kept": kept}, indent=2))
    raise SystemExit(0 if kept else 1)


if __name__ == "__main__":
    main()
