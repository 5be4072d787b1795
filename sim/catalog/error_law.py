"""The law of the simulator's error: how much slower reality may be than the simulation, by card and engine, and what errors share.

Written by `python -m sim.calibration.derive_law`; read from error_law.yaml of a catalogue folder.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

ANY = "*"
PROBABILITIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995)


@dataclass(frozen=True)
class ErrorScale:
    """Scale of the log error by metric for one card and engine line; `groups` of measured points stand behind it."""

    gpu: str
    engine: str
    groups: int
    scales: dict[str, float]


@dataclass(frozen=True)
class RelaySpread:
    """Standard deviation of the log of a relay's medians: reported for models of its size (TTFT, time per token), or probed."""

    ttft: float
    tpot: float
    probed: float


@dataclass(frozen=True)
class ErrorLaw:
    """`quantiles` [metric] of the log error in scales at PROBABILITIES; above zero reality is slower.

    correlations   of the normal scores of the error of a step: `same_deployment`, `same_kind` (card x engine x format), `other_kind`;
                   `first_token`: between a step's and that of TTFT in one run
    """

    quantiles: dict[str, tuple[float, ...]]
    scales: tuple[ErrorScale, ...]
    correlations: dict[str, float]
    relays: RelaySpread
    first_token_s: float  # median TTFT of the points without queues: what its relative error is of
    source: dict[str, str]  # title, date, note

    def scale(self, gpu: str, engine: str, metric: str) -> float:
        """The scale for a card and an engine line; that of cards without a point where the card has none."""
        known = {(row.gpu, row.engine): row for row in self.scales}
        row = known.get((gpu, engine)) or known.get((gpu, ANY)) or known[ANY, ANY]
        return row.scales[metric]

    def slow(self, gpu: str, engine: str, metric: str, probability: float) -> float:
        """The log error that reality stays below with this probability: linear between the quantiles, flat beyond them."""
        return self.scale(gpu, engine, metric) * between(self.quantiles[metric], probability)


def between(values: tuple[float, ...], probability: float) -> float:
    """The quantile at `probability`, linear between PROBABILITIES.

    >>> between(tuple(float(k) for k in range(len(PROBABILITIES))), 0.55)
    10.5
    """
    k = bisect_right(PROBABILITIES, probability)
    if k == 0 or k == len(PROBABILITIES):
        return values[max(k - 1, 0)]
    low, high = PROBABILITIES[k - 1], PROBABILITIES[k]
    return round(values[k - 1] + (values[k] - values[k - 1]) * (probability - low) / (high - low), 12)


def law_from(raw: dict[str, Any]) -> ErrorLaw:
    """The record of a file's content. Raises KeyError, TypeError or ValueError for one that is none."""
    quantiles = {str(metric): tuple(float(v) for v in values) for metric, values in raw["quantiles"].items()}
    if any(len(values) != len(PROBABILITIES) or list(values) != sorted(values) for values in quantiles.values()):
        raise ValueError(f"quantiles: {len(PROBABILITIES)} rising numbers for each metric are needed")
    scales = tuple(
        ErrorScale(str(row["gpu"]), str(row["engine"]), int(row["groups"]), {str(m): float(v) for m, v in row["scales"].items()})
        for row in raw["scales"]
    )
    if not any((row.gpu, row.engine) == (ANY, ANY) for row in scales):
        raise ValueError('scales: the row of gpu "*" and engine "*" is missing')
    correlations = {str(name): float(value) for name, value in raw["correlations"].items()}
    return ErrorLaw(quantiles, scales, correlations, RelaySpread(**raw["relays"]), float(raw["first_token_s"]), dict(raw["source"]))
