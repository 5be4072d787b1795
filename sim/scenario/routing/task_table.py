"""A routing table: tiers, the tier that each task needs, the tier that each model is of. Users edit it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from sim.errors import InputError
from sim.scenario.read.document import Path, Problems, nearest, shown
from sim.scenario.read.yaml_text import read_document

DEFAULT = "default"
FILE = FilePath(__file__).with_name("routing_table.yaml")
VERSION_KEY, VERSION = "servemix_routing", 1
KEYS = (VERSION_KEY, "source", "tiers", "tasks", "models")
TASK_KEYS = ("id", "tier", "downgrade_to")


@dataclass(frozen=True)
class Task:
    """`tier` is what answers the task well, `least` what may answer it where downgrades are allowed (indices, least <= tier)."""

    tier: int
    least: int


@dataclass(frozen=True)
class RoutingTable:
    """`tiers` weakest first; `models` in the order of the file, with the index of their tier."""

    name: str
    tiers: tuple[str, ...]
    tasks: dict[str, Task]
    models: dict[str, int]


def table_file(name: str, folder: FilePath) -> FilePath:
    """Where the table that a scenario in `folder` calls `name` is."""
    return FILE if name == DEFAULT else folder / name


def read_table(name: str, folder: FilePath) -> RoutingTable:
    """The table. Raises InputError with all that is wrong in it, by line and column."""
    document = read_document(table_file(name, folder), "routing table")
    problems = Problems(document)
    data = document.data
    if data.get(VERSION_KEY) != VERSION:
        problems.add(
            (), f"is no routing table: `{VERSION_KEY}: {VERSION}` is missing; start from a copy of sim/scenario/routing/routing_table.yaml"
        )
        raise InputError(problems.lines())
    for key in data:
        if key not in KEYS:
            problems.add((key,), f"unknown key; {nearest(str(key), KEYS)}", of_key=True)
    tiers = _tiers(problems, data.get("tiers"))
    tasks = _tasks(problems, data.get("tasks"), tiers)
    models = _models(problems, data.get("models"), tiers)
    if problems.found:
        raise InputError(problems.lines())
    return RoutingTable(name, tiers, tasks, models)


def _tiers(problems: Problems, listed: Any) -> tuple[str, ...]:
    good = (
        isinstance(listed, list) and listed and all(isinstance(each, str) and each for each in listed) and len(set(listed)) == len(listed)
    )
    if not good:
        problems.add(("tiers",), f"{shown(listed)} is no list of different names; write them weakest first: [small, medium, strong]")
        return tuple(dict.fromkeys(each for each in listed if isinstance(each, str))) if isinstance(listed, list) else ()
    return tuple(listed)


def _tier(problems: Problems, path: Path, name: Any, tiers: tuple[str, ...]) -> int:
    if isinstance(name, str) and name in tiers:
        return tiers.index(name)
    problems.add(path, f"{shown(name)} is no tier of this table; {nearest(str(name), tiers)}")
    return 0


def _tasks(problems: Problems, listed: Any, tiers: tuple[str, ...]) -> dict[str, Task]:
    if not isinstance(listed, list) or not listed:
        problems.add(("tasks",), f"{shown(listed)} is no list of tasks; write [{{id: code, tier: {tiers[-1] if tiers else 'strong'}}}]")
        return {}
    found: dict[str, Task] = {}
    for index, row in enumerate(listed):
        path: Path = ("tasks", index)
        name = row.get("id") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(name, str) or not name:
            problems.add(path, f"{shown(row)} is no task; write {{id: code, tier: {tiers[-1] if tiers else 'strong'}}}")
            continue
        for key in row:
            if key not in TASK_KEYS:
                problems.add((*path, key), f"unknown key; {nearest(str(key), TASK_KEYS)}", of_key=True)
        if name in found:
            problems.add((*path, "id"), f"{shown(name)} is here twice; keep one row")
        tier = _tier(problems, (*path, "tier"), row.get("tier"), tiers)
        least = _tier(problems, (*path, "downgrade_to"), row["downgrade_to"], tiers) if "downgrade_to" in row else tier
        if least > tier:
            problems.add((*path, "downgrade_to"), f"{shown(row['downgrade_to'])} is above the task's tier; write a weaker one")
        found[name] = Task(tier, least)
    return found


def _models(problems: Problems, listed: Any, tiers: tuple[str, ...]) -> dict[str, int]:
    if not isinstance(listed, dict) or not listed:
        problems.add(
            ("models",), f"{shown(listed)} is no mapping of models to tiers; write {{llama-3.1-8b: {tiers[0] if tiers else 'small'}}}"
        )
        return {}
    return {str(name): _tier(problems, ("models", name), tier, tiers) for name, tier in listed.items()}
