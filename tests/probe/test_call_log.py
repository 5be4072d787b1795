"""Latency and prices from a gateway's log are those that the log was written with."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.probe.call_log import fitted_prices, measured_calls, read_calls
from sim.probe.fit_latency import fit_latency
from sim.probe.options import Asked, log_and_write
from sim.relay.law import law_quantiles

ROOT = Path(__file__).resolve().parents[2]
SECRET = "sk-secret-9f8e7d6c5b4a"


def spend_log(path: Path, calls: int = 300) -> Path:
    """A LiteLLM spend log: two models, a failure, answers of the gateway's own cache and answers that were not streamed."""
    rng = np.random.default_rng(1)
    rows = []
    for k in range(calls):
        start, into, out = 1_790_000_000 + 2.0 * k, int(rng.integers(100, 3000)), int(rng.integers(20, 300))
        ttft, tpot = 0.3 * np.exp(0.3 * rng.standard_normal()), 0.02
        whole = k % 10 == 0
        end = start + ttft + tpot * (out - 1)
        times = {"startTime": start, "endTime": end, "completionStartTime": end if whole else start + ttft}
        tokens = {"prompt_tokens": into, "completion_tokens": out, "spend": (into * 2.0 + out * 8.0) / 1e6}
        ended = {"cache_hit": "True" if k % 50 == 1 else "False", "status": "failure" if k % 60 == 3 else "success"}
        whose = {"request_id": str(k), "api_key": SECRET, "user": "someone", "model": "big" if k % 5 else "small"}
        rows.append({**whose, **tokens, **times, **ended})
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_a_spend_log_gives_the_laws_and_prices_of_one_model(tmp_path: Path) -> None:
    calls = read_calls(spend_log(tmp_path / "spend.jsonl"), "big")
    assert len(calls.start_s) == 240 - 6  # one in fifty answered by the gateway's cache: none of its calls of "small"
    prices, error = fitted_prices(calls)
    assert prices is not None and error < 1e-6
    assert (prices.input, prices.output, prices.cached) == (2.0, 8.0, None)
    latency = fit_latency(measured_calls(calls).attempts)
    assert latency is not None
    assert law_quantiles(latency.ttft, np.array([0.5]))[0] == pytest.approx(0.3, rel=0.08)
    assert law_quantiles(latency.tpot, np.array([0.5]))[0] == pytest.approx(0.02, rel=0.02)


def test_a_log_of_several_models_asks_for_one(tmp_path: Path) -> None:
    path = spend_log(tmp_path / "spend.jsonl")
    with pytest.raises(InputError, match="2 models; choose one with --model: big, small"):
        read_calls(path, None)
    with pytest.raises(InputError, match='no call of "huge"'):
        read_calls(path, "huge")


def test_nothing_personal_leaves_a_log(tmp_path: Path) -> None:
    said = log_and_write(spend_log(tmp_path / "spend.jsonl"), "big", Asked(out=tmp_path / "out"), lambda _: None)
    text = repr(said) + "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert SECRET not in text and "someone" not in text
    assert said["requests"]["failed"] == 5 and said["fit"]["tpot"]["samples"] > 150


def test_the_example_of_the_documentation_gives_the_prices_it_was_made_with() -> None:
    calls = read_calls(ROOT / "scenarios" / "gateway_calls.csv", None)
    prices, _ = fitted_prices(calls)
    assert calls.model == "example/llama-3.1-8b-instruct"
    assert prices is not None and (prices.input, prices.cached, prices.output) == (0.05, 0.025, 0.08)


def test_costs_that_tokens_do_not_explain_give_no_prices(tmp_path: Path) -> None:
    path = tmp_path / "activity.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["created_at", "tokens_prompt", "tokens_completion", "generation_time_ms", "time_to_first_token_ms", "cost_total"])
        rng = np.random.default_rng(2)
        for k in range(50):
            writer.writerow([f"2026-11-02 09:00:{k:02d}.000", 100, 50, 900, 300, float(rng.lognormal(0, 2))])
    prices, error = fitted_prices(read_calls(path, None))
    assert prices is None and error > 0.05


def test_a_file_that_is_no_log_of_calls_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"x.csv:1: holds no log of calls"):
        read_calls(path, None)


@pytest.mark.parametrize(
    "column", ["cost_total", "tokens_cached", "time_to_first_token_ms", "generation_time_ms", "tokens_prompt", "created_at"]
)
@pytest.mark.parametrize("value", ["1e999", "9" * 400, "1e308"])
def test_a_number_that_no_call_can_have_is_none(column: str, value: str, tmp_path: Path) -> None:
    rows = list(csv.DictReader((ROOT / "scenarios" / "gateway_calls.csv").read_text("utf-8").splitlines()))[:30]
    rows[3][column] = value
    path = tmp_path / "calls.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    said = log_and_write(path, None, Asked(None, None, None, None), lambda _: None)
    assert json.dumps(said, allow_nan=False)
