"""Scenario file -> Scenario. Every problem of the file is told in one message, with line and column."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sim.catalog.facts import Catalog
from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario.read.calibration_file import with_calibration
from sim.scenario.read.crosscheck import crosscheck
from sim.scenario.read.document import Document, Problems, printable
from sim.scenario.read.faults import add_faults
from sim.scenario.read.measured import read_measured_capacity
from sim.scenario.read.override import apply_overrides
from sim.scenario.read.own_models import config_files, with_own_models
from sim.scenario.read.relay_profile import merge_profiles
from sim.scenario.read.yaml_text import read_document, read_text
from sim.scenario.resolve import resolve
from sim.scenario.routing.choose import Chosen, choose_models, routing_texts, with_routing
from sim.scenario.scenario import Scenario
from sim.scenario.schema.fields import Known
from sim.scenario.schema.scenario import ScenarioSpec
from sim.scenario.written_text import Origin, WrittenText


def load_scenario(origin: Origin, overrides: Sequence[str] = (), seed: int | None = None, catalog: Catalog | None = None) -> Scenario:
    """The scenario in `origin`, checked and resolved against `catalog` (default: the one that comes with the package).

    `overrides` are `--set` texts, applied in order: `key.path=value`, the value in YAML; entries of a list by number or
    by name (`request_classes.faq.share=0.2`); `candidates.relays=+NAME` appends. `seed` wins over the file.
    `digest` depends on all values after overrides and on the measured capacities; not on the seed, comments or places of files.
    Raises InputError.
    """
    read = read_scenario(origin, overrides, catalog)
    spec, catalog, path = read.spec, read.catalog, read.path
    if spec.calibration is not None:
        catalog = with_calibration(catalog, path.parent / spec.calibration)
    scenario = resolve(spec, catalog, path, spec.seed if seed is None else seed, _digest(read.document, path))
    text = origin if isinstance(origin, WrittenText) else None
    scenario = with_routing(replace(scenario, overrides=tuple(overrides), text=text), spec.routing, read.chosen)
    if scenario.measured_capacity is not None:
        read_measured_capacity(scenario)  # its faults are the scenario's faults: told now, not after a minute of work
    return scenario


@dataclass(frozen=True)
class Read:
    """A scenario as it is written, checked: `spec` knows which keys stand in it; `catalog` has its own models too."""

    document: Document
    spec: ScenarioSpec
    catalog: Catalog
    chosen: Chosen
    path: Path


def read_scenario(origin: Origin, overrides: Sequence[str] = (), catalog: Catalog | None = None) -> Read:
    """The scenario in `origin` before it is resolved. Raises InputError with every problem."""
    path = origin.path if isinstance(origin, WrittenText) else Path(origin)
    document = read_document(origin if isinstance(origin, WrittenText) else path)
    profiles = merge_profiles(document, path.parent)
    applied = apply_overrides(document, list(overrides))
    applied += merge_profiles(document, path.parent) or profiles
    if catalog is None:
        catalog = load_catalog()
    problems = Problems(document)
    catalog = with_own_models(problems, catalog, path.parent)
    chosen = choose_models(problems, catalog, path.parent)
    spec = _validated(problems, catalog)
    crosscheck(problems, document.data, catalog)
    if spec is not None:
        _check_files(problems, spec, path.parent)
    if applied or problems.found or chosen.problems:
        raise InputError([*problems.lines(), *applied, *chosen.problems])
    assert spec is not None
    return Read(document, spec, catalog, chosen, path)


def _validated(problems: Problems, catalog: Catalog) -> ScenarioSpec | None:
    try:
        return ScenarioSpec.model_validate(problems.document.data, context=_known(problems.document, catalog))
    except ValidationError as error:
        add_faults(problems, error, ScenarioSpec)
        return None


def _known(document: Document, catalog: Catalog) -> Known:
    """Names that validators accept: those of the catalogue, and models of relays that the file itself writes out."""
    candidates = document.data.get("candidates")
    candidates = candidates if isinstance(candidates, dict) else {}
    relays = candidates.get("relays")
    written = [each.get("model") for each in relays if isinstance(each, dict)] if isinstance(relays, list) else []
    models = {relay.model for relay in catalog.relays.values()} | {each for each in written if isinstance(each, str)}
    return Known(catalog, frozenset(models), measured=candidates.get("measured_capacity") is not None)


def _check_files(problems: Problems, spec: ScenarioSpec, folder: Path) -> None:
    named: list[tuple[tuple[str | int, ...], str | None]] = [(("candidates", "measured_capacity"), spec.candidates.measured_capacity)]
    named.append((("traffic", "log"), getattr(spec.traffic, "log", None)))
    named.append((("calibration",), spec.calibration))
    named += _documents(spec)
    for place, name in named:
        if name is not None and not _is_file(folder / name):
            problems.add(place, f'"{printable(name)}" is no file in {folder}; write its path relative to the scenario')


def _documents(spec: ScenarioSpec) -> list[tuple[tuple[str | int, ...], str | None]]:
    """Documents of contracts with their places in the file."""
    found: list[tuple[tuple[str | int, ...], str | None]] = []
    for kind in ("offers", "relays"):
        for index, entry in enumerate(getattr(spec.candidates, kind) or ()):
            contract = getattr(entry, "contract", None)  # an entry may be a mere name
            if contract is not None:
                found.append((("candidates", kind, index, "contract", "document"), contract.document))
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _digest(document: Document, path: Path) -> str:
    data: dict[str, Any] = dict(document.data)
    data.pop("seed", None)
    text = json.dumps(data, sort_keys=True)
    measured = (data.get("candidates") or {}).get("measured_capacity")
    if measured is not None:
        text += read_text(path.parent / measured, "capacity")
    if data.get("calibration") is not None:
        text += read_text(path.parent / data["calibration"], "calibration")
    for file in routing_texts(data, path.parent):
        text += read_text(file, "routing")
    for _, _, file in config_files(data, path.parent):
        text += read_text(file, "config.json")
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
