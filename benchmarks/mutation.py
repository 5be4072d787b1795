"""Which share of planted mistakes the tests notice, room by room: `python -m benchmarks.mutation optimize/money [--mutants 60] [--seed 1]`.

A seeded sample of single-token mutations (benchmarks/mutants.py) is written, one after the other, into a copy of the tree. One run of the
room's tests under coverage says which tests run which line; of a mutant only those run, the quickest first, until one fails or 20 CPU
seconds of tests are over. A test that takes ten times its CPU time and ten seconds more counts as one that noticed. A mutant on a line that
no test runs survives at once.
Survivors are printed as diffs: each needs a test, or a reason why the program is the same (`SAME`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.covering_tests import QUICK_S, Covering
from benchmarks.fork_server import NOT_RUN
from benchmarks.mutants import Mutant, sample
from tests.test_doctests import WITH_EXAMPLES
from tests.test_rooms import import_graph

ROOT = Path(__file__).resolve().parents[1]
TESTS = {  # the tests of a room, then those of others that keep its promises; the examples of its docstrings come to them
    "optimize/money": (
        *("tests/optimize/money", "tests/optimize/market/test_price_terms.py", "tests/optimize/market/test_contract_terms.py"),
        *("tests/optimize/market/test_relay_bills.py", "tests/optimize/finance/test_announced_prices.py"),
        *("tests/optimize/finance/test_horizon.py", "tests/optimize/report/test_one_table.py"),
    ),
    "optimize/program": ("tests/optimize/program",),
    "optimize/search": ("tests/optimize/search", "tests/optimize/test_plan_status.py"),
    "sim/scenario/read": ("tests/scenario", "tests/hostile", "tests/probe/test_profile.py", "tests/calibration/test_calibrate.py"),
}
READING = ("tests/test_frozen.py",)  # tests of all rooms that run nothing of them: they read the source

SAME = (  # (pattern of file, of the lines before, of the lines after, reason): the mutated program does the same
    (
        r".*",
        r"\s*@(functools\.)?(cache|lru_cache)\b.*",
        r"(\s*@(functools\.)?(cache|lru_cache)\b.*)?",
        "a cache gives the same values, only sooner",
    ),
    (r".*", r"\s*@overload", r"", "only type checkers read it"),
    (r".*/price_claims\.py", r"if len\(date\) == 7:", r"if len\(date\) >= 7:", "dates of ten characters were answered a line above"),
    (r".*", r".*\bstrict=True\b.*", r".*\bstrict=False\b.*", "the lengths are equal already: `strict` would name a mistake of ours"),
)


def tests_of(room: str) -> tuple[str, ...]:
    """What is run for a room: its tests, and the examples in its docstrings."""
    examples = (name for name in WITH_EXAMPLES if name.startswith(room.replace("/", ".") + "."))
    own = TESTS.get(room, (f"tests/{room.removeprefix('sim/')}",))
    return (*own, *READING, *(f"tests/test_doctests.py::test_examples_in_docstrings_run[{name}]" for name in examples))


def reason_same(mutant: Mutant) -> str:
    """Why no test can notice the mutant; empty where one could."""
    where = (str(mutant.file), mutant.removed, mutant.added)
    return next((reason for *patterns, reason in SAME if all(re.fullmatch(p, w) for p, w in zip(patterns, where, strict=True))), "")


@dataclass
class Copy:
    """A copy of the tree with a server that runs tests in it."""

    folder: Path
    server: subprocess.Popen[str]
    covering: Covering = field(default_factory=lambda: Covering({}, {}))

    def ask(self, **asked: object) -> object:
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.write(json.dumps(asked) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def measure(self, room: str, tests: tuple[str, ...]) -> None:
        """Runs all tests once under coverage and loads what none of the mutants can change."""
        import coverage

        found, data = self.folder / "found.json", self.folder / "coverage"
        if self.ask(task="measure", tests=list(tests), room=room, data=str(data), found=str(found)) not in (0, 1):
            sys.exit(f"the tests of {room} cannot be run")
        loaded = json.loads(found.read_text(encoding="utf-8"))
        for test in loaded["failed"]:
            print(f"left out, fails without a mutation: {test}", file=sys.stderr, flush=True)
        lines = coverage.CoverageData(str(data))
        lines.read()
        by_line = {
            str(Path(file).relative_to(self.folder)): {
                k: frozenset(of) & loaded["seconds"].keys() for k, of in lines.contexts_by_lineno(file).items()
            }
            for file in lines.measured_files()
        }
        self.covering = Covering(loaded["seconds"], by_line)
        self.ask(task="preload", modules=sorted(unmoved(set(loaded["modules"]), room, self.folder)))
        if test := self._failing([test for test, seconds in self.covering.seconds.items() if seconds <= QUICK_S]):
            sys.exit(f"{test} fails in a fork without a mutation")

    def noticed_by(self, mutant: Mutant) -> str:
        """The test that notices the mutant; empty where none does. The file is put back."""
        tests = self.covering.tests_of(mutant.file, mutant.line)
        if not tests:
            return ""
        target = self.folder / mutant.file
        before, stat = target.read_text(encoding="utf-8"), target.stat()
        try:
            target.write_text(mutant.text, encoding="utf-8")
            os.utime(target, (stat.st_atime, stat.st_mtime - 86_400))  # never the time that the compiled file of the original names
            return self._failing(tests)
        finally:
            target.write_text(before, encoding="utf-8")
            os.utime(target, (stat.st_atime, stat.st_mtime))

    def _failing(self, tests: list[str]) -> str:
        limits = {test: 10 + 10 * self.covering.seconds[test] for test in tests}
        whole = 600 + 10 * sum(self.covering.seconds[test] for test in tests)  # of the clock: a mutant that waits for ever
        (note := self.folder / "note").unlink(missing_ok=True)
        ran = self.ask(task="run", tests=tests, limits_s=limits, limit_s=whole, note=str(note))
        assert isinstance(ran, dict) and ran["code"] != NOT_RUN
        return "" if ran["code"] == 0 else str(ran["last"] or "the import")


def unmoved(loaded: set[str], room: str, tree: Path) -> set[str]:
    """Of the modules loaded by the tests those that no mutant of the room can change: libraries, and ours that do not import the room."""
    graph = import_graph(tree)
    prefix = room.replace("/", ".")
    moved = {name for name in graph if name == prefix or name.startswith(prefix + ".")}
    while more := {name for name, targets in graph.items() if name not in moved and needs(name, targets) & moved}:
        moved |= more
    ours = {name for name in loaded if name.split(".")[0] in ("tests", "benchmarks", "servemix", "cli", "optimize", "sim", "__main__")}
    return (loaded - ours) | {name for name in ours if name in graph and name not in moved}


def needs(name: str, targets: set[str]) -> set[str]:
    """Modules that an import of `name` loads directly: those it names and the packages on the way to them and to itself."""
    return targets | {".".join(parts[:k]) for each in (name, *targets) for parts in [each.split(".")] for k in range(1, len(parts))}


@contextlib.contextmanager
def copy_of_tree() -> Iterator[Copy]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", ".mypy_cache", ".ruff_cache", "results"))
        surroundings = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
        command = [sys.executable, "-m", "benchmarks.fork_server"]
        with subprocess.Popen(command, cwd=copy, env=surroundings, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            yield Copy(copy, server)
            assert server.stdin is not None
            server.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", help="folder, such as optimize/money")
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    room = given.room.rstrip("/")
    began = time.monotonic()
    outcomes = {"noticed": 0, "same": 0, "survived": 0}
    with copy_of_tree() as copy, contextlib.chdir(copy.folder):  # what is edited meanwhile does not matter
        mutants = sample(Path(room), given.mutants, given.seed)
        copy.measure(room, tests_of(room))
        print(f"{len(copy.covering.seconds)} tests measured in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        for k, mutant in enumerate(mutants, start=1):
            reason, test = reason_same(mutant), ""
            if not reason:
                test = copy.noticed_by(mutant)
            outcome = "same" if reason else "noticed" if test else "survived"
            outcomes[outcome] += 1
            if outcome != "noticed":
                print(f"{mutant.diff}\n# {reason or 'survived'}\n", flush=True)
            print(f"{k} of {len(mutants)}: {mutant.file}:{mutant.line} {outcome} {test}", file=sys.stderr, flush=True)
    counted = len(mutants) - outcomes["same"]
    print(
        f"{room}, seed {given.seed}: {outcomes['noticed']} of {counted} mutants noticed ({outcomes['noticed'] / counted:.1%}), "
        f"{outcomes['same']} more change nothing; {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
