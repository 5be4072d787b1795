"""The reference pages say what the code does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from optimize.report.terminal.render_reference import reference
from optimize.tables.plan_json import plan_json
from tests.optimize.report import plan_fixture

DOCS = Path(__file__).parents[3] / "docs" / "reference"


def keys(value: Any) -> set[str]:
    """All keys of nested objects, except where keys are names of the scenario."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    inner = (keys(part) for name, part in value.items() if name not in ("routing", "served_by", "extra"))
    return set(value).union(*inner)


def test_the_page_of_tables_is_up_to_date() -> None:
    assert (DOCS / "plan-tables.md").read_text(encoding="utf-8") == reference()


def test_every_key_of_the_json_is_documented() -> None:
    page = (DOCS / "plan-json.md").read_text(encoding="utf-8")
    words = set(page.replace("`", " ").replace(".", " ").replace("[]", " ").replace(",", " ").split())
    assert keys(plan_json(plan_fixture.plan())) - words == set()
