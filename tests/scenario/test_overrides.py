"""`--set` replaces values, and its faults are named by its own text."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.scenario import load_scenario

from .helpers import GOOD, problems, write


def test_values_are_replaced_by_number_by_name_and_appended(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    sets = [
        "request_classes.0.share=0.5",
        "request_classes.faq.share=0.5",
        "candidates.relays=+groq.llama-3.1-8b",
        "candidates.offers=[nebius.h100]",
        "policy.n_plus_one=true",
        "request_classes.chat.slo.tpot.p99=0.05",
    ]
    scenario = load_scenario(path, sets, seed=11)
    assert [each.share for each in scenario.request_classes] == [0.5, 0.5]
    assert [relay.id for relay in scenario.relays] == ["deepinfra.llama-3.1-8b", "groq.llama-3.1-8b"]
    assert [offer.id for offer in scenario.offers] == ["nebius.h100"]
    assert scenario.policy.n_plus_one and scenario.seed == 11
    assert (scenario.request_classes[0].slo[1].metric, scenario.request_classes[0].slo[1].quantile) == ("tpot", 0.99)


def test_an_empty_mapping_clears_and_does_not_merge(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert load_scenario(path, ["request_classes.0.slo={}"]).request_classes[0].slo == ()
    (row,) = load_scenario(path, ["request_classes.0.slo={}", "request_classes.0.slo.e2e.p99=9"]).request_classes[0].slo
    assert (row.metric, row.quantile, row.limit_s) == ("e2e", 0.99, 9)


def test_an_override_mends_a_fault_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("rate_rps: 5", "rate_rps: five"))
    assert load_scenario(path, ["traffic.rate_rps=6"]).traffic.rate_rps == 6  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("budget.per_month=-1", "budget.per_month: -1 is negative; write at least 0"),
        ("budget.monthly=1", "budget.monthly: is not a key here; nearest: per_month"),
        ("request_classes.chat.slo={ttft: {p95: 2s}}", 'request_classes.0.slo.ttft.p95: "2s" is not a number of seconds; write 2'),
        ("candidates.offers=+nope", '"nope" is no offer of the catalogue'),
        ("engine.version='0.5'", '"0.5" is a vLLM that schedules otherwise than the simulator; write "0.8" or later'),
        ("engine.version=newest", "is no version of vLLM"),
        ("engine.version=0.18", "engine.version"),
        ("budget.per_month", "is not key.path=value; write for example --set budget.per_month=60000"),
        ("request_classes.fag.share=1", 'request_classes has 2 entries and none is "fag"; nearest: faq'),
        ("seed.x=1", "seed has no keys inside"),
        ("seed=[1", "is not YAML"),
        ("seed=+[1]", "`+` adds to a list; seed is not one"),
        ("traffic=!!python/name:os.system x", "the tag tag:yaml.org,2002:python/name:os.system is not allowed"),
    ],
)
def test_a_fault_names_the_set_text(text: str, expected: str, tmp_path: Path) -> None:
    (line,) = problems(write(tmp_path, GOOD), text)
    assert line.startswith(f"--set {text}: ") and expected in line, line


def test_faults_of_file_and_overrides_come_together(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("rate_rps: 5", "rate_rps: -5"))
    assert len(problems(path, "budget.per_month=x", "nonsense")) == 3


def test_a_version_of_the_engine_is_kept_as_it_is_written(tmp_path: Path) -> None:
    assert load_scenario(write(tmp_path, GOOD), ["engine.version='0.10'"]).engine["version"] == "0.10"


@pytest.mark.parametrize(
    "key",
    [
        "candidates.offers.verda.h100.usd_per_hour",
        'candidates.offers["verda.h100"].usd_per_hour',
        "candidates.offers.'verda.h100'.usd_per_hour",
    ],
)
def test_a_name_with_dots_is_one_part_of_a_key(tmp_path: Path, key: str) -> None:
    file = write(tmp_path, GOOD.replace("offers: [aws.g6e.xlarge]", "offers: [{name: verda.h100, stock: 3}, aws.g6e.xlarge]"))
    assert load_scenario(file, [f"{key}=4"]).offers[0].usd_per_hour == 4.0


def test_an_entry_that_is_a_mere_name_takes_keys_too(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.replace("offers: [aws.g6e.xlarge]", "offers: [verda.h100]"))
    assert load_scenario(file, ["candidates.offers.verda.h100.usd_per_hour=4"]).offers[0].usd_per_hour == 4.0


@pytest.mark.parametrize(("text", "amount"), [("40k", 40_000), ("1.5M", 1_500_000), ("$12k", 12_000), ("40_000", 40_000)])
def test_amounts_may_be_round(tmp_path: Path, text: str, amount: float) -> None:
    assert load_scenario(write(tmp_path, GOOD), [f"budget.per_month={text}"]).budget.per_month == amount


def test_a_text_that_looks_like_an_amount_stays_a_text(tmp_path: Path) -> None:
    assert load_scenario(write(tmp_path, GOOD), ["name=40k"]).name == "40k"
