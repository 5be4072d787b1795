"""Measurement files: what is read, what is refused, and how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.calibration.points import load_points
from sim.calibration.replay_points import run_of, spread
from sim.catalog.loader import load_catalog
from sim.engine.release import engine_release
from sim.errors import InputError

HEADER = (
    "id,gpu,tp,pp,model,weights,kv_cache,engine,engine_version,scenario,requests,input_tokens_mean,output_tokens_mean,length_dist,"
    "concurrency,rate_rps,ttft_ms_p50,ttft_ms_mean,tpot_ms_p50,tpot_ms_mean,output_tokens_per_s,total_tokens_per_s,requests_per_s,"
    "quality,source,notes,cached_tokens,max_num_seqs,max_num_batched_tokens,kv_blocks"
)


def row(**changes: str) -> str:
    values = dict.fromkeys(HEADER.split(","), "") | {
        "id": "x1",
        "gpu": "L40S-48GB",
        "tp": "1",
        "model": "llama-3.1-8b",
        "weights": "w4a16",
        "engine": "vllm",
        "engine_version": "0.11.2",
        "scenario": "fixed_concurrency",
        "requests": "32",
        "input_tokens_mean": "100",
        "output_tokens_mean": "50",
        "concurrency": "4",
        "tpot_ms_p50": "20",
        "requests_per_s": "3",
    }
    return ",".join((values | changes).values())


def write(folder: Path, *rows: str) -> Path:
    path = folder / "points.csv"
    path.write_text("\n".join((HEADER, *rows)) + "\n")
    return path


def test_names_units_and_generation_are_those_of_the_catalogue(tmp_path: Path) -> None:
    (point,) = load_points(write(tmp_path, row()))
    assert (point.gpu, point.weights, point.engine) == ("l40s", "int4", "vllm-v1")
    assert point.measured == {"throughput": 150.0, "tpot": 0.020}
    assert point.statistic == {"tpot": "p50"}
    run = run_of(point, load_catalog())
    assert not isinstance(run, str)
    assert (len(run.prompt), run.in_flight) == (32, 4)


def test_every_bad_number_of_a_file_is_named_with_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_points(write(tmp_path, row(tp="two"), row(), row(rate_rps="-1"), row(scenario="sometimes")))
    lines = caught.value.problems
    assert [line.split(": ")[0].rsplit(":", 1)[1] for line in lines] == ["2", "4", "5"]
    assert "tp: 'two' is not a number" in lines[0] and "rate_rps" in lines[1] and "fixed_qps" in lines[2]


def test_a_file_without_the_columns_or_that_is_no_text_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00\x01")
    for name in ("a.csv", "b.csv", "absent.csv"):
        with pytest.raises(InputError, match=name):
            load_points(tmp_path / name)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pp": "2"}, "pipeline parallel"),
        ({"output_tokens_mean": ""}, "lengths"),
        ({"gpu": "TPU"}, "GPU tpu is not in the catalogue"),
        ({"model": "llama-3.1-70b", "weights": "bf16"}, "weights do not fit"),
        ({"source": "mlc-ai llm-perf-bench"}, "excluded: "),
    ],
)
def test_a_point_that_cannot_be_replayed_says_why(tmp_path: Path, changes: dict[str, str], why: str) -> None:
    (point,) = load_points(write(tmp_path, row(**changes)))
    reason = run_of(point, load_catalog())
    assert isinstance(reason, str) and why in reason


def test_an_engine_changes_release_where_it_began_to_behave_otherwise() -> None:
    assert engine_release("vllm", "0.7.3") == "vllm-v0"
    assert engine_release("vllm", "0.11.2") == "vllm-v1"
    assert engine_release("vllm", "latest (2025-12, about 0.13)") == "vllm-0.12"
    assert engine_release("vllm", "v1 (2026-02 build)") == "vllm-0.14"
    assert engine_release("vllm", "", "2025-10-29") == "vllm-v1"
    assert engine_release("nim (tensorrt-llm)", "1.0.0") == "trt-llm"
    assert engine_release("trtllm", "", "2025-10-29") == "trt-llm-1"


def test_a_point_says_what_was_cached_and_the_limits_of_its_engine(tmp_path: Path) -> None:
    stated = row(max_num_seqs="64", max_num_batched_tokens="1024", kv_blocks="900", cached_tokens="96")
    (point, noted) = load_points(write(tmp_path, stated, row(notes="max_num_seqs=32 max_num_batched_tokens=4096")))
    run = run_of(point, load_catalog())
    assert not isinstance(run, str)
    limits = run.deployment.limits
    assert (limits.max_num_seqs, limits.max_num_batched_tokens, limits.kv_blocks, run.cached) == (64, 1024, 900, 96)
    assert noted.limits == {"max_num_seqs": 32, "max_num_batched_tokens": 4096}


def test_four_bit_integers_go_by_their_kernel_and_quality_c_is_not_fitted(tmp_path: Path) -> None:
    marlin, plain, bad = load_points(write(tmp_path, row(weights="w4a16"), row(weights="w4a16", source="AccelMark x"), row(quality="C")))
    assert (marlin.weights, plain.weights) == ("int4", "int4-plain")
    assert marlin.fits and not bad.fits


@pytest.mark.parametrize("kind", ["fixed", "lognormal", "normal"])
def test_lengths_have_the_mean_that_was_measured(kind: str) -> None:
    lengths = spread(345.0, 100, kind, np.random.default_rng(0), 512.0 if kind == "lognormal" else 50.0)
    assert lengths.mean() == pytest.approx(345, rel=0.01)
    assert lengths.min() >= 1
