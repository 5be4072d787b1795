"""A log with measured latency is replayed request by request, and told against what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from optimize.report.terminal.render_validation import render_replayed
from sim.calibration.measured_log import deployment_named, read_measured, replay_measured
from sim.calibration.replay_log import replay_requests
from sim.catalog.loader import load_catalog
from sim.engine.step_cost import step_cost
from sim.errors import InputError

CATALOG = load_catalog()


def test_a_log_that_the_simulator_wrote_is_predicted_to_the_microsecond(tmp_path: Path) -> None:
    deployment = deployment_named(CATALOG, "h100", "llama-3.1-8b", "fp8", 1)
    cost = step_cost(deployment, CATALOG.calibration)
    rng = np.random.default_rng(1)
    prompt, output, arrival = rng.integers(100, 900, 60), rng.integers(5, 60, 60), np.sort(rng.random(60) * 20)
    arrival -= arrival[0]
    said = replay_requests(deployment, cost, prompt, output, arrival)
    path = tmp_path / "log.csv"
    rows = [f"{a},{i},{o},{t},{e}" for a, i, o, t, e in zip(arrival, prompt, output, said.ttft_s, said.e2e_s, strict=True)]
    path.write_text("\n".join(["arrival_s,input_tokens,output_tokens,ttft_s,e2e_s", *rows, "30,5,5,,"]) + "\n")
    found = replay_measured(path, deployment, cost)
    assert (found.requests, found.dropped) == (60, 1) and {row.metric for row in found.rows} == {"ttft", "tpot", "e2e"}
    assert all(abs(row.error) < 1e-3 for row in found.rows) and "60 requests on one replica" in render_replayed(found)


def test_spend_logs_of_litellm_have_first_tokens_where_they_streamed(tmp_path: Path) -> None:
    path = tmp_path / "spend.jsonl"
    row = {"startTime": "2026-05-10T00:00:00Z", "endTime": "2026-05-10T00:00:02Z", "prompt_tokens": 10, "completion_tokens": 5}
    streamed, whole = row | {"completionStartTime": "2026-05-10T00:00:00.500Z"}, row | {"completionStartTime": "2026-05-10T00:00:02Z"}
    path.write_text("\n".join(map(json.dumps, (streamed, whole))))
    _, _, _, _, ttft_s, e2e_s = read_measured(path)
    assert ttft_s[0] == 0.5 and np.isnan(ttft_s[1]) and e2e_s.tolist() == [2.0, 2.0]


def test_a_log_without_latencies_says_which_columns_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n1,2,3\n")
    with pytest.raises(InputError, match="add a column ttft_s or e2e_s"):
        read_measured(path)


def test_names_that_are_missing_or_unknown_are_all_told() -> None:
    with pytest.raises(InputError, match="--gpu is missing") as told:
        deployment_named(CATALOG, None, "llama", "bf16", 1)
    assert len(told.value.problems) == 2
