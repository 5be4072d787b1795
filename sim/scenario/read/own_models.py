"""Models that a scenario describes by their config.json, as further rows of the catalogue."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim.catalog.facts import Catalog, Model
from sim.catalog.model_config import load_model_config
from sim.errors import InputError
from sim.scenario.read.document import Problems, printable


def config_files(data: Any, folder: Path) -> list[tuple[int, str, Path]]:
    """(index, name, file) of every well-formed entry of the scenario's `models`; the schema complains of the others."""
    entries = data.get("models") if isinstance(data, dict) else None
    found = []
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        name, config = (entry.get("name"), entry.get("config")) if isinstance(entry, dict) else (None, None)
        if isinstance(name, str) and isinstance(config, str) and config.strip() and config.isprintable():
            path = folder / config
            found.append((index, name, path / "config.json" if os.path.isdir(path) else path))
    return found


def with_own_models(problems: Problems, catalog: Catalog, folder: Path) -> Catalog:
    """`catalog` with the models of the scenario; what is wrong with a config.json is told at the line that names it."""
    added: dict[str, Model] = {}
    for index, name, file in config_files(problems.document.data, folder):
        if name in catalog.models or name in added:
            taken = "a model of the catalogue" if name in catalog.models else "used twice"
            problems.add(("models", index, "name"), f'"{printable(name)}" is {taken}; write another name')
            continue
        try:
            added[name] = load_model_config(file, name)
        except InputError as error:
            for line in error.problems:
                problems.add(("models", index, "config"), line)
            added[name] = next(iter(catalog.models.values()))  # so that classes that use it are not called wrong too
    return replace(catalog, models={**catalog.models, **added}) if added else catalog
