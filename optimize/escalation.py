"""Answers in vain, as the program knows them of a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Escalation:
    """What becomes of requests that this target answers in vain.

    share      [classes] part of those sent here that a stronger model answers again; 0 where none is stronger
    strongest  [classes] bool, second answers may come from here
    late       [slo rows] part of what is answered again that misses the promise, first answer and classifier included
    """

    share: Floats
    strongest: npt.NDArray[np.bool_]
    late: Floats
