"""Compile a function with numba, cached on disk where a disk can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function` in machine code; from the cache when there is one, else compiled at its first call.

    Where neither the package's folder nor the user's cache folder can be written, numba refuses to cache
    ("no locator available"); then each process compiles anew.
    """
    try:
        return cast(Function, numba.njit(cache=True)(function))
    except RuntimeError:
        return cast(Function, numba.njit(function))
