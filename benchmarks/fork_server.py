"""Runs tests in forks of one process that has imported the heavy libraries: no interpreter and no import of numba for every mutant.

Started by `benchmarks.mutation` in the copy of the tree; reads one JSON object a line and answers with one. A fork imports the room that
is mutated, and all that imports it, from the files as they are at that moment.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.covering_tests import Recorder

PYTEST = ["-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are loaded before
NOT_RUN = 70  # exit code of a fork that did not come to running tests


class Limits:
    """A pytest plugin that ends the process when a test takes far more CPU time than without a mutation, and names the test that failed."""

    def __init__(self, limits_s: dict[str, float], note: Path) -> None:
        self.limits_s, self.note = limits_s, note

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.note.write_text(item.nodeid, encoding="utf-8")
        signal.setitimer(signal.ITIMER_PROF, self.limits_s.get(item.nodeid, 60.0))  # SIGPROF ends the process, inside a library too
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


def in_a_fork(work: Callable[[], int], limit_s: float) -> int | None:
    """Exit code of `work` in a child of its own; None where a signal ended it or its time was up."""
    child = os.fork()
    if child == 0:
        code = NOT_RUN
        try:
            os.setsid()
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            code = int(work())
        finally:
            os._exit(code)
    ended = time.monotonic() + limit_s
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done or time.monotonic() > ended:
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # workers that the tests have started, too
    if not done:
        os.waitpid(child, 0)
        return None
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def measure(tests: list[str], room: str, data: str, found: str) -> int:
    """Runs the tests under coverage; leaves lines by test in `data`, and times of those that pass and all loaded modules in `found`."""
    import coverage

    measured = coverage.Coverage(data_file=data, source=[room], config_file=False)
    measured.start()
    recorder = Recorder(measured)
    code = pytest.main([*PYTEST, *tests], plugins=[recorder])
    measured.stop()
    measured.save()
    seconds = {test: seconds for test, seconds in recorder.seconds.items() if test not in recorder.failed}
    Path(found).write_text(json.dumps({"seconds": seconds, "failed": recorder.failed, "modules": list(sys.modules)}), encoding="utf-8")
    return int(code)


def run(tests: list[str], limits_s: dict[str, float], limit_s: float, note: str) -> dict[str, object]:
    """Whether the tests pass, until the first that fails or the time is up, and the test that ran last."""
    plugin = Limits(limits_s, Path(note))
    code = in_a_fork(lambda: int(pytest.main([*PYTEST, "-x", *tests], plugins=[plugin])), limit_s)
    return {"code": code, "last": plugin.note.read_text(encoding="utf-8") if plugin.note.exists() else ""}


def preload(modules: list[str]) -> int:
    """How many of the modules could be imported."""
    loaded = 0
    for name in modules:
        try:
            importlib.import_module(name)
            loaded += 1
        except Exception:  # a module that another one makes up, such as six.moves
            continue
    return loaded


def answer(asked: dict[str, Any]) -> object:
    task = asked.pop("task")
    if task == "measure":
        return in_a_fork(lambda: measure(**asked), 3600.0)
    return run(**asked) if task == "run" else preload(**asked)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
