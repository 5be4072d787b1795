"""The user's own runs give back the step times that made them, and say what they cannot tell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import cli
from sim.calibration.advise import reference_steps
from sim.calibration.fit_own import Calibrated, calibrate, write_calibration
from sim.calibration.own_runs import Setup
from sim.calibration.trace import step_seconds
from sim.catalog.loader import load_catalog
from sim.engine.physics import shape_of
from sim.engine.step_cost import best_row
from sim.errors import InputError
from sim.scenario.read.calibration_file import with_calibration
from tests.calibration import benchmark_files as files

SETUP = Setup("l40s", "llama-3.1-8b")
LOADS = (  # in flight, prompt and answer tokens, requests
    (1, 300, 60, 8), (1, 1200, 60, 8), (16, 1000, 150, 48), (64, 1000, 100, 160), (200, 300, 120, 500), (4, 6000, 40, 16),
    (2, 16000, 40, 8), (12, 7000, 120, 24),
)  # fmt: skip


def times(coefficients: dict[str, float]) -> np.ndarray:
    one = files.deployment()
    table = np.array(list(reference_steps(one).values()))
    return step_seconds(shape_of(one), {name: np.array([value]) for name, value in coefficients.items()}, table)


@pytest.fixture(scope="module")
def runs() -> list[files.Logged]:
    return [files.logged(*load) for load in LOADS]


def fitted(paths: list[Path], setup: Setup = SETUP) -> Calibrated:
    return calibrate(paths, setup, load_catalog(), "2026-11-30")


@pytest.mark.parametrize("form", ["vllm", "guidellm"])
def test_step_times_of_known_coefficients_come_back_within_three_percent(form: str, runs: list[files.Logged], tmp_path: Path) -> None:
    values: list[Any] = [files.vllm(run, True) for run in runs] if form == "vllm" else [files.guidellm(runs)]
    found = fitted([files.write(tmp_path, f"{k}.json", value) for k, value in enumerate(values)])
    assert times(found.row.coefficients) == pytest.approx(times(files.TRUE), rel=0.03)
    assert max(abs(state.before_s / state.fitted_s - 1) for state in found.states) > 0.15  # the catalogue was far from it
    assert found.row.points == len(LOADS) and found.row.error["tpot_median"] < 0.03


def test_the_error_bar_of_a_step_time_covers_the_truth(runs: list[files.Logged], tmp_path: Path) -> None:
    paths = [files.write(tmp_path, f"{k}.json", files.vllm(run, True)) for k, run in enumerate(runs[:4])]
    found = fitted(paths)
    for state, true in zip(found.states, times(files.TRUE), strict=True):
        assert abs(np.log(state.fitted_s / true)) < 3 * state.sd + 0.01, state


def test_one_short_run_says_what_it_cannot_tell_and_which_runs_would(runs: list[files.Logged], tmp_path: Path) -> None:
    few = fitted([files.write(tmp_path, "one.json", files.vllm(runs[0], False))])
    text = "\n".join(few.missing)
    assert "too few batch sizes: only 1 in flight" in text and "no long prompts" in text
    assert not all(state.known for state in few.states)
    assert len(few.next_runs) == 3
    first = few.next_runs[0]
    assert f"--max-concurrency {first.in_flight} --num-prompts {first.requests}" in first.command()
    sds = [run.mean_sd for run in few.next_runs]
    assert sds[2] < sds[0] < np.mean([state.sd for state in few.states])


def test_the_runs_that_are_proposed_do_narrow_the_step_times(runs: list[files.Logged], tmp_path: Path) -> None:
    paths = [files.write(tmp_path, "one.json", files.vllm(runs[0], True))]
    before = fitted(paths)
    for k, run in enumerate(before.next_runs):
        made = files.logged(run.in_flight, run.input_tokens, run.output_tokens, run.requests)
        paths.append(files.write(tmp_path, f"next{k}.json", files.vllm(made, True)))
    after = fitted(paths)
    assert np.mean([s.sd for s in after.states]) < 0.5 * np.mean([s.sd for s in before.states])
    assert np.abs(times(after.row.coefficients) / times(files.TRUE) - 1).mean() < 0.05


def test_a_file_written_is_what_a_scenario_reads(runs: list[files.Logged], tmp_path: Path) -> None:
    found = fitted([files.write(tmp_path, "one.json", files.vllm(runs[2], True))])
    write_calibration(found, tmp_path / "own.yaml")
    own = with_calibration(load_catalog(), tmp_path / "own.yaml")
    row = best_row(files.deployment(), own.calibration)
    assert row is not None and row.source.title.startswith("own runs")
    assert row.coefficients == pytest.approx(found.row.coefficients, rel=1e-4)
    assert len(own.calibration) == len(load_catalog().calibration)
    other = replace(files.deployment(), gpu=load_catalog().gpus["h100"])
    assert best_row(other, own.calibration) == best_row(other, load_catalog().calibration)


ROW = "gpu: l40s, engine: vllm-v1, weights: bf16, points: 1, error: {}, source: {title: a, date: 2026-11-30}, coefficients: {step_s: 1e-3}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("calibration: []", "has no list"),
        (f"calibration: [{{{ROW.replace('l40s', 'l40x')}}}]", "l40x"),
        (f"calibration: [{{{ROW.replace('step_s', 'step')}}}]", "step_s"),
        (f"calibration: [{{{ROW.replace('1e-3', '0')}}}]", "not above 0"),
        (f"calibration: [{{{ROW}}}, {{{ROW}}}]", "twice"),
        (f"calibration: [{{{ROW}}}]\nrows: 1", "unknown key"),
        ("rows: 1", "has no list"),
    ],
)
def test_a_calibration_file_that_is_none_says_where(text: str, says: str, tmp_path: Path) -> None:
    path = files.write(tmp_path, "own.yaml", text)
    with pytest.raises(InputError, match=r"own\.yaml:[12]:") as caught:
        with_calibration(load_catalog(), path)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("setup", "says"),
    [
        (replace(SETUP, gpu="l40"), "did you mean l40s"),
        (replace(SETUP, gpu="a100-80", weights="fp8"), "fp8 does not run on a100-80"),
        (replace(SETUP, max_num_batched_tokens=8, max_num_seqs=64), "fewer than 64 sequences"),
        (replace(SETUP, kv_blocks=3), "--kv-blocks"),
    ],
)
def test_a_set_up_that_cannot_be_says_what_would_be_right(setup: Setup, says: str, runs: list[files.Logged], tmp_path: Path) -> None:
    path = files.write(tmp_path, "one.json", files.vllm(runs[0], False))
    with pytest.raises(InputError) as caught:
        fitted([path], setup)
    assert says in str(caught.value)


def test_the_command_prints_one_json_object_and_writes_the_row(runs: list[files.Logged], tmp_path: Path) -> None:
    path = files.write(tmp_path, "run.json", files.vllm(runs[2], True))
    arguments = ["calibrate", str(path), "--gpu", "l40s", "--model", "llama-3.1-8b", "--out", str(tmp_path / "own.yaml")]
    answer = CliRunner().invoke(cli.app, [*arguments, "--json"])
    assert answer.exit_code == 0
    printed = json.loads(answer.stdout)
    assert set(printed) == {"row", "steps", "runs", "skipped", "missing", "next_runs"} and (tmp_path / "own.yaml").exists()
    assert "Runs that would help most" in CliRunner().invoke(cli.app, arguments).stdout


def test_a_file_of_another_model_or_format_is_left_out_and_one_given_twice_counts_once(runs: list[files.Logged], tmp_path: Path) -> None:
    written = files.vllm(runs[0], False) | {"model_id": "meta-llama/Llama-3.1-8B-Instruct"}
    other = files.vllm(runs[0], False) | {"model_id": "Qwen/Qwen2.5-7B-Instruct"}
    quantised = files.vllm(runs[0], False) | {"model_id": "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8"}
    names = {"one": written, "again": written, "other": other, "fp8": quantised}
    found = fitted([files.write(tmp_path, f"{name}.json", value) for name, value in names.items()])
    assert found.row.points == 1
    why = {Path(name).stem: text for name, text in found.skipped}
    assert "counted once" in why["again"]
    assert "write --model qwen2.5-7b" in why["other"] and "write --weights fp8" in why["fp8"]


def test_a_server_that_is_faster_than_its_memory_is_doubted_and_no_error_is_smaller_than_its_miss(tmp_path: Path) -> None:
    run = files.logged(1, 300, 60, 8)
    mock = files.vllm(run, False) | {"mean_tpot_ms": 1.0, "median_tpot_ms": 1.0}
    found = fitted([files.write(tmp_path, "mock.json", mock)])
    assert any("below the" in text and "mock server" in text for text in found.missing)
    miss = next(abs(error.error) for error in found.errors if error.metric == "tpot")
    assert found.row.error["tpot_median"] >= round(miss, 4) > 0.5


def test_throughput_of_an_open_run_that_served_what_came_is_no_evidence(tmp_path: Path) -> None:
    open_run = files.logged(4, 300, 60, 40)
    value = files.vllm(open_run, False) | {"request_rate": 2.0, "max_concurrency": None, "output_throughput": 119.0}
    found = fitted([files.write(tmp_path, "open.json", value)])
    assert {error.metric for error in found.errors} <= {"tpot", "ttft"}
