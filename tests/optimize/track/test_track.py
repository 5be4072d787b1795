"""`servemix track`: planted drifts are found, a quiet day has none, and the server is only read, within limits."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile.mutate import value_mutation
from optimize.deploy.deployable import deployable
from optimize.report.terminal.render_track import render_track
from optimize.simulate.saved_plan import read_plan
from optimize.track.ask_prometheus import MOST_BYTES, ask_prometheus
from optimize.track.findings import AS_PLANNED, BROKEN, DRIFTED, Findings
from optimize.track.look import track
from optimize.track.observed_scenario import observed_settings
from optimize.track.questions import Answers, Question, questions
from optimize.track.read_exposition import read_exposition
from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario.read.load import read_scenario
from tests.optimize.track import quiet_day
from tests.optimize.track.quiet_day import END, NAME, RELAY, SCENARIO, Series, histogram, of, prometheus, saved, scaled, scenario


def one_of_each(asked: Sequence[Question], after_busiest: int) -> Answers:
    """A server that says 1 of everything that is asked of chat."""
    return {each.key: {("chat",): 1.0} for each in asked}


SLOW = (0.0, 0.6, 0.85, 0.9, 1.0, 1.0)  # one in ten later than the second that is promised
ENGINE = {"model_name": NAME, "engine": "0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("track")


def looked(folder: Path, series: Series) -> Findings:
    """A day of these series, by way of a server."""
    with prometheus(of(series)) as (url, _):
        return track(
            quiet_day.plan(folder), saved(), scenario(), END, 24, lambda asked, _: ask_prometheus(url, "none", asked, 1e9, 86400, 1e9)
        )


def broken(series: Series) -> Series:
    """The series with a promise that is not kept at the pool."""
    histogram(series, "vllm:time_to_first_token_seconds", ENGINE, 100_000, SLOW)
    return series


def test_a_quiet_day_has_no_drift_and_keeps_every_promise(folder: Path) -> None:
    found = looked(folder, quiet_day.quiet(quiet_day.planned(folder)))
    assert found.drifted == () and found.code == AS_PLANNED and all(each.kept for each in found.promises)
    assert {row.kind for row in found.rows} == {"demand", "lengths", "hit rate", "step time", "KV use", "preemptions", "relay", "spend"}
    assert all(row.observed is not None for row in found.rows) and len(found.promises) == 3
    text = render_track(found)
    assert "3 of 3 promises kept. Nothing drifted." in text.replace("\n", " ") and "would give the same plan" in text


@pytest.mark.parametrize(
    ("kind", "factors"),
    [
        ("demand", {"litellm_proxy_total": 1.4}),
        ("lengths", {"vllm:request_prompt_tokens_sum": 1.5}),
        ("step time", {"vllm:request_time_per_output_token_seconds_sum": 1.6}),
    ],
)
def test_a_planted_drift_is_found_and_is_the_most_likely_cause(folder: Path, kind: str, factors: dict[str, float]) -> None:
    series = scaled(quiet_day.quiet(quiet_day.planned(folder)), factors)
    kept = looked(folder, series)
    assert kept.code == DRIFTED and {row.kind for row in kept.drifted} == {kind}
    found = looked(folder, broken(series))
    assert found.code == BROKEN and found.causes[0].kind == kind
    assert any(f"Most likely cause: {kind}" in sentence for sentence in found.sentences())


def test_lost_cache_hits_are_found(folder: Path) -> None:
    """The plan's engines find a part of each prompt: hits of half the prompts are more than it, none are fewer where it has some."""
    series = quiet_day.quiet(quiet_day.planned(folder))
    key = next(key for key in series if key[0] == "vllm:prefix_cache_hits_total")
    queries = next(value for name, value in series.items() if name[0] == "vllm:prefix_cache_queries_total")
    found = looked(folder, series | {key: 0.5 * queries})
    assert [row.kind for row in found.drifted] == ["hit rate"] and found.causes == () and found.code == DRIFTED


def test_a_relay_that_fails_is_the_cause_where_pools_keep_their_promises(folder: Path) -> None:
    series = quiet_day.quiet(quiet_day.planned(folder))
    sent = next(value for name, value in series.items() if name[0] == "litellm_deployment_total_requests_total")
    key = next(key for key in series if key[0] == "litellm_deployment_failure_responses_total")
    series[key] = 0.2 * sent
    histogram(series, "litellm_llm_api_time_to_first_token_metric", {"requested_model": "chat"}, 400_000, SLOW)
    found = looked(folder, series)
    assert found.code == BROKEN and found.causes[0].kind == "relay" and RELAY in found.causes[0].name


def test_more_requests_explain_longer_steps_before_slower_steps_do(folder: Path) -> None:
    series = scaled(
        quiet_day.quiet(quiet_day.planned(folder)), {"litellm_proxy_total": 1.3, "vllm:request_time_per_output_token_seconds_sum": 2.0}
    )
    assert [row.kind for row in looked(folder, broken(series)).causes] == ["demand", "step time"]


