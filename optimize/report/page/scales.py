"""Axes of a chart: where a value stands between two ends, and round numbers to label it with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimize.report.page.drawing import round_values

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`; `kind` is linear, log, or logit (shares, with both tails stretched)."""

    low: float
    high: float
    kind: str = "linear"

    def at(self, value: float) -> float:
        """The place of a value, 0 at the low end and 1 at the high one; values beyond stand at the ends.

        >>> Scale(0.0, 4.0).at(1.0), Scale(1.0, 100.0, "log").at(10.0), round(Scale(0.01, 0.99, "logit").at(0.5), 12)
        (0.25, 0.5, 0.5)
        """
        low, high, here = (self._moved(x) for x in (self.low, self.high, value))
        return min(1.0, max(0.0, (here - low) / (high - low))) if high > low else 0.5

    def _moved(self, value: float) -> float:
        if self.kind == "log":
            return math.log(max(value, 1e-300))
        if self.kind == "logit":
            share = min(max(value, 1e-9), 1 - 1e-9)
            return math.log(share / (1 - share))
        return value

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers on the axis, at most `most`."""
        return round_values(self.low, self.high, most) if self.kind == "log" else round_steps(self.low, self.high, most)


def round_steps(low: float, high: float, most: int = 5) -> list[float]:
    """Multiples of a round step between two ends.

    >>> round_steps(0.0, 47.0), round_steps(0.0, 0.9, 4)
    ([0.0, 10.0, 20.0, 30.0, 40.0], [0.0, 0.25, 0.5, 0.75])
    """
    if high <= low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * each for each in (*STEPS, 20.0, 50.0) if math.floor(high / (power * each)) - math.ceil(low / (power * each)) < most)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def from_zero(values: Sequence[float | None]) -> Scale:
    """An axis from zero to a little more than the largest of these."""
    most = max((value for value in values if value is not None and math.isfinite(value)), default=1.0)
    return Scale(0.0, 1.08 * most if most > 0 else 1.0)


def short_number(value: float) -> str:
    """A label of an axis.

    >>> short_number(1_500_000.0), short_number(20_000.0), short_number(0.25), short_number(3.0)
    ('1.5 M', '20 k', '0.25', '3')
    """
    for size, letter in ((1e9, " B"), (1e6, " M"), (1e4, None)):
        if abs(value) >= size:
            return f"{value / 1e3:,g} k" if letter is None else f"{value / size:g}{letter}"
    return f"{value:,g}"
