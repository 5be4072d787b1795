"""A small OpenAI-compatible server on 127.0.0.1 that does to its clients what it is told to: the truth that a probe must find."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Answer:
    """What one call gets. `tokens` None: as many as asked for. `raw`: these bytes instead of anything else, then the end."""

    ttft_s: float = 0.0
    gap_s: float = 0.0
    tokens: int | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "told to"
    torn_after: int | None = None  # close the connection after so many pieces
    raw: bytes | None = None
    usage: Json | None = None  # instead of the true one; {} for none
    cached_tokens: int = 0
    hang_s: float = 0.0  # before anything is said


@dataclass
class Bucket:
    """A token bucket by wall clock: the truth of a limit."""

    per_minute: float
    depth: float
    level: float = 0.0
    at: float = 0.0

    def take(self, units: float) -> bool:
        now = time.perf_counter()
        if self.at == 0.0:
            self.level = self.depth
        else:
            self.level = min(self.depth, self.level + (now - self.at) * self.per_minute / 60)
        self.at = now
        if self.level < min(units, self.depth):
            return False
        self.level -= units
        return True


@dataclass
class Seen:
    """What the server saw of one call."""

    when: float
    authorization: str
    body: Json
    prompt_tokens: int
    answer: Answer
    sent: list[float] = field(default_factory=list)  # when each piece really left


class Server:
    """Answers calls by `behave(number of the call, body)`; limits first. Prompts are counted in words, as the probe writes letters."""

    def __init__(self, behave: Callable[[int, Json], Answer], rpm: Bucket | None = None, tpm: Bucket | None = None) -> None:
        self.behave, self.rpm, self.tpm = behave, rpm, tpm
        self.retry_after: str | None = None
        self.seen: list[Seen] = []
        self.open = self.most_open = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=2**22, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(5)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._call(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection lives on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head.split("\r\n")[1:])}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"{}")
        text = body.get("input") or "".join(m["content"] for m in body.get("messages", []))
        prompt_tokens, asked = len(text.split()), int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)
        answer = self.behave(len(self.seen), body)
        if (self.rpm is not None and not self.rpm.take(1)) or (self.tpm is not None and not self.tpm.take(prompt_tokens + asked)):
            retry = {} if self.retry_after is None else {"retry-after": self.retry_after}
            answer = Answer(status=429, headers=retry, message="rate limit")
        seen = Seen(time.perf_counter(), headers.get("authorization", ""), body, prompt_tokens, answer)
        self.seen.append(seen)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await self._answer(writer, seen, asked, "messages" in body)
        finally:
            self.open -= 1

    async def _answer(self, writer: asyncio.StreamWriter, seen: Seen, asked: int, chat: bool) -> bool:
        answer, prompt_tokens = seen.answer, seen.prompt_tokens
        if answer.hang_s:
            await asyncio.sleep(answer.hang_s)
        if answer.raw is not None:
            writer.write(answer.raw)
            await writer.drain()
            return False
        tokens = asked if answer.tokens is None else answer.tokens
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens,
                 "prompt_tokens_details": {"cached_tokens": answer.cached_tokens}} if answer.usage is None else answer.usage  # fmt: skip
        if answer.status != 200 or not chat:
            await asyncio.sleep(answer.ttft_s)
            error = {"error": {"message": answer.message, "type": "t", "code": None}}
            data = [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]
            vector = {"object": "list", "model": "m", "data": data, "usage": usage}
            await _plain(writer, answer, error if answer.status != 200 else vector)
            return True
        return await self._stream(writer, seen, tokens, usage)

    async def _stream(self, writer: asyncio.StreamWriter, seen: Seen, tokens: int, usage: Json) -> bool:
        answer = seen.answer
        more = "".join(f"{k}: {v}\r\n" for k, v in answer.headers.items())
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{more}transfer-encoding: chunked\r\n\r\n".encode())
        _event(writer, {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
        clock = self._loop.time
        due = clock() + answer.ttft_s
        for k in range(tokens):
            await asyncio.sleep(max(due - clock(), 0))
            due += answer.gap_s
            if answer.torn_after == k:
                await writer.drain()
                return False
            seen.sent.append(time.perf_counter() - seen.when)
            _event(writer, {"choices": [{"index": 0, "delta": {"content": f"{k} "}, "finish_reason": None}]})
        _event(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        if usage:
            _event(writer, {"choices": [], "usage": usage})
        _chunk(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def _event(writer: asyncio.StreamWriter, data: Json) -> None:
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **data}
    _chunk(writer, f"data: {json.dumps(whole)}\n\n".encode())


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def _plain(writer: asyncio.StreamWriter, answer: Answer, said: Json) -> None:
    body = json.dumps(said).encode()
    more = "".join(f"{k}: {v}\r\n" for k, v in answer.headers.items())
    writer.write(
        f"HTTP/1.1 {answer.status} X\r\ncontent-type: application/json\r\n{more}content-length: {len(body)}\r\n\r\n".encode() + body
    )
    await writer.drain()


@contextmanager
def serving(behave: Callable[[int, Json], Answer], rpm: Bucket | None = None, tpm: Bucket | None = None) -> Iterator[Server]:
    """A server for the time of the block."""
    server = Server(behave, rpm, tpm)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(2e-4)  # server and probe share one interpreter: at 5 ms a turn each would wait for the other
    server.start()
    try:
        yield server
    finally:
        server.stop()
        sys.setswitchinterval(interval)
