"""Usage exports are sums: they are added up, never taken for a log, and say what they lack."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sim.errors import InputError
from sim.traffic.readers import Usage, read_any, read_log, read_usage

COLUMNS = "start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,api_key_id,model,batch,input_tokens"
COLUMNS += ",output_tokens,input_cached_tokens,input_uncached_tokens"
HOUR = 3600


def csv_row(hour: int, model: str, requests: object, tokens_in: object, tokens_out: object, cached: int = 0, batch: str = "") -> str:
    start = 1_761_523_200 + hour * HOUR
    tail = f"{requests},user-7,key_abc,{model},{batch},{tokens_in},{tokens_out},{cached},0"
    return f"{start},{start + HOUR},2025-10-27T00:00:00+00:00,2025-10-27T01:00:00+00:00,proj_x,{tail}"


def written(tmp_path: Path, text: str, name: str = "completions_usage.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def page(*buckets: tuple[int, list[dict[str, Any]]]) -> dict[str, Any]:
    data = [{"object": "bucket", "start_time": t, "end_time": t + 86_400, "results": results} for t, results in buckets]
    return {"object": "page", "data": data, "has_more": False, "next_page": None}


def result(model: str, requests: int, tokens_in: int, tokens_out: int, cached: int = 0) -> dict[str, Any]:
    return {
        "object": "organization.usage.completions.result",
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "input_cached_tokens": cached,
        "num_model_requests": requests,
        "project_id": "proj_x",
        "user_id": "user-7",
        "api_key_id": "key_abc",
        "model": model,
        "batch": None,
    }


def totals(usage: Usage) -> dict[str, tuple[float | None, ...]]:
    return {each.model: (each.requests, each.input_tokens, each.cached_tokens, each.output_tokens) for each in usage.models}


def test_rows_of_one_bucket_are_summed_and_kept_by_model(tmp_path: Path) -> None:
    rows = [
        csv_row(0, "gpt-4.1", 10, 1000, 300, 200),
        csv_row(0, "gpt-4.1", 5, 500, 100),
        csv_row(0, "o3", 1, 90, 900),
        csv_row(2, "gpt-4.1", 4.0, 400, 40),
    ]
    usage = read_usage(written(tmp_path, "\n".join([COLUMNS, *rows])))
    assert totals(usage) == {"gpt-4.1": (19, 1900, 200, 440), "o3": (1, 90, 0, 900)}
    assert (usage.width_s, usage.span_s, usage.requests.tolist()) == (HOUR, 3 * HOUR, [16, 4])
    assert usage.total("requests") == 20 and "user-7" not in repr(usage) and "key_abc" not in repr(usage)


def test_pages_read_the_same_as_one_document_many_lines_or_gzip(tmp_path: Path) -> None:
    whole = page((0, [result("gpt-4.1", 5, 1000, 500, 800), result("o3", 1, 5, 5)]), (86_400, []), (172_800, [result("o3", 2, 7, 9)]))
    texts = {
        "line": json.dumps(whole),
        "pretty": json.dumps(whole, indent=2),
        "buckets": "\n".join(json.dumps(bucket) for bucket in whole["data"]),
        "pages": json.dumps([whole]),
    }
    for name, text in texts.items():
        usage = read_usage(written(tmp_path, text, name))
        assert totals(usage) == {"gpt-4.1": (5, 1000, 800, 500), "o3": (3, 12, 0, 14), "": (0, 0, 0, 0)}, name
        assert (usage.span_s, usage.requests.tolist()) == (3 * 86_400, [6, 0, 2])
    (tmp_path / "packed").write_bytes(gzip.compress(texts["line"].encode()))
    assert read_usage(tmp_path / "packed").total("requests") == 8


def test_the_older_export_is_read_too(tmp_path: Path) -> None:
    row = {"aggregation_timestamp": 1_700_000_000, "n_requests": 3, "n_context_tokens_total": 90, "n_generated_tokens_total": 30}
    usage = read_usage(written(tmp_path, json.dumps({"object": "list", "data": [row | {"snapshot_id": "gpt-4-0613"}]}), "old.json"))
    assert totals(usage) == {"gpt-4-0613": (3, 90, None, 30)} and usage.width_s == 86_400


def test_openrouter_days_are_sums(tmp_path: Path) -> None:
    row = {"date": "2026-08-24", "model": "openai/gpt-4.1", "requests": 5, "prompt_tokens": 50, "completion_tokens": 125, "usage": 0.015}
    usage = read_usage(written(tmp_path, json.dumps({"data": [row, row | {"date": "2026-08-26"}]}), "days.json"))
    assert (usage.total("requests"), usage.usd, usage.span_s) == (10, 0.03, 3 * 86_400)


def test_a_usage_export_given_as_a_log_is_told_what_it_lacks(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join([COLUMNS, csv_row(0, "m", 1, 2, 3)]))
    with pytest.raises(InputError) as caught:
        read_log(path)
    (message,) = caught.value.problems
    assert "lacks single arrivals, lengths of single requests, sessions and latency" in message
    assert "servemix new NAME --from-log completions_usage.csv" in message
    with pytest.raises(InputError, match="it holds single requests"):
        read_usage(written(tmp_path, "arrival_s,input_tokens,output_tokens\n0,1,1\n2.5,1,1\n", "log.csv"))


def test_bad_rows_are_dropped_with_reasons_and_batch_jobs_are_named(tmp_path: Path) -> None:
    rows = [csv_row(0, "m", "many", 2, 3), csv_row(0, "m", 1, -2, 3), "1,2,3", csv_row(1, "m", 6, 2, 3, batch="True")]
    usage = read_usage(written(tmp_path, "\n".join([COLUMNS, *rows])))
    assert usage.dropped == {
        "torn row (wrong number of cells)": 1,
        "request or token count is not a finite number": 1,
        "negative count": 1,
    }
    assert (usage.read, usage.kept, usage.total("requests")) == (4, 1, 6)
    assert "6 requests are batch jobs" in usage.notes[0] and "summed in 1 bucket of 3600 s" in usage.summary()


def test_an_export_without_usage_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="usage export without usage"):
        read_any(written(tmp_path, "start_time,end_time,start_time_iso,end_time_iso\n1,2,a,b\n"))
    with pytest.raises(InputError, match="no usable row of 0"):
        read_any(written(tmp_path, COLUMNS + "\n"))


def test_a_servegen_client_counts_its_windows_and_its_tokens(tmp_path: Path) -> None:
    trace = "0,0,0,,0,0\n600,1.5,1.06,Gamma,0.88,0.68\n1200,0.5,8.4,Weibull,0.31,0.2\n"
    path = written(tmp_path, trace, "chunk-7-trace.csv")
    alone = read_usage(path)
    assert (alone.requests.tolist(), alone.total("input_tokens"), alone.width_s) == ([0, 900, 300], None, 600)
    laws = {
        "600": {"input_tokens": "{100: 0.5, 300: 0.5}", "output_tokens": "{50: 1.0}"},
        "1200": {"input_tokens": "{}", "output_tokens": "{}"},
    }
    written(tmp_path, json.dumps(laws), "chunk-7-dataset.json")
    both = read_usage(path)
    assert (both.total("input_tokens"), both.total("output_tokens")) == (1200 * 200, 1200 * 50)
    written(tmp_path, '{"600": {"input_tokens": "__import__(1)"}}', "chunk-7-dataset.json")
    with pytest.raises(InputError, match="is no ServeGen dataset"):
        read_usage(path)
