"""Requests as numpy columns: the one shape in which traffic leaves this room."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Requests:
    """Requests sorted by arrival; all columns have the same length.

    arrival_ps      int64, picoseconds since the start of the simulation
    class_id        int16, index into Scenario.request_classes
    input_tokens    int32, >= 1, prompt as sent (history and system prompt included)
    output_tokens   int32, >= 1, generated tokens
    session_id      int64, -1 where a request stands alone
    prefix_tokens   int32, leading input tokens that an earlier turn of the session (or the system prompt) also had
    system_tokens   int32, leading ones of those that all requests of the class with the same `system_tokens` share; 0 unless given
    """

    arrival_ps: npt.NDArray[np.int64]
    class_id: npt.NDArray[np.int16]
    input_tokens: npt.NDArray[np.int32]
    output_tokens: npt.NDArray[np.int32]
    session_id: npt.NDArray[np.int64]
    prefix_tokens: npt.NDArray[np.int32]
    system_tokens: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        """Requests that do not say so share no system prompt."""
        if len(self.system_tokens) == 0:
            object.__setattr__(self, "system_tokens", np.zeros(len(self.arrival_ps), np.int32))

    def __len__(self) -> int:
        return len(self.arrival_ps)


@dataclass(frozen=True)
class Demand:
    """Demand by class and hour slice, requests per second.

    slices          name of each slice, e.g. "weekday 14"
    weight_h        [slices] hours a month that each slice stands for; sums to 730
    mean_rps        [classes, slices] hour mean: what is billed
    peak_factor     peak minute over hour mean (scalar): what relay limits see
    input_tokens, output_tokens, prefix_tokens   [classes] means per request
    """

    slices: tuple[str, ...]
    weight_h: npt.NDArray[np.float64]
    mean_rps: npt.NDArray[np.float64]
    peak_factor: float
    input_tokens: npt.NDArray[np.float64]
    output_tokens: npt.NDArray[np.float64]
    prefix_tokens: npt.NDArray[np.float64]
