"""Imports go one way: cli -> optimize -> sim; the catalogue stands alone; no two files import each other, however long the way round.

The imports are read from the source, late ones included, so that nothing has to be importable for this.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("cli", "optimize", "sim")  # each may import itself and what stands to its right
OURS = (*ROOMS, "tests", "benchmarks")
Graph = dict[str, set[str]]


def module_files(root: Path) -> dict[str, Path]:
    """Dotted name -> file of every module of the product; a package goes by its own name."""
    files = [root / "cli.py", *(root / "optimize").rglob("*.py"), *(root / "sim").rglob("*.py")]
    return {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imports_of(name: str, source: str, is_package: bool, known: set[str]) -> set[str]:
    """Modules of ours that `source` imports: the file itself that an import reads, not the packages on the way to it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".") if is_package else name.split(".")[:-1]
            base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])]) if node.level else node.module
            for alias in node.names:
                submodule = f"{base}.{alias.name}"
                found.add(submodule if submodule in known else str(base))
    return {target for target in found if target.split(".")[0] in OURS}


def import_graph(root: Path) -> Graph:
    files = module_files(root)
    known = set(files)
    return {name: imports_of(name, file.read_text(encoding="utf-8"), file.name == "__init__.py", known) for name, file in files.items()}


def wrong_way(graph: Graph) -> list[str]:
    """Imports from a room to one on its left, or from the product to its tests."""
    found = []
    for name, targets in graph.items():
        allowed = ROOMS[ROOMS.index(name.split(".")[0]) :]
        found += [f"{name} imports {target}" for target in sorted(targets) if target.split(".")[0] not in allowed]
    return found


def catalog_leaks(graph: Graph) -> list[str]:
    """Imports of the catalogue that are neither its own nor the errors."""
    return [
        f"{name} imports {target}"
        for name, targets in graph.items()
        if name.startswith("sim.catalog")
        for target in sorted(targets)
        if target != "sim.errors" and not target.startswith("sim.catalog")
    ]


def cycles(graph: Graph) -> list[str]:
    """One chain of imports for each file that comes back to itself first."""
    found: list[str] = []
    done: set[str] = set()

    def visit(name: str, chain: list[str]) -> None:
        if name in chain:
            found.append(" -> ".join([*chain[chain.index(name) :], name]))
        elif name not in done:
            for target in sorted(graph.get(name, set())):
                visit(target, [*chain, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])
    return found


@pytest.fixture(scope="module")
def graph() -> Graph:
    return import_graph(ROOT)


def test_the_reader_sees_the_product(graph: Graph) -> None:
    assert {"cli", "optimize.search.loop", "sim.fleet.simulate", "sim.catalog.facts"} <= set(graph)
    assert "sim.fleet.fleet" in graph["sim.fleet.simulate"]


def test_imports_go_from_cli_to_optimize_to_sim(graph: Graph) -> None:
    assert wrong_way(graph) == []


def test_the_catalogue_imports_nothing_of_ours_but_the_errors(graph: Graph) -> None:
    assert catalog_leaks(graph) == []


def test_no_two_files_import_each_other(graph: Graph) -> None:
    assert cycles(graph) == []


def test_a_planted_breach_of_each_rule_is_found(tmp_path: Path) -> None:
    """The test of the test: late and relative imports, and a package that its own module imports."""
    sources = {
        "cli.py": "from optimize import plan\n",
        "optimize/__init__.py": "",
        "optimize/plan.py": "def f():\n    import cli\n",
        "sim/__init__.py": "",
        "sim/fleet/simulate.py": "from optimize.plan import f\nfrom tests.oracle import engine\n",
        "sim/catalog/__init__.py": "from sim.catalog.loader import load\n",
        "sim/catalog/loader.py": "from . import load\nfrom .. import fleet\nfrom ..errors import InputError\n",
        "sim/errors.py": "",
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    planted = import_graph(tmp_path)
    assert sorted(wrong_way(planted)) == [
        "optimize.plan imports cli",
        "sim.fleet.simulate imports optimize.plan",
        "sim.fleet.simulate imports tests.oracle",
    ]
    assert catalog_leaks(planted) == ["sim.catalog.loader imports sim.fleet.simulate"]
    assert cycles(planted) == ["cli -> optimize.plan -> cli", "sim.catalog -> sim.catalog.loader -> sim.catalog"]
