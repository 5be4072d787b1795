"""Models that may answer a class: from a routing table and evaluations, where the scenario does not list them itself."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.scenario.read.document import Path, Problems, nearest, shown
from sim.scenario.routing.quality import read_quality
from sim.scenario.routing.routing_rules import Classifier, QualityRow, Routing
from sim.scenario.routing.task_table import DEFAULT, RoutingTable, read_table, table_file
from sim.scenario.scenario import RequestClass, Scenario
from sim.scenario.schema.routing import RoutingSpec

LISTED = 4  # models that a warning names


@dataclass
class Chosen:
    """What `choose_models` read: the table, the evaluations, what is wrong in those files, and what users should know."""

    table: RoutingTable | None = None
    quality: tuple[QualityRow, ...] = ()
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def choose_models(problems: Problems, catalog: Catalog, folder: FilePath) -> Chosen:
    """Writes `models` into the classes of the document that leave them to the routing table, and takes out those that evaluations rule out.

    Reads raw values, so that it also works in a file with other faults; the schema complains of those.
    """
    data = problems.document.data
    chosen, classes, routing = Chosen(), _dicts(data.get("request_classes")), data.get("routing")
    if isinstance(routing, dict):
        _read(problems, chosen, routing, catalog, folder)
        _together(problems, data, routing)
    for index, each in classes:
        path: Path = ("request_classes", index)
        if each.get("models") is None:
            _from_table(problems, path, each, chosen, routing, _servable(data, catalog, each))
        elif isinstance(routing, dict) and chosen.table is not None:
            _have_tiers(problems, path, each, chosen.table)
        _accepted(problems, path, each, chosen, isinstance(routing, dict))
    return chosen


def with_routing(scenario: Scenario, spec: RoutingSpec | None, chosen: Chosen) -> Scenario:
    """`scenario` with its routing; a class whose models are of several tiers has the classifier, where there is one."""
    if spec is None or chosen.table is None:
        return scenario
    table = chosen.table
    classifier = Classifier(**spec.classifier.model_dump()) if spec.classifier is not None else None
    routing = Routing(table.name, table.tiers, tuple(table.models.items()), classifier, chosen.quality)
    classes = tuple(replace(each, classifier=classifier) if several_tiers(routing, each) else each for each in scenario.request_classes)
    return replace(scenario, routing=routing, request_classes=classes, warnings=(*scenario.warnings, *chosen.notes))


def several_tiers(routing: Routing, request_class: RequestClass) -> bool:
    """Whether somebody has to decide which tier answers a request of the class."""
    return len({routing.rank(model) for model in request_class.models}) > 1 and request_class.kind != "embedding"


def routing_texts(data: dict[str, Any], folder: FilePath) -> list[FilePath]:
    """Files that the routing of a checked scenario depends on."""
    routing = data.get("routing")
    if not isinstance(routing, dict):
        return []
    files = [table_file(str(routing.get("table", DEFAULT)), folder)]
    return files + ([folder / str(routing["quality"])] if routing.get("quality") is not None else [])


def _read(problems: Problems, chosen: Chosen, routing: dict[str, Any], catalog: Catalog, folder: FilePath) -> None:
    data = problems.document.data
    known = set(catalog.models) | {relay.model for relay in catalog.relays.values()} | _written(data)
    name, quality = routing.get("table", DEFAULT), routing.get("quality")
    try:
        chosen.table = read_table(name, folder) if _is_file(problems, "table", name, folder) else None
    except InputError as error:
        chosen.problems += error.problems
    for model in chosen.table.models if chosen.table is not None else ():
        if model not in known:
            chosen.notes.append(
                f"routing table {name}: {shown(model)} is no model of the catalogue and no relay serves it; {nearest(model, known)}"
            )
    if quality is not None and _is_file(problems, "quality", quality, folder):
        classes = {each["name"] for _, each in _dicts(data.get("request_classes")) if isinstance(each.get("name"), str)}
        try:
            chosen.quality = read_quality(folder / quality, classes, known)
        except InputError as error:
            chosen.problems += error.problems


def _is_file(problems: Problems, key: str, name: Any, folder: FilePath) -> bool:
    """Whether the file that `routing.KEY` names is there; names that are no text are the schema's to refuse."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        return False
    if (key == "table" and name == DEFAULT) or os.path.isfile(folder / name):
        return True
    more = "; write `default` or its path relative to the scenario" if key == "table" else "; write its path relative to the scenario"
    problems.add(("routing", key), f"{shown(name)} is no file in {folder}{more}")
    return False


def _together(problems: Problems, data: dict[str, Any], routing: dict[str, Any]) -> None:
    candidates, policy = data.get("candidates"), data.get("policy")
    if isinstance(candidates, dict) and candidates.get("measured_capacity") is not None:
        text = "stands together with candidates.measured_capacity, which does not say which model answers; leave one of the two out"
        problems.add(("routing",), text, of_key=True)
    failover = policy.get("relay_failover", "none") if isinstance(policy, dict) else "none"
    if isinstance(routing.get("classifier"), dict) and failover in ("relays", "fleet"):
        text = "stands together with policy.relay_failover; a request that is answered again cannot fail over too: write `none` there"
        problems.add(("routing", "classifier"), text, of_key=True)


