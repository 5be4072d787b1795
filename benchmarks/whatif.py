"""What many scenarios cost: processes against one, and growth with the number of users.

    python -m benchmarks.whatif speedup scenarios/two_offers.yaml --vary traffic.rate_rps=5:80:log12
    python -m benchmarks.whatif speedup scenarios/million_dau.yaml --full      # the 60-point grid: hours of CPU
    python -m benchmarks.whatif growth scenarios/million_dau.yaml --users 1e4,3e4,1e5

Every run starts with empty caches. `speedup` compares wall times, which mean something only on an idle machine; the CPU seconds beside
them always do.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from optimize.whatif.ask import Question, run_points
from optimize.whatif.grid import grid
from optimize.whatif.records import Point
from optimize.whatif.run import Where
from optimize.whatif.vary import parse_axes

FULL = (  # 5 x 3 x 2 x 2 = 60 points
    "traffic.daily_active_users=1e5:3e6:log5",
    "budget.per_month=50k,100k,200k",
    "candidates.offers=-verda.h100x2",
    "policy.limits_negotiable=true,false",
)


def cpu_s() -> float:
    """CPU seconds of this process and of its ended children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(question: Question, points: tuple[Point, ...], jobs: int) -> dict[str, Any]:
    """One run of all points with empty caches: wall time, CPU time, per point, memory."""
    from joblib.externals.loky import get_reusable_executor

    with tempfile.TemporaryDirectory() as cache:
        os.environ["SERVEMIX_CACHE_DIR"] = cache
        wall_s, cpu = time.monotonic(), cpu_s()
        found = [each for each in run_points(question.source(), points, Where(jobs)).outcomes if each is not None]
        wall_s = time.monotonic() - wall_s
        get_reusable_executor().shutdown(wait=True)  # type: ignore[no-untyped-call,unused-ignore]  # so that its CPU time is counted
        cpu = cpu_s() - cpu
    each_s = [outcome.cpu_s for outcome in found]
    return {
        "jobs": jobs,
        "points": len(found),
        "met": sum(outcome.status == "met" for outcome in found),
        "wall_s": round(wall_s, 1),
        "cpu_s": round(cpu, 1),
        "cpu_s_per_point": round(sum(each_s) / len(each_s), 2),
        "least_s": min(each_s),
        "most_s": max(each_s),
        "peak_mb": max(outcome.peak_mb for outcome in found),
        "rows": [outcome.row for outcome in found],
    }


def speedup(options: argparse.Namespace) -> None:
    """The same points in one process and in several."""
    axes = parse_axes(FULL if options.full else options.vary)
    runs = [timed(Question(options.scenario, tuple(options.set or ())), grid(axes), jobs) for jobs in (1, options.jobs)]
    same = runs[0].pop("rows") == runs[1].pop("rows")
    for run in runs:
        print(json.dumps(run))
    print(json.dumps({"speedup": round(runs[0]["wall_s"] / runs[1]["wall_s"], 2), "same_rows": same}))


def growth(options: argparse.Namespace) -> None:
    """One point for each number of users; memory is the most so far, so write the numbers in rising order."""
    for users in options.users.split(","):
        axes = parse_axes([f"traffic.daily_active_users={users}"])
        run = timed(Question(options.scenario, tuple(options.set or ())), grid(axes), 1)
        row = run["rows"][0]
        said = {key: row.get(key) for key in ("status", "answer", "per_month", "requests_per_month", "requests_simulated")}
        print(json.dumps({"users": float(users), "cpu_s": run["cpu_s_per_point"], "peak_mb": run["peak_mb"], **said}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("speedup", "growth"))
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--vary", action="append", default=[])
    parser.add_argument("--set", action="append")
    parser.add_argument("--users", default="1e4,3e4,1e5")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="the 60-point grid")
    options = parser.parse_args()
    (speedup if options.what == "speedup" else growth)(options)


if __name__ == "__main__":
    main()
