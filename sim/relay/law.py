"""Draws from a latency law."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.catalog.relay_records import Law, LoadPoint
from sim.exact import exp, log, power
from sim.streams import FINE

Floats = npt.NDArray[np.float64]


def law_quantiles(law: Law, probability: Floats) -> Floats:
    """Seconds at each probability in (0, 1).

    >>> law_quantiles(Law("loglogistic", (0.5, 0.2)), np.array([0.5])).tolist()
    [0.5]
    >>> law_quantiles(Law("lognormal_pareto", (1.0, 0.5, 0.9, 2.0)), np.array([0.5, 0.975])).round(3).tolist()
    [1.0, 3.796]
    >>> law_quantiles(Law("empirical", points=((0.0, 1.0), (1.0, 4.0))), np.array([0.5])).round(6).tolist()
    [2.0]
    """
    if law.family == "empirical":
        quantiles, seconds = np.array(law.points, float).T
        logs: Floats = np.interp(probability, quantiles, log(seconds))
        seconds_at: Floats = exp(logs)
        return seconds_at
    if law.family == "loglogistic":
        median, scale = law.parameters
        return np.asarray(median * power(probability / (1.0 - probability), scale))
    if law.family == "shifted_lognormal":
        shift, median, sigma = law.parameters
        return np.asarray(shift + median * exp(sigma * _normal_score(probability)))
    median, sigma = law.parameters[:2]
    body = median * exp(sigma * _normal_score(probability))
    if law.family == "lognormal":
        return np.asarray(body)
    q, alpha = law.parameters[2:]
    start = median * exp(sigma * _normal_score(np.asarray(q)))
    tail = start * power((1.0 - q) / (1.0 - np.maximum(probability, q)), 1.0 / alpha)
    spliced: Floats = np.where(probability > q, tail, body)
    return spliced


def _normal_score(probability: Floats) -> Floats:
    """Standard normal quantiles, rounded to where the C library of every CPU agrees."""
    from scipy.special import ndtri  # late: not every run draws from a law

    return np.asarray(np.rint(ndtri(probability) * FINE) / FINE)


def draw(law: Law, rng: np.random.Generator, size: int) -> Floats:
    """`size` independent values, in seconds. Above the last point of an empirical law nothing is drawn: optimistic in the tail."""
    return law_quantiles(law, (rng.random(size) * (1 - 2e-12)) + 1e-12)


def load_factors(load: tuple[LoadPoint, ...], in_flight: npt.ArrayLike) -> tuple[Floats, Floats]:
    """(TTFT, TPOT) multiples with so many calls open; 1 where no load was measured.

    >>> [float(x) for x in load_factors((LoadPoint(1, 1.0, 1.0), LoadPoint(9, 2.0, 1.4)), 5)]
    [1.5, 1.2]
    """
    open_calls = np.asarray(in_flight, float)
    if not load:
        return np.ones_like(open_calls), np.ones_like(open_calls)
    at = [point.in_flight for point in load]
    return (
        np.asarray(np.interp(open_calls, at, [point.ttft for point in load])),
        np.asarray(np.interp(open_calls, at, [point.tpot for point in load])),
    )
