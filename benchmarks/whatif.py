"""What many scenarios cost: processes against one, and growth with the number of users.

    python -m benchmarks.whatif speedup scenarios/two_offers.yaml --vary traffic.rate_rps=5:80:log12
    python -m benchmarks.whatif speedup scenarios/million_dau.yaml --full --out results/grid60      # the 60-point grid
    python -m benchmarks.whatif growth scenarios/million_dau.yaml --users 1e4,3e4,1e5
    python -m benchmarks.whatif tornado scenarios/million_dau.yaml --out results/tornado            # as the table of the docs

Every run starts with empty caches. `speedup` runs the same points in one process and in --jobs. Wall times mean something only on an
idle machine. `speedup_by_cpu` holds on a busy one too: CPU seconds of one process over those of the parent and its busiest worker; it
misses only what a process waits. With --out, what was killed goes on where it was: points are kept, and the time of the parts is added.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from optimize.whatif.ask import Question, run_points
from optimize.whatif.run_jobs import Where
from optimize.whatif.sample import grid
from optimize.whatif.study import Outcome, Point
from optimize.whatif.task import program
from optimize.whatif.tornado import one_at_a_time
from optimize.whatif.vary import parse_axes

FULL = ("traffic.daily_active_users=1e5:3e6:log10", "budget.per_month=10k,20k,40k,60k,100k,200k")  # 60 points
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def cpu_s(who: int) -> float:
    """CPU seconds of this process, or of its ended children."""
    return sum(resource.getrusage(who)[:2])


class Clock:
    """Wall time of a run, in parts where it was killed and started again; `parent_s`, `workers_s`: CPU beside that of points."""

    def __init__(self, folder: Path) -> None:
        self.file, self.started_s = folder / "clock.json", time.monotonic()
        self.before: dict[str, Any] = {"program": program(), "wall_s": 0.0, "parent_s": 0.0, "workers_s": 0.0, "parts": 0}
        if self.file.exists() and (kept := json.loads(self.file.read_text()))["program"] == program():
            self.before = kept
        else:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        self.before["parts"] += 1

    def write(self, parent_s: float = 0.0, workers_s: float = 0.0) -> dict[str, Any]:
        """What has passed so far, kept on disk; the CPU time of a part that was killed, next to its points, is lost."""
        part = {"wall_s": time.monotonic() - self.started_s, "parent_s": parent_s, "workers_s": workers_s}
        now = self.before | {name: self.before[name] + value for name, value in part.items()}
        self.file.write_text(json.dumps(now))
        return now


def timed(question: Question, points: tuple[Point, ...], jobs: int, out: Path | None = None) -> dict[str, Any]:
    """One run of all points that begins with empty caches: wall time, CPU time, per point and per worker, memory."""
    from joblib.externals.loky import get_reusable_executor

    with tempfile.TemporaryDirectory() if out is None else nullcontext(str(out / f"jobs-{jobs}")) as name:
        folder = Path(name)
        clock, before = Clock(folder), [cpu_s(who) for who in WHO]
        os.environ["SERVEMIX_CACHE_DIR"] = str(folder / "cache")

        def tell(text: str) -> None:
            clock.write()
            print(f"{jobs} job{'s' if jobs > 1 else ''}: {text}", file=sys.stderr)

        ran = run_points(question.source(), points, Where(jobs, out=folder, tell=tell))
        if ran.interrupted:
            raise SystemExit(130)
        found = [each for each in ran.outcomes if each is not None]
        get_reusable_executor().shutdown(wait=True)  # type: ignore[no-untyped-call,unused-ignore]  # so that its CPU time is counted
        parent_s, workers_s = (cpu_s(who) - then for who, then in zip(WHO, before, strict=True))
        fresh = [each for each in found if not each.kept]
        here_s = sum(each.cpu_s for each in fresh if each.worker == os.getpid())
        passed = clock.write(parent_s - here_s, workers_s - sum(each.cpu_s for each in fresh) + here_s)
    return summary(found, jobs, passed)


def summary(found: Sequence[Outcome], jobs: int, passed: dict[str, Any]) -> dict[str, Any]:
    """One run in figures. `quiet_s` is its wall time on an idle machine, without waiting."""
    each_s, busy_s, peak_mb = [outcome.cpu_s for outcome in found], Counter[int](), Counter[int]()
    for outcome in found:
        busy_s[outcome.worker] += outcome.cpu_s  # type: ignore[assignment]
        peak_mb[outcome.worker] = max(peak_mb[outcome.worker], outcome.peak_mb)  # type: ignore[assignment]
    return {
        "jobs": jobs,
        "points": len(found),
        "statuses": dict(sorted(Counter(outcome.status for outcome in found).items())),
        "parts": passed["parts"],
        "wall_s": round(passed["wall_s"], 1),
        "cpu_s": round(sum(each_s) + passed["parent_s"] + passed["workers_s"], 1),
        "parent_cpu_s": round(passed["parent_s"], 1),
        "start_of_workers_cpu_s": round(passed["workers_s"], 1),
        "wall_ms_per_point": round(1000 * passed["wall_s"] / len(found)),
        "cpu_ms_per_point": round(1000 * sum(each_s) / len(found)),
        "least_s": min(each_s),
        "most_s": max(each_s),
        "worker_cpu_s": sorted(round(value, 1) for value in busy_s.values()),
        "worker_peak_mb": sorted(peak_mb.values()),
        "peak_mb": max(peak_mb.values()),
        "quiet_s": round(passed["parent_s"] + max(busy_s.values()) + passed["workers_s"] / jobs, 1),
        "rows": [outcome.row for outcome in found],
    }


def speedup(options: argparse.Namespace) -> None:
    """The same points in one process and in several."""
    points = grid(parse_axes(FULL if options.full else options.vary))
    question = Question(options.scenario, tuple(options.set or ()))
    runs = []
    for jobs in (1, options.jobs):
        runs.append(timed(question, points, jobs, options.out))
        print(json.dumps({key: value for key, value in runs[-1].items() if key != "rows"}), flush=True)
    one, many = runs
    facts = {
        "speedup": round(one["wall_s"] / many["wall_s"], 2),
        "speedup_by_cpu": round(one["cpu_s"] / many["quiet_s"], 2),
        "cpu_ratio": round(many["cpu_s"] / one["cpu_s"], 3),
        "balance": round(max(many["worker_cpu_s"]) * len(many["worker_cpu_s"]) / sum(many["worker_cpu_s"]), 3),
        "same_rows": one["rows"] == many["rows"],
    }
    print(json.dumps(facts))


def growth(options: argparse.Namespace) -> None:
    """One point for each number of users; memory is the most so far, so write the numbers in rising order."""
    for users in options.users.split(","):
        axes = parse_axes([f"traffic.daily_active_users={users}"])
        run = timed(Question(options.scenario, tuple(options.set or ())), grid(axes), 1)
        row = run["rows"][0]
        said = {key: row.get(key) for key in ("status", "answer", "per_month", "requests_per_month", "requests_simulated")}
        print(json.dumps({"users": float(users), "cpu_s": run["most_s"], "peak_mb": run["peak_mb"], **said}), flush=True)


def tornado(options: argparse.Namespace) -> None:
    """One input at a time, as a Markdown table."""
    question = Question(options.scenario, tuple(options.set or ()))
    where = Where(options.jobs, out=options.out, tell=lambda text: print(text, file=sys.stderr, flush=True))
    answer = one_at_a_time(question, options.vary, where)
    names = [column.name for column in answer.tables[0].columns]
    shown = ("input", "low", "high", "low_per_month", "high_per_month", "span", "low_answer", "high_answer", "note")
    print(f"as it is: {answer.facts.get('base_per_month')}, {answer.facts.get('base_answer')}; unfinished points: {answer.unfinished}")
    print("| " + " | ".join(shown) + " |\n|" + "---|" * len(shown))
    for row in answer.tables[0].rows:
        cells = [row[names.index(name)] for name in shown]
        print("| " + " | ".join(f"{cell:,.6g}" if isinstance(cell, float) and cell < 100 else spoken(cell) for cell in cells) + " |")


def spoken(cell: object) -> str:
    """A cell of a table of the docs: money without cents."""
    return f"{cell:,.0f}" if isinstance(cell, float) else str("" if cell is None else cell)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=tuple(WHAT))
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--vary", action="append", default=[])
    parser.add_argument("--set", action="append")
    parser.add_argument("--users", default="1e4,3e4,1e5")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="the 60-point grid")
    parser.add_argument("--out", type=Path, help="keep points and go on after a kill")
    options = parser.parse_args()
    WHAT[options.what](options)


WHAT = {"speedup": speedup, "growth": growth, "tornado": tornado}

if __name__ == "__main__":
    main()
