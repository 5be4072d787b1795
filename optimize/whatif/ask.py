"""`whatif` with --vary: axes -> points -> scenarios -> outcomes -> table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optimize.search.cache import default_folder
from optimize.whatif.crossings import crossings
from optimize.whatif.outcome import point_table
from optimize.whatif.run_jobs import Ran, Where, run_all
from optimize.whatif.sample import grid, sample
from optimize.whatif.scenarios import Source, load_points
from optimize.whatif.study import Answer, Axis, Outcome, Point
from optimize.whatif.task import Task
from optimize.whatif.vary import parse_axes
from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.plural import counted
from sim.scenario.scenario import Scenario
from sim.scenario.written_text import Origin

FAILED = ("bad_input", "failed")
MOST_NOTES = 8


@dataclass(frozen=True)
class Question:
    """Where the scenario is written, what is set in it for all points, and the seed in place of its own."""

    origin: Origin
    settings: tuple[str, ...] = ()
    seed: int | None = None

    def source(self) -> Source:
        """Where the scenarios come from. InputError where the file itself is wrong."""
        return Source(self.origin, self.settings, self.seed, load_catalog())


def vary(question: Question, texts: Sequence[str], samples: int | None, where: Where) -> Answer:
    """The grid of all `--vary` texts, or `samples` draws from their ranges. InputError before anything runs."""
    axes = parse_axes(texts, sampled=samples is not None)
    if not axes:
        raise InputError("--vary: nothing is varied; write for example --vary budget.per_month=50k,100k,200k")
    source = question.source()
    base = source.load(())
    points = grid(axes) if samples is None else sample(axes, samples, base.seed)
    ran = run_points(source, points, where)
    return answer_of("grid" if samples is None else "samples", base, axes, points, ran)


def run_points(source: Source, points: Sequence[Point], where: Where) -> Ran:
    """Outcomes in the order of the points; those that cannot be loaded are told first and take no time."""
    where.tell(f"{counted(len(points), 'point')}")
    loaded = load_points(source, points)
    pairs = zip(loaded, points, strict=True)
    tasks = [Task(each, factors_of(point), cache_of(where)) for each, point in pairs if isinstance(each, Scenario)]
    for k, each in enumerate(loaded):
        if isinstance(each, Outcome):
            where.tell(f"point {k + 1} ({points[k].label}) is left out: {each.row['note']}")
    ran = run_all(tasks, where)
    outcomes = iter(ran.outcomes)
    return Ran(tuple(each if isinstance(each, Outcome) else next(outcomes) for each in loaded), ran.interrupted)


def factors_of(point: Point) -> tuple[tuple[str, float], ...]:
    """The factors of a point, in the order of its axes."""
    return tuple(factor for level in point.levels for factor in level.factors)


def cache_of(where: Where) -> Path | None:
    """Measured capacities: one folder for all processes of this machine; on a cluster each worker's own."""
    return default_folder() if where.cluster is None else None


def answer_of(kind: str, base: Scenario, axes: Sequence[Axis], points: Sequence[Point], ran: Ran) -> Answer:
    """The table and what is said about it."""
    table = point_table(axes, points, ran.outcomes)
    failed = [outcome for outcome in ran.outcomes if outcome is not None and outcome.status in FAILED]
    keys = [axis.key for axis in axes]
    notes = next((found for key in keys if (found := crossings(table, key, keys))), [])[:MOST_NOTES] if kind == "grid" else []
    if any(value is False for value in table.column("own_only_measured")):
        notes.append("own_only is an estimate where own_only_measured is false: its pools were not measured, and nothing was solved again")
    return Answer(kind, base, tuple(axis.key for axis in axes), (table,), tuple(notes), ran.unfinished, len(failed))
