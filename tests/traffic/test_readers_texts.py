"""Files of conversations, AIPerf traces and pages of usage: small samples of the public shapes, made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.errors import InputError
from sim.traffic.readers import read_log, read_usage


def sharegpt(tmp_path: Path, lines: bool = False) -> Path:
    def said(*turns: tuple[str, str]) -> list[dict[str, str]]:
        return [{"from": who, "value": text} for who, text in turns]

    rows = [
        {"id": "a", "conversations": said(("human", "x" * 40), ("gpt", "y" * 80), ("human", "z" * 20), ("gpt", "w" * 8))},
        {"id": "b", "conversations": said(("human", "only a question"))},
        {"id": "c", "conversations": said(("system", "s" * 8), ("user", "q" * 8), ("gpt", "a" * 4))},
    ]
    path = tmp_path / "sharegpt.json"
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return path


@pytest.mark.parametrize("lines", [False, True])
def test_sharegpt_is_a_request_for_each_answer_with_all_before_it_as_prompt(tmp_path: Path, lines: bool) -> None:
    log = read_log(sharegpt(tmp_path, lines))
    assert log.input_tokens.tolist() == [10, 35, 4] and log.output_tokens.tolist() == [20, 2, 1]
    assert log.session_id.tolist()[0] == log.session_id.tolist()[1] != log.session_id.tolist()[2]
    assert log.dropped == {"no answer in it": 1} and any("one request a second is assumed" in note for note in log.notes)


def test_messages_with_parts_are_conversations_too(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    row = {"messages": [{"role": "user", "content": [{"type": "text", "text": "x" * 40}]}, {"role": "assistant", "content": "y" * 8}]}
    path.write_text("\n".join([json.dumps(row)] * 3))
    assert read_log(path).input_tokens.tolist() == [10, 10, 10]


def test_an_aiperf_trace_has_sessions_and_delays(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows = [
        {"session_id": "s1", "timestamp": 0, "input_length": 100, "output_length": 10},
        {"session_id": "s1", "delay": 5000, "input_length": 150, "output_length": 10},
        {"session_id": "s2", "timestamp": 2000, "input_length": 30, "output_length": 10},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    log = read_log(path)
    assert log.format == "AIPerf trace" and log.arrival_s.tolist() == [0, 2, 5]
    assert log.prefix_tokens.tolist() == [0, 0, 110] and any("no timestamp" in note for note in log.notes)


def test_a_trace_of_texts_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps({"timestamp": 0, "text_input": "hello", "output_length": 10}))
    with pytest.raises(InputError, match="holds texts"):
        read_log(path)


@pytest.mark.parametrize("key", ["result", "results"])
def test_pages_of_usage_take_both_names_and_say_that_more_follow(tmp_path: Path, key: str) -> None:
    counts = {"object": "organization.usage.completions.result", "num_model_requests": 5, "input_tokens": 500, "output_tokens": 50}
    bucket = {"object": "bucket", "start_time": 1730419200, "end_time": 1730505600, key: [counts]}
    path = tmp_path / "usage.json"
    path.write_text(json.dumps({"object": "page", "data": [bucket], "has_more": True, "next_page": "abc"}))
    usage = read_usage(path)
    assert usage.total("requests") == 5 and any("has_more" in note for note in usage.notes)
