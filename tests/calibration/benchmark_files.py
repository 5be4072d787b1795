"""Benchmark files as the tools write them, made by the simulator under known coefficients plus noise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.calibration.replay_points import Run
from sim.calibration.validate_points import replay
from sim.catalog.loader import load_catalog
from sim.engine.deployment import PS, Deployment, EngineLimits
from sim.engine.physics import defaults
from sim.engine.step_cost import tabulate

TRUE = {**defaults(), "step_s": 3.2e-3, "sequence_s": 2.4e-5, "bandwidth_efficiency": 0.71, "compute_efficiency": 0.55, "request_s": 0.02}


def deployment() -> Deployment:
    catalog = load_catalog()
    limits = EngineLimits(async_scheduling=True)
    return Deployment(catalog.models["llama-3.1-8b"], catalog.weight_formats["bf16"], catalog.gpus["l40s"], limits=limits)


@dataclass(frozen=True)
class Logged:
    """One run by request: tokens, seconds; `load` as the tool was told."""

    prompt: np.ndarray
    output: np.ndarray
    sent: np.ndarray
    ttft: np.ndarray
    e2e: np.ndarray
    in_flight: int | None
    rate_rps: float | None

    @property
    def duration(self) -> float:
        return float((self.sent + self.e2e).max() - self.sent.min())

    @property
    def tpot(self) -> np.ndarray:
        return (self.e2e - self.ttft) / np.maximum(self.output - 1, 1)


def logged(
    in_flight: int | None, prompt: int, output: int, count: int, rate_rps: float | None = None, noise: float = 0.01, seed: int = 0
) -> Logged:
    """A run of the simulator under TRUE; every latency carries its own noise, and the whole run one factor of half of it."""
    rng = np.random.default_rng([seed, prompt, output, in_flight or 0])
    prompts = rng.integers(round(0.8 * prompt), round(1.2 * prompt) + 1, count)
    outputs = rng.integers(round(0.8 * output), round(1.2 * output) + 1, count)
    arrival = None if rate_rps is None else np.cumsum(rng.exponential(1 / rate_rps, count))
    log = replay(Run(deployment(), prompts, outputs, arrival, in_flight or 0, 0, 0), tabulate(deployment(), TRUE, True, {}))
    assert log is not None
    factor = 1 + 0.5 * noise * rng.standard_normal()
    ttft = (log.first_ps - log.arrival_ps) / PS * factor * (1 + noise * rng.standard_normal(count))
    pace = (log.finish_ps - log.first_ps) / PS * factor * (1 + noise * rng.standard_normal(count))
    return Logged(prompts, outputs, log.arrival_ps / PS * factor, ttft, ttft + pace, in_flight, rate_rps)


def vllm(run: Logged, detailed: bool) -> dict[str, Any]:
    """What `vllm bench serve --save-result` writes: summaries in ms, lists in s."""
    count, duration = len(run.prompt), run.duration
    result: dict[str, Any] = {
        "date": "20261130-101500", "backend": "vllm", "model_id": "m", "num_prompts": count, "burstiness": 1.0,
        "request_rate": "inf" if run.rate_rps is None else run.rate_rps, "max_concurrency": run.in_flight,
        "duration": duration, "completed": count, "failed": 0,
        "total_input_tokens": int(run.prompt.sum()), "total_output_tokens": int(run.output.sum()),
        "request_throughput": count / duration, "output_throughput": float(run.output.sum()) / duration,
        "mean_ttft_ms": 1e3 * float(run.ttft.mean()), "median_ttft_ms": 1e3 * float(np.median(run.ttft)),
        "mean_tpot_ms": 1e3 * float(run.tpot.mean()), "median_tpot_ms": 1e3 * float(np.median(run.tpot)),
    }  # fmt: skip
    if detailed:
        result |= {
            "input_lens": run.prompt.tolist(), "output_lens": run.output.tolist(), "ttfts": run.ttft.tolist(),
            "itls": [[float(t)] * (int(n) - 1) for t, n in zip(run.tpot, run.output, strict=True)],
            "start_times": (1000.0 + run.sent).tolist(), "errors": [""] * count,
        }  # fmt: skip
    return result


def _spread(values: np.ndarray) -> dict[str, Any]:
    q = {f"p{k}": float(np.quantile(values, k / 100)) for k in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
    return {"avg": float(values.mean()), "min": float(values.min()), "max": float(values.max()), **q}


def aiperf(run: Logged) -> dict[str, Any]:
    """AIPerf's profile_export_aiperf.json, as its versions from 0.10 write it."""
    return {
        "schema_version": "1.3",
        "request_throughput": {"unit": "requests/sec", "avg": len(run.prompt) / run.duration},
        "output_token_throughput": {"unit": "tokens/sec", "avg": float(run.output.sum()) / run.duration},
        "request_count": {"unit": "requests", "avg": float(len(run.prompt))},
        "request_latency": {"unit": "ms", **_spread(1e3 * run.e2e)},
        "time_to_first_token": {"unit": "ms", **_spread(1e3 * run.ttft)},
        "inter_token_latency": {"unit": "ms", **_spread(1e3 * run.tpot)},
        "input_sequence_length": {"unit": "tokens", **_spread(run.prompt)},
        "output_sequence_length": {"unit": "tokens", **_spread(run.output)},
        "input_config": {"phases": [{"name": "warmup", "exclude_from_results": True, "concurrency": 99},
                                    {"name": "profiling", "type": "concurrency", "concurrency": run.in_flight}]},
    }  # fmt: skip


