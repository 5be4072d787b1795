"""Packages are loaded by use, and what serves neither `optimize` nor `simulate` stays out of them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from optimize.whatif.cluster import connect
from sim.errors import MissingExtra
from sim.probe import options
from tests.test_rooms import Graph, import_graph, room_of

ROOT = Path(__file__).resolve().parents[1]
CORE = ("optimize.plan", "optimize.simulate.named_fleet")
SATELLITES = {"optimize.audit", "optimize.whatif", "optimize.estimate", "optimize.report", "sim.start", "sim.probe"}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def reached(graph: Graph, *starts: str) -> set[str]:
    """Every module that the `starts` load, packages on the way included."""
    seen: set[str] = set()
    todo = list(starts)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += [*graph.get(name, ()), *([name.rpartition(".")[0]] if "." in name else [])]
    return seen


def test_the_core_imports_no_satellite() -> None:
    modules = reached(import_graph(ROOT), *CORE)
    assert {"optimize.program", "sim.fleet"} <= {room_of(name) for name in modules}
    assert {room_of(name) for name in modules} & SATELLITES == set()
    assert [name for name in modules if name.startswith("sim.catalog.refresh")] == []


def test_a_plan_on_the_screen_loads_no_package_of_reports_or_extras() -> None:
    heavy = {"matplotlib", "xlsxwriter", "openai", "pyarrow", "distributed", "genai_prices", "litellm"}
    code = (
        f"import sys, cli, optimize.plan, optimize.report.write, optimize.report.terminal.render_plan; print({heavy!r} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "set()\n"


def test_openai_belongs_to_an_extra_and_what_writes_reports_to_everybody() -> None:
    names = {text.partition(">")[0] for text in PROJECT["dependencies"]}
    assert {"matplotlib", "xlsxwriter"} <= names and "openai" not in names
    assert [text.partition(">")[0] for text in PROJECT["optional-dependencies"]["probe"]] == ["openai"]
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf-8").lower()
    assert [name for name in names if f"\n{name.lower()}==" not in f"\n{pinned}"] == []


def test_an_absent_extra_is_one_sentence_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra) as probe:
        options.probe_and_write(*[SimpleNamespace()] * 4)  # type: ignore[arg-type]
    assert str(probe.value) == 'probe: the package openai is not installed; run pip install "servemix[probe]"'
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r'run pip install "servemix\[cluster\]"$'):
        connect("tcp://127.0.0.1:8786")


def test_nothing_needs_the_modules_that_windows_lacks() -> None:
    absent = ("resource", "fcntl", "grp", "pwd")
    code = f"import sys; sys.modules |= dict.fromkeys({absent}); from optimize.whatif import task; print(task.peak_mb())"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "0.0\n"
