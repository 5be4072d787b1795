"""Arithmetic that gives the same bytes on every processor.

A BLAS product sums in an order that depends on the processor, and the exponential of a C library differs in its last bit with it: a tie
between two equal plans then breaks differently. Here only operations are used that IEEE 754 fixes: sums in a fixed order, products,
quotients, scaling by powers of two. `tests/test_same_bytes.py` keeps the other kind out of everything that decides.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is ln 2; the first has zeros enough that k times it is exact
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))  # of exp; exact enough for |x| <= ln(2) / 2
IN_CACHE = 1 << 14  # numbers
ATANH = tuple(1.0 / (2 * k + 1) for k in range(12))  # of atanh(s) / s in s^2; exact enough for |s| <= 0.172


def dot(left: npt.ArrayLike, right: npt.ArrayLike) -> Any:
    """`left @ right`, a float for two vectors; sums in a fixed order, and a single sum rounded once.

    >>> dot([1e16, 1.0, -1e16], [1.0, 1.0, 1.0]), dot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).tolist()
    (1.0, [3.0, 7.0])
    >>> dot([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]).tolist(), dot(np.eye(2), np.ones((2, 1))).tolist()
    ([7.0, 10.0], [[1.0], [1.0]])
    """
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    if a.ndim == b.ndim == 1:
        if len(a) != len(b):
            raise ValueError(f"vectors of {len(a)} and {len(b)} numbers have no product")
        return math.fsum((a * b).tolist())
    if b.ndim == 1:
        return (a * b).sum(axis=-1)
    if a.ndim == 1:
        return (a[:, None] * b).sum(axis=-2)
    return (a[..., :, :, None] * b[..., None, :, :]).sum(axis=-2)


def exp(x: npt.ArrayLike) -> Any:
    """e to the power of `x`, within 2 units of the last place; a float for a number.

    x = k ln 2 + r, and the series of Taylor for r.

    >>> exp(0.0), abs(exp(1.0) / math.e - 1) < 5e-16, exp(-math.inf), exp(np.array([2.0])).round(6).tolist()
    (1.0, True, 0.0, [7.389056])
    """
    given = np.asarray(x, np.float64)
    if given.size <= IN_CACHE:
        return _exp(given) if given.ndim else float(_exp(given))
    pieces = np.array_split(given.ravel(), given.size // IN_CACHE + 1)  # thirty passes over memory would take ten times as long
    return np.concatenate([_exp(piece) for piece in pieces]).reshape(given.shape)


def _exp(x: Floats) -> Floats:
    value = np.clip(x, -800.0, 800.0)
    k = np.rint(value * 1.4426950408889634)
    r = (value - k * LN2_HIGH) - k * LN2_LOW
    series = np.full_like(r, TAYLOR[-1])
    for coefficient in TAYLOR[-2::-1]:
        series *= r
        series += coefficient
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(series, k.astype(np.int32)))


def log(x: npt.ArrayLike) -> Any:
    """Natural logarithm of `x` > 0, within 2 units of the last place; minus infinity of 0; a float for a number.

    x = 2^k m with m near 1, and ln m = 2 atanh((m - 1) / (m + 1)).

    >>> log(1.0), abs(log(10.0) - 2.302585092994046) < 1e-15, log(0.0), log(np.array([math.e])).round(12).tolist()
    (0.0, True, -inf, [1.0])
    """
    given = np.asarray(x, np.float64)
    m, k = np.frexp(given)
    small = m < 0.7071067811865476
    m, k = np.where(small, 2.0 * m, m), k - small
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    series = np.full_like(square, ATANH[-1])
    for coefficient in ATANH[-2::-1]:
        series *= square
        series += coefficient
    answer = k * LN2_HIGH + (2.0 * s * series + k * LN2_LOW)
    answer = np.where(given > 0, np.where(np.isposinf(given), np.inf, answer), np.where(given == 0, -np.inf, np.nan))
    return answer if given.ndim else float(answer)


def power(base: npt.ArrayLike, exponent: npt.ArrayLike) -> Any:
    """`base` >= 0 to the power of `exponent`, to about 1e-15 x (1 + |exponent x ln base|); a float for two numbers.

    >>> round(power(2.0, 0.5), 12), power(0.0, 0.0), power(0.0, 3.0), power(np.array([4.0]), 1.5).round(12).tolist()
    (1.414213562373, 1.0, 0.0, [8.0])
    """
    e = np.asarray(exponent, np.float64)
    with np.errstate(invalid="ignore"):
        answer = np.where(e == 0.0, 1.0, exp(np.asarray(e * log(base))))
    return answer if answer.ndim else float(answer)
