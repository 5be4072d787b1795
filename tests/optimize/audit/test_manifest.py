"""The run manifest: hashes of what went in, a re-run that is identical, and what is said when something changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from optimize.audit.manifest import manifest, read_manifest
from optimize.audit.rerun import Json, differences, rerun
from optimize.plan import optimize
from optimize.report.write import write_results
from optimize.tables.plan_json import plan_json
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def make(scenario: Scenario, explain: str = "brief") -> Json:
    return plan_json(optimize(scenario, full=explain == "full"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan on measured capacities (nothing is simulated, so it is made in a moment), with overrides, in a results folder."""
    folder = tmp_path_factory.mktemp("run")
    for name in ("melange.yaml", "melange_capacity.csv"):
        shutil.copy(SCENARIOS / name, folder / name)
    scenario = load_scenario(folder / "melange.yaml", ["budget.per_month=90000"], 7)
    return write_results(optimize(scenario), folder / "out")


@pytest.fixture
def again(results: Path, tmp_path: Path) -> Path:
    """A copy whose manifest points into the copy, so that a test may spoil it."""
    shutil.copytree(results.parent, tmp_path / "run")
    said = (tmp_path / "run/out/manifest.json").read_text().replace(str(results.parent), str(tmp_path / "run"))
    (tmp_path / "run/out/manifest.json").write_text(said)
    return tmp_path / "run"


def test_every_input_is_named_with_its_hash(results: Path) -> None:
    said = read_manifest(results)
    assert [Path(row["path"]).name for row in said["inputs"]] == ["melange.yaml", "melange_capacity.csv"]
    for row in said["inputs"]:
        assert row["sha256"] == hashlib.sha256(Path(row["path"]).read_bytes()).hexdigest()
    assert said["scenario"]["overrides"] == ["budget.per_month=90000"] and said["scenario"]["seed"] == 7
    assert said["command"].endswith("--seed 7 --set budget.per_month=90000")
    assert said["result"]["plan_sha256"] == hashlib.sha256((results / "plan.json").read_bytes()).hexdigest()


def test_the_same_run_has_the_same_manifest(results: Path) -> None:
    said = read_manifest(results)
    scenario = load_scenario(Path(said["scenario"]["path"]), said["scenario"]["overrides"], 7)
    assert manifest(scenario, make(scenario)) == said


def test_a_plan_made_again_is_identical(again: Path) -> None:
    found = rerun(again / "out", make)
    assert (found.identical, found.changed_inputs, found.differences) == (True, (), ())
    assert found.text() == "identical: the plan made again has the same bytes\n"


def test_a_changed_input_is_named_and_its_copy_is_used(again: Path) -> None:
    (again / "melange_capacity.csv").write_text("offer,class,rate_rps\n")
    found = rerun(again / "out", make)
    assert found.identical and "melange_capacity.csv has other content; its copy in inputs/ is used" in found.changed_inputs[0]


def test_a_changed_input_without_a_copy_is_refused(again: Path) -> None:
    shutil.rmtree(again / "out/inputs")
    (again / "melange.yaml").unlink()
    with pytest.raises(InputError, match="there is no copy"):
        rerun(again / "out", make)


def test_what_changed_is_told_by_key(again: Path) -> None:
    plan = json.loads((again / "out/plan.json").read_text())
    plan["cost"]["lines"][0]["per_month"] += 1
    (again / "out/plan.json").write_text(json.dumps(plan))
    found = rerun(again / "out", make)
    name = plan["cost"]["lines"][0]["name"]
    assert not found.identical and [row[0] for row in found.differences] == [f"cost.lines.{name}.per_month"]
    assert "different: 1 value of plan.json" in found.text() and found.as_json()["identical"] is False


def test_another_catalogue_or_version_is_told(again: Path) -> None:
    said = json.loads((again / "out/manifest.json").read_text())
    said["catalog"]["digest"], said["software"]["numpy"] = "old", "1.0"
    (again / "out/manifest.json").write_text(json.dumps(said))
    changed = rerun(again / "out", make).changed_inputs
    assert any(text.startswith("catalogue of") for text in changed) and any(text.startswith("numpy 1.0, now") for text in changed)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "servemix.manifest/1"}', "\x00"])
def test_a_manifest_that_is_none_is_one_message(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_manifest(tmp_path)


def test_lists_of_rows_are_compared_by_name_and_not_by_place() -> None:
    a, b = {"name": "a", "v": 1}, {"name": "b", "v": 2}
    assert differences({"x": [a, b]}, {"x": [b, a]}) == []
    assert differences({"x": [a]}, {"x": [a, b]}) == [("x.b", None, b)]


def test_an_option_that_changes_what_a_plan_says_is_part_of_the_manifest(again: Path) -> None:
    said = json.loads((again / "out/manifest.json").read_text())
    assert said["options"] == {"explain": "brief"}
    scenario = load_scenario(Path(said["scenario"]["path"]), said["scenario"]["overrides"], 7)
    plan = json.loads((again / "out/plan.json").read_text())
    assert manifest(scenario, plan, "full")["command"].endswith("--explain full")
    said["options"]["explain"] = "full"
    (again / "out/manifest.json").write_text(json.dumps(said))
    asked: list[str] = []

    def note(scenario: Scenario, explain: str) -> Json:
        asked.append(explain)
        return make(scenario)

    assert rerun(again / "out", note).identical and asked == ["full"]
