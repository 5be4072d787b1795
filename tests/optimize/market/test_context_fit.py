"""A request that does not fit a context: no one is sent it who must refuse it, and where it fits nowhere it misses every promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optimize.plan import optimize
from optimize.result import Plan
from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

RELAY = "{{name: {name}, model: {model}, usd_per_mtok_input: {usd}, usd_per_mtok_output: {usd}, ttft_p50_s: 0.2, tokens_per_s: 100{more}}}"
TEXT = """
name: fit
traffic: {{rate_rps: 1}}
request_classes:
  - {{name: doc, share: 1, input_tokens: {tokens}, output_tokens: 100, models: [small, large]{budget}, slo: {{ttft: {{p{percent}: 5}}}}}}
candidates:
  offers: []
  relays:
    - {small}
    - {large}
budget: {{per_month: 1000000}}
"""
TAIL = "{quantiles: [[0, 1000], [0.97, 9000], [1, 20000]]}"  # about 2.7 % of the prompts are longer than 10,000 tokens


def scenario(folder: Path, tokens: str, small: int = 10_000, large: int = 100_000, percent: float = 95, budget: str = "") -> Scenario:
    rows = {
        name: RELAY.format(name=name, model=name, usd=usd, more=f", max_context: {context}")
        for name, usd, context in (("small", 0.1, small), ("large", 1, large))
    }
    path = folder / "fit.yaml"
    path.write_text(TEXT.format(tokens=tokens, percent=percent, budget=budget, **rows))
    return load_scenario(path)


def plan(*given: Any, **more: Any) -> Plan:
    return optimize(scenario(*given, **more), jobs=1, cache=given[0], only_plan=True)


def reasons(found: Plan) -> dict[str, str]:
    return {each.name: each.reason for each in found.dropped}


def test_nothing_is_sent_to_a_relay_that_must_refuse_it(tmp_path: Path) -> None:
    found = plan(tmp_path, "15000")
    assert found.status == "met" and [line.name for line in found.lines] == ["large"]
    assert "longest request 15,100 tokens > context of 10,000: refuses 100 %" in reasons(found)["small:doc"]


def test_relay_that_refuses_what_another_answers_is_left_out_and_said(tmp_path: Path) -> None:
    found = plan(tmp_path, TAIL)
    assert found.status == "met" and found.verification is not None
    assert max(each.unanswered for each in found.verification.verdicts) == 0.0
    assert "which large would answer" in reasons(found)["small:doc"]


def test_what_fits_nowhere_counts_as_missed_and_is_said(tmp_path: Path) -> None:
    found = plan(tmp_path, TAIL, large=10_000)
    assert found.status == "met" and found.verification is not None
    (verdict,) = found.verification.verdicts
    assert 0.02 < verdict.unanswered < 0.035 and verdict.attainment < 0.98
    assert plan(tmp_path, TAIL, large=10_000, percent=99).status == "infeasible"


@pytest.mark.parametrize(("percent", "status"), [(90, "met"), (99, "infeasible")])
def test_prompts_that_the_budget_of_the_class_refuses_are_misses(tmp_path: Path, percent: float, status: str) -> None:
    found = plan(tmp_path, TAIL, percent=percent, budget=", context: {max: 9600, reserve: 100}")
    assert found.status == status
    if found.verification is not None:
        assert found.verification.verdicts[0].unanswered > 0.02


def test_relay_of_a_user_has_the_context_of_its_model(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    row = RELAY.format(name="mine", model="qwen3-8b", usd=1, more="")
    path.write_text(
        "name: own\ntraffic: {rate_rps: 1}\n"
        "request_classes: [{name: a, share: 1, input_tokens: 10, output_tokens: 10, models: [qwen3-8b]}]\n"
        f"candidates: {{offers: [], relays: [{row}]}}\nbudget: {{per_month: 10}}\n"
    )
    assert load_scenario(path).relays[0].max_context == load_catalog().models["qwen3-8b"].max_context == 40_960
