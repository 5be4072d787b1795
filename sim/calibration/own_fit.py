"""Coefficients of one deployment from its own runs: the catalogue's are where the fit starts and stays where nothing is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.calibration.crossvalidate import unsaturated
from sim.calibration.fit_parameters import SHARED_PRIOR, Design, Parameter
from sim.calibration.points import METRICS, Point
from sim.calibration.replay_points import Run
from sim.calibration.trace import Book, Trace, bind, measured_table, trace_of
from sim.calibration.weighted_least_squares import jacobian, residuals, solve
from sim.engine.deployment import Deployment
from sim.engine.physics import COEFFICIENTS
from sim.errors import InputError

Floats = npt.NDArray[np.float64]
SPREAD = np.array([0.02, 0.02, 0.04])  # of log(predicted / measured): what repeated runs on one machine show, throughput, TPOT, TTFT
QUEUED_SPREAD = 0.15  # of a TTFT that is mostly queueing
NARROWEST_PRIOR = 0.3  # one machine may differ from the catalogue by more than GPUs differ from each other
HOST = ("step_s", "layer_s", "sequence_s", "request_s")
HOST_PRIOR = 1.0  # host, network and client are the user's own
MIXTURE_PRIOR = 0.4
NOISE_BAND = (0.25, 4.0)  # factors on SPREAD that residuals may ask for
FEWEST_LEFT = 3.0  # values beyond the freedom that the fit has taken, before residuals say how large the noise is
MOST_TURNS = 8  # of fit and replay
SETTLED = 0.003  # change of the logarithm of a coefficient that ends them
FEWEST_FOR_ERRORS = 4  # runs; with fewer, leaving one out says nothing


@dataclass(frozen=True)
class OwnFit:
    """The fit of one deployment. `covariance` [parameters, parameters] is that of the logarithms of the coefficients."""

    deployment: Deployment
    design: Design
    theta: Floats
    covariance: Floats
    predicted: Floats  # [points, METRICS]
    unseen: Floats  # [points, METRICS] predictions by fits without the point; NaN with fewer than four runs

    @property
    def coefficients(self) -> dict[str, float]:
        """The fitted coefficients."""
        return {name: float(values[0]) for name, values in self.design.coefficients(self.theta).items()}


def own_design(deployment: Deployment, size: int, start: Mapping[str, float]) -> Design:
    """One parameter per coefficient that the deployment uses; all points share them."""
    several = deployment.tensor_parallel > 1
    used = {"allreduce": several, "group": several, "expert": deployment.model.experts > 1}
    names = [name for name in sorted(COEFFICIENTS) if used.get(name.split("_")[0], True)]
    widths = {name: HOST_PRIOR if name in HOST else max(SHARED_PRIOR.get(name, MIXTURE_PRIOR), NARROWEST_PRIOR) for name in names}
    parameters = tuple(Parameter(name, ("own",), widths[name]) for name in names)
    return Design(parameters, tuple(np.arange(size) for _ in names), size, dict(start))


def unfitted(deployment: Deployment, start: Mapping[str, float]) -> OwnFit:
    """What is known of `deployment` before any own run: the coefficients `start`, as wide as the prior."""
    design = own_design(deployment, 1, start)
    nothing = np.zeros((0, len(METRICS)))
    prior = np.diag([parameter.sd**2 for parameter in design.parameters])
    return OwnFit(deployment, design, np.zeros(len(prior)), prior, nothing, nothing)


def own_scale(points: Sequence[Point]) -> Floats:
    """[points, METRICS] spread of the log error in a user's own runs."""
    table = np.tile(SPREAD, (len(points), 1))
    table[[not unsaturated(point) for point in points], METRICS.index("ttft")] = QUEUED_SPREAD
    return table


