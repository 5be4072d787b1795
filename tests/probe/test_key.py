"""The key is in the header of the calls and nowhere else: not in what a succeeding or a failing run prints or writes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.errors import InputError
from sim.probe.secret import NO_KEY, read_key, redact
from tests.probe.server import Answer, Json, Server, serving

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-proj-Zq8vN3mT7xLw2RbY5cKd"


def leaks(text: str) -> bool:
    """Whether any 8 characters of the key stand in `text`."""
    return any(KEY[at : at + 8] in text for at in range(len(KEY) - 7))


def run(server: Server, out: Path, *words: str, **environment: str) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "cli.py"), "probe", server.url, "--model", "m", "--key-env", "PROBE_KEY"]
    command += ["--out", str(out), *words]
    plan = ["--concurrency", "2", "--requests", "4", "--mix", "30/3", "--attempts", "2", "--read-timeout", "2"]
    settings = os.environ | {"PROBE_KEY": KEY} | environment
    done = subprocess.run(command + plan, capture_output=True, text=True, env=settings, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def everything(folder: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def test_a_succeeding_run_prints_and_writes_no_key(tmp_path: Path) -> None:
    with serving(lambda n, _: Answer()) as server:
        code, said = run(server, tmp_path, "--json", OPENAI_LOG="debug")
    assert code == 0 and '"ok": 8' not in said and '"ok": 4' in said
    assert {seen.authorization for seen in server.seen} == {f"Bearer {KEY}"}
    assert len(list(tmp_path.iterdir())) == 4
    assert not leaks(said) and not leaks(everything(tmp_path))


@pytest.mark.parametrize("how", ["echoed in a refusal", "echoed in pieces", "in an error of the stream", "nobody listens"])
def test_a_failing_run_prints_and_writes_no_key(how: str, tmp_path: Path) -> None:
    torn = f'data: {{"error": {{"message": "key {KEY} expired", "code": "x"}}}}\n\n'.encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"

    def behave(n: int, _: Json) -> Answer:
        if how == "in an error of the stream":
            return Answer(raw=head + torn)
        return Answer(status=401, message=f"Incorrect API key {KEY if how == 'echoed in a refusal' else KEY[3:16] + '***' + KEY[-9:]}")

    with serving(behave) as server:
        if how != "nobody listens":
            code, said = run(server, tmp_path, OPENAI_LOG="debug")
    if how == "nobody listens":
        code, said = run(server, tmp_path, OPENAI_LOG="debug")
    assert code == 2 and "Traceback" not in said
    assert not leaks(said) and not leaks(everything(tmp_path))


def test_a_key_is_only_sent_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert read_key(None, None) == NO_KEY


def test_a_key_that_is_none_is_refused_without_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_KEY", "two words of a secret")
    file = tmp_path / "key"
    file.write_bytes(b"\xff\xfe secret")
    for where in ((None, file), ("PROBE_KEY", None), ("NOT_THERE", None), ("PROBE_KEY", file), (None, tmp_path / "none"), (KEY, None)):
        with pytest.raises(InputError) as told:
            read_key(*where)
        assert "secret" not in str(told.value) or "secret" in str(where)
        assert not (where[0] == KEY and leaks(str(told.value)))


def test_pieces_of_a_key_are_masked_and_other_text_stays() -> None:
    assert redact(f"a {KEY} b {KEY[:10]}... c {KEY[4:15]}", KEY) == "a [key] b [key]... c [key]"
    assert redact("nothing here", KEY) == "nothing here"


@pytest.mark.parametrize(
    "write",
    [
        lambda sign: f"%{ord(sign):02X}",
        lambda sign: f"&#{ord(sign)};",
        lambda sign: f"&#x{ord(sign):x};",
        lambda sign: f"\\u{ord(sign):04x}",
        lambda sign: f"\\x{ord(sign):02x}",
        lambda sign: sign + " ",
        lambda sign: sign + "\u200b",
        lambda sign: chr(0xFEE0 + ord(sign)),
    ],
)
def test_a_key_whose_signs_are_escaped_one_by_one_is_masked(write: Callable[[str], str]) -> None:
    said = redact(f"bad {''.join(map(write, KEY))}; ask for another", KEY)
    assert said.startswith("bad [key]") and said.endswith("; ask for another") and len(said) < 30


def test_masking_takes_no_longer_for_a_long_key_and_a_long_text() -> None:
    began_s = time.process_time()
    assert redact("&#x73;" * 20_000, "sk-" + "aB3" * 300).startswith("&#x73;")
    assert time.process_time() - began_s < 2
