"""Random streams: one numpy Generator per purpose, so that adding a relay does not move the arrivals."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """A generator that depends on `seed` and on every word of `purpose`, and on nothing else.

    >>> bool(stream(1, "arrivals").random() == stream(1, "arrivals").random())
    True
    >>> bool(stream(1, "arrivals").random() == stream(1, "relay").random())
    False
    """
    words = [word if isinstance(word, int) else zlib.crc32(word.encode()) for word in purpose]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
