"""Points -> loaded scenarios: a typing mistake is told before anything runs, a combination that does not fit becomes a failed point."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from optimize.whatif.outcome import no_row
from optimize.whatif.study import Edit, Level, Outcome, Point
from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.read.document import nearest, printable
from sim.scenario.read.override import apply_overrides
from sim.scenario.read.yaml_text import read_document
from sim.scenario.scenario import Scenario
from sim.scenario.written_text import Origin


class Source:
    """A scenario file with its `--set` texts and seed, from which the scenario of each point is loaded."""

    def __init__(self, origin: Origin, settings: Sequence[str], seed: int | None, catalog: Catalog) -> None:
        self.origin, self.settings, self.seed, self.catalog = origin, tuple(settings), seed, catalog
        document = read_document(origin)
        apply_overrides(document, list(settings))
        self.data: dict[str, Any] = document.data

    def load(self, levels: Sequence[Level]) -> Scenario:
        """The scenario at these levels, without their factors. InputError names `--vary` where a level is what is wrong."""
        texts = [text for level in levels for text in level.settings]
        texts += edited(self.data, [edit for level in levels for edit in level.edits])
        try:
            return load_scenario(self.origin, [*self.settings, *texts], self.seed, self.catalog)
        except InputError as error:
            raise InputError([renamed(problem, texts) for problem in error.problems]) from None


def renamed(problem: str, texts: Sequence[str]) -> str:
    """`problem` with `--vary` in place of `--set` where the text came from an axis."""
    for text in texts:
        start = f"--set {printable(text, 100)}"
        if problem.startswith(start):
            return "--vary" + problem.removeprefix("--set")
    return problem


def edited(data: dict[str, Any], edits: Sequence[Edit]) -> list[str]:
    """One `--set` text for each list that is edited: the whole list as it then stands."""
    texts = []
    for key in dict.fromkeys(edit.key for edit in edits):
        items = list_at(data, key)
        for edit in (each for each in edits if each.key == key):
            items = changed(items, edit)
        texts.append(f"{key}={json.dumps(items)}")
    return texts


def list_at(data: dict[str, Any], key: str) -> list[Any]:
    """The list at `key`. InputError where there is none: an absent list of candidates means all of the catalogue."""
    value: Any = data
    for part in key.split("."):
        if isinstance(value, list):
            named = [item for item in value if name_of(item) == part]
            value = named[0] if named else value[int(part)] if part.isdecimal() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, list):
        return value
    if key in ("policy.allow", "policy.deny") and value is None:
        return []
    tip = "it is absent, which means all of the catalogue: write it out in the scenario, or vary policy.deny=+NAME"
    raise InputError(f"--vary {key}: is no list; {tip if value is None else 'write values instead of +NAME'}")


def changed(items: list[Any], edit: Edit) -> list[Any]:
    """`items` after one edit."""
    if edit.add:
        if name_of(edit.entry) in [name_of(item) for item in items]:
            raise InputError(f"--vary {edit.key}=+{printable(str(name_of(edit.entry)))}: is in the list already; take it out with -NAME")
        return [*items, edit.entry]
    left = [item for item in items if name_of(item) != edit.entry]
    if len(left) == len(items):
        known = nearest(str(edit.entry), [str(name_of(item)) for item in items])
        raise InputError(f"--vary {edit.key}=-{printable(str(edit.entry))}: is not in the list; {known}")
    return left


def name_of(item: Any) -> Any:
    """What names an entry of a list."""
    return item.get("name") if isinstance(item, dict) else item


def load_points(source: Source, points: Sequence[Point]) -> list[Scenario | Outcome]:
    """The scenario of each point, or the outcome that says why it cannot be loaded.

    InputError, before anything runs, where no point can be loaded or where a value is wrong whatever the others are.
    """
    loaded: list[Scenario | Outcome] = []
    faults: dict[str, list[int]] = {}
    for k, point in enumerate(points):
        try:
            loaded.append(source.load(point.levels))
        except InputError as error:
            loaded.append(Outcome(no_row("bad_input", "; ".join(error.problems))))
            for problem in error.problems:
                faults.setdefault(problem, []).append(k)
    hopeless = [problem for problem, where in faults.items() if always(points, where)]
    if hopeless:
        raise InputError(hopeless)
    return loaded


def always(points: Sequence[Point], failed: Sequence[int]) -> bool:
    """Whether the failed points are all points, or all those of one written value: then the value is wrong, and not a combination."""
    if len(failed) == len(points):
        return True
    for a in range(len(points[0].levels)):
        levels = {points[k].levels[a] for k in failed}
        holders = [k for k, point in enumerate(points) if point.levels[a] in levels]
        if len(levels) == 1 and holders == list(failed) and (len(holders) > 1 or len(points[0].levels) == 1):
            return True
    return False
