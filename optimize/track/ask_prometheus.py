"""Answers of a Prometheus server: instant queries only, each with a limit of time and size. Nothing is ever written there."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from optimize.track.questions import HOUR_S, Answers, Question
from sim.errors import InputError, MissingExtra, quoted
from sim.probe.secret import shown_url

MOST_QUERIES, MOST_BYTES, MOST_SERIES, PATIENCE_S = 60, 4_000_000, 20_000, 30.0


def ask_prometheus(url: str, key: str, asked: Sequence[Question], end_s: float, window_s: int, busy_end_s: float) -> Answers:
    """The answers to `asked` at `end_s` over `window_s`; questions of the busiest hour at `busy_end_s`. Raises InputError."""
    where = checked_url(url, key)
    if len(asked) > MOST_QUERIES:
        raise InputError(f"{where}: {len(asked)} queries are more than {MOST_QUERIES}; track a plan with fewer metrics")
    if find_spec("httpx2") is None:
        raise MissingExtra("track --prometheus", "httpx2", "probe")
    import httpx2

    headers = {"Accept-Encoding": "identity"} | ({} if key == "none" else {"Authorization": f"Bearer {key}"})
    found = {}
    try:
        with httpx2.Client(timeout=PATIENCE_S, follow_redirects=False, headers=headers) as client:
            for each in asked:
                when, span_s = (busy_end_s, min(window_s, HOUR_S)) if each.busy else (end_s, window_s)
                text = _text(client, url.rstrip("/") + "/api/v1/query", {"query": each.promql(span_s), "time": f"{when:.0f}"}, where)
                found[each.key] = _values(text, each, where)
    except httpx2.HTTPError as error:
        raise InputError(f"{where}: {type(error).__name__}: no answer; is a Prometheus server there?") from None
    return found


def checked_url(url: str, key: str) -> str:
    """The address as it may be shown. Raises InputError for what is none."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine or "@" in url or "?" in url or not url.isprintable() or " " in url:
        raise InputError("--prometheus: is no address of a server; write http://host:9090, keys by --key-env")
    return shown_url(url, key)


def _text(client: Any, url: str, query: dict[str, str], where: str) -> bytes:
    """The body of an answer, read piece by piece up to the limit."""
    with client.stream("GET", url, params=query) as answer:
        body = b""
        for piece in answer.iter_raw():
            body += piece
            if len(body) > MOST_BYTES:
                raise InputError(f"{where}: an answer is larger than {MOST_BYTES:,} bytes; is it Prometheus?")
        if answer.status_code != 200:
            raise InputError(f"{where}: HTTP {answer.status_code} to {query['query'][:80]}; is it Prometheus, and may you read it?")
    return body


def _values(body: bytes, asked: Question, where: str) -> dict[tuple[str, ...], float]:
    """Labels -> value of an instant vector; values that are no finite number are left out."""
    try:
        said = json.loads(body)
        rows = said["data"]["result"]
        if said["status"] != "success" or len(rows) > MOST_SERIES:
            raise ValueError
        pairs = [(tuple(str(row["metric"].get(label, "")) for label in asked.by), float(row["value"][1])) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise InputError(f"{where}: {quoted(body[:60].decode(errors='replace'))} is no answer of Prometheus to a query") from None
    return {labels: value for labels, value in pairs if math.isfinite(value)}
