"""Measured serving points: a row of a measurement file as a record, with the names of this catalogue."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sim.errors import InputError

GPUS = {
    "H100-80GB-SXM": "h100",
    "H100": "h100",
    "H100-80GB-PCIe": "h100-pcie",
    "H100-NVL-94GB": "h100-nvl",
    "H200-141GB-SXM": "h200",
    "A100-80GB-SXM": "a100-80",
    "A100-40GB-SXM": "a100-40",
    "A100-PCIe": "a100-pcie",
    "L40S-48GB": "l40s",
    "L4-24GB": "l4",
    "A10G-24GB": "a10g",
    "T4-16GB": "t4",
    "V100S-32GB": "v100s",
    "A40-48GB": "a40",
    "RTX-A6000-48GB": "a6000",
    "RTX6000Ada-48GB": "rtx6000ada",
    "RTX4090-24GB": "rtx4090",
    "RTX3090-24GB": "rtx3090",
}
FORMATS = {"w8a8": "int8", "w4a16": "int4", "nvfp4": "int4"}  # 4-bit floats run weight-only where the card has no fp4 products
MODELS = {"llama-3.2-11b-vision": "llama-3.1-8b"}  # text traffic: the same shape, cross-attention layers idle
SCENARIOS = ("offline", "fixed_concurrency", "fixed_qps", "single_stream")
NUMBERS = ("tp", "input_tokens_mean", "output_tokens_mean")
METRICS = ("throughput", "tpot", "ttft")
LOADS = ("single", "low", "loaded", "burst")
LOW_IN_FLIGHT, LOW_RATE_RPS = 8, 2.0


@dataclass(frozen=True)
class Point:
    """One measured run. `measured` maps metric to value: `throughput` in output tokens/s, `tpot` and `ttft` in seconds.

    `statistic` says for a latency whether the source gave its mean or its p50.
    """

    id: str
    gpu: str
    tensor_parallel: int
    pipeline_parallel: int
    model: str
    weights: str
    kv_bytes_per_number: int
    engine: str
    engine_version: str
    scenario: str
    requests: int | None
    input_tokens: float
    output_tokens: float
    distribution: str
    in_flight: int | None
    rate_rps: float | None
    measured: Mapping[str, float]
    statistic: Mapping[str, str]
    quality: str
    source: str
    notes: str

    @property
    def group(self) -> str:
        """Rows that stand or fall together in cross-validation: source x GPU x model x format x tensor parallel."""
        return "|".join((self.source, self.gpu, self.model, self.weights, str(self.tensor_parallel)))

    @property
    def load(self) -> str:
        """How hard the run pushes: `single`, `low` (8 in flight or 2 requests/s and fewer), `loaded`, `burst`."""
        if self.scenario == "single_stream" or self.in_flight == 1:
            return "single"
        if self.scenario == "offline":
            return "burst"
        if (self.in_flight or 0) <= LOW_IN_FLIGHT and (self.rate_rps or 0.0) <= LOW_RATE_RPS:
            return "low"
        return "loaded"


def engine_generation(engine: str, version: str) -> str:
    """The engine and its generation: engines of one generation share host overheads; vLLM changed its core with 0.8.

    >>> engine_generation("vllm", "0.7.3"), engine_generation("vllm", "0.20.1"), engine_generation("tensorrt-llm", "0.17")
    ('vllm-v0', 'vllm-v1', 'trt-llm')
    """
    if "trt" in engine or "tensorrt" in engine:
        return "trt-llm"
    if engine.startswith("vllm"):
        if version.startswith("2023"):  # before CUDA graphs: another engine in all but name
            return "other"
        found = re.match(r"0\.(\d+)", version)
        return "vllm-v0" if found is not None and int(found.group(1)) < 8 else "vllm-v1"
    return "sglang" if engine.startswith("sglang") else "other"


def _number(row: Mapping[str, str], key: str) -> float | None:
    text = (row.get(key) or "").strip()
    try:
        value = float(text) if text else None
    except ValueError:
        raise ValueError(f"{key}: {text!r} is not a number; write digits or leave it empty") from None
    if value is not None and (not math.isfinite(value) or value < 0):
        raise ValueError(f"{key}: {text!r} is not a finite number of 0 or more")
    return value


def _latency(row: Mapping[str, str], name: str) -> tuple[float, str] | None:
    """The latency in seconds and which statistic it is; where the source does not say, it is taken for a mean."""
    unstated = "mean not stated" in row.get("notes", "")
    for statistic in ("mean", "p50"):
        value = _number(row, f"{name}_ms_{statistic}")
        if value:
            return value / 1000.0, "mean" if unstated else statistic
    return None


def _measured(row: Mapping[str, str], output_tokens: float) -> tuple[dict[str, float], dict[str, str]]:
    """Throughput in output tokens/s from whatever the row states, and the two latencies."""
    measured: dict[str, float] = {}
    statistic: dict[str, str] = {}
    rate, total, requests = (_number(row, k) for k in ("output_tokens_per_s", "total_tokens_per_s", "requests_per_s"))
    entering = _number(row, "input_tokens_mean") or 0.0
    if rate or total or requests:
        share = output_tokens / max(output_tokens + entering, 1.0)
        measured["throughput"] = rate or (requests or 0.0) * output_tokens or (total or 0.0) * share
    for name in ("tpot", "ttft"):
        found = _latency(row, name)
        if found:
            measured[name], statistic[name] = found
    return measured, statistic


def point_of(row: Mapping[str, str]) -> Point:
    """The record of one row. Raises ValueError `column: what is wrong, what would be right`."""
    tensor, entering, leaving = (_number(row, key) for key in NUMBERS)
    if row["scenario"] not in SCENARIOS:
        raise ValueError(f"scenario: {row['scenario']!r} is unknown; write one of {', '.join(SCENARIOS)}")
    measured, statistic = _measured(row, leaving or 0.0)
    requests, in_flight = _number(row, "requests"), _number(row, "concurrency")
    return Point(
        id=row["id"],
        gpu=GPUS.get(row["gpu"], row["gpu"].lower()),
        tensor_parallel=int(tensor or 1),
        pipeline_parallel=int(_number(row, "pp") or 1),
        model=MODELS.get(row["model"], row["model"]),
        weights=FORMATS.get(row["weights"], row["weights"]),
        kv_bytes_per_number=1 if row.get("kv_cache", "").startswith("fp8") else 2,
        engine=engine_generation(row["engine"], row.get("engine_version", "")),
        engine_version=row.get("engine_version", ""),
        scenario=row["scenario"],
        requests=int(requests) if requests else None,
        input_tokens=entering or 0.0,
        output_tokens=leaving or 0.0,
        distribution=row.get("length_dist", ""),
        in_flight=int(in_flight) if in_flight else None,
        rate_rps=_number(row, "rate_rps"),
        measured=measured,
        statistic=statistic,
        quality=row.get("quality", ""),
        source=row.get("source", ""),
        notes=row.get("notes", ""),
    )


NEEDED = ("id", "gpu", "tp", "model", "weights", "engine", "scenario", "input_tokens_mean", "output_tokens_mean")


def load_points(path: Path) -> list[Point]:
    """All points of a measurement CSV. Raises InputError with every problem, `file:line: column: what`."""
    points: list[Point] = []
    problems: list[str] = []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(f"{path}:1: column {', '.join(missing)} is missing; the header names {', '.join(NEEDED)}, ...")
            for row in reader:
                try:
                    points.append(point_of({key: value or "" for key, value in row.items() if key}))
                except ValueError as error:
                    problems.append(f"{path}:{reader.line_num}: {error}")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as CSV text: {error}") from error
    if problems:
        raise InputError(problems)
    return points
