"""Routing from scenario to plan: costs by hand, latency, what it saves, what is known of the answers, and the saved plan replayed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optimize.explain import answer_quality as quality
from optimize.explain.answer_quality import quality_of
from optimize.market.candidates import candidates
from optimize.market.cascades import cascade_of, classifier_prices
from optimize.market.operating_point import Probe
from optimize.market.pools import slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.plan import optimize
from optimize.records import Alternative
from optimize.report.terminal.render_plan import render
from optimize.result import ClassQuality, ModelQuality, Plan
from optimize.search.loop import Settled
from optimize.search.rate_search import run_seed
from optimize.search.routing import NO_ROUTING, lateness, saves, strongest_only, with_escalations
from optimize.search.simulated_hour import fleet_of
from optimize.simulate.named_fleet import build_fleet, parse_fleet
from optimize.simulate.saved_plan import fleet_from_plan
from optimize.tables.plan_json import plan_json
from optimize.tables.quality_table import verdict_words
from sim.engine.step_cost import step_cost
from sim.errors import InputError
from sim.fleet.cascade import first_targets
from sim.fleet.simulate import simulate
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of
from sim.traffic import hour as hour_traffic

MONTH_S = 730 * 3600.0
TEXT = """\
name: routed
traffic: {rate_rps: 1}
routing:
  classifier: {usd_per_request: 1e-5, latency_s: 0.3, misroute_share: 0.1}
  quality: q.csv
request_classes:
  - {name: faq, share: 0.75, task: simple_classification, input_tokens: 300, output_tokens: 20, slo: {ttft: {p90: 3.0}}}
  - {name: code, share: 0.25, models: [gpt-4.1], input_tokens: 800, output_tokens: 100, slo: {ttft: {p95: 5.0}}}
candidates:
  offers: []
  relays: [deepinfra.llama-3.1-8b, openai.gpt-4.1]
