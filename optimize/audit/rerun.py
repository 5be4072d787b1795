"""A plan made again from its manifest: identical, or what changed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimize.audit.manifest import COPIES, FINANCE_FILE, fingerprint, plan_bytes, read_manifest, software
from optimize.simulate.saved_plan import read_plan
from sim.errors import InputError
from sim.plural import counted
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

SHOWN = 20
Json = dict[str, Any]
Maker = Callable[[Scenario, str], Json]  # scenario, value of --explain -> plan.json's object


@dataclass(frozen=True)
class Rerun:
    """`changed_inputs` in words; `differences` are (key, before, after) of plan.json. Identical: the same bytes."""

    identical: bool
    changed_inputs: tuple[str, ...]
    differences: tuple[tuple[str, Any, Any], ...]

    def as_json(self) -> Json:
        rows = [{"key": key, "before": before, "after": after} for key, before, after in self.differences]
        return {"identical": self.identical, "changed_inputs": list(self.changed_inputs), "differences": rows}

    def text(self) -> str:
        """For people."""
        lines = [f"changed since: {text}" for text in self.changed_inputs]
        if self.identical:
            return "\n".join([*lines, "identical: the plan made again has the same bytes"]) + "\n"
        lines.append(f"different: {counted(len(self.differences), 'value')} of plan.json")
        lines += [f"  {key}: {before!r} -> {after!r}" for key, before, after in self.differences[:SHOWN]]
        more = len(self.differences) - SHOWN
        return "\n".join(lines + ([f"  and {more} more; --json has all"] if more > 0 else [])) + "\n"


def rerun(folder: Path, make: Maker) -> Rerun:
    """The plan in `folder` made again by `make` from the same scenario, overrides and seed.

    Inputs that have changed are taken from the copies in the folder; InputError where there is none, because the result would mean
    nothing.
    """
    said, before = read_manifest(folder), read_plan(folder / "plan.json")
    scenario, changed = recorded_scenario(folder, said)
    changed += changed_surroundings(said, scenario)
    after = make(scenario, str(said["options"].get("explain")))
    if plan_bytes(after) == plan_bytes(before):
        return Rerun(True, tuple(changed), ())
    fresh = json.loads(plan_bytes(after))
    return Rerun(False, tuple(changed), tuple(differences(before, fresh)))


def recorded_scenario(folder: Path, said: Json) -> tuple[Scenario, list[str]]:
    """The scenario that the manifest names, from its own place if nothing changed there, else from the copies."""
    given, changed = said["scenario"], []
    for row in said["inputs"]:
        now = fingerprint(Path(row["path"]))["sha256"]
        if now != row["sha256"]:
            changed.append(f"{row['path']} {'is gone' if now is None else 'has other content'}; its copy in {COPIES}/ is used")
    path = Path(given["path"])
    if changed:
        path = folder / COPIES / path.name
        if not os.path.isfile(path):
            raise InputError(f"{given['path']}: has changed since and there is no copy {path}; restore the file to make the plan again")
    scenario = load_scenario(path, given["overrides"], given["seed"])
    if scenario.digest != given["digest"]:
        raise InputError(f"{path}: its content is not what the plan was made from (digest {scenario.digest}, not {given['digest']})")
    return scenario, changed


def changed_surroundings(said: Json, scenario: Scenario) -> list[str]:
    """What else decides a number and is not the same: catalogue, planning figures, versions."""
    words = []
    if said["catalog"]["digest"] != scenario.catalog.digest:
        words.append(f"catalogue of {said['catalog']['date']}, now {scenario.catalog.date}")
    if said["figures"]["sha256"] != fingerprint(FINANCE_FILE)["sha256"]:
        words.append(f"planning figures ({FINANCE_FILE.name})")
    now = software()
    return words + [f"{name} {version}, now {now.get(name)}" for name, version in said["software"].items() if now.get(name) != version]


def differences(before: Any, after: Any, key: str = "") -> list[tuple[str, Any, Any]]:
    """(dotted key, before, after) of every value that differs; entries of lists that have a name go by it.

    >>> differences({"a": [{"name": "x", "v": 1}]}, {"a": [{"name": "x", "v": 2}], "b": 3})
    [('a.x.v', 1, 2), ('b', None, 3)]
    """
    before, after = _by_name(before), _by_name(after)
    if isinstance(before, dict) and isinstance(after, dict):
        names = list(dict.fromkeys([*before, *after]))
        return [row for name in names for row in differences(before.get(name), after.get(name), f"{key}.{name}" if key else str(name))]
    same = before == after or (isinstance(before, float) and isinstance(after, float) and math.isnan(before) and math.isnan(after))
    return [] if same else [(key, before, after)]


def _by_name(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    for field in ("name", "pool", "relay", "hour"):
        if value and all(isinstance(row, dict) and field in row for row in value):
            return {row[field]: row for row in value}
    return dict(enumerate(value))
