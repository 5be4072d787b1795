"""Stress of saved plans: what each case does to whom, when it is over, what hardening costs."""

from __future__ import annotations

import doctest
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optimize.simulate.stress
import sim.fleet.life.draws
from optimize.audit.manifest import plan_bytes
from optimize.plan import optimize as make_plan
from optimize.report.terminal.render_stress import render_stress, stress_json
from optimize.result import Plan
from optimize.search.cache import CapacityStore
from optimize.search.simulated_hour import HOUR_S, WARMUP_S
from optimize.simulate import stress_cases
from optimize.simulate.hardening import hardening
from optimize.simulate.stress import recovery_s, stress, stress_saved
from optimize.simulate.stress_cases import BEGIN_PS, END_PS, NOTICE_S, cases
from optimize.simulate.stress_records import Stress, StressRow
from optimize.tables.plan_json import plan_json
from sim.fleet.fleet import Cascade
from sim.fleet.simulate import simulate
from sim.latency import attainment, class_metrics
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of
from sim.traffic import hour as hour_traffic

ROOT = Path(__file__).resolve().parents[3]
TINY = """
name: tiny
seed: 1
traffic: {rate_rps: 2}
request_classes:
  - {name: chat, share: 1.0, input_tokens: 300, output_tokens: 100, models: [llama-3.1-8b], slo: {ttft: {p95: 1.0}, tpot: {p95: 0.06}}}
candidates: {offers: [aws.g6e.xlarge], relays: [], weights: [fp8], tensor_parallel: [1]}
engine: {max_num_seqs: 2}
budget: {per_month: 20000, currency: USD}
"""
RELAYS = ["candidates.offers=[]", "candidates.relays=[deepinfra.llama-3.1-8b, novita.llama-3.1-8b]"]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stress") / "tiny.yaml"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def plans(file: Path) -> dict[bool, Plan]:
    """The tiny scenario without and with a spare host."""
    cache = file.parent / "cache"
    made = {}
    for spare in (False, True):
        scenario = load_scenario(file, [f"policy.n_plus_one={str(spare).lower()}"])
        made[spare] = make_plan(scenario, jobs=1, only_plan=True, cache=cache)
    return made


@pytest.fixture(scope="module")
def tests(plans: dict[bool, Plan]) -> dict[bool, Stress]:
    return {spare: stress(plan, plan.scenario) for spare, plan in plans.items()}


def row(found: Stress, name: str) -> StressRow:
    return next(each for each in found.rows if each.case.startswith(name))


def own(scenario: Scenario, by_hour: list[int], term: str = "on_demand") -> Json:
    """A plan.json's parts for one pool of the tiny scenario that serves everything."""
    pool = "aws.g6e.xlarge/llama-3.1-8b/fp8:chat"
    entry = {
        "pool": pool, "offer": "aws.g6e.xlarge", "gpu": "l40s", "model": "llama-3.1-8b", "weights": "fp8", "tensor_parallel": 1,
        "term": term, "replicas_per_host": 1, "replicas": {"by_hour": by_hour},
    }  # fmt: skip
    return {"fleet": [entry], "relays": [], "routing": {"chat": {pool: [1.0] * len(by_hour)}}}


def relayed(shares: dict[str, float]) -> Json:
    relays = [{"relay": name, "limits_enforced": False} for name in shares]
    return {"fleet": [], "relays": relays, "routing": {"chat": {name: [share] for name, share in shares.items()}}}


def test_a_plan_without_a_spare_host_fails_when_one_is_down_and_one_with_it_passes(
    plans: dict[bool, Plan], tests: dict[bool, Stress]
) -> None:
    assert plans[True].solution.hosts.sum() == plans[False].solution.hosts.sum() + 1
    assert plans[False].status == plans[True].status == "met"
    assert not row(tests[False], "host down").met
    assert row(tests[True], "host down").met
    assert row(tests[True], "host down").recovery_s == 0.0
    assert row(tests[False], "host down").restarts > 0  # the lost host was not idle
    assert row(tests[False], "host down").unanswered == 0  # late, not lost


def test_a_spare_host_that_is_lost_leaves_the_plan_without_one_as_planned(tests: dict[bool, Stress]) -> None:
    """The fleet is the same then, but for the requests that were taken back."""
    spare, plain = row(tests[True], "host down").attained[0], row(tests[False], "as planned").attained[0]
    assert spare.attainment == pytest.approx(plain.attainment, abs=2e-3)


def test_attainment_as_planned_is_that_of_the_simulator_over_the_same_seeds(plans: dict[bool, Plan], tests: dict[bool, Stress]) -> None:
    scenario, samples = plans[False].scenario, []
    fleet = cases(plan_json(plans[False]), scenario, demand_of(scenario))[0][0].fleet
    for seed in tests[False].seeds:
        requests = hour_traffic(scenario, 0, seed=seed, duration_s=HOUR_S, warmup_s=WARMUP_S)
        samples.append(class_metrics(simulate(fleet, requests, seed).log, 0, BEGIN_PS, END_PS)["ttft"])
    found = row(tests[False], "as planned").attained[0]
    assert found.attainment == attainment(np.concatenate(samples), 1.0)
    assert found.requests == sum(map(len, samples))


