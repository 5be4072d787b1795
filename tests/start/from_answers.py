"""The scenario that `new` writes for answers."""

from __future__ import annotations

from pathlib import Path

from optimize.estimate.new_scenario import new_scenario
from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario
from sim.start.answers import Answers

CATALOG = load_catalog()


def made(tmp_path: Path, **answers: object) -> Scenario:
    """Written as a file and read again."""
    path = tmp_path / "n.yaml"
    new_scenario(Answers("n", **answers), path, CATALOG, None, True, lambda _: None)  # type: ignore[arg-type]
    return load_scenario(path)
