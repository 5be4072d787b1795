"""How much slower than simulated an engine may be, as a law: that of its card and release, or of the user's own calibration.

Coordinates are normal scores: at score z, an engine is as slow as its law says at probability Phi(z).
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.catalog.error_law import PROBABILITIES, ErrorLaw, between
from sim.catalog.facts import CalibrationRow
from sim.catalog.loader import load_catalog
from sim.engine.release import lineage
from sim.exact import exp

SCORES = (
    *(-2.5758, -2.3263, -1.96, -1.6449, -1.2816, -1.0364, -0.8416, -0.6745, -0.5244, -0.2533, 0.0),
    *(0.2533, 0.5244, 0.6745, 0.8416, 1.0364, 1.2816, 1.6449, 1.96, 2.3263, 2.5758),
)  # normal quantiles at PROBABILITIES, as numbers: no C library decides
P90, P80 = 1.645, 1.2816  # half of the central interval of a normal law that holds 90 % and 80 %, in deviations
OWN_LEAST = 0.026  # of the scale of a user's own calibration: what repeated runs on one machine show, 2 %, at 80 %


@dataclass(frozen=True)
class Spread:
    """A law of a log factor: `scale` x a quantile function given at PROBABILITIES."""

    scale: float
    quantiles: tuple[float, ...]

    def at(self, probability: float) -> float:
        """The log factor that reality stays below with this probability."""
        return self.scale * between(self.quantiles, probability)


@dataclass(frozen=True)
class Doubt:
    """How much slower than simulated an engine may be: `spreads` by metric, and the TTFT that a relative error is of."""

    spreads: dict[str, Spread]
    typical_first_s: float

    def slow(self, probability: float, forecast: float = 0.0) -> tuple[float, float]:
        """Log factor on steps, and seconds added before the first token, that reality stays below with this probability.

        `forecast` is the deviation of the log of demand: more requests count like longer steps.
        """
        step = self.spreads["tpot"].at(probability)
        more = max(0.0, float(exp(self.spreads["ttft"].at(probability))) - float(exp(step)))
        return with_forecast(step, probability, forecast), self.typical_first_s * more

    def interval(self, metric: str, predicted: float, level: float) -> tuple[float, float]:
        """Where a measured value lies with probability `level`, as likely above as below."""
        low, high = (self.spreads[metric].at(p) for p in (round((1 - level) / 2, 9), round((1 + level) / 2, 9)))
        ends = (low, high) if metric != "throughput" else (-high, -low)
        return predicted * float(exp(ends[0])), predicted * float(exp(ends[1]))


def with_forecast(log_factor: float, probability: float, deviation: float) -> float:
    """The log factor joined with an independent normal error of the demand at the same probability: as roots of squares.

    >>> round(with_forecast(0.3, 0.8, 0.4 / 0.8416), 6), with_forecast(0.3, 0.5, 9.0)
    (0.5, 0.3)
    """
    other = deviation * between(SCORES, probability)
    if deviation == 0 or other == 0:
        return log_factor
    square = log_factor * abs(log_factor) + other * abs(other)
    return float((abs(square) ** 0.5) * (1 if square >= 0 else -1))


def doubt_of(law: ErrorLaw, row: CalibrationRow) -> Doubt:
    """The law for one calibration row: of its card and engine line, or, for a row of the user's own, of the errors that it states."""
    engine = lineage(row.engine)[-1]
    scales = {metric: law.scale(row.gpu, engine, metric) for metric in law.quantiles}
    for metric, scale in scales.items() if is_own(row) else ():
        stated = row.error.get(f"{metric}_p90")
        scales[metric] = scale if stated is None else max(OWN_LEAST, min(scale, stated * P80 / P90))
    return Doubt({metric: Spread(scales[metric], law.quantiles[metric]) for metric in scales}, law.first_token_s)


def is_own(row: CalibrationRow) -> bool:
    """Whether the row is not the catalogue's."""
    return row not in load_catalog().calibration


def probability_at(score: float) -> float:
    """The probability of a normal score, linear between SCORES.

    >>> probability_at(0.0), round(probability_at(0.8416), 6)
    (0.5, 0.8)
    """
    return _line(score, SCORES, PROBABILITIES)


def score_of(probability: float) -> float:
    """The normal score of a probability, linear between PROBABILITIES.

    >>> score_of(0.8), score_of(0.5)
    (0.8416, 0.0)
    """
    return round(_line(probability, PROBABILITIES, SCORES), 9)


def _line(x: float, known: tuple[float, ...], values: tuple[float, ...]) -> float:
    """The value at `x`, linear between the `known` ones, flat beyond them."""
    k = next((k for k, each in enumerate(known) if each > x), len(known))
    if k == 0 or k == len(known):
        return values[max(k - 1, 0)]
    return values[k - 1] + (values[k] - values[k - 1]) * (x - known[k - 1]) / (known[k] - known[k - 1])
