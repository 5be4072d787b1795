"""Rows that have something in common, found in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.engine.jit import compiled

Ints = npt.NDArray[np.int32]

TABLE = 8  # keys below this many times their count are looked up in a table; larger ones are sorted


@compiled
def _look_up(keys: Any, table: Any, first: Any) -> None:
    for i in range(len(keys)):
        key = keys[i]
        if key < 0:
            first[i] = -1
            continue
        if table[key] < 0:
            table[key] = i
        first[i] = table[key]


def first_rows(keys: npt.NDArray[np.int64]) -> Ints:
    """For each row the first one with the same key; -1 where the key is negative.

    >>> first_rows(np.array([70, 5, -1, 70])).tolist()
    [0, 1, -1, 0]
    """
    most = int(keys.max(initial=-1))
    if most < TABLE * len(keys):
        first = np.empty(len(keys), np.int32)
        _look_up(keys, np.full(most + 1, -1, np.int32), first)
        return first
    _, rows, number = np.unique(keys, return_index=True, return_inverse=True)
    return np.where(keys >= 0, rows[number], -1).astype(np.int32)


@compiled
def _number(first: Any) -> int:
    count = 0
    for i in range(len(first)):
        if first[i] == i:
            first[i] = count
            count += 1
        elif first[i] >= 0:
            first[i] = first[first[i]]
    return count


def number_groups(first: Ints) -> tuple[Ints, int]:
    """`first` of `first_rows`, overwritten by numbers 0, 1, ... of the groups in the order of their first rows; and how many there are.

    >>> number, count = number_groups(first_rows(np.array([70, 5, -1, 70, 5])))
    >>> number.tolist(), count
    ([0, 1, -1, 0, 1], 2)
    """
    return first, int(_number(first))
