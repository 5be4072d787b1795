"""Token laws for a new scenario: public shapes scaled to a known mean, and the quantiles of a log."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sim.scenario import shapes
from sim.scenario.scenario import Tokens
from sim.scenario.tokens import from_points

POINTS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)


def scaled_law(shape: str, mean: float, most: float = math.inf) -> str:
    """The public law `shape` with every length multiplied so that its mean is `mean`, as YAML; never below one token or above `most`.

    Approximation: another service's spread around its mean is taken for yours.
    """
    return law_text(scaled_points(shapes.load().tokens[shape], mean, most))


def longest(shape: str, mean: float) -> float:
    """The longest length of the law `shape` scaled to `mean`."""
    return scaled_points(shapes.load().tokens[shape], mean)[-1][1]


def scaled_points(law: Tokens, mean: float, most: float = math.inf) -> list[tuple[float, float]]:
    """Points of `law` at POINTS, scaled to `mean`; the floor of one token and the cut at `most` are paid for by the others.

    >>> points = scaled_points(from_points([(0, 2), (1, 4)]), 30)
    >>> points[0], points[-1], round(from_points(points).mean, 6)
    ((0.0, 20.0), (1.0, 40.0), 30.0)
    """
    tokens = np.interp(POINTS, law.quantiles, law.tokens)
    low, high = 0.0, 10 * mean / max(1e-9, _mean(tokens)) + 10
    high *= 1 if most == math.inf else max(1.0, most / max(mean, 1.0))  # what is cut must be made up for by the rest
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(np.clip(tokens * middle, 1.0, most)) < mean else (low, middle)
    return list(zip(POINTS, np.clip(tokens * high, 1.0, most).tolist(), strict=True))


def _mean(tokens: npt.NDArray[np.float64]) -> float:
    return from_points(list(zip(POINTS, np.maximum.accumulate(tokens).tolist(), strict=True))).mean


def log_law(tokens: npt.NDArray[np.int32]) -> str:
    """Quantiles of measured lengths as YAML, with their mean kept to a part in ten thousand."""
    values = np.quantile(tokens, POINTS)
    if values[0] == values[-1]:
        return f"{values[0]:g}"
    law = from_points(list(zip(POINTS, values.tolist(), strict=True)))
    return law_text(scaled_points(law, float(tokens.mean())))


def law_text(points: list[tuple[float, float]]) -> str:
    """A law as a scenario writes it."""
    return "[" + ", ".join(f"[{q:g}, {x:.5g}]" for q, x in points) + "]"