def genai_perf(run: Logged) -> dict[str, Any]:
    """GenAI-Perf's profile_export_genai_perf.json."""
    return aiperf(run) | {"input_config": {"model_names": ["m"], "perf_analyzer": {"stimulus": {"concurrency": run.in_flight}}}}


def aiperf_csv(run: Logged) -> str:
    """The CSV beside it: two tables."""
    found = aiperf(run)
    named = {
        "Input Sequence Length": "input_sequence_length", "Output Sequence Length": "output_sequence_length",
        "Time to First Token": "time_to_first_token", "Inter Token Latency": "inter_token_latency", "Request Latency": "request_latency",
    }  # fmt: skip
    header = [name for name in found["request_latency"] if name != "unit"]
    lines = ["Metric," + ",".join(header)]
    for title, key in named.items():
        lines.append(f"{title} ({found[key]['unit']})," + ",".join(f'"{found[key][name]:,.2f}"' for name in header))
    lines += ["", "Metric,Value", f"Request Count,{len(run.prompt)}"]
    for title, key in (("Request Throughput", "request_throughput"), ("Output Token Throughput", "output_token_throughput")):
        lines.append(f"{title} ({found[key]['unit']}),{found[key]['avg']:.3f}")
    return "\n".join(lines) + "\n\nEndpoint,GPU_Index\n"


def aiperf_records(run: Logged) -> str:
    """AIPerf's profile_export.jsonl: times of day in ns, durations in ms."""
    lines = []
    for i in range(len(run.prompt)):
        value = {
            "input_sequence_length": (int(run.prompt[i]), "tokens"), "output_sequence_length": (int(run.output[i]), "tokens"),
            "time_to_first_token": (1e3 * run.ttft[i], "ms"), "request_latency": (1e3 * run.e2e[i], "ms"),
        }  # fmt: skip
        record = {
            "metadata": {"request_start_ns": int(1.75e18 + 1e9 * run.sent[i]), "benchmark_phase": "profiling"},
            "metrics": {key: {"value": v, "unit": unit} for key, (v, unit) in value.items()},
            "error": None,
        }
        lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


def guidellm(runs: list[Logged], key: str = "config", listed: bool = True) -> dict[str, Any]:
    """GuideLLM's benchmarks.json; `args` instead of `config` before 0.4; requests may be a sample of those made."""
    found = []
    for run in runs:
        strategy: dict[str, Any] = {"type_": "concurrent", "streams": run.in_flight}
        if run.rate_rps is not None:
            strategy = {"type_": "poisson", "rate": run.rate_rps}
        elif run.in_flight == 1:
            strategy = {"type_": "synchronous"}
        requests = [
            {"prompt_tokens": int(p), "output_tokens": int(o), "time_to_first_token_ms": 1e3 * t, "inter_token_latency_ms": 1e3 * g}
            for p, o, t, g in zip(run.prompt, run.output, run.ttft, run.tpot, strict=True)
        ]

        def whole(values: np.ndarray) -> dict[str, Any]:
            s = _spread(values)
            quantiles = {f"p{k:02d}": s[f"p{k}"] for k in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
            return {"successful": {"mean": s["avg"], "min": s["min"], "max": s["max"], "percentiles": quantiles}}

        metrics = {
            "request_totals": {"successful": len(run.prompt), "incomplete": 0, "errored": 0},
            "output_tokens_per_second": {"successful": {"mean": float(run.output.sum()) / run.duration}},
            "prompt_token_count": whole(run.prompt), "output_token_count": whole(run.output),
            "time_to_first_token_ms": whole(1e3 * run.ttft), "inter_token_latency_ms": whole(1e3 * run.tpot),
            "time_per_output_token_ms": whole(1e3 * run.e2e / run.output),
        }  # fmt: skip
        found.append({key: {"strategy": strategy}, "metrics": metrics, "requests": {"successful": requests if listed else requests[:3]}})
    return {"metadata": {"version": 1}, "benchmarks": found}


def write(folder: Path, name: str, value: Any) -> Path:
    """`value` as JSON, or as it stands if it is text."""
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path
