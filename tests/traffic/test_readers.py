"""Logs are recognised by header or keys, and every row is accounted for."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.traffic.readers import ReadLog, read_log
from tests.shared_data import shared_data

HEADER = "arrival_s,input_tokens,output_tokens"


def written(tmp_path: Path, *lines: str, header: str = HEADER, name: str = "log.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_log(path)
    return str(caught.value)


def test_own_csv_comes_back_as_it_was_written(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, "5.5,100,10", "6,200,20", "9.25,300,0"))
    assert log.format == "ServeMix CSV"
    assert log.arrival_s.tolist() == [0.0, 0.5, 3.75]
    assert log.input_tokens.tolist() == [100, 200, 300] and log.output_tokens.tolist() == [10, 20, 1]
    assert log.session_id.tolist() == [-1, -1, -1] and log.class_code.tolist() == [-1, -1, -1]
    assert (log.read, log.kept, log.dropped) == (3, 3, {})
    assert "1 row without output tokens is kept as 1 token" in log.notes[0]


def test_columns_are_found_by_name_in_any_order_and_others_stay_in_the_file(tmp_path: Path) -> None:
    header = "user_email,Class,output_tokens, Session_ID ,input_tokens,arrival_s"
    log = read_log(written(tmp_path, "a@b,faq,10,s1,100,0", "a@b,chat,20,s1,150,4", "a@b,,5,,9,5", header=header))
    assert log.class_names == ("faq", "chat") and log.class_code.tolist() == [0, 1, -1]
    assert log.session_id.tolist() == [0, 0, -1]
    assert log.prefix_tokens.tolist() == [0, 110, 0]
    assert "a@b" not in repr(log)


def test_a_turn_whose_history_was_cut_shares_nothing(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, "0,100,10,s", "4,105,20,s", header=HEADER + ",session_id"))
    assert log.prefix_tokens.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,nan,5", "token count is not a finite number"),
        ("1,5,inf", "token count is not a finite number"),
        ("1,many,5", "token count is not a finite number"),
        ("nan,5,5", "arrival time is not a finite number"),
        ("soon,5,5", "arrival time is not a finite number"),
        ("-1,5,5", "negative arrival time"),
        ("1,-5,5", "negative token count"),
        ("1,5.5,5", "token count is not whole"),
        ("1,5,99999999", "more than 10000000 tokens"),
        ("1,0,5", "no input tokens"),
        ("1,37", "torn row (wrong number of cells)"),
        ("1,5,5,5", "torn row (wrong number of cells)"),
        ("", "blank line"),
    ],
)
def test_a_bad_row_is_dropped_with_its_reason_and_line(tmp_path: Path, row: str, reason: str) -> None:
    log = read_log(written(tmp_path, "0,10,10", row, "2,10,10"))
    assert log.dropped == {reason: 1} and log.first_line == {reason: 3}
    assert log.read == 3 and log.kept == 2
    assert f"1 dropped: {reason} (first at line 3)" in log.summary()


def test_bytes_that_are_no_utf8_drop_their_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER.encode() + b"\n0,10,10\n1,\xff\xfe,10\n2,10,10\n")
    assert read_log(path).dropped == {"token count is not a finite number": 1}


def test_a_log_without_a_usable_row_says_why(tmp_path: Path) -> None:
    message = refused(written(tmp_path, "0,0,1", "1,x,1"))
    assert "no usable row of 2" in message and "no input tokens: 1 (first at line 2)" in message
    assert "there are none under the header" in refused(written(tmp_path))


def test_missing_empty_and_unknown_files_are_refused_with_file_and_line(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "absent.csv")
    assert "is a directory" in refused(tmp_path)
    (tmp_path / "empty").touch()
    assert f"{tmp_path / 'empty'}:1: the file is empty" in refused(tmp_path / "empty")
    message = refused(written(tmp_path, "1,2", header="when,what"))
    assert "log.csv:1: header 'when,what'" in message and HEADER in message
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 4)
    assert "no known log format" in refused(tmp_path / "noise")


def test_a_column_that_stands_twice_is_refused(tmp_path: Path) -> None:
    assert "stands twice" in refused(written(tmp_path, "1,2,3,4", header=HEADER + ",arrival_s"))


def test_gzip_is_told_by_its_bytes_and_a_torn_one_is_refused(tmp_path: Path) -> None:
    rows = "\n".join([HEADER, *(f"{i * 0.37:.2f},{i % 7 + 1},{i % 5 + 1}" for i in range(20_000))])
    packed = gzip.compress(rows.encode())
    path = tmp_path / "log.csv"
    path.write_bytes(packed)
    assert read_log(path).kept == 20_000
    path.write_bytes(packed[: len(packed) // 2])
    message = refused(path)
    assert "torn or damaged after this line" in message and int(message.split(":")[1]) > 1000
    path.write_bytes(packed[:-6])  # only the check sum is missing
    assert "torn or damaged" in refused(path)


def test_a_shuffled_log_is_sorted_and_says_so(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, "9.5,3,1", "1.5,1,1", "4.25,2,1"))
    assert log.input_tokens.tolist() == [1, 2, 3] and (np.diff(log.arrival_s) > 0).all()
    assert any("not in order" in note for note in log.notes)


def test_mixed_seconds_and_milliseconds_are_refused_at_their_line(tmp_path: Path) -> None:
    lines = [f"{i * 1.1 + 5 if i % 10 else (i * 1.1 + 5) * 1000:.3f},9,9" for i in range(1, 500)]
    message = refused(written(tmp_path, *lines))
    assert "log.csv:11: " in message and "seconds" in message


def test_rows_on_another_epoch_are_refused_at_their_line(tmp_path: Path) -> None:
    lines = [f"{i * 1.1:.3f},9,9" for i in range(100)] + ["1700000000.5,9,9"]
    assert "log.csv:102: " in refused(written(tmp_path, *lines))


def test_a_long_quiet_log_is_no_mixture(tmp_path: Path) -> None:
    arrival = np.cumsum(np.random.default_rng(1).exponential(500, 2000))
    assert read_log(written(tmp_path, *(f"{x:.3f},9,9" for x in arrival))).kept == 2000


def test_whole_seconds_are_spread_over_their_second(tmp_path: Path) -> None:
    seconds = np.sort(np.random.default_rng(1).integers(0, 600, 5000))
    log = read_log(written(tmp_path, *(f"{x},9,9" for x in seconds)))
    assert any("buckets of 1 s" in note for note in log.notes)
    assert len(np.unique(log.arrival_s)) == 5000
    assert abs((log.arrival_s % 1).mean() - 0.5) < 4 * np.sqrt(1 / 12 / 5000)


def test_azure_reads_seven_digits_and_zones(tmp_path: Path) -> None:
    old = written(tmp_path, "2023-11-16 18:15:46.6805900,374,44", "2023-11-16 18:15:50.9951690,396,109",
                  header="TIMESTAMP,ContextTokens,GeneratedTokens")  # fmt: skip
    assert read_log(old).arrival_s.tolist() == pytest.approx([0, 4.314579], abs=1e-6)
    new = written(tmp_path, "2024-05-10 00:00:00.009930+00:00,1,2", "2024-05-10 02:00:01.009930+02:00,3,4",
                  header="TIMESTAMP,ContextTokens,GeneratedTokens")  # fmt: skip
    assert read_log(new).arrival_s.tolist() == pytest.approx([0, 1], abs=1e-6)


@pytest.mark.parametrize(
    ("header", "row", "name"),
    [
        ("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", "{t},GPT-4,{i},{o},9,API log", "BurstGPT trace"),
        ("Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",
         "{t},s1,1.0,GPT-4,{i},{o},9,API log", "BurstGPT trace"),
        ("arrived_at,num_prefill_tokens,num_decode_tokens", "{t},{i},{o}", "Vidur trace"),
        ("request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size",
         "1,2,0,{t},1,{i},{o}", "splitwise-sim trace"),
    ],
)  # fmt: skip
def test_other_csv_traces_are_told_by_their_header(tmp_path: Path, header: str, row: str, name: str) -> None:
    lines = [row.format(t=t, i=i, o=o) for t, i, o in ((5, 472, 18), (45, 1087, 230), (118, 417, 0))]
    log = read_log(written(tmp_path, *lines, header=header))
    assert log.format == name and log.dropped == {"no output tokens (failed or cancelled)": 1}
    assert log.arrival_s.tolist() == [0, 40] and log.input_tokens.tolist() == [472, 1087]


def test_block_hashes_give_shared_prefixes(tmp_path: Path) -> None:
    rows = [
        {"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 3]},
        {"timestamp": 1250, "input_length": 1600, "output_length": 5, "hash_ids": [1, 2, 9, 3]},
        {"timestamp": 2500, "input_length": 400, "output_length": 5, "hash_ids": [1]},
    ]
    path = tmp_path / "mooncake"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"timestamp": 3')
    log = read_log(path)
    assert log.format == "Mooncake trace" and log.dropped == {"torn row (not a JSON object)": 1}
    assert log.arrival_s.tolist() == [0, 1.25, 2.5]
    assert log.prefix_tokens.tolist() == [0, 1024, 399]


def test_bailian_chats_are_sessions_in_seconds(tmp_path: Path) -> None:
    common = {"input_length": 40, "output_length": 5, "type": "text", "turn": 1}
    rows = [
        {"chat_id": 7, "parent_chat_id": -1, "timestamp": 0.5, "hash_ids": [1, 2], **common},
        {"chat_id": 8, "parent_chat_id": -1, "timestamp": 1.5, "hash_ids": [5], **common},
        {"chat_id": 9, "parent_chat_id": 7, "timestamp": 3.5, "hash_ids": [1, 2, 3], **common},
    ]
    log = read_log(written(tmp_path, *(json.dumps(row) for row in rows[1:]), header=json.dumps(rows[0])))
    assert log.format == "Bailian trace" and log.session_id.tolist() == [0, 1, 0]
    assert log.arrival_s.tolist() == [0, 1, 3] and log.prefix_tokens.tolist() == [0, 0, 32]


def test_json_without_the_keys_is_refused(tmp_path: Path) -> None:
    assert "key input_length is missing" in refused(written(tmp_path, header='{"timestamp": 1}'))


def test_azure_conversation_trace_has_its_published_figures() -> None:
    log = read_log(shared_data("traces/azure_llm_2023_conv.csv.gz"))
    assert (log.read, log.kept) == (19_366, 19_366)
    assert round(log.input_tokens.mean()) == 1155 and round(log.output_tokens.mean()) == 211
    assert np.median(log.input_tokens) == 1020 and np.median(log.output_tokens) == 129


def test_mooncake_trace_reuses_the_published_share_and_loses_its_buckets() -> None:
    log = read_log(shared_data("traces/mooncake_fast25_conversation.jsonl.gz"))
    assert log.kept == 12_031 and any("buckets of 3 s" in note for note in log.notes)
    assert log.prefix_tokens.sum() / log.input_tokens.sum() == pytest.approx(0.37, abs=0.01)


def test_vidur_lengths_say_that_the_rate_is_assumed() -> None:
    log: ReadLog = read_log(shared_data("traces/vidur_arxiv_summarization_lengths.csv.gz"))
    assert log.kept > 20_000 and "one request a second is assumed" in log.notes[0]


def test_csv_is_read_at_300_000_rows_a_second(tmp_path: Path) -> None:
    path = written(tmp_path, *(f"{i * 0.0371:.4f},{i % 4000 + 1},{i % 300 + 1}" for i in range(200_000)))
    read_log(written(tmp_path, "1,2,3", name="warm.csv"))
    begin = time.process_time()
    assert read_log(path).kept == 200_000
    assert 200_000 / (time.process_time() - begin) > 300_000  # measured 0.9-1.1 M rows/s
