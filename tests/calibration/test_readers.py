"""Every benchmark format gives the same run; what cannot be read says where and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.calibration.readers.read_benchmark import read_benchmark
from sim.errors import InputError
from tests.calibration import benchmark_files as files


@pytest.fixture(scope="module")
def run() -> files.Logged:
    return files.logged(4, 300, 40, 24)


def cases(run: files.Logged) -> dict[str, Any]:
    return {
        "vllm detailed": files.vllm(run, True),
        "vllm summary": files.vllm(run, False),
        "guidellm": files.guidellm([run]),
        "guidellm sampled, old keys": files.guidellm([run], "args", listed=False),
        "aiperf": files.aiperf(run),
        "genai-perf": files.genai_perf(run),
        "csv": files.aiperf_csv(run),
        "records": files.aiperf_records(run),
    }


@pytest.mark.parametrize("name", list(cases(files.Logged(*[np.ones(2)] * 5, 2, None))))
def test_every_format_tells_the_same_run_in_seconds_and_tokens(name: str, run: files.Logged, tmp_path: Path) -> None:
    (found,) = read_benchmark(files.write(tmp_path, "result", cases(run)[name]), in_flight=4 if name in ("csv", "records") else None)
    assert (found.requests, found.in_flight, found.rate_rps) == (24, 4, None)
    assert found.input_tokens == pytest.approx(run.prompt.mean(), rel=0.003)
    assert found.output_tokens == pytest.approx(run.output.mean(), rel=0.01)
    assert found.measured["ttft"] == pytest.approx(run.ttft.mean(), rel=1e-3)
    assert found.measured["tpot"] == pytest.approx(run.tpot.mean(), rel=1e-3)
    assert found.measured["throughput"] == pytest.approx(run.output.sum() / run.duration, rel=1e-3)
    assert found.statistic == {"ttft": "mean", "tpot": "mean"}


def test_lengths_by_request_are_kept_and_those_of_quantiles_have_the_spread(run: files.Logged, tmp_path: Path) -> None:
    (detailed,) = read_benchmark(files.write(tmp_path, "d.json", files.vllm(run, True)))
    assert detailed.prompt is not None and detailed.prompt.tolist() == run.prompt.tolist()
    (summary,) = read_benchmark(files.write(tmp_path, "a.json", files.aiperf(run)))
    assert summary.prompt is not None and summary.prompt.std() == pytest.approx(run.prompt.std(), rel=0.15)
    (plain,) = read_benchmark(files.write(tmp_path, "s.json", files.vllm(run, False)))
    assert plain.prompt is None


def test_open_arrivals_are_taken_from_the_log_where_it_has_them(tmp_path: Path) -> None:
    run = files.logged(None, 200, 20, 30, rate_rps=5.0)
    (logged,) = read_benchmark(files.write(tmp_path, "d.json", files.vllm(run, True)))
    assert logged.arrival_s is not None and logged.arrival_s == pytest.approx(run.sent - run.sent.min(), abs=1e-6)
    (stated,) = read_benchmark(files.write(tmp_path, "s.json", files.vllm(run, False)))
    assert stated.rate_rps == 5.0 and stated.arrival_s is None
    (guided,) = read_benchmark(files.write(tmp_path, "g.json", files.guidellm([run])))
    assert guided.rate_rps == 5.0 and not guided.steady
    (records,) = read_benchmark(files.write(tmp_path, "r.jsonl", files.aiperf_records(run)))
    assert records.arrival_s is not None and records.arrival_s == pytest.approx(run.sent - run.sent.min(), abs=1e-5)


def test_a_sweep_and_appended_results_are_one_run_each(run: files.Logged, tmp_path: Path) -> None:
    assert len(read_benchmark(files.write(tmp_path, "g.json", files.guidellm([run, run])))) == 2
    lines = "\n".join(json.dumps(files.vllm(run, False)) for _ in range(3))
    found = read_benchmark(files.write(tmp_path, "v.jsonl", lines))
    assert [one.name.rsplit(":", 1)[1] for one in found] == ["1", "2", "3"]


def without(value: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {key: each for key, each in (value | changes).items() if each is not ...}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mean_ttft_ms": "fast"}, "mean_ttft_ms: 'fast' is not a number"),
        ({"mean_ttft_ms": -1}, "mean_ttft_ms: -1 is not a finite number"),
        ({"completed": 0}, "has no completed requests"),
        ({"request_rate": 3.0, "max_concurrency": 8}, "a rate and max_concurrency at once"),
        ({"request_rate": 3.0, "max_concurrency": None, "burstiness": 0.5}, "burstiness"),
        ({"total_output_tokens": ...}, "has no output tokens"),
    ],
)
def test_a_result_that_cannot_be_replayed_says_what_is_wrong(change: dict[str, Any], says: str, run: files.Logged, tmp_path: Path) -> None:
    path = files.write(tmp_path, "v.json", without(files.vllm(run, False), **change))
    with pytest.raises(InputError, match=r"v\.json") as caught:
        read_benchmark(path)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not JSON"),
        ('{"a": 1}', "is no benchmark result that is known"),
        ('{"a": ', "is not JSON"),
        ('{"a": 1}\n{"b": \n', ":2:7: is not JSON"),
        ('{"experiments": []}', "profile_export_genai_perf.json"),
        ("Metric,avg\nTime to First Token (ms),x\n", "not a number"),
        ("Metric,avg\nTime to First Token (ms),1\n", "Request Throughput"),
        ('{"benchmarks": [{"metrics": {}}]}', "successful requests"),
    ],
)
def test_a_file_that_nobody_knows_is_one_clear_message(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_benchmark(files.write(tmp_path, "x.json", text))
    assert says in str(caught.value) and "x.json" in str(caught.value)


def test_a_csv_without_its_load_asks_for_it(run: files.Logged, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--concurrency"):
        read_benchmark(files.write(tmp_path, "x.csv", files.aiperf_csv(run)))
