"""The most probable parameters given measured points: Gauss-Newton with a robust loss and a normal prior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim.calibration.fit_parameters import Design, group_weights
from sim.calibration.points import METRICS, Point
from sim.calibration.trace import Book, measured_table, predict, predict_moved

Floats = npt.NDArray[np.float64]
SPREAD = np.array([0.10, 0.10, 0.25])  # of log(predicted / measured) per metric: what a good point shows
QUEUED_SPREAD = 0.30  # TTFT that is mostly queueing hangs on capacity, which throughput tells better
HUBER = 1.5  # spreads beyond which a point pulls no harder
STEP = 1e-3
LARGEST_MOVE = 0.5


def spreads(points: Sequence[Point]) -> Floats:
    """[points, METRICS] spread of the log error; TTFT of a burst or above 2 s is queueing."""
    table = np.tile(SPREAD, (len(points), 1))
    for row, point in zip(table, points, strict=True):
        if point.scenario == "offline" or point.measured.get("ttft", 0.0) > 2.0:
            row[METRICS.index("ttft")] = QUEUED_SPREAD
    return table


def residuals(book: Book, design: Design, theta: Floats, measured: Floats, scale: Floats) -> Floats:
    """[points, METRICS] log errors in spreads; 0 where nothing was measured."""
    predicted = predict(book, design.coefficients(theta))
    with np.errstate(invalid="ignore"):
        errors = np.log(predicted / measured) / scale
    return np.where(np.isfinite(errors), errors, 0.0)


def jacobian(book: Book, design: Design, theta: Floats, measured: Floats, scale: Floats, now: Floats) -> Floats:
    """[parameters, points, METRICS] by forward differences.

    What a point predicts depends on its own coefficients alone, so one difference per coefficient serves all parameters of it.
    """
    sums = design.sums(theta)
    base = {name: design.bend(name, values) for name, values in sums.items()}
    names = {parameter.coefficient for parameter in design.parameters}
    there = predict_moved(book, base, {name: design.bend(name, sums[name] + STEP) for name in sorted(names)})
    slopes: dict[str, Floats] = {}
    for name, table in there.items():
        with np.errstate(invalid="ignore"):
            moved = np.log(table / measured) / scale
        slopes[name] = np.where(np.isfinite(moved), moved - now, 0.0) / STEP
    columns = np.zeros((len(theta), *now.shape))
    for j, (parameter, members) in enumerate(zip(design.parameters, design.members, strict=True)):
        columns[j, members] = slopes[parameter.coefficient][members]
    return columns


def solve(
    book: Book,
    design: Design,
    points: Sequence[Point],
    rounds: int = 8,
    start: Floats | None = None,
    scale: Floats | None = None,
    weights: Floats | None = None,
) -> Floats:
    """The parameters at the maximum of the posterior (a local one, from `start` or from the prior's centre).

    `scale` [points, METRICS] and `weights` [points] stand for what `spreads` and `group_weights` say. Huber weights make a point with an
    error beyond 1.5 spreads pull as if it were there; the prior keeps what few points see near 0.
    """
    measured, scale = measured_table(points), spreads(points) if scale is None else scale
    weight = (group_weights(points) if weights is None else weights)[:, None]
    prior = np.array([1.0 / parameter.sd**2 for parameter in design.parameters])
    theta = np.zeros(len(prior)) if start is None else start.copy()

    def loss(at: Floats) -> tuple[float, Floats]:
        errors = residuals(book, design, at, measured, scale)
        size = np.abs(errors)
        bent = np.where(size <= HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
        return float((weight * bent).sum() + 0.5 * (prior * at**2).sum()), errors

    value, errors = loss(theta)
    for _ in range(rounds):
        columns = jacobian(book, design, theta, measured, scale, errors)
        pull = weight * np.minimum(1.0, HUBER / np.maximum(np.abs(errors), 1e-12))
        flat = columns.reshape(len(theta), -1)
        weighted = flat * pull.reshape(1, -1)
        step = np.linalg.solve(weighted @ flat.T + np.diag(prior), -(weighted @ errors.reshape(-1)) - prior * theta)
        step = np.clip(step, -LARGEST_MOVE, LARGEST_MOVE)
        for shrink in (1.0, 0.5, 0.25, 0.1):
            candidate, moved = loss(theta + shrink * step)
            if candidate < value:
                gain, theta, value, errors = value - candidate, theta + shrink * step, candidate, moved
                break
        else:
            break
        if gain < 1e-4 * value:
            break
    return theta
