"""Benchmark files beyond the three tools: InferenceX points, exports without counts, and what was measured on nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.calibration.readers.read_benchmark import read_benchmark
from sim.errors import InputError

POINT = {
    "hw": "h200", "tp": 8, "conc": 64, "isl": 1024, "osl": 1024, "model": "gpt-oss-120b", "output_tput_per_gpu": 500.0,
    "tput_per_gpu": 1000.0, "median_ttft": 0.45, "mean_ttft": 0.5, "p99_ttft": 2.0, "median_tpot": 0.0125, "mean_tpot": 0.013,
}  # fmt: skip
CSV = (
    "Metric,avg,min,max,p99,p50\nTime To First Token (ms),120,80,300,290,110\nRequest Latency (ms),2000,1500,3000,2900,1900\n"
    "Output Sequence Length,200,150,250,240,200\nInput Sequence Length,500,400,600,590,500\n\n"
    "Metric,Value\nOutput Token Throughput (per sec),1500\nRequest Throughput (per sec),7.5\n"
)


def test_a_point_of_inferencex_is_in_seconds_and_by_gpu(tmp_path: Path) -> None:
    path = tmp_path / "point.json"
    path.write_text(json.dumps(POINT))
    (run,) = read_benchmark(path)
    assert run.measured == {"throughput": 4000.0, "ttft": 0.45, "tpot": 0.0125} and run.statistic == {"ttft": "p50", "tpot": "p50"}
    assert run.in_flight == 64 and run.input_tokens == 1024


@pytest.mark.parametrize(("change", "words"), [({"disagg": True}, "several servers"), ({"median_tpot": 12.5}, "milliseconds")])
def test_a_point_that_cannot_be_replayed_is_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = tmp_path / "point.json"
    path.write_text(json.dumps(POINT | change))
    with pytest.raises(InputError, match=words):
        read_benchmark(path)


def test_an_old_export_without_counts_is_read_with_its_concurrency(tmp_path: Path) -> None:
    path = tmp_path / "genai.csv"
    path.write_text(CSV)
    (run,) = read_benchmark(path, 16)
    assert run.in_flight == 16 and run.requests == 160 and run.measured["ttft"] == pytest.approx(0.12)
    with pytest.raises(InputError, match="--concurrency"):
        read_benchmark(path)


@pytest.mark.parametrize("place", [{"args": {"backend_type": "mock"}}, {"config": {"backend": {"target": "http://mock-server:8000"}}}])
def test_results_of_a_mock_server_are_refused(tmp_path: Path, place: dict[str, object]) -> None:
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps({"benchmarks": [{"metrics": {}, **place}]}))
    with pytest.raises(InputError, match="mock server"):
        read_benchmark(path)
