"""`servemix explain`: one paragraph per question, from plan.json alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import app
from optimize.tables.plan_json import plan_json
from optimize.tables.why_asked import why_class, why_hour, why_not
from sim.errors import InputError
from tests.optimize.explain.test_considered import explained, without
from tests.optimize.report import plan_fixture

Json = dict[str, Any]


@pytest.fixture(scope="module")
def whole() -> Json:
    return plan_json(explained(plan_fixture.plan()))


@pytest.fixture(scope="module")
def less() -> Json:
    """The plan without its reserved hosts and without the cheap relay."""
    return plan_json(explained(without(plan_fixture.plan(), pools=(1,), relays=(1,)), 1e-5))


def test_what_is_bought_says_so_with_its_part_of_the_bill(whole: Json) -> None:
    said = why_not(whole, "H100")
    assert said.startswith("H100 is in the plan: $11,235 a month, 29.0 % of the bill (neo.h100x2/llama-3.1-70b/fp8/tp2:chat+records).")
    assert 'The alternative "h100 only": $41,377 a month, met.' in said and "H100 leaves the plan above about $3.31" in said


@pytest.mark.parametrize("name", ["aws.g6e.xlarge", "l40s", "AWS", "llama-3.1-8b"])
def test_a_candidate_that_is_not_bought_says_by_how_much_it_costs_more_and_at_which_price_it_enters(less: Json, name: str) -> None:
    said = why_not(less, name)
    assert f"{name} is a candidate and not bought" in said and "at the margin" in said
    assert "of today's price" in said and "USD/host-hour (today 1.12)" in said


def test_a_dropped_candidate_says_why(whole: Json) -> None:
    assert why_not(whole, "t4.3").startswith("t4.3 was dropped before the search, 1 shape: t4 cannot multiply fp8.")
    assert "8 shapes: t4 cannot multiply fp8 (8 times)" in why_not(whole, "t4")


def test_a_name_that_the_plan_does_not_know_lists_near_ones(whole: Json) -> None:
    with pytest.raises(InputError, match=r'--why-not: "h10" is no offer, GPU type, model or relay of this plan; write one of h100'):
        why_not(whole, "h10")
    with pytest.raises(InputError, match=r'--why-class: "chatt" is no request class of this plan; write one of chat'):
        why_class(whole, "chatt")
    with pytest.raises(InputError, match=r'--why-hour: "monday 11" is no hour of this plan; write one of'):
        why_hour(whole, "monday 11")


def test_a_class_says_who_serves_it_what_it_costs_and_what_it_gets(whole: Json) -> None:
    said = why_class(whole, "Chat")
    assert "served by neo.h100x2/llama-3.1-70b/fp8/tp2:chat+records (70.0 %), host.llama-3.1-70b (30.0 %)" in said
    assert "TTFT p95 <= 1.00 s: 830 ms in its worst hour, weekday 14, met." in said and "a thousand more would cost $0.200" in said


def test_an_hour_says_how_busy_it_is_and_what_runs(whole: Json) -> None:
    said = why_hour(whole, "Weekday 14")
    assert said.startswith("weekday 14: 110 requests a second, the busiest of 48 hours.")
    assert "runs 5 replicas (1 to 5 over all hours)" in said and "faq goes to aws.g6e.xlarge/llama-3.1-8b/fp8:faq (100 %)" in said
    assert "neo.h100x2: 97% of measured capacity at weekday 14." in said
    assert "the 3rd busiest" in why_hour(whole, "weekday 13") or "the 2nd busiest" in why_hour(whole, "weekday 13")


def test_the_command_answers_several_questions_and_speaks_json(whole: Json, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(whole), encoding="utf-8")
    run = CliRunner().invoke(app, ["explain", str(saved), "--why-not", "h100", "--why-class", "faq"])
    assert run.exit_code == 0 and run.output.count("\n\n") == 1
    run = CliRunner().invoke(app, ["explain", str(saved), "--why-hour", "weekday 11", "--json"])
    assert json.loads(run.output)["answers"][0]["name"] == "weekday 11"


def test_no_question_and_a_torn_plan_are_one_message(whole: Json, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(whole), encoding="utf-8")
    run = CliRunner().invoke(app, ["explain", str(saved)])
    assert isinstance(run.exception, InputError) and "ask something" in str(run.exception)
    saved.write_text(json.dumps({"schema": whole["schema"], "fleet": [1]}), encoding="utf-8")
    run = CliRunner().invoke(app, ["explain", str(saved), "--why-not", "h100"])
    assert isinstance(run.exception, InputError) and "again" in str(run.exception)


def test_a_plan_of_an_earlier_version_is_answered_from_what_it_holds(whole: Json) -> None:
    old = {key: value for key, value in whole.items() if key != "considered"}
    assert "is in the plan" in why_not(old, "h100") and "served by" in why_class(old, "chat")
