"""Sixty hostile endpoints, each asked by `probe` in a process of its own: its time, its memory, and whether the key is told.

    python -m benchmarks.hostile.endpoints [--only endless_events,gzip_bomb_json]

Exit code 1 where a probe ended with a traceback or another code than 0 or 2, took over 20 s beyond its cap, held over 1 GB, or printed or
wrote the key.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-Hostile0123456789abcdefGHIJKL/+="
CAP_S, SLOW_S, MOST_MB = 10, 20, 1024
EVENT = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
Say = Callable[[], Iterator[bytes]]  # the pieces of an answer


def head(*more: str, status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-type: {kind}", *more, "", ""]).encode("latin-1", "replace")


def once(*pieces: bytes) -> Say:
    return lambda: iter(pieces)


def endless(first: bytes, piece: bytes, pause_s: float = 0.0) -> Say:
    def say() -> Iterator[bytes]:
        yield first
        while True:
            yield piece
            time.sleep(pause_s)

    return say


def told(key: bytes) -> Say:
    """The key in an error message."""
    body = b'{"error": {"message": "bad key ' + key + b'", "code": "' + key + b'"}}'
    return once(head(f"content-length: {len(body)}", status="401 Unauthorized", kind="application/json") + body)


def packed(how: str, pack: Callable[[bytes], bytes], kind: str) -> Say:
    return once(head(f"content-encoding: {how}", kind=kind), pack(b"\0" * (200 << 20)))


def codings() -> dict[str, bytes]:
    raw = KEY.encode()
    plain = {
        "plain": raw,
        "base64": base64.b64encode(raw),
        "base64_url": base64.urlsafe_b64encode(raw),
        "base64_of_bearer": base64.b64encode(b"Bearer " + raw),
        "base32": base64.b32encode(raw),
        "base85": base64.b85encode(raw),
        "hex": raw.hex().encode(),
        "hex_upper": raw.hex().upper().encode(),
        "percent": urllib.parse.quote(KEY, safe="").encode(),
        "percent_all": "".join(f"%{byte:02x}" for byte in raw).encode(),
        "upper": raw.upper(),
        "backwards": raw[::-1],
        "json_escapes": "".join(f"\\u{byte:04x}" for byte in raw).encode(),
        "entities": "".join(f"&#{byte};" for byte in raw).encode(),
        "spaced": b" ".join(bytes([byte]) for byte in raw),
        "half": raw[: len(raw) // 2],
        "zero_width": "\u200b".join(KEY).encode(),
        "wide": "".join(chr(0xFEE0 + byte) if 33 <= byte < 127 else chr(byte) for byte in raw).encode(),
        "decimal": b" ".join(str(byte).encode() for byte in raw),
        "twice_base64": base64.b64encode(base64.b64encode(raw)),
    }
    return plain


def endpoints() -> dict[str, Say]:
    event, json_head = EVENT % b"a", head(kind="application/json")
    shapes: dict[str, Say] = {
        "endless_events": endless(head(), event * 100),
        "endless_line": endless(head() + b"data: ", b"x" * 65536),
        "endless_comments": endless(head(), b": ping\n\n" * 1000),
        "endless_empty_lines": endless(head(), b"\n" * 65536),
        "endless_event_names": endless(head(), b"event: e\n" * 1000),
        "endless_returns": endless(head(), b"\r" * 65536),
        "endless_json": endless(json_head + b'{"choices": [', b"0," * 32768),
        "endless_nesting": endless(json_head, b"[" * 65536),
        "endless_string": endless(json_head + b'{"a": "', b"x" * 65536),
        "endless_headers": endless(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n" * 1000),
        "endless_header": endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * 65536),
        "endless_status_line": endless(b"HTTP/1.1 200 ", b"O" * 65536),
        "endless_informational": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        "endless_chunks": endless(head("transfer-encoding: chunked"), b"5\r\n: hi\n\r\n" * 1000),
        "endless_chunk_size": endless(head("transfer-encoding: chunked"), b"0" * 65536),
        "endless_trailers": endless(head("transfer-encoding: chunked") + b"0\r\n", b"t: u\r\n" * 1000),
        "endless_error": endless(head(status="500 Oops", kind="application/json") + b'{"error": {"message": "', b"e" * 65536),
        "large_event": once(head(), EVENT % (b"a" * (64 << 20))),
        "large_length": once(head("content-length: 99999999999999999999") + event),
        "negative_length": once(head("content-length: -5") + event),
        "two_lengths": once(head("content-length: 5", "content-length: 9") + event),
        "wrong_chunk": once(head("transfer-encoding: chunked") + b"zz\r\n" + event),
        "drip_events": endless(head(), event, 0.3),
        "drip_bytes": endless(head() + b"data: ", b"x", 0.2),
        "drip_headers": endless(b"HTTP/1.1 200 OK\r\n", b"x", 0.2),
        "silence": endless(b"", b"", 0.2),
        "silence_after_headers": endless(head(), b"", 0.2),
        "nothing": once(),
        "garbage": once(os.urandom(65536)),
        "tls": once(b"\x15\x03\x03\x00\x02\x02\x28"),
        "too_many_requests": once(head("retry-after: 99999999999", "content-length: 0", status="429 Slow")),
        "retry_never": once(head("retry-after: nan", "content-length: 0", status="503 Busy")),
        "redirect_loop": once(head("location: /v1/chat/completions", "content-length: 0", status="307 Again")),
        "redirect_away": once(head("location: http://127.0.0.2:9/v1", "content-length: 0", status="308 Away")),
        "redirect_file": once(head("location: file:///etc/passwd", "content-length: 0", status="301 Away")),
        "infinite_usage": once(head(), event, b'data: {"usage": {"prompt_tokens": 1e999, "completion_tokens": NaN}, "choices": []}\n\n'),
        "control_signs": once(
            head("content-length: 60", status="400 Bad\x1b[2J", kind="application/json"),
            b'{"error": {"message": "\\u001b]0;owned\\u0007"}}'.ljust(60),
        ),
        "gzip_bomb_events": packed("gzip", lambda raw: gzip.compress(raw, 9), "text/event-stream"),
        "gzip_bomb_json": packed("gzip", lambda raw: gzip.compress(raw, 9), "application/json"),
        "deflate_bomb": packed("deflate", lambda raw: zlib.compress(raw, 9), "application/json"),
    }
    return shapes | {f"key_{name}": told(coded) for name, coded in codings().items()}


def serve(say: Say) -> tuple[socket.socket, int]:
    """A server whose every answer is what `say` says."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer(caller: socket.socket) -> None:
        try:
            caller.recv(65536)
            for piece in say():
                caller.sendall(piece)
        except OSError:
            pass
        finally:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1))
            caller.close()

    def accept() -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(caller,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listening, listening.getsockname()[1]


def ask(name: str, say: Say) -> list[str]:
    """What was wrong with a probe of that endpoint; prints its line."""
    listening, port = serve(say)
    with tempfile.TemporaryDirectory() as place:
        words = [
            "probe",
            f"http://127.0.0.1:{port}/v1",
            "--model",
            "m",
            "--key-env",
            "HOSTILE_KEY",
            "--requests",
            "2",
            "--concurrency",
            "1",
        ]
        words += ["--max-seconds", str(CAP_S), "--read-timeout", "2", "--connect-timeout", "2", "--attempts", "1", "--out", f"{place}/out"]
        there = os.environ | {"HOSTILE_KEY": KEY, "PYTHONPATH": str(ROOT)}
        began_s = time.monotonic()
        with open(f"{place}/said", "wb") as said:
            run = subprocess.Popen([sys.executable, "cli.py", *words], cwd=ROOT, env=there, stdout=said, stderr=said)
            _, status, used = os.wait4(run.pid, 0)
        took_s, mb = time.monotonic() - began_s, used.ru_maxrss / 1024
        written = b"".join(path.read_bytes() for path in Path(place).rglob("*") if path.is_file())
    listening.close()
    code = os.waitstatus_to_exitcode(status)
    recognisable = {"plain", "base64", "base64_url", "hex", "hex_upper", "percent", "percent_all", "upper", "backwards"}
    recognisable |= {"json_escapes", "entities", "spaced", "zero_width", "wide", "half"}
    faults = [f"{coding} of the key is told" for coding, coded in codings().items() if coding in recognisable and coded in written]
    faults += [f"exit code {code}"] if code not in (0, 2) else []
    faults += ["a traceback"] if b"Traceback" in written else []
    faults += ["control signs"] if b"\x1b" in written else []
    faults += [f"{took_s:.0f} s"] if took_s > CAP_S + SLOW_S else []
    faults += [f"{mb:,.0f} MB"] if mb > MOST_MB else []
    print(f"{name}: exit {code}, {took_s:.1f} s, {mb:.0f} MB{': ' + '; '.join(faults) if faults else ''}", flush=True)
    if faults:
        print(written[-1500:].decode(errors="replace"), flush=True)
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME,...")
    given = parser.parse_args()
    known = endpoints()
    names = given.only.split(",") if given.only else list(known)
    wrong = sum(bool(ask(name, known[name])) for name in names)
    print(f"{len(names)} endpoints, {wrong} with a fault")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