budget: {per_month: 100000}
"""
ROWS = """\
class,model,accepted,n,evaluator,date
faq,llama-3.1-8b,0.9,500,team,2026-11-01
faq,gpt-4.1,0.98,500,team,2026-11-01
"""


def scenario_at(folder: Path, *overrides: str) -> Scenario:
    (folder / "s.yaml").write_text(TEXT, encoding="utf-8")
    (folder / "q.csv").write_text(ROWS, encoding="utf-8")
    return load_scenario(folder / "s.yaml", overrides)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return scenario_at(tmp_path_factory.mktemp("routed"))


@pytest.fixture(scope="module")
def plan(scenario: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return optimize(scenario, jobs=1, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def said(plan: Plan) -> dict[str, Any]:
    return plan_json(plan)


def test_the_bill_is_that_of_first_and_second_answers_and_of_the_classifier(plan: Plan) -> None:
    lines = {line.name: line.per_month_usd for line in plan.lines}
    weak, strong, code = (300 * 0.03 + 20 * 0.05) / 1e6, (300 * 2 + 20 * 8) / 1e6, (800 * 2 + 100 * 8) / 1e6
    row = plan.scenario.relays[0]
    assert (row.usd_per_mtok_input, row.usd_per_mtok_output) == (0.03, 0.05)
    faq = 0.75 * MONTH_S
    assert lines["deepinfra.llama-3.1-8b"] == pytest.approx(faq * weak)
    assert lines["openai.gpt-4.1"] == pytest.approx(faq * 0.1 * strong + 0.25 * MONTH_S * code)
    assert lines["request classifier"] == pytest.approx(faq * 1e-5)
    assert plan.status == "met" and plan.solution.cost_usd == pytest.approx(sum(lines.values()))


def test_what_routing_saves_is_the_difference_to_the_strongest_tiers_without_a_classifier(plan: Plan) -> None:
    alone = next(each for each in plan.alternatives if each.name == NO_ROUTING)
    assert alone.per_month_usd == pytest.approx(0.75 * MONTH_S * 760 / 1e6 + 0.25 * MONTH_S * 2400 / 1e6)
    assert plan.quality is not None and plan.quality.routing.startswith(
        f"saves ${alone.per_month_usd - plan.solution.cost_usd:,.0f} a month"
    )


def test_shares_are_of_answers_that_count_and_routing_holds_what_is_sent(said: dict[str, Any]) -> None:
    faq = said["classes"][0]
    assert faq["served_by"] == {"deepinfra.llama-3.1-8b": 0.9, "openai.gpt-4.1": 0.1}
    assert said["routing"]["faq"] == {"deepinfra.llama-3.1-8b": [1.0], "openai.gpt-4.1": [0.1]}
    assert said["relays"][0]["requests_per_month"] + said["relays"][1]["requests_per_month"] == round(MONTH_S * (1 + 0.075))


def test_cost_per_accepted_answer_counts_every_dollar_of_the_class(plan: Plan, said: dict[str, Any]) -> None:
    faq, code = said["quality"]["classes"]
    share = 0.9 * 0.9 + 0.1 * 0.98
    cost = 0.75 * MONTH_S * (300 * 0.03 + 20 * 0.05 + 0.1 * 760 + 10) / 1e6
    assert faq["accepted_share"] == pytest.approx(share)
    assert faq["per_accepted_answer"] == pytest.approx(cost / (0.75 * MONTH_S * share))
    assert code["accepted_share"] is None and code["models"][0]["n"] == 0
    assert said["quality"]["verdict"] == ""  # code names one model: its user has chosen it
    assert "of answers accepted (llama-3.1-8b 90.0 % of 500" in render(plan)


def test_without_evaluations_the_verdict_says_so(plan: Plan) -> None:
    bare = replace(plan.scenario, routing=replace(plan.scenario.routing, quality=()))  # type: ignore[type-var]
    found = quality_of(bare, plan.program, plan.solution, plan.lines)
    assert found is not None and found.verdict == "answer quality not evaluated"
    assert "MET; answer quality not evaluated.  " in render(replace(plan, quality=found))
    assert verdict_words(replace(plan, quality=found)) == "MET; answer quality not evaluated"
    assert "not evaluated" not in render(replace(plan, quality=replace(found, verdict=""))) and verdict_words(plan) == "MET"
    assert verdict_words(replace(plan, quality=found, status="missed")) == "MISSED"


def test_a_scenario_in_which_every_class_names_one_model_hears_nothing_of_quality(plan: Plan) -> None:
    classes = tuple(replace(each, models=("gpt-4.1",)) for each in plan.scenario.request_classes)
    assert quality_of(replace(plan.scenario, request_classes=classes, routing=None), plan.program, plan.solution, plan.lines) is None


def test_only_some_classes_evaluated_is_said_by_name(scenario: Scenario) -> None:
    both = replace(scenario, request_classes=tuple(replace(each, models=("a", "b")) for each in scenario.request_classes))
    rows = (ModelQuality("a", 1.0, 0.9, 0.8, 100),), (ModelQuality("a", 1.0),)
    classes = [ClassQuality(name, models, None, None) for name, models in zip(("faq", "code"), rows, strict=True)]
    assert quality.verdict(both, classes) == "answer quality not evaluated for code"


def test_the_verified_hour_saw_second_answers_and_the_delay_of_the_classifier(plan: Plan) -> None:
    hour = fleet_of(plan.scenario, plan.program, plan.solution, [], 0)
    assert hour.fleet.cascade is not None and hour.fleet.shares.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert hour.fleet.cascade.before_ps.tolist() == [300_000_000_000, 0]
    requests = hour_traffic(plan.scenario, 0, seed=5, duration_s=3000.0, warmup_s=0.0)
    with_it = simulate(hour.fleet, requests, seed=5).log
    without = simulate(replace(hour.fleet, cascade=None), requests, seed=5).log
    once = (requests.class_id == 0) & (with_it.target == 0)
    assert np.array_equal(with_it.first_ps[once] - without.first_ps[once], np.full(once.sum(), 300_000_000_000))
    first = first_targets(hour.fleet, requests, 5)
    again = (first == 0) & (with_it.target == 1)
    assert abs(again.mean() - 0.075) < 0.02
    assert (with_it.first_ps[again] > without.finish_ps[again]).all()


def test_the_saved_plan_is_the_fleet_that_was_verified(plan: Plan, said: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(said), encoding="utf-8")
    saved, _ = fleet_from_plan(tmp_path / "plan.json", plan.scenario, 0, "least_outstanding")
    verified = fleet_of(plan.scenario, plan.program, plan.solution, [], 0).fleet
    assert saved.cascade is not None and verified.cascade is not None
    for ours, theirs in (
        (saved.shares, verified.shares),
        (saved.cascade.again, verified.cascade.again),
        (saved.cascade.to, verified.cascade.to),
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_a_saved_plan_with_shares_beyond_second_answers_is_refused(plan: Plan, said: dict[str, Any], tmp_path: Path) -> None:
    more = json.loads(json.dumps(said))
    more["routing"]["faq"]["openai.gpt-4.1"] = [0.5]
    (tmp_path / "plan.json").write_text(json.dumps(more), encoding="utf-8")
    with pytest.raises(InputError, match="routing shares"):
        fleet_from_plan(tmp_path / "plan.json", plan.scenario, 0, "least_outstanding")


def test_a_fleet_named_by_hand_answers_again_at_its_strongest_tier(scenario: Scenario) -> None:
    both, _ = build_fleet(scenario, *parse_fleet("relay:deepinfra.llama-3.1-8b, relay:openai.gpt-4.1", scenario), "round_robin", None)
    assert both.cascade is not None and both.cascade.again[0].tolist() == [0.1, 0.0] and both.cascade.to[0].tolist() == [0.0, 1.0]
    assert both.shares[0].tolist() == [0.5, 0.5]
    alone, _ = build_fleet(scenario, *parse_fleet("relay:openai.gpt-4.1", scenario), "round_robin", None)
    assert alone.cascade is not None and not alone.cascade.again.any()


def test_a_relay_has_less_time_by_what_the_classifier_takes(tmp_path: Path) -> None:
    slow = scenario_at(tmp_path, "routing.classifier.latency_s=0.3")
    late = scenario_at(tmp_path, "request_classes.faq.slo={ttft: {p90: 2.7}}", "routing.classifier.latency_s=0")
    ours, theirs = (relay_terms(each, demand_of(each), slo_rows(each)) for each in (slow, late))
    assert [terms.miss[0] for terms in ours] == [terms.miss[0] for terms in theirs]
    assert relay_terms(scenario_at(tmp_path, "routing.classifier.latency_s=3"), demand_of(slow), slo_rows(slow))[0].miss[0] == 1.0


def test_a_pool_has_less_time_by_what_the_classifier_takes(tmp_path: Path) -> None:
    text = TEXT.replace("offers: []", "offers: [aws.g6e.xlarge]\n  weights: [fp8]").replace("[deepinfra.llama-3.1-8b, ", "[")
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "q.csv").write_text(ROWS, encoding="utf-8")
    seen = []
    for latency_s in (0.0, 0.3):
        found = load_scenario(tmp_path / "p.yaml", [f"routing.classifier.latency_s={latency_s}", "policy.allow=[aws.*, llama-3.1-8b]"])
        options = candidates(found, demand_of(found))[0]
        option = next(each for each in options if each.deployment and each.deployment.model.id == "llama-3.1-8b")
        assert option.deployment is not None
        cost = step_cost(option.deployment, found.catalog.calibration)
        probe = Probe(option, cost, (1.0, 0.0), 1, slo_rows(found), 100.0, 0.03)
        seen.append(run_seed(found, probe, 0.5, 101, 1.0).latency_s[0])
    assert seen[0] is not None and seen[1] is not None
    np.testing.assert_allclose(seen[1] - seen[0], 0.3, atol=1e-9)


def test_lateness_is_the_whole_weak_answer_before_the_strong_one_starts(scenario: Scenario) -> None:
    demand = demand_of(scenario)
    weak, top = np.array([True, False]), np.array([False, True])
    for limit_s, expected in ((0.31, 1.0), (60.0, 0.0)):
        rows = (replace(slo_rows(scenario)[0], limit_s=limit_s),)
        relays = relay_terms(scenario, demand, rows)
        found = lateness(scenario, demand, rows, 0, (), {}, relays, weak, top)
        assert found[0, 0] == pytest.approx(expected, abs=0.01) and found[1, 0] == 0.0


def test_second_answers_that_come_late_are_kept_inside_the_promise_in_simulation_too(tmp_path: Path) -> None:
    """TTFT p95 <= 1.5 s with 30 % in vain: a quarter of the second answers is late, so not everything may go to the weak model."""
    weak = []
    for limit_s in (1.5, 60):
        changes = [f"request_classes.faq.slo={{ttft: {{p95: {limit_s}}}}}", "routing.classifier={misroute_share: 0.3}"]
        plan = optimize(scenario_at(tmp_path, *changes), jobs=1, cache=tmp_path / "cache", only_plan=True)
        assert plan.status == "met"
        weak.append(float(plan.solution.relay_flow[0, 0, 0]))
    assert 0.0 < weak[0] < 0.7 and weak[1] == pytest.approx(0.75)


def test_without_a_stronger_candidate_nobody_is_weaker(scenario: Scenario) -> None:
    alone = replace(scenario, relays=scenario.relays[:1])
    demand, slos = demand_of(alone), slo_rows(alone)
    _, relays = with_escalations(alone, demand, slos, (), {}, relay_terms(alone, demand, slos))
    assert [terms.escalation for terms in relays] == [None]


def test_strongest_tiers_alone_need_no_classifier(scenario: Scenario) -> None:
    narrow = strongest_only(scenario, [{"llama-3.1-8b", "gpt-4.1"}, {"gpt-4.1"}])
    assert [each.models for each in narrow.request_classes] == [("gpt-4.1",), ("gpt-4.1",)]
    kept = strongest_only(scenario, [{"llama-3.1-8b", "gpt-4.1"}, {"gpt-4.1"}], frozenset((1,)))
    assert kept.request_classes[0] == scenario.request_classes[0]
    assert classifier_prices(narrow) is None and classifier_prices(scenario) is not None
    fleet_shares, cascade = cascade_of(narrow, ["gpt-4.1"], np.ones((2, 1)))
    assert cascade is None and fleet_shares.shape == (2, 1)


def test_routing_that_costs_more_than_it_saves_is_said(plan: Plan) -> None:
    settled = Settled(plan.program, plan.solution, ())
    cheaper = Alternative(NO_ROUTING, "within_budget", plan.solution.cost_usd - 100.0)
    assert saves((cheaper,), settled).startswith("costs $100 a month more than each class on its strongest tier")
    assert saves((Alternative(NO_ROUTING, "infeasible", None),), settled).startswith("without it no plan serves everything")
    assert saves((), settled) == ""


def test_a_classifier_that_does_not_pay_is_not_planned_and_not_replayed(tmp_path: Path) -> None:
    """At a cent a look, the strongest tier for everything is cheaper: then no request pays for the classifier or waits for it."""
    dear = scenario_at(tmp_path, "routing.classifier.usd_per_request=0.01")
    plan = optimize(dear, jobs=1, cache=tmp_path / "cache")
    assert plan.status == "met" and [line.name for line in plan.lines] == ["openai.gpt-4.1"]
    assert any("routing does not pay for faq" in each for each in plan.warnings)
    said = plan_json(plan)
    bare = quality_of(replace(plan.scenario, routing=replace(plan.scenario.routing, quality=())), plan.program, plan.solution, plan.lines)
    assert bare is not None and bare.verdict == "answer quality not evaluated"  # several models were allowed all the same
    assert said["quality"]["classified"] == [] and all(each["name"] != NO_ROUTING for each in said["alternatives"])
    (tmp_path / "plan.json").write_text(json.dumps(said), encoding="utf-8")
    saved, _ = fleet_from_plan(tmp_path / "plan.json", dear, 0, "least_outstanding")
    assert saved.cascade is None


def test_same_scenario_same_bytes(plan: Plan, said: dict[str, Any], tmp_path: Path) -> None:
    again = optimize(plan.scenario, jobs=1, cache=tmp_path)
    assert json.dumps(plan_json(again), sort_keys=True) == json.dumps(said, sort_keys=True)
