"""The files of a probe: request log, attempts, measurement table, profile, summary."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.plain_cells import plain_cell
from sim.probe.attempts import Attempt, Measured
from sim.probe.profile import profile_text, write_text
from sim.probe.summary import latencies

REQUEST_COLUMNS = (
    ("arrival_s", "s", "when the request was due, since the start of the probe"),
    ("input_tokens", "tokens", "prompt, as the endpoint counts; as wanted where it does not"),
    ("output_tokens", "tokens", "answer; 0 where none came"),
    ("outcome", "", "ok, or how the last attempt failed"),
    ("attempts", "", "HTTP calls"),
    ("ttft_s", "s", "arrival to first token, retries included; empty where none came"),
    ("e2e_s", "s", "arrival to last token"),
    ("cached_tokens", "tokens", "prompt tokens that the endpoint read from its cache"),
    ("level", "", "part of the probe"),
)
ATTEMPT_COLUMNS = (
    ("request", "", "number of the request"),
    ("attempt", "", "1 is the first"),
    ("level", "", "part of the probe"),
    ("in_flight", "", "calls open when this one was sent, itself included"),
    ("started_s", "s", "since the start of the probe"),
    ("outcome", "", "ok, throttled, server_error, refused, connection, timeout, torn, malformed, cut"),
    ("status", "", "HTTP status; empty where none came"),
    ("ttft_s", "s", "from this attempt"),
    ("tpot_s", "s", "(last - first token) / (tokens - 1)"),
    ("e2e_s", "s", "to the last token"),
    ("input_tokens", "tokens", "as the endpoint counts, else as wanted"),
    ("output_tokens", "tokens", "as the endpoint counts, else pieces of text"),
    ("cached_tokens", "tokens", "prompt tokens read from a cache"),
    ("retry_after_s", "s", "as the endpoint asked"),
    ("note", "", "what went wrong, in the endpoint's words, keys masked"),
)
LATENCIES = tuple(f"{metric}_ms_{word}" for metric in ("ttft", "tpot", "e2e") for word in ("p50", "p90", "p99", "mean"))
POINT_COLUMNS = (
    "id", "gpu", "tp", "pp", "model", "weights", "kv_cache", "engine", "engine_version", "scenario", "requests",
    "input_tokens_mean", "output_tokens_mean", "length_dist", "concurrency", "rate_rps", "prefix_caching", "chunked_prefill",
    *LATENCIES,
    "output_tokens_per_s", "total_tokens_per_s", "requests_per_s", "quality", "source", "source_path", "notes",
)  # fmt: skip
FEWEST = 5  # answers from which a level is a point


@dataclass(frozen=True)
class OwnServer:
    """What the user says of a self-hosted server, for the measurement table."""

    gpu: str
    weights: str
    model: str
    tensor_parallel: int = 1
    engine: str = "vllm"
    engine_version: str = ""


def write_all(
    folder: Path, measured: Measured, said: dict[str, Any], profile: dict[str, Any] | None, server: OwnServer | None
) -> list[Path]:
    """The files written into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [write_text(folder / "probe.json", json.dumps(said, indent=2, allow_nan=False) + "\n")]
    written.append(write_text(folder / "requests.csv", _csv([name for name, _, _ in REQUEST_COLUMNS], request_rows(measured))))
    written.append(
        write_text(folder / "attempts.csv", _csv([name for name, _, _ in ATTEMPT_COLUMNS], map(_attempt_row, measured.attempts)))
    )
    if profile is not None:
        written.append(write_text(folder / "relay.yaml", profile_text(profile)))
    if server is not None:
        written.append(write_text(folder / "points.csv", _csv(POINT_COLUMNS, point_rows(measured, server))))
    return written


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([plain_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _s(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def request_rows(measured: Measured) -> list[tuple[object, ...]]:
    """One row for each request of the plan (the search for limits is left out), in order of arrival; `sim.traffic` reads such a log."""
    last: dict[int, Attempt] = {}
    for attempt in measured.attempts:
        if not attempt.level.startswith("limit of"):
            last[attempt.request] = attempt
    rows: list[tuple[object, ...]] = []
    for request in sorted(last, key=lambda r: measured.arrivals[r]):
        a, due = last[request], measured.arrivals[request]
        first, end = ((a.started_s + x - due) if a.ok and x is not None else None for x in (a.reply.first_s, a.reply.last_s))
        tokens = (a.input_tokens, a.output_tokens if a.ok else 0)
        rows.append((f"{due:.6f}", *tokens, a.reply.outcome, a.number, _s(first), _s(end), a.reply.cached_tokens, a.level))
    return rows


def _attempt_row(a: Attempt) -> tuple[object, ...]:
    reply = a.reply
    times = (_s(reply.first_s), _s(a.tpot_s), _s(reply.last_s))
    counts = (a.input_tokens, a.output_tokens, reply.cached_tokens)
    return (a.request, a.number, a.level, a.in_flight, _s(a.started_s), reply.outcome, reply.status or "", *times, *counts,
            _s(reply.retry_after_s), reply.note)  # fmt: skip


def point_rows(measured: Measured, server: OwnServer) -> list[list[object]]:
    """One row for each level with enough answers, in the columns that `validate` and `calibrate` read."""
    plan = [a for a in measured.attempts if not a.level.startswith("limit of")]
    rows: list[list[object]] = []
    for level in dict.fromkeys(a.level for a in plan):
        mine = [a for a in plan if a.level == level]
        good = [a for a in mine if a.ok]
        if len(good) < FEWEST:
            continue
        kind, _, number = level.partition(" ")
        row: dict[str, object] = dict.fromkeys(POINT_COLUMNS, "")
        row |= {"id": f"probe-{len(rows) + 1}", "gpu": server.gpu, "tp": server.tensor_parallel, "pp": 1, "model": server.model}
        row |= {"weights": server.weights, "engine": server.engine, "engine_version": server.engine_version, "quality": "A"}
        row["scenario"] = "fixed_qps" if kind == "rate" else "single_stream" if number == "1" else "fixed_concurrency"
        row["rate_rps" if kind == "rate" else "concurrency"] = number
        row |= {"requests": len(good), "length_dist": "fixed" if len(measured.setup.shapes) == 1 else "mix"}
        into, out = (float(np.mean([getattr(a, name) for a in good])) for name in ("input_tokens", "output_tokens"))
        row |= {"input_tokens_mean": f"{into:.1f}", "output_tokens_mean": f"{out:.1f}"}
        span_s = max(a.started_s + a.reply.ended_s for a in mine) - min(a.started_s for a in mine)
        rate = len(good) / span_s
        row |= {
            "requests_per_s": f"{rate:.5g}",
            "output_tokens_per_s": f"{rate * out:.5g}",
            "total_tokens_per_s": f"{rate * (into + out):.5g}",
        }
        row |= _milliseconds(good)
        row |= {"source": "servemix probe", "notes": f"{len(mine) - len(good)} failed attempts" if len(mine) > len(good) else ""}
        rows.append([row[name] for name in POINT_COLUMNS])
    return rows


def _milliseconds(good: Sequence[Attempt]) -> dict[str, str]:
    found: dict[str, str] = {}
    seen = latencies(good)
    for name in ("ttft", "tpot", "e2e"):
        values = np.array(seen[f"{name}_s"]) * 1000
        if len(values):
            found |= {f"{name}_ms_p{q}": f"{np.percentile(values, q):.3f}" for q in (50, 90, 99)}
            found[f"{name}_ms_mean"] = f"{values.mean():.3f}"
    return found
