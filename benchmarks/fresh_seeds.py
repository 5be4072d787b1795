"""How often a saved plan keeps every promise on seeds that neither the search nor the verification has seen.

    python -m benchmarks.fresh_seeds scenarios/million_dau.yaml results/plan.json --seeds 20

Simulates the hours that the plan was verified on, one run per seed, and counts the seeds on which every promise holds in every hour.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from joblib import Parallel, delayed

from optimize.engine_limits import router_of
from optimize.plan_hour import HOUR_S, WARMUP_S, warmup_keep, without_backlog
from optimize.saved_plan import fleet_from_plan, read_plan
from sim.engine.deployment import PS
from sim.fleet import simulate
from sim.latency import attainment, class_metrics
from sim.scenario import load_scenario
from sim.traffic import demand
from sim.traffic import hour as hour_traffic

FIRST_SEED = 20_001


def misses(scenario_path: Path, plan_path: Path, hour: str, seeds: Sequence[int]) -> list[tuple[int, str]]:
    """Each promise that one of `seeds` misses in this hour: the seed, and the promise in words."""
    scenario = load_scenario(scenario_path)
    slices = demand(scenario)
    t = slices.slices.index(hour)
    fleet, _ = fleet_from_plan(plan_path, scenario, t, router_of(scenario))
    start, end = round(WARMUP_S * PS), round((WARMUP_S + HOUR_S) * PS)
    found = []
    for seed in seeds:
        arrivals = hour_traffic(scenario, t, seed=seed, duration_s=HOUR_S, warmup_s=WARMUP_S)
        requests = without_backlog(arrivals, warmup_keep(slices, t), seed)
        log = simulate(fleet, requests, seed=seed, event_per_arrival=False).log
        for c, request_class in enumerate(scenario.request_classes):
            metrics = class_metrics(log, c, from_ps=start, to_ps=end)
            for slo in request_class.slo:
                share = attainment(metrics[slo.metric], slo.limit_s)
                if share < slo.quantile:
                    found.append((seed, f"seed {seed} {hour}: {request_class.name} {slo.metric} {share:.4f} < {slo.quantile}"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all-hours", action="store_true", help="every hour slice instead of the verified ones")
    options = parser.parse_args()
    plan = read_plan(options.plan)
    hours = [row["hour"] for row in plan["hours"]] if options.all_hours else plan["verification"]["hours"]
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    by_hour = Parallel(n_jobs=options.jobs)(delayed(misses)(options.scenario, options.plan, hour, seeds) for hour in hours)
    found = sorted(miss for misses_of_hour in by_hour for miss in misses_of_hour)
    for _, words in found:
        print(words)
    failed = {seed for seed, _ in found}
    print(json.dumps({"seeds": options.seeds, "hours": len(hours), "met": options.seeds - len(failed)}))


if __name__ == "__main__":
    main()
