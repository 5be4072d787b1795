"""Compile a function with numba, cached on disk where a disk can be written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Numba's cache compares the file of a function, not those of the functions and constants that are compiled into it.
_FILES = {path.stem: path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))}
_SOURCES = hashlib.sha256(b"".join(text for name, text in _FILES.items() if b"@compiled" in text or name in ("layout", "routers")))


def _stamp(function: Callable[..., Any]) -> str:
    """Changes with the compiled files of this folder, and with the file of the function, which may be elsewhere."""
    both = _SOURCES.copy()
    both.update(Path(function.__code__.co_filename).read_bytes())
    return both.hexdigest()


def compiled(function: Function) -> Function:
    """`function` in machine code, compiled into those that call it: an array is seven arguments, and to pass the kernel's six to every
    small function took two fifths of its time.

    From the cache when neither its file nor a compiled one of this folder has changed, else compiled at its first call.

    Where neither this folder nor the user's cache folder can be written, numba refuses to cache ("no locator
    available"); then each process compiles anew.
    """
    try:
        dispatcher: Any = numba.njit(cache=True, forceinline=True)(function)
        dispatcher._cache._cache_file._source_stamp = _stamp(function)
    except RuntimeError:
        dispatcher = numba.njit(forceinline=True)(function)
    return cast(Function, dispatcher)