def test_more_demand_and_longer_steps_attain_less(tests: dict[bool, Stress]) -> None:
    calm, more, longer = (row(tests[False], name) for name in ("as planned", "demand", "steps"))
    assert more.requests == pytest.approx(1.3 * calm.requests, rel=0.03)
    assert longer.requests == calm.requests
    assert more.attained[0].attainment < calm.attained[0].attainment
    assert longer.attained[0].attainment < calm.attained[0].attainment
    assert calm.recovery_s is None and not calm.sudden


def test_a_relay_that_is_out_is_felt_until_it_is_back_unless_another_takes_over(file: Path) -> None:
    plan = relayed({"deepinfra.llama-3.1-8b": 1.0})
    alone = row(stress(plan, load_scenario(file, RELAYS), seeds=(5,)), "largest relay")
    assert alone.detail.startswith("deepinfra.llama-3.1-8b refuses every call for 30 minutes; nothing takes over")
    assert alone.unanswered == pytest.approx(alone.requests / 2, rel=0.06)
    assert alone.recovery_s == pytest.approx(1800, abs=10)
    assert not alone.met
    helped = row(stress(plan, load_scenario(file, [*RELAYS, "policy.relay_failover=relays"]), seeds=(5,)), "largest relay")
    assert helped.unanswered == 0  # by a relay that may answer, and that the plan does not use


def test_spot_hosts_are_reclaimed_after_their_notice_and_take_the_pool_with_them(file: Path) -> None:
    scenario = load_scenario(file)
    found = row(stress(own(scenario, [3], "spot"), scenario, seeds=(5,)), "spot lost")
    assert "all spot replicas (3) are reclaimed with 120 s notice" in found.detail
    assert found.recovery_s is None and not found.met
    assert found.attained[0].attainment == 0.0  # under notice nothing new is taken, and no one else serves
    assert found.unanswered == found.requests
    assert NOTICE_S < WARMUP_S


def test_requests_of_a_pool_that_is_gone_go_where_else_the_plan_sends_their_class(file: Path) -> None:
    scenario = load_scenario(file, ["candidates.relays=[deepinfra.llama-3.1-8b]"])
    plan = own(scenario, [1])
    pool = plan["fleet"][0]["pool"]
    plan["relays"] = relayed({"deepinfra.llama-3.1-8b": 0.5})["relays"]
    plan["routing"]["chat"] = {pool: [0.2], "deepinfra.llama-3.1-8b": [0.8]}
    found = row(stress(plan, scenario, seeds=(5,)), "host down")
    assert found.unanswered == 0 and found.met
    assert found.diverted == pytest.approx(0.2 * found.requests, rel=0.1)


def test_cases_that_cannot_happen_are_named(tests: dict[bool, Stress]) -> None:
    first = "hour change: the plan runs the same replicas in every hour"
    assert tests[False].notes == (
        first,
        "largest relay out: the plan uses no relay",
        "spot lost: no spot host runs in the hour with most demand",
    )


def test_cases_that_a_classifier_before_the_fleet_rules_out_are_left_out_by_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, plain = load_scenario(file), stress_cases._fleet
    nothing = np.zeros((1, 1))
    behind = Cascade(np.zeros(1, np.int64), nothing, nothing)
    monkeypatch.setattr(stress_cases, "_fleet", lambda *args: replace(plain(*args), cascade=behind))
    found, notes = cases(own(scenario, [2]), scenario, demand_of(scenario))
    assert [case.name for case in found] == ["as planned", "demand x1.3", "steps x1.5"]
    assert "host down: aws.g6e.xlarge: fleet life is not simulated together with a classifier before the fleet" in notes


def test_a_host_fails_in_the_hour_in_which_its_pool_has_most_to_do_per_replica(file: Path) -> None:
    day = "traffic={daily_active_users: 20000, conversations_per_user: 1, turns_per_conversation: 3}"
    scenario = load_scenario(file, [day])
    demand = demand_of(scenario)
    total = demand.mean_rps.sum(axis=0)
    peak = int(np.argmax(total))
    enough = [4] * len(total)
    assert [case.hour for case in cases(own(scenario, enough), scenario, demand)[0] if case.name.startswith("host")] == [peak]
    thin = next(t for t in range(len(total)) if total[t] < total[peak] and total[t] > total[peak] / 2)
    enough[thin] = 2
    assert [case.hour for case in cases(own(scenario, enough), scenario, demand)[0] if case.name.startswith("host")] == [thin]