def _traces(points: Sequence[Point], runs: Sequence[Run], coefficients: Mapping[str, float]) -> list[Trace]:
    found = [trace_of(point, run, coefficients) for point, run in zip(points, runs, strict=True)]
    stuck = [point.id for point, trace in zip(points, found, strict=True) if trace is None]
    if stuck:
        raise InputError([f"{name}: its replay makes no progress in the KV memory that remains; state --kv-blocks" for name in stuck])
    return [trace for trace in found if trace is not None]


def own_fit(points: Sequence[Point], runs: Sequence[Run], start: Mapping[str, float]) -> OwnFit:
    """The fit of `points`, all of one deployment, from the coefficients `start`.

    Arrivals meet other batches when steps get faster, so runs are replayed under what was fitted and fitted again, until that changes
    nothing; `predicted` is what the last replay says, and not what the fit hoped for.
    """
    deployment = runs[0].deployment
    design = own_design(deployment, len(points), start)
    scale, weights = own_scale(points), np.ones(len(points))
    theta = np.zeros(len(design.parameters))
    for turn in range(MOST_TURNS):
        before = theta
        book = bind(_traces(points, runs, _at(design, theta)), runs)
        theta = solve(book, design, points, rounds=30, start=theta, scale=scale, weights=weights)
        if turn == 0:
            scale = scale * noise_found(book, design, points, theta, scale)
        elif np.abs(theta - before).max() < SETTLED:
            break
    traces = _traces(points, runs, _at(design, theta))
    return OwnFit(
        deployment,
        design,
        theta,
        _covariance(_columns(bind(traces, runs), design, points, theta, scale), design),
        np.array([[trace.direct[metric] for metric in METRICS] for trace in traces]),
        _left_out(bind(traces, runs), design, points, runs, theta, scale),
    )


def _at(design: Design, theta: Floats) -> dict[str, float]:
    return {name: float(values[0]) for name, values in design.coefficients(theta).items()}


def _columns(book: Book, design: Design, points: Sequence[Point], theta: Floats, scale: Floats) -> Floats:
    """[parameters, points x METRICS] slopes of the log errors in spreads."""
    measured = measured_table(points)
    errors = residuals(book, design, theta, measured, scale)
    return jacobian(book, design, theta, measured, scale, errors).reshape(len(theta), -1)


def _covariance(columns: Floats, design: Design) -> Floats:
    prior = np.diag([1.0 / parameter.sd**2 for parameter in design.parameters])
    return np.asarray(np.linalg.inv(columns @ columns.T + prior), dtype=np.float64)


def noise_found(book: Book, design: Design, points: Sequence[Point], theta: Floats, scale: Floats) -> float:
    """How large residuals are in the spreads assumed, by the freedom that the fit has left; 1 where it has left less than three values.

    The freedom that a fit with a prior takes is the trace of its hat matrix.
    """
    measured = measured_table(points)
    errors = residuals(book, design, theta, measured, scale)
    columns = _columns(book, design, points, theta, scale)
    left = float(np.isfinite(measured).sum() - np.trace(columns.T @ _covariance(columns, design) @ columns))
    if left < FEWEST_LEFT:
        return 1.0
    return float(np.clip(np.sqrt((errors**2).sum() / left), *NOISE_BAND))


def _left_out(book: Book, design: Design, points: Sequence[Point], runs: Sequence[Run], theta: Floats, scale: Floats) -> Floats:
    """[points, METRICS] predictions of each point by a fit on the others, replayed under that fit."""
    count = len(points)
    table = np.full((count, len(METRICS)), np.nan)
    if count < FEWEST_FOR_ERRORS:
        return table
    for i in range(count):
        kept = np.array([k for k in range(count) if k != i])
        fewer = Design(design.parameters, tuple(np.arange(count - 1) for _ in design.parameters), count - 1, design.start)
        rest = [points[k] for k in kept]
        there = solve(book.part(kept), fewer, rest, start=theta, scale=scale[kept], weights=np.ones(count - 1))
        trace = trace_of(points[i], runs[i], _at(design, there))
        if trace is not None:
            table[i] = [trace.direct[metric] for metric in METRICS]
    return table
