"""Which share of planted mistakes the tests notice, room by room: `python -m benchmarks.mutation optimize/money [--mutants 60] [--seed 1]`.

A seeded sample of single-token mutations (operators of Cosmic Ray, `pip install cosmic-ray`), each written into a copy of the tree, where
the tests of the room run until the first failure. A line is drawn first and then one of its mutations, so that arithmetic, which has ten
mutations a place, does not crowd out the rest. Annotations are left out: they change nothing that runs. Survivors are printed as diffs:
each needs a test, or a reason why the program is the same.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS = {  # the quick tests of a room first, then those of others that keep its promises
    "optimize/money": (
        *("tests/optimize/money", "tests/optimize/report/test_one_table.py", "tests/optimize/market/test_price_terms.py"),
        *("tests/optimize/market/test_contract_terms.py", "tests/optimize/market/test_relay_bills.py", "tests/test_doctests.py"),
    ),
    "optimize/program": ("tests/optimize/program",),
    "optimize/search": ("tests/optimize/search",),
}
LONGEST_S = 300.0  # of one test run; a mutant that hangs is noticed


def idle_lines(source: str) -> set[int]:
    """Lines (from 1) on which a mutation changes nothing that runs: annotations of names and fields without a value."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) and node.value is None:
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            noted = [a.annotation for a in (*node.args.args, *node.args.kwonlyargs) if a.annotation] + (
                [node.returns] if node.returns else []
            )
            lines.update(line for each in noted for line in range(each.lineno, (each.end_lineno or each.lineno) + 1))
    return lines


def places(room: Path) -> dict[tuple[Path, int], list[tuple[Any, int]]]:
    """(file, line) -> mutations there, as (operator, occurrence)."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    operators = [cls() for name in sorted(operator_names()) if not (cls := get_operator(name)).arguments() and "NoOp" not in name]
    found: dict[tuple[Path, int], list[tuple[Any, int]]] = {}
    for file in sorted(room.rglob("*.py")):
        tree, idle = get_ast_from_path(file), idle_lines(file.read_text(encoding="utf-8"))
        for operator in operators:
            positions = (start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
            for occurrence, (line, _) in enumerate(positions):
                if line not in idle:
                    found.setdefault((file, line), []).append((operator, occurrence))
    return found


def sample(room: Path, mutants: int, seed: int) -> list[tuple[Path, str]]:
    """(file, its mutated text), each from another line of the room."""
    from cosmic_ray.mutating import mutate_code

    found, drawn = places(room), random.Random(seed)
    chosen: list[tuple[Path, str]] = []
    for file, line in drawn.sample(sorted(found), len(found)):
        operator, occurrence = drawn.choice(found[file, line])
        text = mutate_code(file.read_text(encoding="utf-8"), operator, occurrence)
        if text is not None and len(chosen) < mutants:
            chosen.append((file, text))
    return chosen


def noticed(copy: Path, tests: tuple[str, ...], file: Path, text: str) -> bool:
    """Whether the tests fail with `text` in place of `file`, relative to the copy; the file is put back."""
    target = copy / file
    before = target.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    try:
        return subprocess.run(command, cwd=copy, capture_output=True, timeout=LONGEST_S).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_text(before, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", help="folder, such as optimize/money")
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    room = Path(given.room)
    tests = TESTS.get(given.room, (f"tests/{given.room.removeprefix('sim/')}",))
    killed, mutants = 0, sample(room, given.mutants, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", ".mypy_cache", ".ruff_cache", "results"))
        if subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "0", *tests], cwd=copy, capture_output=True).returncode:
            sys.exit(f"the tests of {room} fail without a mutation")
        for k, (file, text) in enumerate(mutants, start=1):
            if noticed(copy, tests, file, text):
                killed += 1
            else:
                before, after = file.read_text(encoding="utf-8").split("\n"), text.split("\n")
                print("\n".join(difflib.unified_diff(before, after, str(file), n=0, lineterm="")), flush=True)
            print(f"{k} of {len(mutants)}: {killed} noticed", file=sys.stderr, flush=True)
    print(f"{room}: {killed} of {len(mutants)} mutants noticed ({killed / len(mutants):.0%}), seed {given.seed}")


if __name__ == "__main__":
    main()
