"""How often a saved plan keeps every promise on seeds that neither the search nor the verification has seen.

    python -m benchmarks.fresh_seeds scenarios/million_dau.yaml results/plan.json --seeds 20

Simulates the hours that the plan was verified on, one run per seed, and counts the seeds on which every promise holds in every hour.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from optimize.market.engine_settings import router_of
from optimize.search.simulated_hour import IN_HOUR_PS, play_hour, warmup_keep
from optimize.simulate.saved_plan import fleet_from_plan, read_plan
from optimize.tables.plain_numbers import promise
from sim.latency import attainment, class_metrics
from sim.scenario import load_scenario
from sim.traffic import demand

FIRST_SEED = 20_001


@dataclass(frozen=True)
class Kept:
    """What one seed of one hour says of one promise: `attained` of the `requests` of `name` were within it, `quantile` should be."""

    seed: int
    hour: str
    name: str
    promise: str
    quantile: float
    attained: float
    requests: int

    @property
    def held(self) -> bool:
        """Whether the promise held."""
        return self.attained >= self.quantile

    def __str__(self) -> str:
        return f"seed {self.seed} {self.hour}: {self.name} {self.promise}: {self.attained:.4f}"


def fresh_seeds(count: int) -> range:
    """Seeds that were not used before."""
    return range(FIRST_SEED, FIRST_SEED + count)


def hours_of(plan: dict[str, Any], every: bool) -> list[str]:
    """The hours that the plan was verified on, those that bind; or `every` one."""
    return [row["hour"] for row in plan["hours"]] if every else list(plan["verification"]["hours"])


def play(scenario_path: Path, plan_path: Path, hour: str, seeds: Sequence[int]) -> list[Kept]:
    """Each promise on each of `seeds` in this hour; none for a class without requests."""
    scenario = load_scenario(scenario_path)
    slices = demand(scenario)
    t = slices.slices.index(hour)
    fleet, _ = fleet_from_plan(plan_path, scenario, t, router_of(scenario))
    found = []
    for seed in seeds:
        log = play_hour(scenario, fleet, t, warmup_keep(slices, t), seed)[1].log
        for c, each in enumerate(scenario.request_classes):
            metrics = class_metrics(log, c, *IN_HOUR_PS)
            for slo in each.slo:
                samples = metrics[slo.metric]
                if len(samples):
                    words = promise(slo.metric, slo.quantile, slo.limit_s)
                    found.append(Kept(seed, hour, each.name, words, slo.quantile, attainment(samples, slo.limit_s), len(samples)))
    return found


def play_all(scenario_path: Path, plan_path: Path, hours: Sequence[str], seeds: Sequence[int], jobs: int) -> list[Kept]:
    """Each promise on each of `seeds` in each of `hours`, by seed."""
    by_hour = Parallel(n_jobs=jobs)(delayed(play)(scenario_path, plan_path, hour, seeds) for hour in hours)
    return sorted((each for found in by_hour for each in found), key=lambda each: each.seed)


def seeds_missed(found: Sequence[Kept]) -> set[int]:
    """The seeds on which some promise does not hold in some hour."""
    return {each.seed for each in found if not each.held}


def held_by_hour(found: Sequence[Kept], count: int) -> dict[str, int]:
    """Hour -> of `count` seeds, those on which every promise holds in it."""
    missed = {(each.hour, each.seed) for each in found if not each.held}
    return {hour: count - sum(at == hour for at, _ in missed) for hour in dict.fromkeys(each.hour for each in found)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenario", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all-hours", action="store_true", help="every hour slice instead of the verified ones")
    options = parser.parse_args()
    hours = hours_of(read_plan(options.plan), options.all_hours)
    found = play_all(options.scenario, options.plan, hours, fresh_seeds(options.seeds), options.jobs)
    for each in found:
        if not each.held:
            print(each)
    least = min(held_by_hour(found, options.seeds).values(), default=options.seeds)
    met = options.seeds - len(seeds_missed(found))
    print(json.dumps({"seeds": options.seeds, "hours": len(hours), "met": met, "met_in_the_worst_hour": least}))


if __name__ == "__main__":
    main()