def _from_table(problems: Problems, path: Path, each: dict[str, Any], chosen: Chosen, routing: Any, servable: set[str]) -> None:
    if not isinstance(routing, dict):
        problems.add(path, "has no models; write `models: [...]`, or `routing: {table: default}` and a `task` of its table")
        return
    table = chosen.table
    floor = None if table is None else _floor(problems, path, each, table, routing.get("downgrade") is not False)
    if table is None or floor is None:
        return
    fit = [model for model, rank in table.models.items() if rank >= floor]
    kept = [model for model in fit if model in servable]
    if kept:
        each["models"] = kept
        return
    names = ", ".join(fit[:LISTED]) or "the table has none"
    problems.add(path, f"no candidate serves a model of tier {table.tiers[floor]} or above; add an offer or relay for one: {names}")


def _floor(problems: Problems, path: Path, each: dict[str, Any], table: RoutingTable, downgrade: bool) -> int | None:
    """Index of the lowest tier that may answer, by `quality.floor`, else by the task."""
    written = _quality(each).get("floor")
    if written is not None:
        if written in table.tiers:
            return table.tiers.index(written)
        problems.add((*path, "quality", "floor"), f"{shown(written)} is no tier of the routing table; {nearest(str(written), table.tiers)}")
        return None
    task = each.get("task")
    if isinstance(task, str) and task in table.tasks:
        return table.tasks[task].least if downgrade else table.tasks[task].tier
    told = "has neither models, nor quality.floor, nor a task" if not task else f"{shown(task)} is no task of the routing table"
    problems.add(
        (*path, "task") if task else path, f"{told}; {nearest(str(task or ''), table.tasks)}; or write `models` or `quality.floor`"
    )
    return None


def _have_tiers(problems: Problems, path: Path, each: dict[str, Any], table: RoutingTable) -> None:
    """Models that the user lists are in the table, and not below the floor that the user writes."""
    models, floor = each.get("models"), _quality(each).get("floor")
    if each.get("kind") == "embedding" or not isinstance(models, list):
        return
    least = _floor(problems, path, each, table, True) if floor is not None else None
    for index, name in enumerate(_names(models)):
        if not isinstance(name, str):
            continue
        rank = table.models.get(name)
        where = (*path, "models", index)
        if rank is None:
            problems.add(
                where, f"{shown(name)} has no tier in the routing table; add `{name}: {table.tiers[0]}` (or another) to its models"
            )
        elif least is not None and rank < least:
            problems.add(where, f"{shown(name)} is of tier {table.tiers[rank]}, below the floor {floor}; take it out or lower the floor")


def _accepted(problems: Problems, path: Path, each: dict[str, Any], chosen: Chosen, routed: bool) -> None:
    """Takes out models whose answers are not surely accepted often enough."""
    quality, models = _quality(each), each.get("models")
    least = quality.get("min_accepted")
    if quality and not routed:
        problems.add((*path, "quality"), "needs a routing table; write `routing: {table: default}` at the top level", of_key=True)
    elif least is not None and not chosen.quality and not chosen.problems and not problems.found:
        problems.add((*path, "quality", "min_accepted"), "needs evaluations; write `routing: {quality: FILE}`")
    if not isinstance(least, float) or not isinstance(models, list) or not chosen.quality:
        return
    rows = {row.model: row for row in chosen.quality if row.class_name == each.get("name")}
    good = [model for model, name in zip(models, _names(models), strict=True) if name in rows and rows[name].least_accepted >= least]
    told = [f"{name} {_words(rows.get(name))}" for name in _names(models) if name not in rows or rows[name].least_accepted < least]
    if not good:
        best = "; ".join(told[:LISTED])
        problems.add((*path, "quality", "min_accepted"), f"no model reaches {least:g}: {best}; evaluate more answers or lower it")
    elif told:
        more = f" and {len(told) - LISTED} more" if len(told) > LISTED else ""
        chosen.notes.append(f"request class {each.get('name')}: min_accepted {least:g} rules out {'; '.join(told[:LISTED])}{more}")
    each["models"] = good or models


def _words(row: QualityRow | None) -> str:
    if row is None:
        return "(not evaluated)"
    return f"({row.accepted_share:g} of {row.n} accepted, surely {row.least_accepted:.3f})"


def _servable(data: dict[str, Any], catalog: Catalog, each: dict[str, Any]) -> set[str]:
    """Models that offers can host or relays of the scenario sell."""
    candidates = data.get("candidates")
    candidates = candidates if isinstance(candidates, dict) else {}
    hosted = {name for name, model in catalog.models.items() if model.kind == "chat"} if candidates.get("offers") != [] else set()
    if each.get("self_hosted_only") is True:
        return hosted
    listed = candidates.get("relays")
    if not isinstance(listed, list):
        return hosted | {relay.model for relay in catalog.relays.values()}
    names = [row.get("name") if isinstance(row, dict) else row for row in listed]
    return hosted | _written(data) | {catalog.relays[name].model for name in names if isinstance(name, str) and name in catalog.relays}


def _written(data: dict[str, Any]) -> set[str]:
    """Models of relays that the file writes out."""
    candidates = data.get("candidates")
    rows = _dicts(candidates.get("relays") if isinstance(candidates, dict) else None)
    return {model for _, row in rows if isinstance(model := row.get("model"), str)}


def _quality(each: dict[str, Any]) -> dict[str, Any]:
    quality = each.get("quality")
    return quality if isinstance(quality, dict) else {}


def _names(models: list[Any]) -> list[Any]:
    return [model.get("name") if isinstance(model, dict) else model for model in models]


def _dicts(items: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(index, each) for index, each in enumerate(items) if isinstance(each, dict)] if isinstance(items, list) else []
