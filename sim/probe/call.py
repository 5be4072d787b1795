"""One HTTP call through the official client: streamed chat or an embedding, timed at each piece of text.

Whatever comes back is foreign data: every fault of it becomes a Reply, never an exception.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sim.probe import attempts
from sim.probe.attempts import Patience, Prompt, Reply, Setup
from sim.probe.find_limits import limits_told
from sim.probe.secret import redact

if TYPE_CHECKING:
    import openai

OVERLONG_PIECES = 8  # more pieces of text than tokens asked for, by this much: max_tokens is not honoured
MOST_TOKENS = 10_000_000
NOTE_LETTERS = 200
ANSWER_BYTES, TOKEN_BYTES = 2**20, 4096  # of an answer: so many, and so many more for each token asked for
_WATCH: ContextVar[_Watch] = ContextVar("watch")  # of the call that this task makes


@dataclass
class Dialect:
    """What this endpoint understands; learnt from its refusals."""

    limit_key: str = "max_tokens"
    usage: bool = True

    def learn(self, note: str) -> bool:
        """Whether the refusal `note` taught a change that is worth another try."""
        if self.limit_key == "max_tokens" and "max_completion_tokens" in note:
            self.limit_key = "max_completion_tokens"
            return True
        if self.usage and ("stream_options" in note or "include_usage" in note):
            self.usage = False
            return True
        return False


class Caller:
    """Calls to one endpoint. `key` goes into the header of each call and nowhere else."""

    def __init__(self, setup: Setup, key: str) -> None:
        self.setup, self._key = setup, key
        self.dialect = Dialect()
        self._client = _client(setup, key)

    async def close(self) -> None:
        await self._client.close()

    async def __call__(self, prompt: Prompt) -> Reply:
        """The reply to `prompt`; retries nothing. Only cancellation leaves as an exception."""
        watch = _Watch(ANSWER_BYTES + TOKEN_BYTES * max(prompt.output_tokens, 0))
        _WATCH.set(watch)
        try:
            async with asyncio.timeout(self.setup.patience.total_s):
                reply = await (self._chat(prompt, watch) if self.setup.kind == "chat" else self._embed(prompt, watch))
        except TimeoutError:
            reply = watch.reply(attempts.TIMEOUT, note=f"no end within {self.setup.patience.total_s:g} s")
        except Exception as error:  # foreign data: any fault of it is a reply
            reply = _failed(error, watch)
        return replace(reply, ended_s=watch.now(), note=_short(redact(reply.note, self._key)))

    async def _chat(self, prompt: Prompt, watch: _Watch) -> Reply:
        more: dict[str, Any] = {self.dialect.limit_key: prompt.output_tokens}
        if self.dialect.usage:
            more["stream_options"] = {"include_usage": True}
        if self.setup.ignore_eos:
            more["extra_body"] = {"ignore_eos": True, "min_tokens": prompt.output_tokens}
        messages: Any = [{"role": "user", "content": prompt.text}]
        raw: Any = await self._client.chat.completions.with_raw_response.create(
            model=self.setup.model, messages=messages, stream=True, **more
        )
        watch.headers(raw.headers, raw.status_code)
        stream = raw.parse()
        if isinstance(stream, str | bytes):
            return watch.reply(attempts.MALFORMED, note="the answer is no stream of events")
        try:
            async for chunk in stream:
                watch.chunk(chunk)
                if watch.pieces > prompt.output_tokens + OVERLONG_PIECES:
                    return watch.reply(
                        attempts.MALFORMED, note=f"more than the {prompt.output_tokens} tokens asked for: limit not honoured"
                    )
        finally:
            await stream.close()
        return watch.end_of_stream(prompt)

    async def _embed(self, prompt: Prompt, watch: _Watch) -> Reply:
        raw: Any = await self._client.embeddings.with_raw_response.create(model=self.setup.model, input=prompt.text)
        watch.headers(raw.headers, raw.status_code)
        answer = raw.parse()
        watch.text()
        watch.usage_of(answer)
        if not getattr(answer, "data", None):
            return watch.reply(attempts.MALFORMED, note="the answer holds no embedding")
        return watch.end(prompt)


def _client(setup: Setup, key: str) -> openai.AsyncOpenAI:
    """The client without retries of its own, so that every attempt is counted; without identity from the environment."""
    import openai

    patience: Patience = setup.patience
    timeout = openai.Timeout(patience.read_s, connect=patience.connect_s, pool=None)
    nobody: Any = {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}
    transport = openai.DefaultAsyncHttpxClient(
        timeout=timeout,
        event_hooks={"request": [_start_clock], "response": [_meter]},
        headers={"Accept-Encoding": "identity"},  # what is packed could unpack to anything
        follow_redirects=False,  # would be calls that no cap has seen
    )
    client = openai.AsyncOpenAI(
        api_key=key, base_url=setup.url, timeout=timeout, max_retries=0, default_headers=nobody, http_client=transport
    )
    _ = client.chat.completions, client.embeddings  # imported on first use: not in the time of the first call
    return client


async def _start_clock(request: object) -> None:
    """The request is ready to be sent: what this process needed to build it is not the endpoint's time."""
    _WATCH.get().start()


