"""Draws from a latency law."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.catalog.relay_records import Law, LoadPoint

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
        logs: Floats = np.interp(probability, quantiles, np.log(seconds))
        seconds_at: Floats = np.exp(logs)
        return seconds_at
    if law.family == "loglogistic":
        median, scale = law.parameters
        return np.asarray(median * (probability / (1.0 - probability)) ** scale)
    from scipy.special import ndtri  # late: not every run draws from a law

    if law.family == "shifted_lognormal":
        shift, median, sigma = law.parameters
        return np.asarray(shift + median * np.exp(sigma * ndtri(probability)))
    median, sigma = law.parameters[:2]
    body = median * np.exp(sigma * ndtri(probability))
    if law.family == "lognormal":
        return np.asarray(body)
    q, alpha = law.parameters[2:]
    start = median * np.exp(sigma * ndtri(q))
    tail = start * ((1.0 - q) / (1.0 - np.maximum(probability, q))) ** (1.0 / alpha)
    spliced: Floats = np.where(probability > q, tail, body)
    return spliced


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
