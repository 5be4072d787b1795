"""The JSON schema of a scenario file, for editors that check while one types: `python -m sim.scenario.json_schema [FILE]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sim.scenario.schema.scenario import ScenarioSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE = "scenario.schema.json"  # stands together with the samples
EDITOR_LINE = f"# yaml-language-server: $schema={FILE}"


def scenario_json_schema() -> dict[str, Any]:
    """Keys, types and bounds. Names of the catalogue, sums of shares and files are checked by `servemix check` alone."""
    return {"$schema": DIALECT, **tidy(ScenarioSpec.model_json_schema())}


def tidy(node: Any, names: bool = False) -> Any:
    """`node` with our own notes in the words of JSON schema; `names`: its keys are names of properties and no keywords.

    >>> tidy({"description": "limit", "unit": "USD", "example": 5})
    {'description': 'limit [USD]', 'examples': [5]}
    """
    if isinstance(node, list):
        return [tidy(each) for each in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {name: tidy(each) for name, each in node.items()}
    unit = node.get("unit")
    said = {
        key: tidy(each, key in ("properties", "$defs"))
        for key, each in node.items()
        if key not in ("unit", "example", "new_row", "default")
    }
    if unit and "description" in said:
        said["description"] = f"{said['description']} [{unit}]"
    if node.get("default") is not None:
        said["default"] = node["default"]
    return said | ({"examples": [node["example"]]} if node.get("example") is not None else {})


def schema_text() -> str:
    """The schema as it stands in its file."""
    return json.dumps(scenario_json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
    else:
        print(schema_text(), end="")
