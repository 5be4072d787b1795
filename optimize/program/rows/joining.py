"""What a family of rows that joins hours provides. A file in this folder with a `JOINING` is one more; nothing else is edited.

Hours are solved together only where the program is small. Else the program is taken apart, and a decision of the month (a whole number
that all hours share) is met in four ways; whoever adds one writes it once, and each way finds it:

    whole      the month's program: the decision is a variable with its price, all rows are written
    next to     an hour next to what was decided: the variable stands at its value and costs nothing
    sharing    an hour that decides for itself at its share of the price: the shares of all hours sum to the price, so the hours together
               bound the whole (Lagrangian relaxation); rows over decisions alone are written in each of them
    chosen     an hour of one solution put next to the decisions of another: allowed where the hour needs no more than was decided

Before anything is solved, pools and calls are left out that others replace at a lower price. Such an exchange may break a row of the
family, so the family names what it touches, and that is not exchanged.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from optimize.program.rows.model import Key, Model
from optimize.records import Floats, Ints, ProgramInput

Touched = Literal["pools", "relays"]
Needed = Mapping[Key, Ints | Floats]


@dataclass(frozen=True)
class Joining:
    """One family.

    asked      (problem) -> whether the problem has such rows; if not, nothing else is called
    variables  (model) makes the decisions by `model.decision`, before any row
    rows       (model) adds the rows: those of an hour with `hour=`, those over decisions alone without it. Rows that are linear in the
               decisions; more of a decision never takes room from an hour
    needed     (problem, calls [relays, classes, slices], hosts [pools, slices]) -> decision -> [slices] least value that each hour needs
    touches    whose exchange for another could break a row
    """

    asked: Callable[[ProgramInput], bool]
    variables: Callable[[Model], None]
    rows: Callable[[Model], None]
    needed: Callable[[ProgramInput, Floats, Ints], Needed]
    touches: frozenset[Touched]


@cache
def families() -> tuple[Joining, ...]:
    """The `JOINING` of each file next to this one, by name of file."""
    package = __name__.rsplit(".", 1)[0]
    folder: Any = import_module(package)
    modules = (import_module(f"{package}.{name}") for name in sorted(found.name for found in pkgutil.iter_modules(folder.__path__)))
    return tuple(module.JOINING for module in modules if hasattr(module, "JOINING"))


def joining(problem: ProgramInput) -> tuple[Joining, ...]:
    """The families that have rows in `problem`."""
    return tuple(family for family in families() if family.asked(problem))


def touched(problem: ProgramInput) -> frozenset[Touched]:
    """What must not be exchanged for something cheaper before the program is solved."""
    none: frozenset[Touched] = frozenset()
    return none.union(*(family.touches for family in joining(problem)))
