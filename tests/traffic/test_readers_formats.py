"""Every log format: what is written comes back, bad files are refused or explained, and nothing personal leaves the file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.traffic.readers import ReadLog, read_any, read_log
from tests.shared_data import shared_data
from tests.traffic.log_samples import SAMPLES, SECRETS, Sample

each_format = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: f"{each.name}-{SAMPLES.index(each)}")
each_json = pytest.mark.parametrize("sample", [each for each in SAMPLES if each.header is None], ids=lambda each: each.name)


def rows(count: int = 200) -> list[tuple[float, int, int]]:
    rng = np.random.default_rng(1)
    times = np.round(np.cumsum(rng.exponential(2.0, count)) + 3.0, 3)
    return [(float(t), int(i), int(o)) for t, i, o in zip(times, rng.integers(600, 4000, count), rng.integers(1, 500, count), strict=True)]


def written(tmp_path: Path, text: str, name: str = "log") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@each_format
def test_what_is_written_comes_back(sample: Sample, tmp_path: Path) -> None:
    wanted = rows()
    log = read_log(written(tmp_path, sample.text(wanted)))
    assert (log.format, log.read, log.kept, log.dropped) == (sample.name, len(wanted), len(wanted), {})
    assert log.arrival_s == pytest.approx(np.array([t for t, _, _ in wanted]) - wanted[0][0], abs=2e-3)
    assert log.input_tokens.tolist() == [i for _, i, _ in wanted]
    assert log.output_tokens.tolist() == [o for _, _, o in wanted]


@each_format
def test_gzip_reads_the_same_whatever_the_name(sample: Sample, tmp_path: Path) -> None:
    text = sample.text(rows(50))
    plain = read_log(written(tmp_path, text))
    packed = tmp_path / "packed.dat"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_log(packed).arrival_s.tolist() == plain.arrival_s.tolist()
    packed.write_bytes(gzip.compress(text.encode())[:-9])
    with pytest.raises(InputError, match="torn or damaged"):
        read_log(packed)


@each_format
def test_nothing_personal_is_in_what_a_reader_returns(sample: Sample, tmp_path: Path) -> None:
    log = read_log(written(tmp_path, sample.text(rows(20))))
    told = repr(log) + log.summary()
    assert [secret for secret in SECRETS if secret in told] == []


@each_format
def test_a_torn_last_row_is_dropped_with_its_line(sample: Sample, tmp_path: Path) -> None:
    text = sample.text(rows(50)).rstrip("\n")
    log = read_log(written(tmp_path, text + "\n" + text.splitlines()[-1][:9]))
    assert (log.read, log.kept) == (51, 50)
    (reason,) = log.dropped
    assert reason.startswith("torn row") and log.first_line[reason] == (52 if sample.header else 51)


@each_format
def test_a_shuffled_log_is_sorted_and_says_so(sample: Sample, tmp_path: Path) -> None:
    wanted = rows(60)
    mixed = [wanted[k] for k in np.random.default_rng(3).permutation(len(wanted))]
    log = read_log(written(tmp_path, sample.text(mixed)))
    assert log.input_tokens.tolist() == [i for _, i, _ in wanted]
    assert any("not in order" in note for note in log.notes)


@each_format
def test_rows_on_another_clock_are_refused_at_their_line(sample: Sample, tmp_path: Path) -> None:
    far = 9e8 if sample.clock_is_text else 1e7
    text = sample.text([*rows(60), (rows(60)[-1][0] + far, 700, 5), (rows(60)[-1][0] + far + 7, 701, 6)])
    with pytest.raises(InputError, match=f"log:{62 if sample.header else 61}: .*write all arrival times in seconds"):
        read_log(written(tmp_path, text))


@pytest.mark.parametrize("sample", [each for each in SAMPLES if not each.clock_is_text], ids=lambda each: each.name)
def test_milliseconds_among_seconds_are_refused(sample: Sample, tmp_path: Path) -> None:
    wanted = [(t * 1000 if k % 12 == 11 else t, i, o) for k, (t, i, o) in enumerate(rows(400))]
    with pytest.raises(InputError, match="units look mixed"):
        read_log(written(tmp_path, sample.text(wanted)))


@each_format
def test_a_header_without_rows_is_refused(sample: Sample, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no usable row|is empty"):
        read_log(written(tmp_path, sample.text([]).strip()))


@each_format
def test_whole_seconds_are_spread_and_said_so(sample: Sample, tmp_path: Path) -> None:
    seconds = np.sort(np.random.default_rng(5).integers(0, 300, 900))
    log = read_log(written(tmp_path, sample.text([(float(t), 700, 9) for t in seconds])))
    assert any("buckets of 1 s" in note for note in log.notes)
    assert len(np.unique(log.arrival_s)) == 900


@each_json
def test_json_lines_and_one_array_read_the_same(sample: Sample, tmp_path: Path) -> None:
    text = sample.text(rows(30))
    lines = read_log(written(tmp_path, text))
    array = [json.loads(line) for line in text.splitlines()]
    for name, document in {"array": array, "page": {"data": array, "total": 30}}.items():
        for indent in (None, 1):
            whole = read_log(written(tmp_path, json.dumps(document, indent=indent), name))
            assert whole.arrival_s.tolist() == lines.arrival_s.tolist()
            assert whole.prefix_tokens.tolist() == lines.prefix_tokens.tolist()


@pytest.mark.parametrize("text", ["[]", "{}", "[1, 2]", "[[", '{"data": []}', "[" * 100_000, '{"a": 1}\n{"b": 2}', '"x"', "null"])
def test_json_that_is_no_log_is_one_message(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_any(written(tmp_path, text))
    assert len(caught.value.problems) == 1 and caught.value.problems[0].startswith(f"{tmp_path / 'log'}:1: ")


def test_a_cell_of_a_megabyte_is_skipped_and_an_open_quote_is_no_traceback(tmp_path: Path) -> None:
    header = "arrival_s,input_tokens,output_tokens,prompt"
    log = read_log(written(tmp_path, f'{header}\n0,5,5,"{"x" * 2_000_000}"\n1.5,6,6,y\n'))
    assert log.kept == 2
    log = read_log(written(tmp_path, f'{header}\n0,5,5,a\n1.5,6,6,"y\n2,7,7,z\n'))
    assert log.kept == 2  # the open quote takes the rest of the file into its cell: csv's own rule


def test_litellm_drops_cache_hits_and_keeps_embeddings(tmp_path: Path) -> None:
    base = {"startTime": "2026-05-01T00:00:01.5Z", "prompt_tokens": 50, "completion_tokens": 7, "model": "gpt-4.1", "spend": 0.5}
    lines = [
        base,
        base | {"startTime": "2026-05-01T00:00:03Z", "cache_hit": "True"},
        base | {"startTime": "2026-05-01T00:00:04Z", "cache_hit": True},
        base | {"startTime": "2026-05-01T00:00:05Z", "completion_tokens": 0, "call_type": "aembedding", "model": "embed"},
        base | {"startTime": "2026-05-01T00:00:06Z", "completion_tokens": 0, "spend": 0},
    ]
    log = read_log(written(tmp_path, "\n".join(json.dumps(each) for each in lines)))
    assert log.dropped == {"answered from the gateway's own cache": 2, "no output tokens (failed or cancelled)": 1}
    assert log.output_tokens.tolist() == [7, 1] and log.models == (("embed", 1), ("gpt-4.1", 1)) and log.usd == 1.0


def test_openrouter_cached_tokens_are_the_shared_prefix(tmp_path: Path) -> None:
    header = "created_at,tokens_prompt,tokens_completion,tokens_cached,model_permaslug"
    log = read_log(written(tmp_path, f"{header}\n2026-06-01 00:00:00.5,1000,5,768,m\n2026-06-01 00:00:02.5,1000,5,,m\n"))
    assert log.prefix_tokens.tolist() == [768, 0] and "cached tokens" in " ".join(log.notes)


def test_ragpulse_shares_the_leading_chunks_when_their_lengths_lie_beside_it(tmp_path: Path) -> None:
    sample = next(each for each in SAMPLES if each.name == "RAGPulse trace")
    path = written(tmp_path, sample.text([(1.5, 3000, 9), (4.0, 3000, 9)]), "0_trace.jsonl")
    log = read_log(path)
    assert log.prefix_tokens.tolist() == [0, 0] and "no shared prefix is known" in log.notes[0]
    chunks = '{"sys_prompt_id": 1, "token_length": 512}\n{"sys_prompt_id": 2, "token_length": 437}\n'
    written(tmp_path, chunks, "1_sys_prompt.jsonl")
    assert read_log(path).prefix_tokens.tolist() == [0, 949]  # the third chunk of the system prompt differs
    written(tmp_path, chunks + "torn\n", "1_sys_prompt.jsonl")
    with pytest.raises(InputError, match=r"1_sys_prompt.jsonl:3: is not a chunk"):
        read_log(path)


@pytest.mark.parametrize(
    "name",
    [
        "azure_llm_2023_conv.csv.gz",
        "azure_llm_2024_hourly_digitised.csv",
        "mooncake_fast25_conversation.jsonl.gz",
        "servegen_clients.csv.gz",
        "servegen_rates_10min.csv.gz",
        "vidur_arxiv_summarization_lengths.csv.gz",
    ],
)
def test_every_public_trace_is_read_without_a_lost_row(name: str) -> None:
    found = read_any(shared_data(f"traces/{name}"))
    assert found.read == found.kept > 0 and not found.dropped
    assert isinstance(found, ReadLog) == (name.split("_")[0] not in ("servegen",) and "hourly" not in name)


def test_a_file_of_quantiles_says_where_quantiles_belong() -> None:
    with pytest.raises(InputError, match="quantiles of token counts, no requests"):
        read_any(shared_data("traces/servegen_token_quantiles.csv.gz"))


@pytest.mark.slow
@each_format
def test_a_million_rows(sample: Sample, tmp_path: Path) -> None:
    """At least 300,000 rows a CPU second for CSV (200,000 where a row has a dozen columns or more); benchmarks/readers.py has the table."""
    from benchmarks.readers import timed

    rate, kept = timed(sample, tmp_path / "log", 1_000_000)
    assert kept == 1_000_000
    if sample.header:
        assert rate > (300_000 if sample.header.count(",") < 10 else 200_000)
