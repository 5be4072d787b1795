"""Ctrl-C that is heard: the compiled code of libraries drops the exception now and then, and the run would go on."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN_S = 2.0  # longer than processes take to end


@contextmanager
def repeated() -> Iterator[None]:
    """Within, an interruption that is lost comes again after `AGAIN_S`. One that is being handled does not, nor one that was `heard`.

    Only in the main thread, where signals arrive; and not on Windows, which has no timer that could bring it again.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGALRM)}
    told, sys.unraisablehook = sys.unraisablehook, _tell
    try:
        yield
    finally:
        heard()
        sys.unraisablehook = told
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def left_to_asyncio() -> Iterator[None]:
    """Within, Ctrl-C is Python's own, which an event loop turns into the cancellation of its main task."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def heard() -> None:
    """The interruption was handled: it does not come again."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGALRM and _handled_now():
        return
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    raise KeyboardInterrupt


def _handled_now() -> bool:
    """Whether what runs now does so because of an interruption: it cleans up."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _tell(lost: UnraisableHookArgs) -> None:
    """What Python says of an exception that it has to drop; an interruption comes again, so there is nothing to say."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
