"""Schedules of many points in a few thousand rows, and what they predict under any coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from sim.calibration.points import METRICS, Point
from sim.calibration.replay_points import Run
from sim.calibration.schedule import Schedule, run_schedule
from sim.engine import physics
from sim.engine.memory import kv_blocks
from sim.engine.physics import Shape, shape_of
from sim.engine.step_cost import tabulate

Floats = npt.NDArray[np.float64]
BINS_PER_E = 5.0  # steps whose tokens, decodes and context agree within 20 % are priced as one, at their means


@dataclass(frozen=True)
class Trace:
    """One point's steps, grouped. All of its metrics are sums of step times, so that other coefficients need no new schedule.

    features    [rows, 6] means of tokens, sequences, decodes, context, pairs, prefill context
    weights     [rows, 3] how often a row's time counts in the duration, in mean TPOT and in mean TTFT
    idle_s      time in the run with nothing to do
    tokens      output tokens made in the duration
    ratio       metric -> (statistic that the source states) / mean
    direct      metric -> value of this very schedule
    """

    features: Floats
    weights: Floats
    idle_s: float
    tokens: float
    ratio: Mapping[str, float]
    direct: Mapping[str, float]


def schedule_of(run: Run, coefficients: Mapping[str, float]) -> Schedule | None:
    """The schedule of `run` under `coefficients`; None where memory lets it not progress."""
    cost = tabulate(run.deployment, coefficients, False, {})
    return run_schedule(
        run.prompt,
        run.output,
        run.arrival_s,
        run.in_flight,
        cost,
        kv_blocks(run.deployment),
        run.cached,
        run.counted_from,
        coefficients["request_s"],
        run.deployment.limits.async_scheduling,
    )


def _ratio(values: Floats, statistic: str) -> float:
    mean = float(values.mean()) if len(values) else 0.0
    return float(np.median(values)) / mean if statistic == "p50" and mean > 0 else 1.0


def trace_of(point: Point, run: Run, coefficients: Mapping[str, float]) -> Trace | None:
    """The trace of `run` under `coefficients`, exact at those and close nearby (exact to grouping where load is closed)."""
    schedule = schedule_of(run, coefficients)
    if schedule is None:
        return None
    counted = slice(run.counted_from, None)
    request_s = coefficients["request_s"]
    ttft = (schedule.first_s - schedule.arrival_s)[counted] + request_s
    several = run.output[counted] > 1
    pace = ((schedule.last_s - schedule.first_s)[counted] / np.maximum(run.output[counted] - 1, 1))[several]
    inside = np.ones(len(schedule.end_s), dtype=bool)
    start, stop = schedule.arrival_s[run.counted_from], schedule.arrival_s[-1]
    if run.counted_from:
        inside = (schedule.end_s > start) & (schedule.end_s <= stop)
    steps = schedule.steps
    made = float(run.output.sum())
    if run.counted_from:
        mean = float(run.output.mean())
        made = float(steps[inside, 2].sum()) * mean / max(mean - 1.0, 1.0)
    duration = float(steps[inside, 8].sum())
    span = (schedule.last_s.max() - schedule.arrival_s[0]) if not run.counted_from else (stop - start)
    idle = max(0.0, float(span) - duration)
    keys = np.rint(np.log1p(steps[:, [0, 2, 3]]) * BINS_PER_E).astype(np.int64)
    prefilling = (steps[:, 0] > steps[:, 2]).astype(np.int64)
    key = ((keys[:, 0] * 1000 + keys[:, 1]) * 1000 + keys[:, 2]) * 2 + prefilling
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    size = len(count)

    def total(values: Floats) -> Floats:
        return np.bincount(group, values, minlength=size).astype(np.float64)

    features = np.stack([total(steps[:, k]) / count for k in range(6)], axis=1)
    weights = np.stack(
        [
            total(inside.astype(np.float64)),
            total(steps[:, 7]) / max(int(several.sum()), 1),
            total(steps[:, 6]) / max(len(ttft), 1),
        ],
        axis=1,
    )
    statistic = point.statistic
    return Trace(
        features,
        weights,
        idle,
        made,
        {"tpot": _ratio(pace, statistic.get("tpot", "mean")), "ttft": _ratio(ttft, statistic.get("ttft", "mean"))},
        {
            "throughput": made / (duration + idle),
            "tpot": float(np.median(pace) if statistic.get("tpot") == "p50" else pace.mean()) if len(pace) else 0.0,
            "ttft": float(np.median(ttft) if statistic.get("ttft") == "p50" else ttft.mean()),
        },
    )


@dataclass(frozen=True)
class Book:
    """Traces of many points, stacked: `owner` says which point a row belongs to; `shape` has one entry per row."""

    owner: npt.NDArray[np.int64]
    features: Floats
    weights: Floats
    shape: Shape
    idle_s: Floats
    tokens: Floats
    ratio: Floats  # [points, 3] in the order of METRICS

    def part(self, chosen: npt.NDArray[np.int64]) -> Book:
        """The book of the points `chosen`, renumbered from 0."""
        place = np.full(len(self.tokens), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        rows = place[self.owner] >= 0
        shape = Shape(**{f.name: np.asarray(getattr(self.shape, f.name))[rows] for f in fields(Shape)})
        return Book(
            place[self.owner[rows]],
            self.features[rows],
            self.weights[rows],
            shape,
            self.idle_s[chosen],
            self.tokens[chosen],
            self.ratio[chosen],
        )


def bind(traces: Sequence[Trace], runs: Sequence[Run]) -> Book:
    """One book of all traces, in their order."""
    owner = np.repeat(np.arange(len(traces)), [len(t.features) for t in traces])
    shapes = [shape_of(run.deployment) for run in runs]
    columns = {f.name: np.array([float(getattr(s, f.name)) for s in shapes])[owner] for f in fields(Shape)}
    return Book(
        owner,
        np.concatenate([t.features for t in traces]),
        np.concatenate([t.weights for t in traces]),
        Shape(**columns),
        np.array([t.idle_s for t in traces]),
        np.array([t.tokens for t in traces]),
        np.array([[1.0, t.ratio["tpot"], t.ratio["ttft"]] for t in traces]),
    )


Part = Callable[[Shape, physics.Coefficients, Floats], physics.Number]
TOKENS, SEQUENCES, DECODES, CONTEXT, PAIRS, PREFILL = range(6)  # columns of the features of a step
PARTS: tuple[tuple[Part, tuple[str, ...]], ...] = (  # the terms of a step, and the coefficients that each hangs on
    (lambda s, c, f: physics.fixed_seconds(s, c), ("step_s", "group_s", "layer_s", "expert_layer_s")),
    (lambda s, c, f: physics.elementwise_seconds(s, c, f[TOKENS]), ("elementwise_passes", "bandwidth_efficiency")),
    (lambda s, c, f: physics.window_seconds(s, c, f[TOKENS]), ("attention_efficiency",)),
    (
        lambda s, c, f: physics.linear_seconds(s, c, f[TOKENS]),
        ("compute_efficiency", "compute_half_tokens", "bandwidth_efficiency", "overlap_p", "expert_compute", "expert_bandwidth"),
    ),
    (
        lambda s, c, f: physics.allreduce_seconds(s, c, f[TOKENS]),
        ("allreduce_latency_s", "allreduce_hop_s", "allreduce_bus_hop_s", "allreduce_efficiency", "allreduce_contention"),
    ),
    (lambda s, c, f: physics.sequence_seconds(s, c) * f[SEQUENCES], ("sequence_s", "compute_efficiency", "kv_efficiency")),
    (
        lambda s, c, f: np.where(f[DECODES] > 0, physics.context_seconds(s, c, np.maximum(f[DECODES], 1e-9)), 0.0) * f[CONTEXT],
        ("kv_efficiency", "kv_half_batch"),
    ),
    (lambda s, c, f: physics.pair_seconds(s, c) * f[PAIRS], ("attention_efficiency",)),
    (lambda s, c, f: physics.prefill_context_seconds(s, c) * f[PREFILL], ("kv_efficiency",)),
)


def step_seconds(s: Shape, c: physics.Coefficients, features: Floats) -> Floats:
    """[rows] seconds of steps with `features` [rows, 6]: tokens, sequences, decodes, context, pairs, prefill context."""
    return np.asarray(sum(part(s, c, features.T) for part, _ in PARTS), dtype=np.float64)


def predict(book: Book, coefficients: Mapping[str, Floats]) -> Floats:
    """[points, METRICS] predictions; `coefficients` holds one entry per point for each coefficient."""
    c = {name: values[book.owner] for name, values in coefficients.items()}
    return _metrics(book, step_seconds(book.shape, c, book.features), coefficients["request_s"])


def _metrics(book: Book, seconds: Floats, request_s: Floats) -> Floats:
    size = len(book.tokens)
    duration, tpot, ttft = (np.bincount(book.owner, book.weights[:, k] * seconds, minlength=size) for k in range(3))
    table = np.stack([book.tokens / (duration + book.idle_s), tpot, ttft + request_s], axis=1)
    return np.maximum(table * book.ratio, 1e-9)


def predict_moved(book: Book, coefficients: Mapping[str, Floats], moved: Mapping[str, Floats]) -> dict[str, Floats]:
    """Predictions with one coefficient at a time as in `moved`; only the terms that hang on it are priced again."""
    c = {name: values[book.owner] for name, values in coefficients.items()}
    features = book.features.T
    terms = [np.asarray(part(book.shape, c, features), dtype=np.float64) for part, _ in PARTS]
    whole = np.sum(terms, axis=0)
    found = {}
    for name, values in moved.items():
        there, seconds = {**c, name: values[book.owner]}, whole
        for term, (part, names) in zip(terms, PARTS, strict=True):
            if name in names:
                seconds = seconds + (part(book.shape, there, features) - term)
        found[name] = _metrics(book, seconds, values if name == "request_s" else coefficients["request_s"])
    return found


def measured_table(points: Sequence[Point]) -> Floats:
    """[points, METRICS] as measured; NaN where the source is silent."""
    return np.array([[point.measured.get(metric, np.nan) for metric in METRICS] for point in points], dtype=np.float64)
