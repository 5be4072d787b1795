"""Laws of token counts: what a user writes -> a piecewise-linear inverse CDF."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import NormalDist

from sim.scenario.scenario import Tokens

NORMAL = NormalDist()
DIGITS = 6  # of a token count: the last bit of a power depends on the CPU
# 65 points, equally spaced in standard deviations from -4 to 4, so that tails are as well resolved as the middle
GRID = tuple(round(NORMAL.cdf(step / 8), 12) for step in range(-32, 33))


def from_points(points: Sequence[tuple[float, float]]) -> Tokens:
    """The law through (probability, tokens) pairs, linear between them; flat below the first and above the last.

    >>> from_points([(0, 10), (1, 30)]).mean
    20.0
    """
    ordered = sorted(points)
    if ordered[0][0] > 0:
        ordered.insert(0, (0.0, ordered[0][1]))
    if ordered[-1][0] < 1:
        ordered.append((1.0, ordered[-1][1]))
    falls = [(a, b) for a, b in pairwise(ordered) if b[1] < a[1] or b[0] == a[0]]
    if falls:
        (q0, low), (q1, high) = falls[0]
        raise ValueError(f"falls from {low:g} at {q0:g} to {high:g} at {q1:g}; write tokens that rise with the quantile")
    quantiles = tuple(float(q) for q, _ in ordered)
    tokens = tuple(float(x) for _, x in ordered)
    return Tokens(quantiles, tokens, _mean(quantiles, tokens))


def constant(tokens: float) -> Tokens:
    """Always `tokens`."""
    return Tokens((0.0, 1.0), (float(tokens), float(tokens)), float(tokens))


def lognormal(mu: float, sigma: float) -> Tokens:
    """exp(Normal(mu, sigma)) tokens, mean exp(mu + sigma^2 / 2), at least 1 token each.

    >>> round(lognormal(3.09, 1.40).mean, 1)
    58.6
    """
    return _on_grid(lambda q: math.exp(mu + sigma * NORMAL.inv_cdf(q)), math.exp(mu + sigma * sigma / 2))


def weibull(shape: float, scale: float) -> Tokens:
    """Weibull law, mean scale * Gamma(1 + 1/shape).

    >>> round(weibull(1.39, 305).mean)
    278
    """
    mean = scale * math.gamma(1 + 1 / shape)
    return _on_grid(lambda q: scale * (-math.log1p(-q)) ** (1 / shape), mean)


def summary(quantiles: Mapping[float, float], mean: float | None) -> Tokens:
    """The law through the given quantiles that has the given mean.

    Between and beyond the quantiles log(tokens) is linear in the normal score, as if log-normal piece by piece; then all
    pieces are bent by one exponent until the mean fits. ValueError when no bend reaches it. A single quantile needs a
    mean above the median and gives the log-normal law of both.

    >>> law = summary({0.5: 1020, 0.99: 4142}, 1155)
    >>> round(law.mean), round(law.tokens[law.quantiles.index(0.5)])
    (1155, 1020)
    """
    known = sorted(quantiles.items())
    if any(b[1] < a[1] for a, b in pairwise(known)):
        raise ValueError("has quantiles that fall; write tokens that rise from p1 to p99")
    if len(known) < 2:
        known = _second_quantile(known, mean)
    pieces = _pieces(known)
    if mean is None:
        return _bent(pieces, 1.0)
    least, most = _bent(pieces, 1e3), _bent(pieces, 1e-3)
    if not least.mean <= mean <= most.mean:
        raise ValueError(
            f"has mean {mean:g}, but with these quantiles it lies between {least.mean:.0f} and {most.mean:.0f}; "
            "write a mean inside, or more quantiles"
        )
    low, high = math.log(1e-3), math.log(1e3)
    for _ in range(50):
        middle = (low + high) / 2
        if _bent(pieces, math.exp(middle)).mean > mean:
            low = middle
        else:
            high = middle
    return _bent(pieces, math.exp((low + high) / 2))


Piece = tuple[float, float, float, float]  # normal score and tokens at both ends


def _second_quantile(known: list[tuple[float, float]], mean: float | None) -> list[tuple[float, float]]:
    if len(known) == 1 and known[0][0] == 0.5 and mean is not None and mean > known[0][1]:
        median = known[0][1]
        sigma = math.sqrt(2 * math.log(mean / median))
        return [(0.5, median), (NORMAL.cdf(1.0), median * math.exp(sigma))]
    raise ValueError("does not fix a law; write a plain number, or {mean, p50, p99}, or two quantiles such as {p50, p99}")


def _pieces(known: list[tuple[float, float]]) -> list[Piece]:
    """Between neighbouring quantiles, and out to four standard deviations with the slope of the outermost pair."""
    points = [(NORMAL.inv_cdf(q), float(x)) for q, x in known]
    (z0, x0), (z1, x1) = points[0], points[1]
    (y0, v0), (y1, v1) = points[-2], points[-1]
    bottom = max(1.0, x0 * (x1 / x0) ** ((-4.0 - z0) / (z1 - z0))) if z0 > -4 else x0
    top = v1 * (v1 / v0) ** min((4.0 - y1) / (y1 - y0), 20.0) if y1 < 4 else v1
    points = [(min(-4.0, z0 - 1), min(bottom, x0)), *points, (max(4.0, y1 + 1), top)]
    return [(a[0], a[1], b[0], b[1]) for a, b in pairwise(points)]


def _bent(pieces: list[Piece], bend: float) -> Tokens:
    ends = {z for piece in pieces for z in (piece[0], piece[2])}
    scores = sorted(ends | {step / 8 for step in range(-32, 33)})
    tokens, at = [], 0
    for z in scores:
        while z > pieces[at][2] and at < len(pieces) - 1:
            at += 1
        z0, x0, z1, x1 = pieces[at]
        straight = x0 * (x1 / x0) ** ((z - z0) / (z1 - z0))
        part = (straight - x0) / (x1 - x0) if x1 > x0 else 0.0
        tokens.append(x0 + (x1 - x0) * min(max(part, 0.0), 1.0) ** bend)
    tokens = [round(x, DIGITS) for x in accumulate(tokens, max)]  # rounding in the last digit must not make the law fall
    quantiles = [round(NORMAL.cdf(z), 12) for z in scores]
    quantiles[0], quantiles[-1] = 0.0, 1.0
    return Tokens(tuple(quantiles), tuple(tokens), _mean(quantiles, tokens))


def _on_grid(inverse: Callable[[float], float], mean: float) -> Tokens:
    """`inverse` on GRID, never below 1 token, scaled (by under 1 %) so that the mean, which money depends on, is `mean`."""
    body = [max(1.0, inverse(q)) for q in GRID]
    quantiles = (0.0, *GRID, 1.0)
    tokens = (body[0], *body, body[-1])
    scale = max(0.9, min(1.1, mean / _mean(quantiles, tokens)))
    scaled = tuple(round(max(1.0, scale * x), DIGITS) for x in tokens)
    return Tokens(quantiles, scaled, _mean(quantiles, scaled))


def _mean(quantiles: Sequence[float], tokens: Sequence[float]) -> float:
    """Area under the inverse CDF: trapezoids, exact for a piecewise-linear law."""
    pairs = zip(quantiles, quantiles[1:], tokens, tokens[1:], strict=False)
    return sum((q1 - q0) * (x0 + x1) / 2 for q0, q1, x0, x1 in pairs)