def test_replicas_come_and_go_at_the_full_hour_without_a_request_taken_back(file: Path) -> None:
    scenario = load_scenario(file, ["traffic={daily_active_users: 9000, conversations_per_user: 1, turns_per_conversation: 3}"])
    demand = demand_of(scenario)
    by_hour = [4 if name in ("weekday 12", "weekday 13") else 2 for name in demand.slices]
    by_hour[demand.slices.index("weekday 14")] = 1
    found = row(stress(own(scenario, by_hour), scenario, seeds=(5,)), "hour change")
    assert found.hour == "weekday 14" and found.detail.startswith("4 replicas become 1")
    assert found.restarts == found.unanswered == found.diverted == 0
    case = next(case for case in cases(own(scenario, by_hour), scenario, demand)[0] if case.name == "hour change")
    assert case.life is not None and [(change.kind, change.replicas) for change in case.life.changes] == [("scale", 1)]
    assert case.life.rules[0].start == 4


def test_recovery_is_the_first_minute_from_which_the_promise_is_kept_to_the_end() -> None:
    s = np.arange(0.0, 3600.0, 0.5)
    assert recovery_s(s, np.ones(len(s), bool), 0.95) == 0.0
    assert recovery_s(s, (s >= 300), 0.95) == pytest.approx(300, abs=10)
    assert recovery_s(s, (s < 600) | (s > 1200), 0.95) == pytest.approx(1200, abs=10)  # felt later than it happened
    assert recovery_s(s, s % 10 < 9, 0.95) is None
    assert recovery_s(s, (s < 2000) | (s > 2010), 0.95) == 0.0  # ten bad seconds do not break an hour
    assert recovery_s(s[::-1], (s >= 300)[::-1], 0.95) == recovery_s(s, s >= 300, 0.95)
    assert recovery_s(np.empty(0), np.empty(0, bool), 0.95) == 0.0


def test_a_spare_host_costs_one_host_more_and_a_reserve_without_relays_nothing(file: Path) -> None:
    scenario = load_scenario(file)
    found = {each.name.split(" ")[0]: each for each in hardening(scenario, 1, lambda _: None, CapacityStore(file.parent / "cache"))}
    host_usd = scenario.offers[0].usd_per_hour * 730
    assert found["a"].more_usd == pytest.approx(host_usd)
    assert found["any"].more_usd == pytest.approx(0.0)
    assert found["demand"].more_usd is not None and found["demand"].more_usd >= 0


def test_same_plan_same_bytes_and_the_screen_fits(plans: dict[bool, Plan], tests: dict[bool, Stress]) -> None:
    again = stress(plans[True], plans[True].scenario)
    assert json.dumps(stress_json(again), allow_nan=False) == json.dumps(stress_json(tests[True]), allow_nan=False)
    text = render_stress(tests[False], colour=False)
    assert max(map(len, text.splitlines())) <= 110
    assert "MISSED" in text and "held" in text


def test_the_command_prints_one_object_and_writes_tables(plans: dict[bool, Plan], file: Path, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(plan_json(replace(plans[False], scenario=load_scenario(file)))), encoding="utf-8")
    base = [sys.executable, str(ROOT / "cli.py"), "simulate", str(file)]
    told = subprocess.run(
        [*base, "--plan", str(saved), "--stress", "--json", "--out", str(tmp_path / "out")], capture_output=True, text=True, env=os.environ
    )
    assert told.returncode == 0, told.stderr
    said = json.loads(told.stdout)
    assert said["schema"] == "servemix.stress/1"
    assert [case["case"] for case in said["cases"]] == ["as planned", "demand x1.3", "steps x1.5", "host down: aws.g6e.xlarge"]
    lines = (tmp_path / "out/stress.csv").read_text().splitlines()
    assert len(lines) == 1 + sum(len(case["promises"]) for case in said["cases"])
    wrong = subprocess.run([*base, "--stress"], capture_output=True, text=True, env=os.environ)
    assert wrong.returncode == 2 and wrong.stderr.startswith("--stress: needs --plan")


def test_only_a_test_on_the_plans_own_scenario_names_the_plan(plans: dict[bool, Plan], file: Path, tmp_path: Path) -> None:
    own = load_scenario(file)
    saved = tmp_path / "plan.json"
    saved.write_bytes(plan_bytes(plan_json(replace(plans[False], scenario=own))))
    tried = [stress_saved(scenario, saved, None, False, lambda _: None) for scenario in (own, load_scenario(file, ["traffic.rate_rps=1"]))]
    assert [each.plan_sha256 for each in tried] == [hashlib.sha256(saved.read_bytes()).hexdigest(), ""]


def test_examples_in_docstrings_run() -> None:
    for module in (optimize.simulate.stress, sim.fleet.life.draws):
        outcome = doctest.testmod(module)
        assert outcome.attempted > 0 and outcome.failed == 0
