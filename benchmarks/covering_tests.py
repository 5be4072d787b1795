"""Which tests run a line, and how long each takes: one run of the tests under coverage, with each test as a context of its own."""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

QUICK_S = 0.2  # tests below this come first; the rest stay together by file, so that what a file sets up is set up once
MOST_S = 20.0  # CPU seconds of tests that are run for a mutant: what they do not notice counts as not noticed


class Recorder:
    """A pytest plugin that names the running test to coverage and keeps its CPU time."""

    def __init__(self, measured: Any) -> None:
        self.measured = measured  # a coverage.Coverage that has started
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.measured.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began
            self.measured.switch_context("")


@dataclass(frozen=True)
class Covering:
    """What one run under coverage found."""

    seconds: dict[str, float]  # by test, in the order in which they ran
    by_line: dict[str, dict[int, frozenset[str]]]  # file relative to the tree -> line -> tests that run it

    def tests_of(self, file: Path, line: int) -> list[str]:
        """Tests that run the statement on `line`, the quickest first, at most MOST_S; none where no test runs it.

        What runs when the file is imported (constants, fields, decorators, defaults) belongs to the tests that run anything in the file
        or, for a file of declarations, to all tests; and to those that run nothing of the room, because they read its source.
        """
        lines = statement_lines(file.read_text(encoding="utf-8"), line)
        by_line = self.by_line.get(str(file), {})
        if lines is not None:
            return self.quickest_first(test for each in lines for test in by_line.get(each, ()))
        return self.quickest_first([*self._readers, *(self.tests_of_file(file) or self.seconds)])

    def tests_of_file(self, file: Path) -> list[str]:
        """Tests that run anything in the file beyond its import."""
        return self.quickest_first(test for tests in self.by_line.get(str(file), {}).values() for test in tests)

    def quickest_first(self, tests: Iterable[str]) -> list[str]:
        ordered = sorted(set(tests) - {""}, key=lambda test: (self.seconds[test] > QUICK_S, self._place[test]))
        sums = itertools.accumulate(self.seconds[test] for test in ordered)
        return [test for test, so_far in zip(ordered, sums, strict=True) if so_far <= MOST_S or test == ordered[0]]

    @cached_property
    def _readers(self) -> frozenset[str]:
        """Tests that ran no line of the room."""
        ran = (tests for lines in self.by_line.values() for tests in lines.values())
        return frozenset(self.seconds).difference(*ran)

    @cached_property
    def _place(self) -> dict[str, tuple[float, int]]:
        """Rank of a test: its file's mean time, then its own place in the file."""
        times: dict[str, list[float]] = {}
        for test, seconds in self.seconds.items():
            times.setdefault(test.split("::")[0], []).append(seconds)
        return {test: (sum(of := times[test.split("::")[0]]) / len(of), k) for k, test in enumerate(self.seconds)}


def statement_lines(source: str, line: int) -> range | None:
    """Lines of the innermost statement around `line`, the head alone where it has a body; None where an import runs it."""
    inside: ast.stmt | None = None
    called = False
    nodes: list[ast.AST] = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case) and _first(child) <= line <= _last(child):
                nodes.append(child)
                if isinstance(child, ast.stmt):
                    inside, called = child, called or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if inside is None or not called:
        return None
    body = getattr(inside, "body", None)
    return range(_first(inside), _first(body[0]) if body and _first(body[0]) > line else _last(inside) + 1)


def _first(node: Any) -> int:
    decorators = getattr(node, "decorator_list", [])
    if isinstance(node, ast.match_case):
        return int(node.pattern.lineno)
    return int(decorators[0].lineno if decorators else node.lineno)


def _last(node: Any) -> int:
    return int(node.body[-1].end_lineno if isinstance(node, ast.match_case) else node.end_lineno)
