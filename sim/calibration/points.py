"""Measured serving points: a row of a measurement file as a record, with the names of this catalogue."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim.calibration.source_settings import PLAIN, Settings, settings_of
from sim.engine.release import engine_release
from sim.errors import InputError
from sim.named_files import read_text

GPUS = {
    "H100-80GB-SXM": "h100",
    "H100": "h100",
    "H100-80GB-PCIe": "h100-pcie",
    "H100-NVL-94GB": "h100-nvl",
    "H200-141GB-SXM": "h200",
    "H200-141GB": "h200",
    "H100-80GB": "h100",
    "B200-180GB": "b200",
    "B200-192GB": "b200",
    "A100-80GB-SXM": "a100-80",
    "A100-40GB-SXM": "a100-40",
    "A100-PCIe": "a100-pcie",
    "A100-80GB-PCIe": "a100-pcie",
    "A100-PCIe-80GB": "a100-pcie",
    "A100-80GB": "a100-80",
    "A100-40GB": "a100-40",
    "L40S-48GB": "l40s",
    "L4-24GB": "l4",
    "A10G-24GB": "a10g",
    "A10-24GB": "a10",
    "T4-16GB": "t4",
    "V100S-32GB": "v100s",
    "A40-48GB": "a40",
    "RTX-A6000-48GB": "a6000",
    "RTX6000Ada-48GB": "rtx6000ada",
    "RTX4090-24GB": "rtx4090",
    "RTX3090-24GB": "rtx3090",
    "RTX-PRO-6000-96GB": "rtx-pro-6000",
    "RTXPRO6000-96GB": "rtx-pro-6000",
}
FORMATS = {"w8a8": "int8", "w4a16": "int4", "awq": "int4", "gptq": "int4", "mxfp4": "nvfp4"}
PLAIN_INT4 = "int4-plain"  # kernels of before Marlin
PLAIN_SOURCES = ("AccelMark",)  # asks vLLM for `quantization: gptq` (suites/suite_C/suite.json), which shuts Marlin out
MODELS = {  # names of files -> those of the catalogue
    "llama-3.2-11b-vision": "llama-3.1-8b",  # text traffic: the same shape, cross-attention layers idle
    "llama-3-8b": "llama-3.1-8b",
    "llama-3-70b": "llama-3.1-70b",
    "llama-3.3-70b": "llama-3.1-70b",
    "phi-4-14b": "phi-4",
    "mistral-nemo-12b": "mistral-nemo",
    "yi-1.5-34b": "yi-34b",
    "llama-4-scout-17b-16e": "llama-4-scout",
}
SCENARIOS = ("offline", "fixed_concurrency", "fixed_qps", "single_stream")
NUMBERS = ("tp", "input_tokens_mean", "output_tokens_mean")
LIMITS = ("max_num_seqs", "max_num_batched_tokens", "kv_blocks")
METRICS = ("throughput", "tpot", "ttft")
LOADS = ("single", "low", "loaded", "burst")
LOW_IN_FLIGHT, LOW_RATE_RPS = 8, 2.0


@dataclass(frozen=True)
class Point:
    """One measured run. `measured` maps metric to value: `throughput` in output tokens/s, `tpot` and `ttft` in seconds.

    `statistic` says for a latency whether the source gave its mean or its p50. `cached_tokens` of the prompt stood in the prefix cache.
    `limits` are those of the engine that the source states, by name.
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
    cached_tokens: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = PLAIN  # what the source's scripts say next to its rows

    @property
    def fits(self) -> bool:
        """Whether a fit may use it: quality C marks runs that measured something else than they say."""
        return self.quality != "C"

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


def _gpu(name: str) -> str:
    """The id of the catalogue for a card as people write it, with or without its memory and its socket.

    >>> _gpu("A100-80GB-PCIe"), _gpu("NVIDIA A10-24GB"), _gpu("H100 80GB HBM3"), _gpu("l40s")
    ('a100-pcie', 'a10', 'h100', 'l40s')
    """
    text = re.sub(r"^nvidia[ -]|^geforce[ -]|[ -]hbm\w+$", "", name.strip().lower().replace("_", "-")).replace(" ", "-")
    return {key.lower(): value for key, value in GPUS.items()}.get(text, text)