def test_saved_pages_answer_as_a_server_does(folder: Path) -> None:
    series, plan = quiet_day.quiet(quiet_day.planned(folder)), quiet_day.plan(folder)
    before, after = folder / "before.txt", folder / "after.txt"
    before.write_text(quiet_day.exposition(series, 1.0), encoding="utf-8")
    after.write_text(quiet_day.exposition(series, 2.0), encoding="utf-8")
    asked = questions(plan)
    with prometheus(of(series)) as (url, requests):
        served = ask_prometheus(url, "none", asked, 1e9, 86400, 1e9)
    page = read_exposition([before], [after], asked)
    assert all(line.startswith("GET /api/v1/query?") for line in requests) and len(requests) == len(asked) <= 25
    for each in asked:
        part = 24 if each.busy and not each.gauge else 1  # a page knows no busiest hour
        assert {name: value * part for name, value in served[each.key].items()} == pytest.approx(page[each.key]), each.key
    again = read_exposition([after], [before], asked)  # counters that fell began anew
    assert again["calls"] == pytest.approx(page["calls"])


def test_a_limit_inside_a_bucket_is_not_judged(folder: Path) -> None:
    series = quiet_day.quiet(quiet_day.planned(folder))
    histogram(series, "vllm:time_to_first_token_seconds", ENGINE, 100_000, (0.0, 0.2, 0.5, 0.9, 1.0, 1.0))
    del series["vllm:time_to_first_token_seconds_bucket", frozenset({**ENGINE, "le": "1.0"}.items())]
    found = looked(folder, series)
    unclear = [each for each in found.promises if each.kept is None]
    assert [each.metric for each in unclear] == ["ttft"] and found.code == AS_PLANNED and "cannot be told" in found.sentences()[0]


def test_observed_demand_and_lengths_become_settings(folder: Path) -> None:
    factors = {"litellm_proxy_total": 1.4, "vllm:request_prompt_tokens_sum": 1.5}
    found = looked(folder, scaled(quiet_day.quiet(quiet_day.planned(folder)), factors))
    spec = read_scenario(SCENARIO).spec
    settings = observed_settings(quiet_day.plan(folder), found, spec.traffic, {each.name: each for each in spec.request_classes})
    assert settings == ["traffic.rate_rps=7", "request_classes.chat.input_tokens=750"]
    read_scenario(SCENARIO, settings)


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (404, b"no", "HTTP 404"),
        (200, b"<html>", "is no answer of Prometheus"),
        (200, b'{"status":"success","data":{"result":[{"metric":[],"value":[0,"1"]}]}}', "is no answer of Prometheus"),
        (200, b'{"status":"error"}', "is no answer of Prometheus"),
        (200, b" " * (MOST_BYTES + 1), "larger than"),
        (200, b"[" * 200_000, "is no answer of Prometheus"),
    ],
)
def test_a_server_that_is_no_prometheus_is_one_sentence(folder: Path, code: int, body: bytes, said: str) -> None:
    with prometheus(lambda query: (code, body)) as (url, asked), pytest.raises(InputError, match=said):
        ask_prometheus(url, "none", questions(quiet_day.plan(folder)), 1e9, 86400, 1e9)
    assert len(asked) == 1


def test_an_address_that_is_none_and_a_server_that_is_not_there(folder: Path) -> None:
    asked = questions(quiet_day.plan(folder))
    for url in ("ftp://host", "http://", "http://user:secret@host", "http://[", "http://host/?a=b", "http://127.0.0.1:1"):
        with pytest.raises(InputError) as error:
            ask_prometheus(url, "none", asked, 1e9, 86400, 1e9)
        assert "secret" not in str(error.value) and "\n" not in str(error.value)


def test_nothing_measured_is_said(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no sample of .* does Prometheus scrape them"):
        looked(folder, {})


@pytest.mark.parametrize("seed", range(25))
def test_a_plan_that_was_edited_is_refused_in_one_sentence_or_tracked(folder: Path, tmp_path: Path, seed: int) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(value_mutation(saved(), random.Random(seed)))
    try:
        edited = read_plan(file)
        track(
            deployable(file, load_catalog(), {}),
            edited,
            scenario(),
            END,
            2,
            one_of_each,
        )
    except InputError as error:
        assert "\n" not in error.problems[0]


@pytest.mark.parametrize(
    "change",
    [
        {"routing": {}},
        {"routing": {"chat": {}}},
        {"uncertainty": {"pools": [{"pool": quiet_day.POOL, "error": {"tpot": "x"}}]}},
        {"uncertainty": 3},
        {"hours": []},
        {
            "classes": [
                {"name": "chat", "requests_per_month": 1, "served_by": {}, "promises": [{"metric": "x", "quantile": 0.5, "limit_s": 1}]}
            ]
        },
    ],
)
def test_a_plan_that_lacks_what_is_compared_is_refused_in_one_sentence(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(saved() | change), encoding="utf-8")
    with pytest.raises(InputError, match=r"make it again with|make the plan again"):
        plan, whole = deployable(file, load_catalog(), {}), read_plan(file)
        track(plan, whole, scenario(), END, 2, one_of_each)


def test_values_that_are_no_numbers_are_not_seen(folder: Path) -> None:
    row = {"metric": {"model_name": NAME, "requested_model": "chat"}, "value": [0, "NaN"]}
    body = json.dumps({"status": "success", "data": {"result": [row]}}).encode()
    with prometheus(lambda query: (200, body)) as (url, _):
        seen = ask_prometheus(url, "none", questions(quiet_day.plan(folder)), 1e9, 86400, 1e9)
    assert not any(seen.values())
