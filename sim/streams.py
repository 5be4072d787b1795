"""Random streams: one numpy Generator per purpose, so that adding a relay does not move the arrivals."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

FINE = (
    2.0**30
)  # draws are multiples of 1 / FINE: numpy takes the logarithm of the C library in their tails, whose last bit depends on the CPU


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """A generator that depends on `seed` and on every word of `purpose`, and on nothing else.

    >>> bool(stream(1, "arrivals").random() == stream(1, "arrivals").random())
    True
    >>> bool(stream(1, "arrivals").random() == stream(1, "relay").random())
    False
    """
    words = [word if isinstance(word, int) else zlib.crc32(word.encode()) for word in purpose]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))


def standard_normals(rng: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
    """`size` standard normal numbers, the same on every CPU.

    >>> bool(abs(standard_normals(stream(1, "normals"), 9) - stream(1, "normals").standard_normal(9)).max() < 1e-9)
    True
    """
    return np.rint(rng.standard_normal(size) * FINE) / FINE


def standard_exponentials(rng: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
    """`size` exponential numbers of mean 1, the same on every CPU.

    >>> bool(abs(standard_exponentials(stream(1, "gaps"), 9) - stream(1, "gaps").standard_exponential(9)).max() < 1e-9)
    True
    """
    return np.rint(rng.standard_exponential(size) * FINE) / FINE
