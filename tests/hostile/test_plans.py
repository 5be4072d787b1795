"""A saved plan that was torn or edited: every part that is read has its form, and each fault is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from optimize.audit.manifest import plan_bytes
from optimize.plan import optimize
from optimize.simulate.saved_plan import FORM, read_plan
from optimize.tables.plan_json import plan_json
from sim.errors import InputError
from sim.forms import unlike
from sim.scenario import load_scenario

ROOT = Path(__file__).resolve().parents[2]

PLAN: dict[str, Any] = {
    "schema": "servemix.plan/1",
    "scenario": "a",
    "status": "met",
    "cost": {"currency": "USD", "per_month": 1.5, "lower_bound_per_month": None, "lines": [{"name": "x", "kind": "relay", "per_month": 1}]},
    "fleet": [],
    "relays": [{"relay": "x", "model": "m", "limits_enforced": True}],
    "classes": [{"name": "chat", "requests_per_month": 9, "served_by": {"x": 1.0}}],
    "routing": {"chat": {"x": [1, 0.5]}},
}


def written(tmp_path: Path, value: object) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(value))
    return path


def test_a_plan_of_an_earlier_version_may_lack_parts(tmp_path: Path) -> None:
    assert read_plan(written(tmp_path, PLAN)) == PLAN
    assert read_plan(written(tmp_path, {"schema": "servemix.plan/1"}))


@pytest.mark.parametrize("key", [key for key in PLAN if key != "schema"])
@pytest.mark.parametrize("value", [None, True, 7, "x", [1], {"a": 1}, [[]]])
def test_every_part_that_is_read_has_its_form(key: str, value: object, tmp_path: Path) -> None:
    if (isinstance(value, str) and FORM[key] is str) or (value == {"a": 1} and isinstance(FORM[key], dict) and "*" not in FORM[key]):
        return
    with pytest.raises(InputError, match=rf"plan\.json: {key}"):
        read_plan(written(tmp_path, PLAN | {key: value}))


def test_the_place_of_a_wrong_value_is_named(tmp_path: Path) -> None:
    bad = PLAN | {"cost": PLAN["cost"] | {"lines": [{"name": "x", "kind": "relay", "per_month": [1]}]}}
    with pytest.raises(InputError, match=r"plan\.json: cost\.lines\.0\.per_month: \[1\] is not a number"):
        read_plan(written(tmp_path, bad))


def test_a_plan_that_optimize_writes_is_read(tmp_path: Path) -> None:
    plan = optimize(load_scenario(ROOT / "scenarios" / "melange.yaml"), jobs=1, only_plan=True)
    path = tmp_path / "plan.json"
    path.write_bytes(plan_bytes(plan_json(plan)))
    assert unlike(read_plan(path), {key: form for key, form in FORM.items() if key != "moved"}) == [], "no batch work was moved"