class TooMuch(Exception):
    """The endpoint sends more than any answer to the request at hand needs."""


async def _meter(response: Any) -> None:
    """The body of `response` is counted as it comes: an endless one ends in TooMuch before it fills the memory."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise TooMuch("the answer is packed, although no one asked for that")
    response.stream = _counted()(response.stream, _WATCH.get().most_bytes)


@cache
def _counted() -> Any:
    """The class of counted bodies; made late, because the client's package is loaded only for a probe."""
    import httpx2

    class Counted(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, most_bytes: int) -> None:
            self.stream, self.left = stream, most_bytes

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self.stream:
                self.left -= len(piece)
                if self.left < 0:
                    raise TooMuch("more bytes than an answer of that length needs")
                yield piece

        async def aclose(self) -> None:
            await self.stream.aclose()

    return Counted


class _Watch:
    """The clock of one call and what has come so far."""

    def __init__(self, most_bytes: int = ANSWER_BYTES) -> None:
        self.most_bytes = most_bytes
        self._start = time.perf_counter()
        self._times: list[float] = []
        self._seen: dict[str, Any] = {}
        self._usage: tuple[int, int, int] | None = None
        self._finished = False

    def start(self) -> None:
        self._start = time.perf_counter()

    @property
    def pieces(self) -> int:
        return len(self._times)

    def now(self) -> float:
        return time.perf_counter() - self._start

    def text(self) -> None:
        self._times.append(self.now())

    def headers(self, headers: Mapping[str, str], status: int) -> None:
        rpm, tpm = limits_told(headers)
        self._seen = {"status": status, "retry_after_s": retry_after_s(headers), "limit_rpm": rpm, "limit_tpm": tpm}

    def chunk(self, chunk: Any) -> None:
        """Note text, finish reason and usage of a chunk of whatever form."""
        choices = getattr(chunk, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        delta = getattr(choice, "delta", None)
        if any(isinstance(text := getattr(delta, name, None), str) and text for name in ("content", "reasoning_content", "reasoning")):
            self.text()
        if isinstance(getattr(choice, "finish_reason", None), str):
            self._finished = True
        self.usage_of(chunk)

    def usage_of(self, answer: Any) -> None:
        usage = getattr(answer, "usage", None)
        if usage is None:
            return
        details = getattr(usage, "prompt_tokens_details", None)
        counts = (
            getattr(usage, "prompt_tokens", None),
            getattr(usage, "completion_tokens", None) or 0,
            getattr(details, "cached_tokens", None) or 0,
        )
        if all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in counts):
            self._usage = counts  # type: ignore[assignment]  # just checked

    def end_of_stream(self, prompt: Prompt) -> Reply:
        if not self._finished and self._usage is None:
            return self.reply(attempts.TORN, note="the stream ended without a finish reason")
        if not self._times:
            return self.reply(attempts.MALFORMED, note="the stream holds no text")
        return self.end(prompt)

    def end(self, prompt: Prompt) -> Reply:
        """A whole answer; counts that cannot be true are left out and noted."""
        reply = self.reply(attempts.OK)
        if self._usage is None:
            return replace(reply, note="the endpoint does not count tokens")
        into, out, cached = self._usage
        note = ""
        if not 0 < into <= prompt.most_input_tokens or cached > into:
            note = f"impossible count: {into} input tokens ({cached} cached) for a prompt of at most {prompt.most_input_tokens}"
        if out > prompt.output_tokens or out + OVERLONG_PIECES < (self.pieces if prompt.output_tokens else 0):
            note = f"impossible count: {out} output tokens, {prompt.output_tokens} asked for and {self.pieces} pieces of text"
        if note:
            return replace(reply, note=note)
        return replace(reply, input_tokens=into, output_tokens=out, cached_tokens=cached)

    def reply(self, outcome: str, note: str = "") -> Reply:
        times = self._times
        into, out, _ = self._usage or (0, 0, 0)
        return Reply(
            outcome=outcome,
            first_s=times[0] if times else None,
            last_s=times[-1] if times else None,
            claimed_input=into,
            claimed_output=out,
            pieces=len(times),
            gaps_s=tuple(late - early for early, late in pairwise(times)),
            note=note,
            **self._seen,
        )


