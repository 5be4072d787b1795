"""Closed loops: users wait for their answers, in the proof too, and their rate is that of the fleet that serves them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from optimize.money.token_budget import with_token_budget
from optimize.plan import optimize
from optimize.search.users import at_rate, play_users, played_rates
from sim.fleet.fleet import Fleet
from sim.relay.endpoint import RelayEndpoint
from sim.scenario import load_scenario
from sim.scenario.scenario import ConstantTraffic, Scenario

TEXT = """
name: loop
traffic: {traffic}
request_classes:
  - {{name: a, share: 1.0, input_tokens: 300, output_tokens: 100, models: [llama-3.1-8b], slo: {{e2e: {{p95: 4.0}}}}}}
candidates:
  offers: []
  relays: [{{name: r, model: llama-3.1-8b, usd_per_mtok_input: 1, usd_per_mtok_output: 2, ttft_p50_s: 0.5, ttft_sigma: 0.01, 
             tokens_per_s: 100, tokens_sigma: 0.01}}]
budget: {budget}
"""


def loop(tmp_path: Path, traffic: str, budget: str = "{per_month: 5000}") -> Scenario:
    file = tmp_path / "loop.yaml"
    file.write_text(TEXT.format(traffic=traffic, budget=budget))
    return load_scenario(file)


def relay_fleet(scenario: Scenario) -> Fleet:
    return Fleet((RelayEndpoint(name="r", relay=scenario.relays[0], enforce_limits=False, network_ps=0),), np.ones((1, 1)))


def test_users_send_their_number_over_response_and_pause(tmp_path: Path) -> None:
    scenario = loop(tmp_path, "{concurrent_users: 8, think_time_s: 8}")
    played = played_rates(scenario, [(0, relay_fleet(scenario))], seed=3)
    assert played[0] == pytest.approx(8 / (8 + 0.5 + 0.99), rel=0.05)


def test_never_more_requests_are_open_than_users(tmp_path: Path) -> None:
    scenario = loop(tmp_path, "{max_concurrency: 4}")
    _, result, (start, end) = play_users(scenario, relay_fleet(scenario), 0, seed=5)
    log = result.log
    came = log.arrival_ps >= 0
    for at in np.linspace(start, end, 50).astype(np.int64):
        open_now = came & (log.arrival_ps <= at) & ((log.finish_ps > at) | (log.finish_ps < 0))
        assert int(open_now.sum()) == 4


def test_a_fleet_that_answers_faster_is_asked_more(tmp_path: Path) -> None:
    scenario = loop(tmp_path, "{concurrent_users: 8}")
    played = played_rates(scenario, [(0, relay_fleet(scenario))], seed=3)
    traffic = at_rate(scenario, played)
    assert isinstance(traffic, ConstantTraffic) and isinstance(scenario.traffic, ConstantTraffic)
    assert traffic.rate_rps == pytest.approx(8 / 1.49, rel=0.03) and traffic.rate_rps > scenario.traffic.rate_rps


def test_the_plan_of_a_closed_loop_is_proved_and_billed_at_the_rate_that_it_serves(tmp_path: Path) -> None:
    scenario = loop(tmp_path, "{concurrent_users: 8, think_time_s: 2}", "{per_mtok: 5}")
    plan = optimize(scenario, jobs=1, cache=tmp_path, only_plan=True)
    assert plan.status == "met"
    assert float(plan.demand.mean_rps.sum()) == pytest.approx(8 / 3.49, rel=0.05)
    assert plan.solution.cost_usd == pytest.approx(8 / 3.49 * 730 * 3600 * (300 + 2 * 100) / 1e6, rel=0.05)
    assert "Closed loop of 8 concurrent users" in plan.assumptions[0]
    assert plan.verification is not None and plan.verification.by_event > 0


def test_a_limit_by_the_million_tokens_follows_the_demand(tmp_path: Path) -> None:
    budget = with_token_budget(loop(tmp_path, "{rate_rps: 2}", "{per_mtok: 1.5}")).budget
    assert budget.per_month == pytest.approx(2 * 730 * 3600 * 400 / 1e6 * 1.5)


def test_a_job_costs_its_hours_and_says_so(tmp_path: Path) -> None:
    scenario = loop(tmp_path, "{job: {amount: 200_000, deadline: 2 days}}")
    plan = optimize(scenario, jobs=1, cache=tmp_path, only_plan=True)
    assert plan.status == "met" and plan.solution.cost_usd == pytest.approx(200_000 * 500 / 1e6, rel=0.01)
    assert "A job that is done once: 200,000 requests in 48 h" in plan.assumptions[0]
