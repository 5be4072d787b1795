"""Exports of AIPerf and GenAI-Perf: `profile_export_aiperf.json`, `profile_export_genai_perf.json`, the CSV beside each,
and AIPerf's records by request (`profile_export.jsonl`). Each value carries its unit; times of records are nanoseconds.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from typing import Any

import numpy as np

from sim.calibration.readers.measurement import Ints, Measurement, lengths_from_quantiles
from sim.calibration.readers.values import at, first_number, needed, number
from sim.errors import InputError, quoted

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
QUANTILES = ("p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
PREFERRED = (("tpot", "inter_token_latency"), ("ttft", "time_to_first_token"))
LOADS = (("loadgen",), ("perf_analyzer", "stimulus"), ())

SENT_BY_CONCURRENCY = 10  # requests of a run for each one in flight, where the export does not say


def is_aiperf(data: Any) -> bool:
    """Whether `data` is a summary of AIPerf or GenAI-Perf."""
    return isinstance(at(data, "request_throughput"), dict) and isinstance(at(data, "request_latency"), dict)


def is_record(data: Any) -> bool:
    """Whether `data` is AIPerf's record of one request."""
    return isinstance(at(data, "metadata"), dict) and at(data, "metadata", "request_start_ns") is not None


def read_summary(where: str, data: dict[str, Any], in_flight: int | None) -> Measurement:
    """The run of one summary; `in_flight` where the file does not say it (a CSV never does). Raises InputError without either."""
    counts = (("request_count", "avg"), ("request_latency", "count"), ("time_to_first_token", "count"))
    usual = None if in_flight is None else float(SENT_BY_CONCURRENCY * in_flight)  # old CSV exports of GenAI-Perf count nothing
    count = int(needed(where, first_number(where, data, *counts) or usual, "request count (of an export without one, give --concurrency)"))
    measured, statistic = {}, {}
    rate = number(where, data, "output_token_throughput", "avg")
    if rate:
        measured["throughput"] = rate
    for name, key in PREFERRED:
        value = number(where, data, key, "avg")
        if value:
            measured[name], statistic[name] = value * _unit(where, key, at(data, key, "unit")), "mean"
    prompt, output = (_lengths(where, data, key, count) for key in ("input_sequence_length", "output_sequence_length"))
    return Measurement(
        where, count, float(prompt.mean()), float(output.mean()), measured, statistic, prompt=prompt, output=output,
        **_load(where, data, count, in_flight),
    )  # fmt: skip


def _unit(where: str, key: str, unit: Any) -> float:
    if not isinstance(unit, str) or unit not in SECONDS:
        raise InputError(f"{where}: {key}: unit {quoted(unit)} is no unit of time; known: {', '.join(SECONDS)}")
    return SECONDS[unit]


def _lengths(where: str, data: dict[str, Any], key: str, count: int) -> Ints:
    mean = needed(where, number(where, data, key, "avg"), key)
    known = {float(name[1:]) / 100: value for name in QUANTILES if (value := number(where, data, key, name)) is not None}
    for name, place in (("min", 0.0), ("max", 1.0)):
        value = number(where, data, key, name)
        if value is not None:
            known[place] = value
    return lengths_from_quantiles(known or {0.5: mean}, mean, count, zlib.crc32(f"{where} {key}".encode()))


def _load(where: str, data: dict[str, Any], count: int, in_flight: int | None) -> dict[str, Any]:
    """Concurrency or rate from the places where versions have put it."""
    config = data.get("input_config")
    phases = at(config, "phases")
    listed = phases if isinstance(phases, list) else []
    places = [each for each in listed if isinstance(each, dict) and not each.get("exclude_from_results")]
    places += [at(config, *keys) for keys in LOADS]
    for place in places:
        rate = first_number(where, place, ("request_rate",), ("rate",))
        open_requests = number(where, place, "concurrency")
        if rate:
            return {"rate_rps": rate, "steady": at(place, "request_rate_mode") == "constant" or at(place, "type") == "constant"}
        if open_requests:
            return {"in_flight": min(int(open_requests), count)}
    if in_flight is None:
        raise InputError(f"{where}: does not say how many requests were in flight; give the JSON of the run, or --concurrency N")
    return {"in_flight": min(in_flight, count)}


