"""The public API: what is exported, what it costs to import, and that it says what the command line says."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servemix
from optimize.audit.manifest import COPIES, copies, manifest
from optimize.audit.rerun import recorded_scenario
from optimize.tables.plan_json import SCHEMA
from sim.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parents[1]
TWO_OFFERS = ROOT / "scenarios" / "two_offers.yaml"
MINE: dict[str, Any] = {
    "name": "two_offers",
    "traffic": {"rate_rps": 5},
    "request_classes": [
        {"name": "chat", "share": 1.0, "input_tokens": 500, "output_tokens": 200, "models": ["llama-3.1-8b"], "slo": {"ttft": {"p95": 1.0}}}
    ],
    "candidates": {"offers": ["aws.g6e.xlarge"], "relays": ["deepinfra.llama-3.1-8b"], "weights": ["fp8"], "tensor_parallel": [1]},
    "budget": {"per_month": 5000},
}


@pytest.fixture(scope="module")
def plan() -> servemix.Plan:
    return servemix.optimize(MINE, jobs=1, explain="none")


def test_the_exports_are_these() -> None:
    types = ["Columns", "InputError", "Plan", "Scenario", "ServeMixError", "Simulation", "WhatIf"]
    assert servemix.__all__ == [*types, "load_scenario", "optimize", "simulate", "whatif"]
    assert all(getattr(servemix, name).__doc__ for name in servemix.__all__)
    assert servemix.Scenario is Scenario
    with pytest.raises(AttributeError):
        _ = servemix.optimise


def test_the_import_is_fast_and_loads_neither_numba_nor_matplotlib() -> None:
    code = "import sys, servemix; print(sorted({'numba', 'matplotlib', 'numpy', 'simpy', 'pydantic'} & set(sys.modules)))"

    def spent() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(spent() for _ in range(3)) < 0.15  # least of three: neighbours on the machine only add


def test_a_package_says_that_it_is_typed() -> None:
    assert all((ROOT / name / "py.typed").is_file() for name in ("servemix", "optimize", "sim"))


def test_a_dict_is_the_same_scenario_as_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(MINE), encoding="utf-8")
    there, here = servemix.load_scenario(file, seed=3), servemix.load_scenario(MINE, seed=3)
    assert here.digest == there.digest and here.request_classes == there.request_classes and here.seed == 3
    assert servemix.load_scenario(str(file)).digest == here.digest
    assert servemix.load_scenario({**MINE, "budget": {"per_month": np.int64(5000)}, "seed": 1}).digest == here.digest


def test_overrides_are_values_or_texts() -> None:
    by_value = servemix.load_scenario(MINE, overrides={"budget.per_month": 60, "candidates.relays": []})
    by_text = servemix.load_scenario(MINE, overrides=["budget.per_month=60", "candidates.relays=[]"])
    assert by_value.budget.per_month == 60 and by_value.relays == () and by_value.digest == by_text.digest
    with pytest.raises(servemix.InputError, match="is one text"):
        servemix.load_scenario(MINE, overrides="budget.per_month=60")


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"budgett": 1}, "scenario: budgett: is not a key here; nearest: budget"),
        ({"seed": object()}, "is no value of a scenario"),
        ({"budget": {"per_month": float("nan")}}, "budget.per_month"),
        ({"traffic": {"log": "absent.csv"}}, "absent.csv"),
    ],
)
def test_a_fault_of_a_dict_names_its_key(fault: dict[str, Any], told: str) -> None:
    with pytest.raises(servemix.ServeMixError) as raised:
        servemix.load_scenario({**MINE, **fault})
    assert told in str(raised.value) and ":1:" not in str(raised.value)


def test_a_plan_gives_plain_values_tables_and_its_json(plan: servemix.Plan) -> None:
    assert (plan.status, plan.met, plan.cost_per_month, plan.currency) == ("met", True, 328.5, "USD")
    assert plan.tables["cost"]["per_month"] == [328.5] and len({len(column) for column in plan.tables["hours"].values()}) == 1
    said = json.loads(plan.to_json())
    assert said == plan.to_dict() and said["schema"] == SCHEMA and said["cost"]["per_month"] == 328.5
    assert "MET" in str(plan) and repr(plan) == "<Plan two_offers: met, 328.50 USD a month>"
    assert plan.assumptions and isinstance(plan.warnings, tuple)


def test_a_written_plan_of_a_dict_keeps_the_scenario_and_can_be_made_again(plan: servemix.Plan, tmp_path: Path) -> None:
    said = manifest(plan.scenario, plan.to_dict())
    (tmp_path / COPIES).mkdir()
    for name, content in copies(plan.scenario).items():
        (tmp_path / COPIES / name).write_bytes(content)
    again, changed = recorded_scenario(tmp_path, said)
    assert again.digest == plan.scenario.digest and changed == ["scenario is gone; its copy in inputs/ is used"]
    assert "optimize inputs/scenario" in said["command"]


def test_a_plan_is_simulated_on_its_own_fleet_and_on_no_other_scenario(plan: servemix.Plan) -> None:
    felt = servemix.simulate(MINE, plan)
    assert felt.met and felt.hour == "every hour" and "MISSED" not in str(felt)
    log = felt.requests
    assert len(log["arrival_s"]) == len(log["ttft_s"]) > 0 and isinstance(log["ttft_s"][0], float)
    with pytest.raises(servemix.InputError, match="digest"):
        servemix.simulate({**MINE, "budget": {"per_month": 4000}}, plan)


def test_a_fleet_is_named_by_a_text_and_a_file_by_a_path(plan: servemix.Plan, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan.to_json(), encoding="utf-8")
    assert servemix.simulate(MINE, file).to_json() == servemix.simulate(MINE, plan).to_json()
    assert servemix.simulate(MINE, "relay:deepinfra.llama-3.1-8b").met
    with pytest.raises(servemix.InputError, match="--fleet"):
        servemix.simulate(MINE, "plan.json")


def test_what_if_of_a_dict() -> None:
    answer = servemix.whatif(MINE, {"budget.per_month": ["1k", 100]}, jobs=1)
    assert answer.table["status"] == ["met", "over_budget"] and answer.complete
    assert answer.to_dict()["schema"] == "servemix.whatif/1" and "every combination" in str(answer)
