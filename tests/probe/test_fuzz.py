"""Whatever an endpoint answers, a probe ends, in time, with every call accounted for. 300 mangled answers, a few bytes each."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np

from sim.probe.attempts import Caps, Load
from sim.probe.summary import summary
from sim.probe.write_results import request_rows
from tests.probe.server import Answer, Json, serving
from tests.probe.test_probe import QUICK, run

GOOD = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
VALUES = (None, True, -1, 0, 1e308, "", "x", "\u0000", [], {}, [[]], [{}], {"a": {}}, 10**30, "content", float("nan"), [None], -(10**20))
BYTES = (
    b"",
    b"\n",
    b"\x00",
    b"\xff\xfe",
    b"data:",
    b"data: ",
    b": ping\n\n",
    b"event: error\n",
    b"data: [DONE]\n\n",
    b"id: 7\n",
    b"\r\r\n",
)
PLACES: tuple[list[str | int], ...] = (
    ["choices"], ["usage"], ["error"], ["choices", 0, "delta"], ["choices", 0, "finish_reason"], ["choices", 0, "delta", "content"],
)  # fmt: skip
COUNTS = ("prompt_tokens", "completion_tokens", "prompt_tokens_details")
HEADS = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 3\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nlocation: /v1/elsewhere\r\n\r\n",
    b"HTTP/1.1 429 X\r\nretry-after: -7\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 500 X\r\nretry-after: nan\r\ncontent-encoding: gzip\r\n\r\n",
    b"HTTP/1.1 999 Odd\r\ncontent-length: 1\r\n\r\n",
    b"HTTP/9.9 what\r\n\r\n",
    b"\x16\x03\x01\x02\x00",
)


def mangled(rng: np.random.Generator) -> bytes:
    """An answer of a head that may not fit and events that may be anything."""
    parts = [HEADS[0] if rng.random() < 0.6 else HEADS[int(rng.integers(len(HEADS)))]]
    for _ in range(int(rng.integers(0, 6))):
        chunk: Json = {**GOOD, "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
        target: Json = chunk
        for key in PLACES:
            if rng.random() < 0.2:
                target = chunk
                for step in key[:-1]:
                    target = target[step] if isinstance(target, dict | list) and target else {}
                if isinstance(target, dict):
                    target[key[-1]] = VALUES[int(rng.integers(len(VALUES)))]
                break
        if rng.random() < 0.3:
            chunk["usage"] = {name: VALUES[int(rng.integers(len(VALUES)))] for name in COUNTS}
        event = b"data: " + json.dumps(chunk).encode() + b"\n\n"
        if rng.random() < 0.3:
            event = event[: int(rng.integers(len(event)))]
        parts += [event, BYTES[int(rng.integers(len(BYTES)))]]
    return b"".join(parts)


def test_three_hundred_mangled_answers_neither_crash_nor_hang_a_probe() -> None:
    rng = np.random.default_rng(8)
    answers = [Answer(raw=mangled(rng)) for _ in range(300)]
    patience = replace(QUICK, attempts=1, read_s=0.5, total_s=1.0)

    def behave(n: int, _: Json) -> Answer:
        return Answer() if n == 0 else answers[n - 1]

    began = time.perf_counter()
    with serving(behave) as server:
        load, caps = Load(concurrency=(20,), requests_per_level=301), Caps(requests=301, tokens=10**8, seconds=50)
        found = run(server, load=load, patience=patience, caps=caps)
    assert len(found.attempts) == 301 and len(server.seen) <= 301  # a redirect is not followed: no cap would know
    ends = summary(found)["requests"]
    assert ends["ok"] + ends["failed"] == 301 and sum(ends["status"].values()) == 301
    assert len(request_rows(found)) == 301
    assert "unforeseen" not in ends["status"]
    assert time.perf_counter() - began < 60
