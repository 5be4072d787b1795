"""Token factors of a scenario as the arrays that pools, relays and fleets carry; None wherever all are 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optimize.records import Floats
from sim.scenario.scenario import RequestClass


def class_factors(classes: Sequence[RequestClass], model: str) -> Floats | None:
    """[classes, 2] input and output tokens that `model` makes of one token of each class."""
    factors = np.array([each.factors(model) for each in classes], dtype=np.float64)
    return factors if (factors != 1.0).any() else None


def fleet_factors(targets: Sequence[Floats | None], classes: int) -> Floats | None:
    """[classes, targets, 2] from the factors of each target, as `sim.fleet.fleet.Fleet` wants them."""
    if all(each is None for each in targets):
        return None
    return np.stack([np.ones((classes, 2)) if each is None else each for each in targets], axis=1)
