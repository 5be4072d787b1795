"""Planted mistakes: a seeded sample of single-token mutations of a room, by the operators of Cosmic Ray (`pip install cosmic-ray`).

A line is drawn first and then one of its mutations, so that arithmetic, which has ten mutations a place, does not crowd out the rest.
Annotations are left out: they change nothing that runs. The same seed on the same source draws the same mutants.
"""

from __future__ import annotations

import ast
import difflib
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Span = tuple[tuple[int, int], tuple[int, int]]  # first and last (line from 1, column from 0), the end excluded


@dataclass(frozen=True)
class Mutant:
    file: Path
    line: int  # from 1, where the mutated token stands
    text: str  # the whole mutated file

    @property
    def removed(self) -> str:
        """The lines that the mutation changes, as they are, without their indent."""
        return _changed_lines(self.file.read_text(encoding="utf-8"), self.text)

    @property
    def added(self) -> str:
        """The same lines as the mutation leaves them."""
        return _changed_lines(self.text, self.file.read_text(encoding="utf-8"))

    @property
    def diff(self) -> str:
        before, after = self.file.read_text(encoding="utf-8").split("\n"), self.text.split("\n")
        return "\n".join(difflib.unified_diff(before, after, str(self.file), n=0, lineterm=""))


def _changed_lines(text: str, other: str) -> str:
    """Lines of `text` that `other` does not have at that place, joined."""
    before, after = text.split("\n"), other.split("\n")
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return "\n".join(line.strip() for tag, first, last, _, _ in codes if tag != "equal" for line in before[first:last])


def annotations(source: str) -> list[Span]:
    """Where annotations stand: a mutation there changes nothing that runs, as every file postpones their evaluation."""
    notes: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign):
            notes.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            notes.append(node.returns)
        elif isinstance(node, ast.arg):
            notes.append(node.annotation)
    return [((a.lineno, a.col_offset), (a.end_lineno or a.lineno, a.end_col_offset or 0)) for a in notes if a is not None]


def places(room: Path) -> dict[tuple[Path, int], list[tuple[Any, int]]]:
    """(file, line) -> mutations there, as (operator, occurrence)."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    operators = [cls() for name in sorted(operator_names()) if not (cls := get_operator(name)).arguments() and "NoOp" not in name]
    found: dict[tuple[Path, int], list[tuple[Any, int]]] = {}
    for file in sorted(room.rglob("*.py")):
        tree, notes = get_ast_from_path(file), annotations(file.read_text(encoding="utf-8"))
        for operator in operators:
            positions = (start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
            for occurrence, position in enumerate(positions):
                if not any(first <= position < last for first, last in notes):
                    found.setdefault((file, position[0]), []).append((operator, occurrence))
    return found


def sample(room: Path, mutants: int, seed: int) -> list[Mutant]:
    """So many mutants of a room, each on a line of its own."""
    from cosmic_ray.mutating import mutate_code

    found, drawn = places(room), random.Random(seed)
    chosen: list[Mutant] = []
    for file, line in drawn.sample(sorted(found), len(found)):
        operator, occurrence = drawn.choice(found[file, line])
        if len(chosen) < mutants:
            text = mutate_code(file.read_text(encoding="utf-8"), operator, occurrence)
            if text is not None:
                chosen.append(Mutant(file, line, text))
    return chosen
