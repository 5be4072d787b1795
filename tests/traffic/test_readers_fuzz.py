"""Damaged files of every format end in rows or in one message, never in a traceback or a warning."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.traffic.readers import ReadLog, read_any
from tests.traffic.log_samples import SAMPLES

ROWS = [(1.5 + 2.25 * k, 900 + k, 5 + k % 9) for k in range(12)]
BUCKET = {
    "object": "bucket",
    "start_time": 1,
    "end_time": 3601,
    "results": [{"num_model_requests": 1, "input_tokens": 5, "output_tokens": 6}],
}
EXPORTS = (
    json.dumps({"object": "page", "data": [BUCKET, BUCKET]}),
    "start_time,end_time,num_model_requests,model,batch,input_tokens,output_tokens\n1,3601,5,m,,50,60\n3601,7201,5,m,,50,60\n",
    '{"data": [{"date": "2026-08-24", "model": "m", "requests": 5, "prompt_tokens": 50, "completion_tokens": 125}]}',
    "0,1.5,1.0,Gamma,0.8,0.6\n600,0.5,8.4,Weibull,0.3,0.2\n1200,0,0,,0,0\n",
    "model,client,mean_rate_qps\nm,1,0.5\nm,2,0.25\n",
)
TEXTS = [sample.text(ROWS) for sample in SAMPLES] + list(EXPORTS)
PIECES = (
    b"",
    b",",
    b"\n",
    b'"',
    b"{",
    b"}",
    b"[",
    b"-1",
    b"nan",
    b"1e400",
    b"null",
    b"\xff\xfe",
    b"\x00",
    b'{"a":1}',
    b"9" * 400,
    b"\r\n\r\n",
)


def damaged(text: str, rng: np.random.Generator) -> bytes:
    """`text` with one to four places cut, doubled or overwritten."""
    data = text.encode()
    for _ in range(int(rng.integers(1, 5))):
        start = int(rng.integers(0, len(data) + 1))
        end = min(len(data), start + int(rng.choice([0, 1, 3, 12, 80])))
        middle = data[start:end] * 2 if rng.random() < 0.2 else PIECES[int(rng.integers(len(PIECES)))]
        data = data[:start] + middle + data[end:]
    return gzip.compress(data) if rng.random() < 0.1 else data


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_damage_is_an_answer_or_one_kind_of_error(number: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(number)
    path = tmp_path / "log"
    for _ in range(60):
        data = damaged(TEXTS[number], rng)
        path.write_bytes(data)
        try:
            found = read_any(path)
        except InputError as error:
            assert str(error).startswith(str(tmp_path)), data
            continue
        assert found.read == found.kept + sum(found.dropped.values()), data
        if isinstance(found, ReadLog):
            assert np.isfinite(found.arrival_s).all() and (np.diff(found.arrival_s) >= 0).all(), data
            assert (found.input_tokens >= 1).all() and (found.output_tokens >= 1).all(), data
            assert (found.prefix_tokens >= 0).all() and (found.prefix_tokens < found.input_tokens).all(), data
        else:
            assert found.span_s > 0 and np.isfinite(found.start_s).all(), data
