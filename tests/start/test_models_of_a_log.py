"""A log of several models becomes several classes with their own lengths, in the draft and in the replay; short logs say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.start.answers import Answers
from sim.start.from_log import log_draft
from sim.start.text import scenario_text
from sim.traffic.readers import read_log
from sim.traffic.replay import load_replay

CATALOG = load_catalog()
MODELS = ("qwen/qwen3-32b-04-28", "openai/gpt-4.1-mini-2025-04-14", "meta-llama/Llama-3.1-8B-Instruct")


def log_file(tmp_path: Path, models: tuple[str, ...] = MODELS, rows: int = 90) -> Path:
    path = tmp_path / "spend.csv"
    lines = ["startTime,prompt_tokens,completion_tokens,model"]
    for k in range(rows):
        which = k % len(models)
        lines.append(f"2026-05-10T{k // 30:02d}:{2 * (k % 30):02d}:00Z,{100 * (which + 1)},{10 * (which + 1)},{models[which]}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_every_model_is_a_class_with_its_own_lengths(tmp_path: Path) -> None:
    log = read_log(log_file(tmp_path))
    file = tmp_path / "s.yaml"
    file.write_text(scenario_text(log_draft(Answers("s", budget=100), log, "spend.csv", CATALOG)))
    scenario = load_scenario(file)
    assert {each.models[0] for each in scenario.request_classes} == {"qwen3-32b", "llama-3.1-8b", "gpt-4.1-mini"}
    replay = load_replay(scenario)
    for index, each in enumerate(scenario.request_classes):
        rows = replay.rows_of(index)
        assert len(rows) == 30 and len(set(replay.log.input_tokens[rows].tolist())) == 1
        assert each.input_tokens is not None and each.input_tokens.mean == replay.log.input_tokens[rows][0]


def test_a_scenario_with_one_class_replays_all_models_as_that_class(tmp_path: Path) -> None:
    log_file(tmp_path)
    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\ntraffic: {log: spend.csv}\nrequest_classes:\n"
        "  - {name: all, share: 1, input_tokens: 1, output_tokens: 1, models: [qwen3-32b], slo: {ttft: {p95: 5}}}\nbudget: {per_month: 5}\n"
    )
    assert len(load_replay(load_scenario(file)).rows_of(0)) == 90


@pytest.mark.parametrize("models", [("qwen3-32b", "our-own-7b"), ("our-own-7b",), tuple(f"gpt-4.1-{k}" for k in range(20))])
def test_models_that_are_not_known_are_asked_about(tmp_path: Path, models: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="--model"):
        log_draft(Answers("s"), read_log(log_file(tmp_path, models)), "spend.csv", CATALOG)


def test_four_rows_of_five_seconds_say_that_they_stand_for_a_month(tmp_path: Path) -> None:
    path = tmp_path / "tiny.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,10,10\n1,10,10\n3,10,10\n5,10,10\n")
    assert any("4 requests in 5 s stand for a month" in note for note in read_log(path).notes)