def _format(row: Mapping[str, str]) -> str:
    """Weight format of the catalogue; 4-bit integers by their kernel, which is Marlin unless the source shuts it out."""
    found = FORMATS.get(row["weights"], row["weights"])
    return PLAIN_INT4 if found == "int4" and row.get("source", "").startswith(PLAIN_SOURCES) else found


def _measured_on(row: Mapping[str, str]) -> str:
    """The date (ISO) of the run, where the notes state it; else empty."""
    found = re.search(r"measured=(\d{4}-\d\d-\d\d)", row.get("notes", ""))
    return found.group(1) if found else ""


def _cached(row: Mapping[str, str], entering: float) -> int:
    """Leading prompt tokens that came from the prefix cache: the column, else what older files say in words. Never the whole prompt."""
    stated = _number(row, "cached_tokens")
    if stated is None:
        notes, shared = row.get("notes", ""), re.search(r"shared_prefix sys=(\d+)", row.get("length_dist", ""))
        whole = "prefix-cached" in notes or "prefix cache" in notes
        stated = entering - 16 if whole else float(shared.group(1)) if shared else 0.0
    return int(min(max(stated, 0.0), max(entering - 1, 0.0)))


def _stated_limits(row: Mapping[str, str]) -> dict[str, int]:
    """Scheduler limits by name: the columns, else what the notes state."""
    found: dict[str, int] = {}
    for name in LIMITS:
        noted = re.search(rf"{name.replace('_', '[_-]')}[ =](\d+)", row.get("notes", ""))
        stated = _number(row, name) or (float(noted.group(1)) if noted else None)
        if stated:
            found[name] = int(stated)
    return found


def point_of(row: Mapping[str, str]) -> Point:
    """The record of one row. Raises ValueError `column: what is wrong, what would be right`."""
    tensor, entering, leaving = (_number(row, key) for key in NUMBERS)
    if row["scenario"] not in SCENARIOS:
        raise ValueError(f"scenario: {row['scenario']!r} is unknown; write one of {', '.join(SCENARIOS)}")
    measured, statistic = _measured(row, leaving or 0.0)
    requests, in_flight = _number(row, "requests"), _number(row, "concurrency")
    gpu, engine = _gpu(row["gpu"]), engine_release(row["engine"], row.get("engine_version", ""), _measured_on(row))
    settings = settings_of(row.get("source", ""), row, engine, gpu, int(in_flight) if in_flight else None)
    stated = row.get("kv_cache", "")
    numbers = settings.kv_bytes_per_number or 2
    return Point(
        id=row["id"],
        gpu=gpu,
        tensor_parallel=int(tensor or 1),
        pipeline_parallel=int(_number(row, "pp") or 1),
        model=MODELS.get(row["model"].lower(), row["model"].lower()),
        weights=_format(row),
        kv_bytes_per_number=(1 if stated.startswith("fp8") else 2) if stated else numbers,
        engine=engine,
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
        cached_tokens=_cached(row, entering or 0.0),
        limits=_stated_limits(row),
        settings=settings,
    )


NEEDED = ("id", "gpu", "tp", "model", "weights", "engine", "scenario", "input_tokens_mean", "output_tokens_mean")


def load_points(path: Path) -> list[Point]:
    """All points of a measurement CSV. Raises InputError with every problem, `file:line: column: what`."""
    points: list[Point] = []
    problems: list[str] = []
    reader = csv.DictReader(io.StringIO(read_text(path, "a table of measured points"), newline=""))
    try:
        missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{path}:1: column {', '.join(missing)} is missing; the header names {', '.join(NEEDED)}, ...")
        for row in reader:
            try:
                points.append(point_of({key: value or "" for key, value in row.items() if key}))
            except (ValueError, OverflowError) as error:
                problems.append(f"{path}:{reader.line_num}: {error}")
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num + 1}: is not CSV from here on ({error}); is a quote left open?") from None
    if problems:
        raise InputError(problems)
    return points
