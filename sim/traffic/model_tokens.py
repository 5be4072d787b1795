"""Requests as the model that serves them counts their tokens: its tokenizer makes more or fewer of the same text, it answers longer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sim.requests import Requests

Floats = npt.NDArray[np.float64]


def counted(requests: Requests, factors: Floats) -> Requests:
    """The same requests with input and output tokens multiplied by `factors` [requests, 2], rounded, at least one each way.

    Prefixes shrink and grow with the input and never exceed it. History contains answers, whose factor may be another: its prefix is
    taken at the input's, an approximation.
    """
    inputs = np.maximum(np.rint(requests.input_tokens * factors[:, 0]), 1).astype(np.int32)
    prefix = np.minimum(np.floor(requests.prefix_tokens * factors[:, 0]).astype(np.int32), inputs)
    return replace(
        requests,
        input_tokens=inputs,
        output_tokens=np.maximum(np.rint(requests.output_tokens * factors[:, 1]), 1).astype(np.int32),
        prefix_tokens=prefix,
        system_tokens=np.minimum(np.floor(requests.system_tokens * factors[:, 0]).astype(np.int32), prefix),
    )


def counted_by_class(requests: Requests, factors: Floats | None) -> Requests:
    """`requests` as one model counts them; `factors` [classes, 2], None: 1."""
    return requests if factors is None else counted(requests, factors[requests.class_id])


def counted_by_target(requests: Requests, targets: npt.NDArray[np.int16], factors: Floats | None) -> Requests:
    """`requests` as the targets count them that they go to first; `factors` [classes, targets, 2], None: 1.

    What overflows or fails over keeps the counts of its first target.
    """
    if factors is None:
        return requests
    nowhere = np.ones((len(factors), 1, 2))
    return counted(requests, np.concatenate([factors, nowhere], axis=1)[requests.class_id, targets])