def _failed(error: Exception, watch: _Watch) -> Reply:
    """The reply that an exception of client or transport means."""
    import openai

    if too_much := _too_much(error):
        return watch.reply(attempts.MALFORMED, note=f"unreadable answer: {too_much}")
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        watch.headers(error.response.headers, status)
        outcome = attempts.THROTTLED if status == 429 else attempts.TIMEOUT if status == 408 else attempts.CLIENT
        note = str(error).removeprefix(f"Error code: {status} - ")
        return watch.reply(attempts.SERVER if status >= 500 else outcome, note=note)
    if isinstance(error, openai.APITimeoutError):
        return watch.reply(attempts.TIMEOUT, note="timed out")
    if isinstance(error, openai.APIConnectionError):
        outcome = attempts.TORN if watch.pieces else attempts.CONNECTION
        return watch.reply(outcome, note=f"connection: {type(error.__cause__ or error).__name__}")
    if isinstance(error, openai.APIError):  # an error event inside a stream
        return watch.reply(_told_in_stream(error), note=str(error))
    what = "no JSON" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else type(error).__name__
    return watch.reply(attempts.MALFORMED, note=f"unreadable answer: {what}")


def _too_much(error: BaseException | None) -> TooMuch | None:
    """The TooMuch among `error` and what caused it."""
    while error is not None and not isinstance(error, TooMuch):
        error = error.__cause__ or error.__context__
    return error


def _told_in_stream(error: openai.APIError) -> str:
    code = str(getattr(error, "code", ""))
    return attempts.THROTTLED if code == "429" or "rate_limit" in code else attempts.SERVER


def _short(text: str) -> str:
    """One printable line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= NOTE_LETTERS else line[: NOTE_LETTERS - 3] + "..."


LONGEST_S = 86_400.0


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `Retry-After` (seconds or HTTP date, RFC 9110); None where nothing usable stands.

    >>> retry_after_s({"retry-after": "2"}), retry_after_s({"retry-after-ms": "150"}), retry_after_s({"retry-after": "soon"})
    (2.0, 0.15, None)
    >>> retry_after_s({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=50.0)
    10.0
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        if not text:
            continue
        try:
            seconds = float(text) * unit_s
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - (time.time() if now is None else now)
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), LONGEST_S)
    return None
