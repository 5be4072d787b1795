"""How well points are predicted by a fit that has not seen their group."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.calibration.fit_parameters import Parameter, coefficients_for, design_of
from sim.calibration.points import METRICS, Point
from sim.calibration.replay_points import Run
from sim.calibration.trace import Trace, bind, measured_table, predict, trace_of
from sim.calibration.weighted_least_squares import solve
from sim.engine.physics import COEFFICIENTS, defaults

Floats = npt.NDArray[np.float64]
OUTER = 3  # fit, replay under what was fitted, fit again: arrivals meet other batches when steps get faster
FOLDS = 8


@dataclass(frozen=True)
class Fit:
    """Parameters at their most probable values, and the traces that they rest on."""

    parameters: tuple[Parameter, ...]
    theta: Floats
    traces: tuple[Trace, ...]


def traced(points: Sequence[Point], runs: Sequence[Run], parameters: Sequence[Parameter], theta: Floats) -> list[Trace]:
    """The traces of `runs`, each under its own coefficients. Every run must be able to progress."""
    found = []
    for point, run in zip(points, runs, strict=True):
        trace = trace_of(point, run, coefficients_for(run.deployment, parameters, theta))
        if trace is None:
            raise ValueError(f"{point.id}: the replay makes no progress")
        found.append(trace)
    return found


def fit(points: Sequence[Point], runs: Sequence[Run], traces: Sequence[Trace] | None = None, outer: int = OUTER) -> Fit:
    """The fit of these points; `traces` start it where another fit has made them already."""
    design = design_of([run.deployment for run in runs])
    theta = np.zeros(len(design.parameters))
    current = list(traces) if traces is not None else traced(points, runs, design.parameters, theta)
    for turn in range(outer):
        if turn:
            is_open = [not is_burst(run) for run in runs]
            fresh = iter(
                traced(
                    [p for p, o in zip(points, is_open, strict=True) if o],
                    [r for r, o in zip(runs, is_open, strict=True) if o],
                    design.parameters,
                    theta,
                )
            )
            current = [next(fresh) if o else old for o, old in zip(is_open, current, strict=True)]
        theta = solve(bind(current, runs), design, points, start=theta)
    return Fit(design.parameters, theta, tuple(current))


def by_group(point: Point) -> int:
    """The fold of a point's group: a hash, so that new points do not move old ones."""
    return zlib.crc32(point.group.encode()) % FOLDS


def by_gpu(point: Point) -> int:
    """The fold of a point's GPU: what the fit says of a card that it has never seen."""
    return zlib.crc32(point.gpu.encode()) % FOLDS


def is_burst(run: Run) -> bool:
    """Whether all requests come at once: the order of its steps then hangs on no step time, and one schedule serves every fit."""
    return run.arrival_s is None and run.in_flight >= len(run.prompt)


def held_out(points: Sequence[Point], runs: Sequence[Run], traces: Sequence[Trace], fold_of: Callable[[Point], int] = by_group) -> Floats:
    """[points, METRICS] predictions of each point by a fit on the other folds, replayed under that fit's coefficients."""
    folds = np.array([fold_of(point) for point in points])
    book = bind(traces, runs)
    table = np.full((len(points), len(METRICS)), np.nan)
    for fold in range(FOLDS):
        kept, left = np.flatnonzero(folds != fold).tolist(), np.flatnonzero(folds == fold).tolist()
        if not left:
            continue
        design = design_of([runs[i].deployment for i in kept])
        theta = solve(book.part(np.array(kept)), design, [points[i] for i in kept])
        found = [coefficients_for(runs[i].deployment, design.parameters, theta) for i in left]
        table[left] = predict(book.part(np.array(left)), {name: np.array([c[name] for c in found]) for name in COEFFICIENTS})
        for i, coefficients in zip(left, found, strict=True):
            trace = None if is_burst(runs[i]) else trace_of(points[i], runs[i], coefficients)
            if trace is not None:
                table[i] = [trace.direct[metric] for metric in METRICS]
    return table


def data_sheet(points: Sequence[Point], runs: Sequence[Run], traces: Sequence[Trace]) -> Floats:
    """[points, METRICS] predictions with the defaults alone; `traces` serve the bursts."""
    table = predict(bind(traces, runs), {name: np.full(len(points), value) for name, value in defaults().items()})
    for i, (point, run) in enumerate(zip(points, runs, strict=True)):
        trace = None if is_burst(run) else trace_of(point, run, defaults())
        if trace is not None:
            table[i] = [trace.direct[metric] for metric in METRICS]
    return table


def unsaturated(point: Point) -> bool:
    """Whether the point's TTFT says how fast a prompt is served, and not how long a queue has grown."""
    return point.scenario != "offline" and point.measured.get("ttft", 0.0) < 2.0


def asked_only(point: Point) -> bool:
    """Whether the point's throughput says only how much was asked for: an open run that served what came."""
    asked = (point.rate_rps or 0.0) * point.output_tokens
    return point.scenario == "fixed_qps" and point.measured.get("throughput", 0.0) >= 0.95 * asked


def absolute_errors(points: Sequence[Point], predicted: Floats) -> Floats:
    """[points, METRICS] |predicted / measured - 1|; NaN where not measured, and for the TTFT of a queue."""
    errors = np.abs(predicted / measured_table(points) - 1.0)
    errors[[not unsaturated(point) for point in points], METRICS.index("ttft")] = np.nan
    return errors
