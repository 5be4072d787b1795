"""A first scenario loads as it is written, marks what no one said, and is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import LogTraffic, SyntheticTraffic
from sim.start import public
from sim.start.answers import Answers, amount, check
from sim.start.from_log import log_draft
from sim.start.from_usage import usage_draft
from sim.start.length_laws import log_law, scaled_law
from sim.start.names import known_model, named_model
from sim.start.starter import starter
from sim.start.text import filled_values, scenario_text
from sim.start.write_scenario import write_new
from sim.traffic import demand
from sim.traffic.readers import read_log, read_usage

CATALOG = load_catalog()
USAGE_COLUMNS = "start_time,end_time,num_model_requests,model,input_tokens,output_tokens"


def loaded(text: str, tmp_path: Path):  # type: ignore[no-untyped-def]
    path = tmp_path / "s.yaml"
    path.write_text(text)
    return load_scenario(path)


def test_a_starter_loads_and_marks_every_value_that_nobody_gave(tmp_path: Path) -> None:
    answers = Answers("mine", users=5000, budget=900, models=("llama-3.1-8b",), ttft_s=1.5)
    draft = starter(answers, CATALOG)
    text = scenario_text(draft)
    scenario = loaded(text, tmp_path)
    assert isinstance(scenario.traffic, SyntheticTraffic) and scenario.traffic.daily_active_users == 5000
    assert scenario.budget.per_month == 900 and scenario.request_classes[0].slo[0].limit_s == 1.5
    filled = filled_values(draft)
    assert "traffic.conversations_per_user" in filled and "request_classes.chat.slo.tpot" in filled
    assert not {"traffic.daily_active_users", "budget.per_month", "request_classes.chat.slo.ttft"} & set(filled)
    assert text.count("filled: ") == len(filled) and all(line.rstrip() == line for line in text.splitlines())


def test_every_gap_can_be_overridden_with_both_ends_of_its_range(tmp_path: Path) -> None:
    draft = starter(Answers("mine", models=("gpt-4.1",), budget=10), CATALOG)
    path = tmp_path / "s.yaml"
    path.write_text(scenario_text(draft))
    for gap in draft.gaps:
        for end in (gap.low, gap.high):
            load_scenario(path, [f"{gap.path}={end}"], catalog=CATALOG)
    assert {gap.path for gap in draft.gaps} >= {"request_classes.0.models", "traffic.day_shape", "request_classes.0.input_tokens"}


def test_public_values_lie_inside_their_ranges_and_name_a_source() -> None:
    rows = public.load()
    for gap in rows.gaps.values():
        assert gap.source and gap.unit
        if isinstance(gap.value, float):
            assert gap.low <= gap.value <= gap.high
    assert set(rows.offers) <= set(CATALOG.offers)
    assert set(rows.stand_ins["default"] + rows.stand_ins["small"]) <= set(CATALOG.models)


@pytest.mark.parametrize("mean", [3.0, 40.0, 1155.0, 30_000.0])
def test_a_scaled_law_has_the_known_mean(mean: float, tmp_path: Path) -> None:
    text = scenario_text(starter(Answers("mine", budget=1), CATALOG)).replace(
        "azure_2023_conv_input", scaled_law("azure_2023_conv_input", mean), 1
    )
    assert demand(loaded(text, tmp_path)).input_tokens[0] == pytest.approx(mean, rel=0.01)


def test_the_law_of_a_log_keeps_its_mean_and_its_ends() -> None:
    tokens = np.random.default_rng(1).lognormal(5, 1, 5000).astype(np.int32) + 1
    points = [[float(cell) for cell in point.split(",")] for point in log_law(tokens).strip("[]").split("], [")]
    assert points[-1][1] == pytest.approx(tokens.max(), rel=0.05)
    assert log_law(np.full(9, 7, np.int32)) == "7"


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("openai/gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-4.1", "gpt-4.1"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("meta-llama/llama-3.3-70b-instruct:free", "llama-3.3-70b"),
        ("some-model-of-ours", None),
    ],
)
def test_model_names_of_logs_are_known_again(written: str, known: str | None) -> None:
    assert known_model(written, CATALOG) == known


def test_an_unknown_model_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r'--model "gpt4.9" is no model of the catalogue.*gpt-4.1'):
        named_model("gpt4.9", CATALOG)


@pytest.mark.parametrize(("text", "value"), [("1e6", 1e6), ("1.5M", 1.5e6), ("42,000", 42_000), ("$42k", 42_000), ("7", 7)])
def test_amounts_are_read_as_people_write_them(text: str, value: float) -> None:
    assert amount("--users", text) == value


@pytest.mark.parametrize("text", ["many", "-3", "0", "nan", "inf", "1e30", "", "k"])
def test_an_amount_that_is_none_names_its_option(text: str) -> None:
    with pytest.raises(InputError, match=r"^--users"):
        amount("--users", text)


def test_all_wrong_answers_come_in_one_message() -> None:
    with pytest.raises(InputError) as caught:
        check(Answers("a b", currency="XXX", mix="chatt", bill=1, requests_per_user=2), {"USD", "EUR"})
    assert len(caught.value.problems) == 4 and "nearest: chat" in str(caught.value)


def test_a_file_is_never_replaced_without_force_and_nothing_half_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    write_new(path, "one\n")
    with pytest.raises(InputError, match="the file exists; write another name with --out, or replace it with --force"):
        write_new(path, "two\n")
    assert path.read_text() == "one\n"
    write_new(path, "two\n", force=True)
    assert path.read_text() == "two\n" and [each.name for each in tmp_path.iterdir()] == ["mine.yaml"]
    with pytest.raises(InputError, match="does not exist"):
        write_new(tmp_path / "no" / "mine.yaml", "x")
    with pytest.raises(InputError, match="is a folder"):
        write_new(tmp_path, "x", force=True)


def test_a_log_becomes_a_replay_with_its_own_classes_and_lengths(tmp_path: Path) -> None:
    lines = [f"{k * 1.7:.2f},{400 + k % 90},{50 + k % 7},s{k // 2},{'hard' if k % 10 == 0 else 'faq'}" for k in range(500)]
    (tmp_path / "log.csv").write_text("arrival_s,input_tokens,output_tokens,session_id,class\n" + "\n".join(lines))
    log = read_log(tmp_path / "log.csv")
    draft = log_draft(Answers("mine", budget=100, models=("llama-3.1-8b",)), log, "log.csv", CATALOG)
    scenario = loaded(scenario_text(draft), tmp_path)
    assert isinstance(scenario.traffic, LogTraffic)
    assert {each.name: each.share for each in scenario.request_classes} == {"hard": 0.1, "faq": 0.9}
    assert demand(scenario).input_tokens.mean() == pytest.approx(log.input_tokens.mean(), rel=0.05)
    assert "traffic.scale" in {gap.path for gap in draft.gaps}  # a quarter of an hour says nothing of the month


def test_a_class_that_no_scenario_can_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arrival_s,input_tokens,output_tokens,class\n0,9,9,a b\n2.5,9,9,ok\n")
    with pytest.raises(InputError, match='class "a b" is not a name'):
        log_draft(Answers("mine"), read_log(tmp_path / "log.csv"), "log.csv", CATALOG)


def usage_file(tmp_path: Path, days: int = 14) -> Path:
    """Two models by the hour, from Monday 3 November 2025 on; noon counts five times, weekends half."""
    monday = 1_762_128_000
    rows = []
    for hour in range(days * 24):
        start = monday + hour * 3600
        volume = (5 if hour % 24 == 12 else 1) * (0.5 if hour // 24 % 7 >= 5 else 1) * 100
        rows.append(f"{start},{start + 3600},{volume:g},gpt-4.1-2025-04-14,{volume * 900:g},{volume * 90:g}")
        rows.append(f"{start},{start + 3600},{volume / 4:g},house-model,{volume * 50:g},{volume * 5:g}")
    path = tmp_path / "usage.csv"
    path.write_text("\n".join([USAGE_COLUMNS, *rows]))
    return path


def test_a_usage_export_gives_volume_hours_weekend_and_mean_lengths(tmp_path: Path) -> None:
    usage = read_usage(usage_file(tmp_path))
    draft = usage_draft(Answers("mine", budget=1000), usage, CATALOG)
    scenario = loaded(scenario_text(draft), tmp_path)
    asked = demand(scenario)
    month = float((asked.mean_rps.sum(axis=0) * asked.weight_h).sum() * 3600)
    assert month == pytest.approx(usage.total("requests") / usage.span_s * 730 * 3600, rel=1e-3)  # type: ignore[operator]
    assert [each.share for each in scenario.request_classes] == pytest.approx([0.8, 0.2])
    assert asked.input_tokens == pytest.approx([900, 200], rel=0.01) and asked.output_tokens == pytest.approx([90, 20], rel=0.02)
    assert isinstance(scenario.traffic, SyntheticTraffic)
    assert scenario.traffic.weekend_factor == pytest.approx(0.5)
    assert scenario.traffic.hour_weights[12] == pytest.approx(5 / 28, abs=1e-3)
    assert scenario.request_classes[0].models == ("gpt-4.1", "llama-3.3-70b")
    assert {"traffic.day_shape", "traffic.weekend_factor"}.isdisjoint(gap.path for gap in draft.gaps)


def test_a_usage_export_of_one_day_leaves_the_weekend_to_public_traffic(tmp_path: Path) -> None:
    draft = usage_draft(Answers("mine", budget=1000), read_usage(usage_file(tmp_path, days=1)), CATALOG)
    paths = {gap.path for gap in draft.gaps}
    assert "traffic.weekend_factor" in paths and "traffic.day_shape" not in paths
