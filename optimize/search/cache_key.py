"""A hash of everything that an answer depends on, for keys of stored answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from sim.named_files import sha256_of


def content_hash(*values: Any) -> str:
    """SHA-256 over the content of `values`: equal content gives equal hashes in every process; a path counts as the bytes of its file.

    TypeError for what has no plain content: a function, an open file. Nothing is left out in silence.

    >>> content_hash(1.0, ("a", None)) == content_hash(1.0, ("a", None)), content_hash(1) == content_hash("1")
    (True, False)
    """
    return hashlib.sha256(json.dumps([plain(value) for value in values]).encode()).hexdigest()


def plain(value: Any) -> Any:
    """`value` as lists, strings and numbers, types told apart where JSON would not.

    >>> plain({"b": (1, 2), "a": np.array([1.5])})["a"][:2]
    ['float64', [1]]
    """
    if value is None or (isinstance(value, str | bool | int | float) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return [type(value).__name__, value.name]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, {each.name: plain(getattr(value, each.name)) for each in fields(value)}]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return ["file", sha256_of(value, "an input file")]
    raise TypeError(f"{type(value).__name__} has no content to hash")
