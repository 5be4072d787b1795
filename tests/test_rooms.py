"""Imports go one way, from room to room and from file to file: no room stands in a circle with another, however long the way round.

The imports are read from the source, late ones included, so that nothing has to be importable for this.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOUSES = ("servemix", "cli", "optimize", "sim")  # each may import itself and what stands to its right
OURS = (*HOUSES, "tests", "benchmarks")
# Every room may import the rooms that stand before it, and no other. A loose module of `optimize` or `sim` is a room of one file.
ORDER = (
    *("sim.version", "sim.progress", "sim.interrupts"),
    *("sim.errors", "sim.named_files", "sim.forms", "sim.guarded_yaml", "sim.plain_cells", "sim.plural", "sim.exact", "sim.streams"),
    *("sim.catalog", "sim.requests", "sim.request_log"),
    *("sim.engine", "sim.latency"),
    *("sim.scenario", "sim.traffic", "sim.relay", "sim.fleet", "sim.calibration", "sim.start", "sim.probe"),
    *("optimize.records", "optimize.result", "optimize.money", "optimize.market", "optimize.program", "optimize.search"),
    *("optimize.explain", "optimize.plan", "optimize.finance", "optimize.tables", "optimize.simulate"),
    *("optimize.estimate", "optimize.audit", "optimize.deploy", "optimize.track"),
    *("optimize.whatif", "optimize.report", "optimize.commands", "cli"),
    *("servemix.results", "servemix", "servemix.__main__"),
)
READING = ("sim.errors", "sim.named_files", "sim.guarded_yaml")
LATE = ("optimize.commands", "cli", "servemix", "servemix.results")  # may import ours late, so that `--help` and the import are fast
FRONT_DOORS = ("sim.scenario",)  # packages that load their readers, and pydantic with them, when a file is read
TWICE = 15  # names of files that may stand in two rooms
Graph = dict[str, set[str]]


def module_files(root: Path) -> dict[str, Path]:
    """Dotted name -> file of every module of the product; a package goes by its own name."""
    files = [root / "cli.py", *(file for house in ("servemix", "optimize", "sim") for file in sorted((root / house).rglob("*.py")))]
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
        allowed = HOUSES[HOUSES.index(name.split(".")[0]) :]
        found += [f"{name} imports {target}" for target in sorted(targets) if target.split(".")[0] not in allowed]
    return found


def catalog_leaks(graph: Graph) -> list[str]:
    """Imports of the catalogue that are neither its own nor what reads files and says what is wrong with them."""
    return [
        f"{name} imports {target}"
        for name, targets in graph.items()
        if name.startswith("sim.catalog")
        for target in sorted(targets)
        if target not in READING and not target.startswith("sim.catalog")
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


def room_of(name: str) -> str:
    """`optimize.program.rows.hosts` stands in `optimize.program`, `optimize.plan` in a room of its own."""
    return ".".join(name.split(".")[:2])


def against_the_order(graph: Graph) -> list[str]:
    """Imports of a room that does not stand before the importing one in ORDER; rooms that ORDER lacks."""
    rooms = {room_of(name) for name in graph if room_of(name) not in ("sim", "optimize")}
    found = [f"{room} has no place in ORDER" for room in sorted(rooms - set(ORDER))]
    place = {room: k for k, room in enumerate(ORDER)}
    for name, targets in graph.items():
        for target in sorted(targets):
            here, there = room_of(name), room_of(target)
            if here in place and there in place and place[there] > place[here]:
                found.append(f"{name} imports {target}: {there} does not stand before {here}")
    return found


def room_circles(graph: Graph) -> list[str]:
    """Rooms that come back to themselves over other rooms."""
    rooms: Graph = {}
    for name, targets in graph.items():
        rooms.setdefault(room_of(name), set()).update(room_of(target) for target in targets if room_of(target) != room_of(name))
    return cycles(rooms)


def late_imports(root: Path) -> list[str]:
    """Imports of ours inside functions, outside the rooms that may: those of `optimize.commands`, for a fast start."""
    found = []
    for name, file in module_files(root).items():
        if room_of(name) in LATE or name in FRONT_DOORS:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found += [f"{name}: {late}" for each in ast.walk(node) if (late := _ours(each))]
    return found


def _ours(node: ast.AST) -> str:
    """The first module of ours that an import statement names, else nothing."""
    names = [a.name for a in node.names] if isinstance(node, ast.Import) else [str(node.module)] if isinstance(node, ast.ImportFrom) else []
    return next((name for name in names if name.split(".")[0] in OURS), "")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return import_graph(ROOT)


def test_the_reader_sees_the_product(graph: Graph) -> None:
    assert {"cli", "optimize.search.loop", "sim.fleet.simulate", "sim.catalog.facts"} <= set(graph)
    assert "sim.fleet.fleet" in graph["sim.fleet.simulate"]


def test_imports_go_from_cli_to_optimize_to_sim(graph: Graph) -> None:
    assert wrong_way(graph) == []


def test_every_room_imports_only_rooms_that_stand_before_it(graph: Graph) -> None:
    assert against_the_order(graph) == []


def test_no_room_stands_in_a_circle(graph: Graph) -> None:
    assert room_circles(graph) == []


def test_late_imports_of_ours_stand_in_commands_alone() -> None:
    assert late_imports(ROOT) == []


def test_optimize_keeps_three_loose_modules() -> None:
    assert {file.stem for file in (ROOT / "optimize").glob("*.py")} == {"__init__", "plan", "records", "result"}


def test_few_file_names_are_used_twice() -> None:
    names = Counter(file.name for file in module_files(ROOT).values() if file.name != "__init__.py")
    twice = sorted(name for name, times in names.items() if times > 1)
    assert len(twice) <= TWICE, twice
    assert max(names.values()) <= 2


def test_the_catalogue_imports_nothing_of_ours_but_what_reads_files(graph: Graph) -> None:
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
        "sim/fleet/__init__.py": "",
        "sim/fleet/simulate.py": "from optimize.plan import f\nfrom tests.oracle import engine\n",
        "sim/catalog/__init__.py": "from sim.catalog.loader import load\n",
        "sim/catalog/loader.py": "from . import load\nfrom ..fleet import simulate\nfrom ..errors import InputError\n",
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
    assert "optimize.plan imports cli: cli does not stand before optimize.plan" in against_the_order(planted)
    assert "sim.catalog.loader imports sim.fleet.simulate: sim.fleet does not stand before sim.catalog" in against_the_order(planted)
    assert late_imports(tmp_path) == ["optimize.plan: cli"]
    assert cycles(planted) == ["cli -> optimize.plan -> cli", "sim.catalog -> sim.catalog.loader -> sim.catalog"]
