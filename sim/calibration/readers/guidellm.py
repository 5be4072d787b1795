"""GuideLLM's `benchmarks.json`: one file, one run per strategy of a sweep. Versions before 0.4 say `args`, later ones `config`.

GuideLLM's `time_per_output_token_ms` counts the first token in; TPOT here is its `inter_token_latency_ms`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.calibration.readers.measurement import Ints, Measurement, lengths_from_quantiles
from sim.calibration.readers.values import at, first_number, needed, number
from sim.errors import InputError, quoted

PERCENTILES = {"p001": 0.001, "p01": 0.01, "p05": 0.05, "p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95}


def is_guidellm(data: Any) -> bool:
    """Whether `data` is such a file."""
    runs = at(data, "benchmarks")
    return isinstance(runs, list) and all(isinstance(run, dict) and "metrics" in run for run in runs)


def read_guidellm(where: str, data: dict[str, Any]) -> Iterator[Measurement]:
    """Every run of the file. Raises InputError for one whose load cannot be replayed."""
    for index, run in enumerate(data["benchmarks"]):
        if mocked(data) or mocked(run):
            raise InputError(f"{where}: was measured on a mock server, which tells nothing of a GPU; give the results of a real one")
        yield _run(f"{where} run {index + 1}", run)


def mocked(data: Any) -> bool:
    """Whether the settings of a run name a mock server: as its backend, its target or its model."""
    places = [at(data, *path) for path in MOCKS]
    return any("mock" in str(place).lower() for place in places if isinstance(place, str))


SETTINGS = ("backend", "backend_type", "target", "model", "backend_target", "backend_model")
INNER = ("type", "type_", "target", "model")
MOCKS = [
    (*outer, *inner)
    for outer in ((), ("args",), ("config",), ("worker",))
    for inner in (*((key,) for key in SETTINGS), *(("backend", key) for key in INNER))
]


def _run(where: str, run: dict[str, Any]) -> Measurement:
    metrics = run["metrics"]
    totals = first_number(where, metrics, ("request_totals", "successful"), ("request_latency", "successful", "count"))
    done = at(run, "requests", "successful")
    listed = [each for each in done if isinstance(each, dict)] if isinstance(done, list) else []
    count = int(needed(where, totals or len(listed), "successful requests"))
    prompt, output = (
        _lengths(where, metrics, listed, count, each, total)
        for each, total in (("prompt_tokens", "prompt_token_count"), ("output_tokens", "output_token_count"))
    )
    measured: dict[str, float] = {}
    rate = first_number(where, metrics, ("output_tokens_per_second", "successful", "mean"))
    if rate:
        measured["throughput"] = rate
    for name, key in (("tpot", "inter_token_latency_ms"), ("ttft", "time_to_first_token_ms")):
        by_request = [value for each in listed if (value := number(where, each, key))]
        value = float(np.mean(by_request)) if len(by_request) == count else number(where, metrics, key, "successful", "mean")
        if value:
            measured[name] = value / 1e3
    return Measurement(
        name=where,
        requests=count,
        input_tokens=float(prompt.mean()),
        output_tokens=float(output.mean()),
        measured=measured,
        statistic=dict.fromkeys(("tpot", "ttft"), "mean"),
        prompt=prompt,
        output=output,
        **_load(where, run, count),
    )


def _lengths(where: str, metrics: dict[str, Any], listed: list[dict[str, Any]], count: int, each: str, total: str) -> Ints:
    """By request where all are listed (GuideLLM may keep a sample only), else from mean and percentiles."""
    values = [value for one in listed if (value := number(where, one, each))]
    if len(values) == count:
        return np.array(values, dtype=np.int64)
    mean = needed(where, number(where, metrics, total, "successful", "mean"), total)
    known: dict[float, float] = {}
    for key, place in PERCENTILES.items():
        value = number(where, metrics, total, "successful", "percentiles", key)
        if value is not None:
            known[place] = value
    for key, place in (("min", 0.0), ("max", 1.0)):
        value = number(where, metrics, total, "successful", key)
        if value is not None:
            known[place] = value
    return lengths_from_quantiles(known or {0.5: mean}, mean, count, zlib.crc32(f"{where} {total}".encode()))


def _load(where: str, run: dict[str, Any], count: int) -> dict[str, Any]:
    strategy = at(run, "config", "strategy") or at(run, "args", "strategy")
    kind = at(strategy, "type_") or at(strategy, "kind")
    if kind == "synchronous":
        return {"in_flight": 1}
    if kind == "concurrent":
        return {"in_flight": min(int(needed(where, number(where, strategy, "streams"), "strategy.streams")), count)}
    if kind == "throughput":
        return {"in_flight": min(int(number(where, strategy, "max_concurrency") or count), count)}
    if kind in ("constant", "poisson"):
        return {"rate_rps": needed(where, number(where, strategy, "rate"), "strategy.rate"), "steady": kind == "constant"}
    raise InputError(f"{where}: strategy {quoted(kind)} is unknown; known: synchronous, concurrent, throughput, constant, poisson")