def is_csv(text: str) -> bool:
    """Whether the text is the CSV export of either tool."""
    return text.lstrip("\ufeff\n\r ").startswith("Metric,")


def csv_rows(where: str, text: str) -> list[list[str]]:
    """The rows of a CSV text. Raises InputError."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        return list(reader)
    except csv.Error as error:
        raise InputError(f"{where}:{reader.line_num}: is not CSV from here on ({error})") from None


def read_csv(where: str, text: str, in_flight: int | None) -> Measurement:
    """The run of a CSV export: `Time To First Token (ms),avg,...` rows, then `Metric,Value` rows."""
    data: dict[str, Any] = {}
    header: list[str] = []
    for line, row in enumerate(csv_rows(where, text), 1):
        if not row or row[0] == "Endpoint":
            header = [] if row else header
            continue
        if row[0] == "Metric":
            header = ["avg" if name == "Value" else name for name in row[1:]]
            continue
        named = re.fullmatch(r"(.+?) \((.+)\)", row[0])
        if not header:
            continue
        key = (named.group(1) if named else row[0]).lower().replace(" ", "_")
        try:
            values = {name: float(value.replace(",", "")) for name, value in zip(header, row[1:], strict=False) if value.strip()}
        except ValueError:
            raise InputError(f"{where}:{line}: {row[0]}: holds something that is not a number") from None
        data[key] = {"unit": named.group(2) if named else "", **values}
    if not is_aiperf(data):
        raise InputError(f"{where}: has no rows Request Latency and Request Throughput; is it the export of a profile run?")
    return read_summary(where, data, in_flight)


def read_records(where: str, records: list[Any], in_flight: int | None) -> Measurement:
    """The run of AIPerf's records: lengths and times by request; load as sent, or closed with `in_flight` requests."""
    rows = []
    for line, record in enumerate(records, 1):
        if not is_record(record):
            raise InputError(f"{where}:{line}: is no record of AIPerf; each has metadata.request_start_ns")
        if record.get("error") or at(record, "metadata", "benchmark_phase") not in (None, "profiling"):
            continue
        here, metrics = f"{where}:{line}", record.get("metrics")
        ttft = needed(here, number(here, metrics, "time_to_first_token", "value"), "time_to_first_token")
        latency = needed(here, number(here, metrics, "request_latency", "value"), "request_latency")
        units = [_unit(here, key, at(metrics, key, "unit")) for key in ("time_to_first_token", "request_latency")]
        lengths = [needed(here, number(here, metrics, f"{key}_sequence_length", "value"), key + " length") for key in ("input", "output")]
        start = needed(here, number(here, record, "metadata", "request_start_ns"), "start")
        rows.append((start * 1e-9, *lengths, ttft * units[0], latency * units[1]))
    if not rows:
        raise InputError(f"{where}: no request succeeded")
    sent, prompt, output, first, latency_s = np.array(sorted(rows)).T
    several = output > 1
    measured = {"ttft": float(first.mean()), "throughput": float(output.sum() / ((sent + latency_s).max() - sent.min()))}
    if several.any():
        measured["tpot"] = float(((latency_s - first)[several] / (output[several] - 1)).mean())
    return Measurement(
        where, len(rows), float(prompt.mean()), float(output.mean()), measured, dict.fromkeys(("tpot", "ttft"), "mean"),
        in_flight=min(in_flight, len(rows)) if in_flight else None,
        prompt=prompt.astype(np.int64), output=output.astype(np.int64), arrival_s=None if in_flight else sent - sent.min(),
    )  # fmt: skip
