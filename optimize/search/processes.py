"""Processes side by side that Ctrl-C does not reach: the terminal sends it to all of them, and only the parent has something to say."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any


def processes(jobs: int, **options: Any) -> Any:
    """A joblib `Parallel` of `jobs` processes; `options` are its own. With one job, it runs here.

    Processes inherit the signals that are held back while they start, and so does the thread that starts those that follow on a process
    that died. An interrupted parent ends its processes. Windows has no such inheritance.
    """
    from joblib import Parallel
    from joblib._parallel_backends import LokyBackend

    class Unreached(LokyBackend):  # type: ignore[misc]
        def submit(self, *call: Any, **named: Any) -> Any:
            """Starts processes where there are too few, then sends the call to one."""
            with interrupts_held_back():
                return super().submit(*call, **named)

    return Parallel(n_jobs=jobs, backend=Unreached(), **options)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Within, Ctrl-C waits; it comes when the block ends."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start, which a first process would bring about, ends with all signals let through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
