"""Traffic in the words in which people know it: a month's requests, users at once, a job with a deadline."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import ConstantTraffic, Scenario, SyntheticTraffic
from sim.traffic import demand

TEXT = """
name: t
traffic: {traffic}
request_classes:
  - {{name: a, share: 1.0, input_tokens: 500, output_tokens: 200, models: [llama-3.1-8b], slo: {{ttft: {{p95: 1.0}}, e2e: {{p95: 4.0}}}}}}
candidates: {{offers: [{offer}], relays: [deepinfra.llama-3.1-8b]}}
budget: {budget}
"""


def loaded(tmp_path: Path, traffic: str, offer: str = "verda.h100", budget: str = "{per_month: 5000}") -> Scenario:
    file = tmp_path / "t.yaml"
    file.write_text(TEXT.format(traffic=traffic, offer=offer, budget=budget))
    return load_scenario(file)


def monthly(scenario: Scenario) -> float:
    found = demand(scenario)
    return float((found.mean_rps @ found.weight_h).sum() * 3600)


@pytest.mark.parametrize("more", ["", ", weekend_factor: 0.3, day_shape: office", ", turns_per_conversation: 3"])
def test_requests_of_a_month_are_those_of_the_demand(tmp_path: Path, more: str) -> None:
    assert monthly(loaded(tmp_path, f"{{requests_per_month: 8e6{more}}}")) == pytest.approx(8e6)


def test_requests_of_a_day_are_those_of_a_weekday(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, "{requests_per_day: 240000, weekend_factor: 0}")
    assert float(demand(scenario).mean_rps[0, :24].sum() * 3600) == pytest.approx(240_000)


def test_a_volume_is_no_number_of_users(tmp_path: Path) -> None:
    traffic = loaded(tmp_path, "{requests_per_month: 8e6}").traffic
    assert isinstance(traffic, SyntheticTraffic) and traffic.counted_in == "requests"


def test_users_who_send_every_five_seconds_make_a_rate_of_their_number_over_five(tmp_path: Path) -> None:
    traffic = loaded(tmp_path, "{concurrent_users: 100, every_s: 5}").traffic
    assert isinstance(traffic, ConstantTraffic) and traffic.rate_rps == 20.0 and traffic.loop is None


def test_concurrent_users_with_a_day_shape_are_those_of_the_busiest_hour(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, "{concurrent_users: 100, every_s: 5, day_shape: office, weekend_factor: 0.2}")
    assert float(demand(scenario).mean_rps.max()) == pytest.approx(20.0)


def test_users_who_wait_for_answers_are_a_closed_loop(tmp_path: Path) -> None:
    traffic = loaded(tmp_path, "{concurrent_users: 78, think_time_s: 8}").traffic
    assert isinstance(traffic, ConstantTraffic) and traffic.loop is not None
    assert (traffic.loop.users, traffic.loop.think_s) == (78, 8)
    assert traffic.rate_rps == pytest.approx(78 / 10)  # half of the 4 s that an answer may take, and 8 s of pause


def test_max_concurrency_is_a_closed_loop_without_pauses(tmp_path: Path) -> None:
    traffic = loaded(tmp_path, "{max_concurrency: 200}").traffic
    assert isinstance(traffic, ConstantTraffic) and traffic.loop is not None and traffic.loop.think_s == 0


@pytest.mark.parametrize("deadline", ["3 days", "3d", "72h", "72 hours", "259200"])
def test_a_job_has_the_hours_of_its_deadline_and_none_of_the_rest(tmp_path: Path, deadline: str) -> None:
    scenario = loaded(tmp_path, f"{{job: {{amount: 10_000_000, deadline: {deadline}}}}}")
    found = demand(scenario)
    assert found.weight_h.tolist() == [72.0, 658.0] and found.mean_rps[0, 1] == 0
    assert monthly(scenario) == pytest.approx(1e7)


def test_a_job_of_more_than_a_month_runs_all_month(tmp_path: Path) -> None:
    found = demand(loaded(tmp_path, "{job: {amount: 1e7, deadline: 60 days}}"))
    assert found.weight_h.tolist() == [730.0] and found.mean_rps[0, 0] == pytest.approx(1e7 / (60 * 86_400))


@pytest.mark.parametrize(
    ("traffic", "words"),
    [
        ("{job: {amount: 10, deadline: soon}}", "is no span of time; write for example 3 days"),
        ("{job: {amount: 10}}", "deadline: is missing"),
        ("{concurrent_users: 5, max_concurrency: 5}", "write one of concurrent_users and max_concurrency"),
        ("{concurrent_users: 5, think_time_s: 2, every_s: 5}", "every_s says when"),
        ("{requests_per_month: 5, requests_per_day: 5}", "write one of requests_per_month and requests_per_day"),
        ("{concurrent_user: 5}", "daily_active_users"),
    ],
)
def test_what_contradicts_itself_is_told_at_its_place(tmp_path: Path, traffic: str, words: str) -> None:
    with pytest.raises(InputError, match=r"t\.yaml:3") as told:
        loaded(tmp_path, traffic)
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("offer", "usd"),
    [
        ("{name: own, gpu: h200, gpus: 8, usd_per_month: 16600}", 16_600 / 730),
        ("{name: own, gpu: h200, gpus: 8, usd_per_gpu_hour: 2.5}", 20.0),
        ("{name: nebius.h100x8, usd_per_gpu_hour: 2.0}", 16.0),
    ],
)
def test_a_host_may_be_priced_by_the_month_or_by_the_gpu(tmp_path: Path, offer: str, usd: float) -> None:
    assert loaded(tmp_path, "{rate_rps: 1}", offer).offers[0].usd_per_hour == pytest.approx(usd)


def test_a_host_has_one_price(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="stands beside usd_per_hour; write one price"):
        loaded(tmp_path, "{rate_rps: 1}", "{name: own, gpu: h200, usd_per_month: 16600, usd_per_hour: 3}")


def test_a_budget_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="per_mtok"):
        loaded(tmp_path, "{rate_rps: 1}", budget="{currency: USD}")
