"""What a simulation returns: one row per request."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sim.catalog.relay_records import RetryPolicy as RetryPolicy


@dataclass(frozen=True)
class RequestLog:
    """One row per request, in the order of `Requests`; times in ps since the start, -1 where it never happened.

    arrival_ps first_ps finish_ps int64 (at the client, network included), class_id target int16, replica int32 (-1: relay or none),
    status int8, input_tokens output_tokens int32, preemptions attempts int32,
    cached_tokens int32 (prompt tokens that the request's first admission found in the prefix cache of an own replica)
    """

    arrival_ps: npt.NDArray[np.int64]
    first_ps: npt.NDArray[np.int64]
    finish_ps: npt.NDArray[np.int64]
    class_id: npt.NDArray[np.int16]
    target: npt.NDArray[np.int16]
    replica: npt.NDArray[np.int32]
    status: npt.NDArray[np.int8]
    input_tokens: npt.NDArray[np.int32]
    output_tokens: npt.NDArray[np.int32]
    preemptions: npt.NDArray[np.int32]
    attempts: npt.NDArray[np.int32]
    cached_tokens: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        """A log without `cached_tokens` found nothing in a cache."""
        if len(self.cached_tokens) != len(self.arrival_ps):
            object.__setattr__(self, "cached_tokens", np.zeros(len(self.arrival_ps), np.int32))

    def __len__(self) -> int:
        return len(self.arrival_ps)
