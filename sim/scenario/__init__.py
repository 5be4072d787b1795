"""What a user writes: one YAML file, checked against the schema and the catalogue, with every problem in one message."""

from __future__ import annotations

from collections.abc import Sequence

from sim.catalog.facts import Catalog
from sim.scenario.scenario import Scenario
from sim.scenario.written_text import Origin

__all__ = ["load_scenario", "scenario_schema"]


def load_scenario(origin: Origin, overrides: Sequence[str] = (), seed: int | None = None, catalog: Catalog | None = None) -> Scenario:
    """The scenario in `origin` with `--set` texts applied; see `sim.scenario.read.load`. Raises InputError with all problems."""
    from sim.scenario.read import load as loader  # late: pydantic and the YAML reader cost start-up time that `--help` must not pay

    return loader.load_scenario(origin, overrides, seed, catalog)


def scenario_schema() -> str:
    """Reference of all scenario keys as Markdown; the text of docs/reference/scenario.md."""
    from sim.scenario import reference

    return reference.scenario_schema()
