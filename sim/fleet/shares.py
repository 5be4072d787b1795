"""Who serves a request: the target that its class's shares give it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.engine.groups import first_rows
from sim.requests import Requests
from sim.streams import stream

NO_TARGET = -1
WHOLE = 1 - 1e-9  # a row of shares that sums to this rejects nothing: the rest is rounding


def targets_of(requests: Requests, shares: npt.NDArray[np.float64], seed: int, whole_sessions: bool = False) -> npt.NDArray[np.int16]:
    """Target index of each request, drawn by the shares of its class; NO_TARGET for what is missing to 1.

    One uniform number per request, whatever the shares: when a share grows by x, only x of the requests change
    their target, so that two plans are compared on nearly the same streams. With `whole_sessions` the requests of a session
    share one number, so that a conversation stays where its cached prefix is.

    >>> z = np.zeros(1000, np.int64)
    >>> requests = Requests(z, z.astype(np.int16), z.astype(np.int32), z.astype(np.int32), z, z.astype(np.int32))
    >>> counts = np.unique(targets_of(requests, np.array([[0.0, 0.25, 0.5]]), seed=1), return_counts=True)
    >>> [int(target) for target in counts[0]], bool(abs(counts[1][1] - 250) < 60)
    ([-1, 1, 2], True)
    """
    draws = stream(seed, "split").random(len(requests))
    if whole_sessions:
        first = first_rows(requests.session_id)
        draws = np.where(first >= 0, draws[first], draws)
    targets = np.full(len(requests), NO_TARGET, np.int16)
    for class_index, row in enumerate(shares):
        mask = requests.class_id == class_index
        edges = np.cumsum(row)
        if len(edges) and edges[-1] >= WHOLE:
            edges[np.flatnonzero(row)[-1] :] = np.inf
        chosen = np.searchsorted(edges, draws[mask], side="right")
        targets[mask] = np.where(chosen < len(row), chosen, NO_TARGET)
    return targets
