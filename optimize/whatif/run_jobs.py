"""All points, side by side: the unfinished ones run, each is kept as soon as it ends."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from optimize.search.processes import processes
from optimize.tables.folder import check_folder, write_bytes
from optimize.whatif.cluster import joined
from optimize.whatif.study import Outcome
from optimize.whatif.task import Job, in_turns
from optimize.whatif.task import run as run_job
from sim.engine.warm import warm_up
from sim.interrupts import heard
from sim.plural import counted

Tell = Callable[[str], None]
ROUNDS = 5  # times that points are sent again after their worker died


@dataclass(frozen=True)
class Where:
    """Where points run and what is kept of them: processes of this machine or a Dask cluster, results folder, who hears of progress."""

    jobs: int = 2
    cluster: str | None = None
    out: Path | None = None
    tell: Tell = lambda _: None


@dataclass(frozen=True)
class Ran:
    """Outcomes in the order of the tasks, None where a point was not reached before an interruption."""

    outcomes: tuple[Outcome | None, ...]
    interrupted: bool

    @property
    def unfinished(self) -> int:
        return sum(outcome is None for outcome in self.outcomes)


def run_all(tasks: Sequence[Job], where: Where) -> Ran:
    """Runs what an earlier run has not finished. An interruption (Ctrl-C) ends it early, with all that was done.

    A task that stands twice runs once. Where a worker dies, the points that it held are sent again.
    """
    kept = Kept(where.out)
    keys = [task.key for task in tasks]
    found = {key: outcome for key in keys if (outcome := kept.get(key)) is not None}
    todo = {key: task for key, task in zip(keys, tasks, strict=True) if key not in found}
    if found:
        where.tell(f"{len(found)} of {counted(len(set(keys)), 'point was', 'points were')} finished by an earlier run")
    progress = Progress(len(todo), where.tell)
    interrupted = False
    try:
        with joined(where.cluster) as client:
            warm(todo, where)
            for key, outcome in finished(todo, where, client):
                found[key] = outcome
                kept.put(key, outcome)
                progress.one(outcome)
    except KeyboardInterrupt:
        heard()
        interrupted = True
        done = f"{len(found)} of {counted(len(set(keys)), 'point is', 'points are')} finished"
        where.tell(f"interrupted: {done}{' and kept' if where.out else ''}")
    progress.end()
    return Ran(tuple(found.get(key) for key in keys), interrupted)


def warm(todo: dict[str, Job], where: Where) -> None:
    """Compiles the kernel once, before several processes would at the same time."""
    if todo and where.cluster is None:
        warm_up(where.tell)


def finished(todo: dict[str, Job], where: Where, client: Any) -> Iterator[tuple[str, Outcome]]:
    """Key and outcome of each point as it ends, in any order."""
    left = dict(todo)
    for attempt in range(ROUNDS if left else 0):  # all may have been kept by an earlier run
        before = len(left)
        try:
            for key, outcome in sent(left, where):
                del left[key]
                yield key, outcome
        except Exception as error:
            if not worker_died(error) or (len(left) == before and attempt):
                raise
            where.tell(f"a worker died ({type(error).__name__}): {counted(len(left), 'point is', 'points are')} sent again")
        if not left:
            return


def sent(tasks: dict[str, Job], where: Where) -> Iterator[tuple[str, Outcome]]:
    """One round of `finished`: in processes here, or on the cluster, which is joblib's active backend then."""
    from joblib import Parallel, delayed

    how: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}
    if where.cluster is None:
        parallel = processes(min(where.jobs, len(tasks)), pre_dispatch="2*n_jobs", **how)
    else:
        parallel = Parallel(n_jobs=-1, pre_dispatch="all", **how)
    yield from parallel(delayed(named)(key, tasks[key]) for key in in_turns(tasks))


def named(key: str, task: Job) -> tuple[str, Outcome]:
    """The outcome of `task` next to its key: outcomes come back in any order."""
    return key, run_job(task)


def worker_died(error: Exception) -> bool:
    """Whether the place where a point ran went away, rather than the point itself failing."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "CancelledError", "FutureCancelledError"})


class Progress:
    """Tells of each point that ends: its time, and when the rest will have ended."""

    def __init__(self, points: int, tell: Tell) -> None:
        self.points, self.tell = points, tell
        self.started_s = time.monotonic()
        self.cpu_s: list[float] = []
        self.peak_mb = 0.0

    def one(self, outcome: Outcome) -> None:
        """One more point is done."""
        self.cpu_s.append(outcome.cpu_s)
        self.peak_mb = max(self.peak_mb, outcome.peak_mb)
        done, left = len(self.cpu_s), self.points - len(self.cpu_s)
        eta = (time.monotonic() - self.started_s) / done * left
        rest = f"; {left} left, about {spoken(eta)}" if left else ""
        self.tell(f"point {done} of {self.points}: {said(outcome)}, {outcome.cpu_s:.1f} CPU s{rest}")

    def end(self) -> None:
        """The sums."""
        if self.cpu_s:
            wall_s, mean = time.monotonic() - self.started_s, sum(self.cpu_s) / len(self.cpu_s)
            memory = f", at most {self.peak_mb:,.0f} MB in a process" if self.peak_mb else ""
            self.tell(
                f"{counted(len(self.cpu_s), 'point')} in {spoken(wall_s)}: {mean:.1f} CPU s a point (least {min(self.cpu_s):.1f}, most "
                f"{max(self.cpu_s):.1f}){memory}"
            )


def said(outcome: Outcome) -> str:
    """Status and cost of an outcome, or what went wrong."""
    row = outcome.row
    if "per_month" in row:
        return f"{outcome.status.replace('_', ' ')} at {row['per_month']:,.0f} a month"
    note = f" ({row['note']})" if row.get("note") else ""
    return outcome.status.replace("_", " ") + note


def spoken(seconds: float) -> str:
    """A duration as people say it.

    >>> spoken(4.2), spoken(90), spoken(7300)
    ('4 s', '2 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


FOLDER = "points"
UNFINISHED = ("failed", "bad_input", "")


class Kept:
    """The outcomes of a results folder; without a folder, nothing is kept. Errors are not kept: the next run tries them again."""

    def __init__(self, out: Path | None) -> None:
        self.folder = None if out is None else out / FOLDER
        if self.folder is not None:
            check_folder(self.folder)

    def get(self, key: str) -> Outcome | None:
        """The outcome of an earlier run; None where there is none, or none that can be read."""
        if self.folder is None:
            return None
        try:
            value = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            row, cpu_s, peak_mb, worker = value["row"], float(value["cpu_s"]), float(value["peak_mb"]), int(value.get("worker", 0))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(row, dict) or row.get("status", "") in UNFINISHED or not math.isfinite(cpu_s):
            return None
        return Outcome(row, cpu_s, peak_mb, kept=True, worker=worker)

    def put(self, key: str, outcome: Outcome) -> None:
        """Writes a finished outcome in one step: a kill leaves the whole file or none."""
        if self.folder is not None and outcome.status not in UNFINISHED:
            value = asdict(outcome)
            value.pop("kept")
            write_bytes(self.folder / f"{key}.json", (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())
