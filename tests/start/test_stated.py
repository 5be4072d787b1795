"""`new` takes what people say: a rate, users at once, a job, a month's requests, a host's price, a region; lengths fit the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.estimate.new_scenario import new_scenario
from optimize.report.terminal.render_new_scenario import render_new
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import ConstantTraffic, Scenario, SyntheticTraffic
from sim.start.answers import Answers, check, span
from sim.start.lengths import stated_length
from sim.start.own_offer import own_offer
from sim.traffic import demand
from tests.start.from_answers import CATALOG, made


def monthly(scenario: Scenario) -> float:
    found = demand(scenario)
    return float((found.mean_rps @ found.weight_h).sum() * 3600)


def test_eight_million_interactions_of_800_tokens_are_that(tmp_path: Path) -> None:
    scenario = made(tmp_path, requests_per_month=8e6, total_tokens=800, models=("mistral-7b", "gpt-4.1"), budget=45_000)
    found = demand(scenario)
    assert monthly(scenario) == pytest.approx(8e6) and scenario.budget.per_month == 45_000
    assert float(found.input_tokens[0] + found.output_tokens[0]) == pytest.approx(800, rel=0.01)


def test_a_hundred_developers_every_five_seconds_are_twenty_a_second_in_the_busy_hour(tmp_path: Path) -> None:
    scenario = made(tmp_path, concurrent=100, every_s=5, mix="code", models=("qwen2.5-7b",), e2e_s=1.5)
    assert isinstance(scenario.traffic, SyntheticTraffic) and scenario.traffic.weekend_factor == 0.33
    assert float(demand(scenario).mean_rps.max()) == pytest.approx(20)
    assert [row.metric for row in scenario.request_classes[0].slo] == ["e2e"]


def test_requests_in_flight_are_a_closed_loop_under_a_price_by_the_token(tmp_path: Path) -> None:
    scenario = made(
        tmp_path, concurrent=200, input_tokens=500, output_tokens=200, ttft_s=0.6, e2e_s=4, per_mtok=1.5, models=("llama-3.3-70b",)
    )
    assert isinstance(scenario.traffic, ConstantTraffic) and scenario.traffic.loop is not None and scenario.traffic.loop.users == 200
    assert scenario.budget.per_mtok == 1.5 and scenario.budget.per_month == 1e12


def test_ten_million_pages_in_three_days_are_a_job_without_a_promise_but_its_deadline(tmp_path: Path) -> None:
    scenario = made(tmp_path, job=1e7, deadline_s=259_200, input_tokens=1200, output_tokens=400, models=("qwen2.5-7b",))
    assert isinstance(scenario.traffic, ConstantTraffic) and scenario.traffic.job is not None and monthly(scenario) == pytest.approx(1e7)
    assert scenario.request_classes[0].kind == "batch" and not scenario.request_classes[0].slo


def test_a_server_by_the_month_is_the_only_offer(tmp_path: Path) -> None:
    scenario = made(tmp_path, offers=(own_offer("8xH200=16600/month", CATALOG),), models=("deepseek-v3.2",), users=10_000)
    (offer,) = scenario.offers
    assert offer.gpus == 8 and offer.usd_per_hour == pytest.approx(16_600 / 730) and not offer.elastic


def test_a_region_is_a_policy(tmp_path: Path) -> None:
    scenario = made(tmp_path, rate_rps=2, models=("llama-3.3-70b",), region="eu")
    assert scenario.request_classes[0].data_residency == ("eu",)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("l40s=1.2/h", "{name: own-1xl40s, gpu: l40s, gpus: 1, usd_per_hour: 1.2, elastic: true}"),
        ("8 x h100 = $16.6k/month", "{name: own-8xh100, gpu: h100, gpus: 8, usd_per_month: 16600, elastic: false}"),
        ("4xh100=2.29/gpu-hour", "{name: own-4xh100, gpu: h100, gpus: 4, usd_per_gpu_hour: 2.29, elastic: true}"),
        ("verda.h100", "verda.h100"),
    ],
)
def test_hosts_are_read_as_people_write_them(written: str, text: str) -> None:
    assert own_offer(written, CATALOG).text == text


@pytest.mark.parametrize("written", ["h100", "8xh1000=5/h", "h100=cheap/h", "0xh100=5/h", "99xh100=5/h"])
def test_a_host_that_is_not_understood_is_told(written: str) -> None:
    with pytest.raises(InputError, match="--offer"):
        own_offer(written, CATALOG)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"users": 5, "rate_rps": 1}, "each says how many requests come"),
        ({"think_time_s": 5}, "write --concurrent N"),
        ({"job": 5}, "a job has both"),
        ({"total_tokens": 5, "input_tokens": 3}, "prompt and answer together"),
        ({"concurrent": 5, "think_time_s": 1, "every_s": 1}, "one of the two"),
        ({"bill": 5, "rate_rps": 1}, "--from-bill"),
    ],
)
def test_answers_that_contradict_each_other_are_told(answers: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        check(Answers("n", **answers), {"USD"})  # type: ignore[arg-type]


def test_spans_are_read_as_people_write_them() -> None:
    assert [span("--x", text) for text in ("8", "2min", "3 days", "1.5h")] == [8, 120, 259_200, 5400]
    with pytest.raises(InputError, match="--x"):
        span("--x", "soon")


def test_lengths_fit_the_context_of_the_model_and_what_was_cut_is_said(tmp_path: Path) -> None:
    more = {"users": 900, "requests_per_user": 60, "mix": "code", "input_tokens": 6000, "output_tokens": 400}
    scenario = made(tmp_path, **more, ttft_s=1.5, tpot_s=0.04, models=("qwen3-32b",), budget=30_000)
    (only,) = scenario.request_classes
    assert only.input_tokens is not None
    assert only.input_tokens.tokens[-1] + only.output_tokens.tokens[-1] <= CATALOG.models["qwen3-32b"].max_context
    assert only.input_tokens.mean == pytest.approx(6000, rel=0.01) and only.output_tokens.mean == pytest.approx(400, rel=0.01)
    assert "its longest are cut from" in (tmp_path / "n.yaml").read_text()


def test_code_has_office_hours(tmp_path: Path) -> None:
    made(tmp_path, users=900, mix="code", models=("qwen3-32b",))
    assert "day_shape: office" in (tmp_path / "n.yaml").read_text()


def test_a_side_that_serves_nothing_is_said_in_a_sentence(tmp_path: Path) -> None:
    new = new_scenario(Answers("n", users=10, models=("gpt-4.1",)), tmp_path / "n.yaml", CATALOG, None, True, lambda _: None)
    assert "none or more" not in render_new(new) and "nobody" not in render_new(new)


def test_a_stated_length_is_the_length_of_every_request_and_new_says_so(tmp_path: Path) -> None:
    answers = Answers("n", concurrent=100, every_s=5, input_tokens=1024, output_tokens=128, models=("qwen2.5-7b",), e2e_s=1.5)
    new = new_scenario(answers, tmp_path / "n.yaml", CATALOG, None, True, lambda _: None)
    (only,) = load_scenario(new.path).request_classes
    assert only.input_tokens is not None and set(only.input_tokens.tokens) == {1024.0} and set(only.output_tokens.tokens) == {128.0}
    assert "all prompts of 1,024 tokens and answers of 128 tokens" in " ".join(render_new(new).split())


def test_a_named_mix_spreads_a_stated_mean(tmp_path: Path) -> None:
    (only,) = made(tmp_path, rate_rps=2, mix="chat", output_tokens=128, models=("qwen2.5-7b",)).request_classes
    assert only.output_tokens.mean == pytest.approx(128, rel=0.01) and only.output_tokens.tokens[-1] > 300


def test_a_length_may_be_stated_as_mean_and_quantiles(tmp_path: Path) -> None:
    mean, law = stated_length("--input-tokens", "mean=1024, p50=900")
    (only,) = made(tmp_path, rate_rps=2, input_tokens=mean, input_law=law, output_tokens=128, models=("qwen2.5-7b",)).request_classes
    assert only.input_tokens is not None and only.input_tokens.mean == pytest.approx(1024, rel=0.001)


@pytest.mark.parametrize("text", ["mean=5", "p50=9,p50=8", "p0=4,mean=5", "p50=900,p99=8", "median=4", "p50=", "p50=9,mean=x"])
def test_a_length_that_is_no_law_is_told(text: str) -> None:
    with pytest.raises(InputError, match="--input-tokens"):
        stated_length("--input-tokens", text)


def test_what_a_log_says_already_is_refused_and_not_ignored(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("arrival_s,input_tokens,output_tokens\n" + "".join(f"{i},100,20\n" for i in range(50)))
    with pytest.raises(InputError, match="leave out --rate, --input-tokens"):
        new_scenario(Answers("n", rate_rps=2, input_tokens=5), tmp_path / "n.yaml", CATALOG, log, True, lambda _: None)
