"""Routing tables, quality floors, evaluations and the classifier: what a scenario may say, and what it is told where it may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario
from sim.scenario.routing.task_table import DEFAULT, FILE, read_table
from tests.scenario.helpers import problems, write

BASE = """\
name: routed
traffic: {rate_rps: 5}
routing: {classifier: {}}
request_classes:
  - {name: faq, share: 0.6, task: simple_classification, input_tokens: 300, output_tokens: 20}
  - {name: code, share: 0.4, task: code, input_tokens: 800, output_tokens: 300}
candidates:
  offers: []
  relays: [deepinfra.llama-3.1-8b, openai.gpt-4.1-mini, openai.gpt-4.1]
budget: {per_month: 100000}
"""
TABLE = """\
servemix_routing: 1
tiers: [small, large]
tasks: [{id: faq, tier: small}, {id: code, tier: large, downgrade_to: small}]
models: {llama-3.1-8b: small, gpt-4.1: large}
"""
ROWS = "class,model,accepted,n,evaluator,date\nfaq,llama-3.1-8b,0.95,400,team,2026-11-01\nfaq,gpt-4.1,0.98,400,team,2026-11-01\n"


def swapped(old: str, new: str, text: str = BASE) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def test_a_task_names_its_models_by_the_table_and_simple_tasks_may_be_downgraded(tmp_path: Path) -> None:
    path = write(tmp_path, BASE)
    faq, code = load_scenario(path).request_classes
    assert faq.models == ("llama-3.1-8b", "gpt-4.1-mini", "gpt-4.1") and code.models == ("gpt-4.1",)
    assert load_scenario(path, ["routing.downgrade=false"]).request_classes[0].models == ("gpt-4.1-mini", "gpt-4.1")


def test_a_floor_wins_over_the_task_and_a_list_over_both(tmp_path: Path) -> None:
    path = write(tmp_path, BASE)
    floor = load_scenario(path, ["request_classes.faq.quality={floor: strong}"])
    assert floor.request_classes[0].models == ("gpt-4.1",)
    listed = load_scenario(path, ["request_classes.faq.models=[gpt-4.1-mini]"])
    assert listed.request_classes[0].models == ("gpt-4.1-mini",)


def test_only_classes_with_several_tiers_have_a_classifier(tmp_path: Path) -> None:
    faq, code = load_scenario(write(tmp_path, BASE)).request_classes
    assert faq.classifier is not None and faq.classifier.misroute_share == 0.1 and faq.before_s("ttft") == 0.02
    assert code.classifier is None and code.before_s("e2e") == 0.0 and faq.before_s("tpot") == 0.0


def test_without_a_classifier_the_table_only_names_models(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, swapped("{classifier: {}}", "{}")))
    assert scenario.routing is not None and all(each.classifier is None for each in scenario.request_classes)


def test_models_that_no_candidate_serves_are_not_chosen(tmp_path: Path) -> None:
    own = load_scenario(write(tmp_path, swapped("offers: []", "offers: [aws.g6e.xlarge]"))).request_classes[0].models
    assert "llama-3.2-3b" in own and "bge-m3" not in own and "claude-sonnet-4.5" not in own


def test_own_hosts_only_means_models_that_can_be_hosted(tmp_path: Path) -> None:
    text = swapped("offers: []", "offers: [aws.g6e.xlarge]").replace("name: code,", "name: code, self_hosted_only: true,")
    assert "gpt-4.1" not in load_scenario(write(tmp_path, text)).request_classes[1].models


def test_an_own_table_is_used_and_changes_the_digest(tmp_path: Path) -> None:
    write(tmp_path, TABLE, "mine.yaml")
    path = write(tmp_path, swapped("{classifier: {}}", "{table: mine.yaml}").replace("task: simple_classification", "task: faq"))
    before = load_scenario(path)
    assert before.request_classes[1].models == ("llama-3.1-8b", "gpt-4.1")
    write(tmp_path, TABLE.replace("gpt-4.1: large", "gpt-4.1: small"), "mine.yaml")
    assert load_scenario(path).digest != before.digest


def test_evaluations_rule_out_models_by_the_lower_end_of_their_interval(tmp_path: Path) -> None:
    write(tmp_path, ROWS, "q.csv")
    text = swapped("routing: {classifier: {}}", "routing: {quality: q.csv}").replace(
        "name: faq,", "name: faq, quality: {min_accepted: 0.93},"
    )
    scenario = load_scenario(write(tmp_path, text))
    assert scenario.request_classes[0].models == ("gpt-4.1",)  # 0.95 of 400 is surely above 0.924 only
    assert any("llama-3.1-8b (0.95 of 400 accepted, surely 0.924); gpt-4.1-mini (not evaluated)" in each for each in scenario.warnings)
    lower = load_scenario(tmp_path / "s.yaml", ["request_classes.faq.quality.min_accepted=0.92"])
    assert lower.request_classes[0].models == ("llama-3.1-8b", "gpt-4.1")


def test_a_listed_model_keeps_its_token_factors_when_others_are_ruled_out(tmp_path: Path) -> None:
    write(tmp_path, ROWS, "q.csv")
    models = "models: [{name: gpt-4.1, output_token_factor: 1.5}, llama-3.1-8b], quality: {min_accepted: 0.93},"
    text = swapped("routing: {classifier: {}}", "routing: {quality: q.csv}").replace("name: faq,", f"name: faq, {models}")
    assert load_scenario(write(tmp_path, text)).request_classes[0].factors("gpt-4.1") == (1.0, 1.5)


def test_the_default_table_is_whole_and_knows_only_models_that_somebody_serves() -> None:
    table, catalog = read_table(DEFAULT, FILE.parent), load_catalog()
    known = set(catalog.models) | {relay.model for relay in catalog.relays.values()}
    embeddings = {model.id for model in catalog.models.values() if model.kind == "embedding"}
    chat = known - embeddings - {"embed-v4", "gemini-embedding-001", "text-embedding-3-large", "text-embedding-3-small", "voyage-4"}
    assert set(table.models) == chat
    assert set(table.tasks) == {
        *("simple_classification", "short_summarisation", "long_summarisation", "code"),
        *("creative_writing", "simple_chat", "complex_chat", "reasoning"),
    }
    assert set(table.models.values()) == set(range(len(table.tiers)))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("task: code", "task: coding", '6:36: request_classes.1.task: "coding" is no task of the routing table; nearest: code'),
        ("task: code,", "", "request_classes.1: has neither models, nor quality.floor, nor a task"),
        ("name: code,", "name: code, quality: {floor: huge},", '"huge" is no tier of the routing table; known: medium, small, strong'),
        ("name: code,", "name: code, quality: {min_accepted: 0.9},", "needs evaluations; write `routing: {quality: FILE}`"),
        ("{classifier: {}}", "{classifier: {misroute_share: 1}}", "misroute_share: 1 is too large; write at most 0.9"),
        ("{classifier: {}}", "{classifier: {latency: 1}}", "latency"),
        ("{classifier: {}}", "{table: nowhere.yaml}", '3:18: routing.table: "nowhere.yaml" is no file in'),
        ("{classifier: {}}", "{quality: nowhere.csv}", '3:20: routing.quality: "nowhere.csv" is no file in'),
        ("routing: {classifier: {}}", "", "5:5: request_classes.0: has no models; write `models: [...]`, or `routing: {table: default}`"),
        ("openai.gpt-4.1]", "openai.gpt-4.1-mini]", "no candidate serves a model of tier strong or above"),
        ("budget:", "policy: {relay_failover: relays}\nbudget:", "stands together with policy.relay_failover"),
        ("name: code,", "name: code, models: [bge-m3],", '"bge-m3" has no tier in the routing table; add `bge-m3: small`'),
        ("name: code,", "name: code, quality: {floor: strong}, models: [gpt-4.1-mini],", "below the floor strong; take it out"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_what_would_be_right(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = BASE.replace(", openai.gpt-4.1]", "]") if "mini]" in new and "openai" in new else swapped(old, new)
    assert any(told in each for each in problems(write(tmp_path, text)))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("servemix_routing: 1\n", "", "is no routing table: `servemix_routing: 1` is missing"),
        ("tiers: [small, large]", "tiers: [small, small]", "write them weakest first"),
        ("tier: small}", "tier: smal}", '"smal" is no tier of this table; nearest: small'),
        ("downgrade_to: small", "downgrade: small", 'downgrade: unknown key; nearest: downgrade_to'),
        ("{id: faq, tier: small}", "{id: faq, tier: small, downgrade_to: large}", '"large" is above the task\'s tier'),
        ("{id: faq, tier: small}", "{id: code, tier: small}", '"code" is here twice'),
        ("models: {llama-3.1-8b: small, gpt-4.1: large}", "models: []", "is no mapping of models to tiers"),
        ("gpt-4.1: large", "gpt-4.1: huge", 'mine.yaml:4:40: models.gpt-4.1: "huge" is no tier'),
        ("tasks: [", "task: [", "tasks"),
    ],
)  # fmt: skip
def test_a_table_that_is_wrong_is_told_line_by_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    write(tmp_path, swapped(old, new, TABLE), "mine.yaml")
    path = write(tmp_path, swapped("{classifier: {}}", "{table: mine.yaml}"))
    assert any(told in each for each in problems(path))


def test_a_name_in_the_table_that_nobody_knows_is_a_warning(tmp_path: Path) -> None:
    write(tmp_path, TABLE.replace("{llama-3.1-8b", "{llama-3.1-8x: small, llama-3.1-8b"), "mine.yaml")
    path = write(tmp_path, swapped("{classifier: {}}", "{table: mine.yaml}").replace("task: simple_classification", "task: faq"))
    assert any('"llama-3.1-8x" is no model' in each and "nearest: llama-3.1-8b" in each for each in load_scenario(path).warnings)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("accepted,n", "ok,n", "q.csv:1: has no column accepted; write the header class,model,accepted,n,evaluator,date"),
        ("faq,gpt-4.1,", "fqa,gpt-4.1,", 'q.csv:3: class: "fqa" is no class of the scenario; nearest: faq'),
        ("faq,gpt-4.1,", "faq,gpt-41,", 'q.csv:3: model: "gpt-41" is no model of the catalogue; nearest: '),
        ("0.98", "98", 'q.csv:3: accepted: "98" is not a share; write 0 to 1'),
        ("0.98", "nan", 'accepted: "nan" is not a share'),
        ("0.98,400", "0.98,0", 'q.csv:3: n: "0" is not a number of answers; write 1 or more'),
        ("0.98,400,team,2026-11-01", "0.98,400,,2026-11-01", "q.csv:3: evaluator: is empty"),
        ("0.98,400,team,2026-11-01", "0.98,400,team,2026-13-01", 'q.csv:3: date: "2026-13-01" is not a date; write YYYY-MM-DD'),
        ("0.98,400,team,2026-11-01", "0.98,400", "q.csv:3: row: has 4 cells, the header 6"),
        ("faq,gpt-4.1,", "faq,llama-3.1-8b,", "q.csv:3: row: repeats class and model of line 2"),
    ],
)
def test_a_bad_row_of_evaluations_is_told_by_line_and_column(tmp_path: Path, old: str, new: str, told: str) -> None:
    write(tmp_path, swapped(old, new, ROWS), "q.csv")
    assert any(told in each for each in problems(write(tmp_path, swapped("{classifier: {}}", "{quality: q.csv}"))))


def test_all_problems_of_scenario_table_and_evaluations_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, ROWS.replace("0.98", "98"), "q.csv")
    write(tmp_path, TABLE.replace("gpt-4.1: large", "gpt-4.1: huge"), "mine.yaml")
    found = problems(write(tmp_path, swapped("{classifier: {}}", "{table: mine.yaml, quality: q.csv}").replace("share: 0.6", "share: 2")))
    assert len(found) >= 3 and all(any(word in each for each in found) for word in ("mine.yaml:4", "q.csv:3", "share"))


def test_measured_capacities_do_not_say_who_answers(tmp_path: Path) -> None:
    write(tmp_path, "offer,class,rate_rps\nbox,faq,3\nbox,code,3\n", "m.csv")
    text = swapped("offers: []", "offers: [{name: box, usd_per_hour: 1}]\n  measured_capacity: m.csv")
    assert any("routing: stands together with candidates.measured_capacity" in each for each in problems(write(tmp_path, text)))


def test_a_scenario_without_routing_is_as_it_was(tmp_path: Path) -> None:
    text = BASE.replace("routing: {classifier: {}}\n", "").replace("task: simple_classification", "models: [gpt-4.1]")
    scenario = load_scenario(write(tmp_path, text.replace("task: code", "models: [gpt-4.1]")))
    assert scenario.routing is None and scenario == replace(scenario, routing=None)
    assert all(each.classifier is None for each in scenario.request_classes)
