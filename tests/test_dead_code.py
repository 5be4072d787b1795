"""No function, class or method of the product is without a caller in the product: what only tests call is dead."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALLED_FROM_OUTSIDE = {
    "catalog_refresh": "a command",
    "estimate_rules": "a command",
    "hourly_changes": "fleets by script: docs/explanation/fleet-life.md",
    "drawn_losses": "fleets by script: docs/explanation/fleet-life.md",
    "actualSolve": "called by PuLP",
    "readinto": "called by io.BufferedReader",
    "session_turns": "conversations of closed clients by script",
    "replay_poisson": "replays by script",
    "complete": "the public API of scripts: servemix/results.py",
    "estimated_tokens": "token counts by script of the catalogue's tokenizers: docs/explanation/assumptions.md",
}
HOOK = re.compile(r"^__.*__$|^visit_|^_")  # called by Python; private ones are the linter's


def product() -> list[Path]:
    return [ROOT / "cli.py", *(file for room in ("servemix", "sim", "optimize") for file in (ROOT / room).rglob("*.py"))]


def without_a_caller(sources: list[str]) -> list[str]:
    """Public functions, classes and methods whose name occurs only where it is defined, docstrings and comments left out."""
    defined: list[str] = []
    used: Counter[str] = Counter()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if not HOOK.match(node.name) and not any(_registers(each) for each in node.decorator_list):
                    defined.append(node.name)
            elif isinstance(node, ast.Name):
                used[node.id] += 1
            elif isinstance(node, ast.Attribute):
                used[node.attr] += 1
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                used[node.value] += 1  # __all__, getattr, names of commands
    return sorted({name for name in defined if not used[name]})


def _registers(decorator: ast.expr) -> bool:
    """A decorator that hands the function to a framework: validators of pydantic, commands of Typer."""
    text = ast.unparse(decorator)
    return any(word in text for word in ("validator", "serializer", ".command", ".callback", "njit", "overload"))


def test_every_function_of_the_product_has_a_caller_in_it() -> None:
    found = without_a_caller([file.read_text(encoding="utf-8") for file in product() if file.exists()])
    assert [name for name in found if name not in CALLED_FROM_OUTSIDE] == []


def test_a_planted_dead_function_is_found() -> None:
    source = "def used():\n    pass\n\ndef dead():\n    '''dead() is only named here'''\n\nused()\n"
    assert without_a_caller([source]) == ["dead"]
