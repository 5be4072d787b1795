"""Draws of the normal scores of all that is not known of a plan: engines share part of their errors, relays and forecast stand alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optimize.records import Floats
from sim.calibration.doubt import probability_at
from sim.streams import standard_normals, stream

DRAWS = 4000
DRAW_SEED = 20_001  # of its own: neither searched on nor held out


@dataclass(frozen=True)
class Drawn:
    """[draws] scores by deployment and by relay, and of the forecast."""

    deployments: dict[str, Floats]
    relays: dict[str, Floats]
    forecast: Floats


def drawn(
    correlations: Mapping[str, float], deployments: Mapping[str, tuple[str, str]], relays: Sequence[str], seed: int, draws: int = DRAWS
) -> Drawn:
    """Scores of `deployments` (id -> its kind: card and format) and `relays` in `draws` worlds; the same worlds for every plan of a seed.

    A score is a part that all engines share, one of its kind and one of its own; each name has a stream of its own, so that a further
    pool moves no other (common random numbers).
    """
    other, same = correlations.get("other_kind", 0.0), correlations.get("same_kind", 0.0)
    parts = math.sqrt(other), math.sqrt(max(same - other, 0.0)), math.sqrt(max(1.0 - max(same, other), 0.0))

    def normals(*name: str) -> Floats:
        return standard_normals(stream(DRAW_SEED, seed, "doubt", *name), draws)

    shared = normals("engines")
    return Drawn(
        {
            name: parts[0] * shared + parts[1] * normals("kind", *kind) + parts[2] * normals("deployment", name)
            for name, kind in sorted(deployments.items())
        },
        {name: normals("relay", name) for name in sorted(relays)},
        normals("forecast"),
    )


def joint_probability(worlds: Drawn, chance: float) -> float:
    """The probability that each deployment's error must stay below by itself, so that all do together with `chance`; to a thousandth.

    >>> joint_probability(Drawn({"a": np.arange(-2.0, 2.01, 0.25)}, {}, np.zeros(17)), 0.5)
    0.5
    """
    if not worlds.deployments:
        return chance
    worst = np.sort(np.max(list(worlds.deployments.values()), axis=0))
    return round(probability_at(float(worst[min(math.ceil(chance * len(worst)) - 1, len(worst) - 1)])), 3)
