"""How a measured point is run again: deployment, requests, arrivals; or the reason why it cannot be."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from sim.calibration.points import Point
from sim.catalog.facts import Catalog, WeightFormat
from sim.engine.deployment import BLOCK_TOKENS, Deployment, EngineLimits
from sim.engine.memory import kv_blocks, room_tokens
from sim.engine.release import default_limits

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
OPEN_REQUESTS = 600  # arrivals, where an open run does not state how many
FIXED_POINT_TURNS = 4
WEIGHT_ONLY = {"fp8": "w8a16", "int8": "w8a16", "nvfp4": "int4"}  # what engines do with the same file on a card without the products


@dataclass(frozen=True)
class Run:
    """What a replay needs. `in_flight` 0: requests arrive at `arrival_s`. Requests before `counted_from` only warm up.

    `cached` leading prompt tokens came from the prefix cache in the real run.
    """

    deployment: Deployment
    prompt: Ints
    output: Ints
    arrival_s: Floats | None
    in_flight: int
    cached: int
    counted_from: int


def spread(mean: float, count: int, shape: str, rng: np.random.Generator, longest: float) -> Ints:
    """`count` lengths of this mean: constant, uniform over 0.8-1.0 of it, normal with deviation `longest`, or log-normal cut at it.

    Quantiles in random order instead of draws, so that two hundred lengths already have the mean that was measured.
    """
    if shape == "fixed" or count < 2:
        return np.full(count, max(1, round(mean)), dtype=np.int64)
    grid = (np.arange(count) + 0.5) / count
    normal = np.array([NormalDist().inv_cdf(float(q)) for q in grid])
    if shape == "jitter":
        values = mean * (0.8 + 0.2 * grid)
    elif shape == "normal":
        values = np.maximum(mean + longest * normal, 1.0)
    else:
        body = np.exp(0.9 * normal)
        values = np.minimum(body * mean / body.mean(), longest)
        for _ in range(20):
            values = np.minimum(values * mean / values.mean(), longest)
    rng.shuffle(values)
    return np.maximum(np.rint(values), 1).astype(np.int64)


def _shape(point: Point) -> tuple[str, float, float]:
    """Kind of distribution, and its parameter for prompts and for answers."""
    text = point.distribution
    if "jitter" in text:
        return "jitter", 0.0, 0.0
    if "normal" in text:  # llmperf
        return "normal", 150.0, 10.0
    prompt = 16.0 * point.input_tokens
    if point.source.startswith("AccelMark"):  # this benchmark stops answers at 512 tokens
        return ("fixed", 0.0, 0.0) if "longctx" in text else ("lognormal", prompt, 512.0)
    if "sharegpt" in text or "dataset" in text or "guidellm" in text:
        return ("fixed", 0.0, 0.0) if point.output_tokens < 32 else ("lognormal", prompt, 6.0 * point.output_tokens)
    return "fixed", 0.0, 0.0


def _imposed(point: Point) -> bool:
    """Whether the benchmark set the answers' length: the same data set with answers of 16 and of 256 tokens cannot have those as means."""
    return "dataset with mean" in point.distribution and point.output_tokens in (16, 256)


def _noted(notes: str, name: str) -> float | None:
    found = re.search(rf"{name}[ =]([\d.]+\d|\d)", notes)
    return float(found.group(1)) if found else None


def _limits(point: Point, deployment: Deployment) -> EngineLimits:
    """Scheduler limits as the source states them, else the defaults of the engine.

    TensorRT-LLM's `guaranteed_no_evict` starts a request only if all its tokens will fit: as many at once as the memory holds to the end.
    """
    limits = default_limits(deployment.engine, deployment.gpu, point.engine_version, deployment.model.max_context)
    known = point.settings
    seqs = point.limits.get("max_num_seqs", known.max_num_seqs or limits.max_num_seqs)
    tokens = point.limits.get("max_num_batched_tokens", known.max_num_batched_tokens or limits.max_num_batched_tokens)
    share = _noted(point.notes, "gpu_mem_util") or limits.gpu_memory_utilization
    if "1.0.0rc" in point.engine_version:  # not stated; its TTFT at 8 in flight is that of a few prompts a step
        tokens = 4096
    if "batch about 16" in point.notes or "max_num_seqs was small" in point.notes:
        seqs = 16
    if "static batch" in point.distribution and point.in_flight:
        seqs = point.in_flight
    limits = replace(
        limits,
        max_num_seqs=seqs,
        max_num_batched_tokens=max(tokens, seqs),
        gpu_memory_utilization=share,
        kv_blocks=point.limits.get("kv_blocks"),
        async_scheduling=limits.async_scheduling if known.async_scheduling is None else known.async_scheduling,
    )
    if "no_evict" in point.notes:
        whole = point.input_tokens + point.output_tokens
        limits = replace(limits, max_num_seqs=_without_eviction(replace(deployment, limits=limits), whole))
    return limits


def _without_eviction(deployment: Deployment, tokens: float) -> int:
    """How many sequences of `tokens` the memory holds to their end: fewer sequences leave more of it, so the answer is found in turns."""
    most = seqs = deployment.limits.max_num_seqs
    for _ in range(FIXED_POINT_TURNS):
        room = kv_blocks(replace(deployment, limits=replace(deployment.limits, max_num_seqs=seqs))) * BLOCK_TOKENS
        seqs = max(1, min(most, int(room // tokens)))
    return seqs


def _weights(catalog: Catalog, point: Point) -> WeightFormat | None:
    weights = catalog.weight_formats.get(point.weights)
    if weights is not None and not catalog.gpus[point.gpu].flops.get(weights.needs, 0.0):
        weights = catalog.weight_formats.get(WEIGHT_ONLY.get(point.weights, ""))
    return weights


UNFIT = {  # sources that are left out, and why: their runs say little about a served engine
    "mlc-ai llm-perf-bench": "engines of 2023 without a server",
    "tech-grandpa": "client over the public network; its note names cold starts and a ramp that never fills",
    "llm-price-compass": "user submitted; most requests returned early",
    "Baseline report": "synchronous batches that shrink by early stops",
    "vLLM issue 17788": "a report of abnormal slowness",
    "DatabaseMart": "engine version not stated, one burst of 50",
}
REFUSALS: tuple[tuple[Callable[[Point], bool], str], ...] = (
    (lambda p: p.pipeline_parallel > 1, "pipeline parallel is not modelled"),
    (lambda p: p.input_tokens < 1 or p.output_tokens < 1, "lengths are not stated"),
    (lambda p: not p.measured, "no throughput, TPOT or TTFT was measured"),
    (lambda p: p.scenario == "fixed_qps" and not p.rate_rps, "an open run without a rate"),
    (lambda p: p.scenario == "fixed_concurrency" and not p.in_flight, "a closed loop without a concurrency"),
    (lambda p: "not a serving engine" in p.notes, "not a serving engine"),
    (lambda p: "anomalous on every multi-GPU" in p.notes, "excluded: the source's multi-GPU runs are anomalous (its note)"),
)


def refusal(point: Point) -> str | None:
    """Why `point` is not replayed whatever the catalogue holds; `excluded:` marks a choice, not an impossibility."""
    for refuses, why in REFUSALS:
        if refuses(point):
            return why
    return next((f"excluded: {why}" for source, why in UNFIT.items() if point.source.startswith(source)), None)


def deployment_of(point: Point, catalog: Catalog) -> Deployment | str:
    """The deployment of `point` with its engine's limits, or why there is none."""
    why = refusal(point)
    if why is not None:
        return why
    if point.gpu not in catalog.gpus:
        return f"GPU {point.gpu} is not in the catalogue"
    if point.model not in catalog.models:
        return f"model {point.model} is not in the catalogue"
    weights = _weights(catalog, point)
    if weights is None:
        return f"format {point.weights} does not run on {point.gpu}"
    shape = Deployment(
        catalog.models[point.model],
        weights,
        catalog.gpus[point.gpu],
        point.tensor_parallel,
        kv_bytes_per_number=point.kv_bytes_per_number,
        engine=point.engine,
    )
    return replace(shape, limits=_limits(point, shape))


def _count(point: Point) -> int:
    if point.requests:
        return point.requests
    if point.scenario == "fixed_qps":
        return OPEN_REQUESTS
    if point.scenario == "offline":
        return 500
    return point.settings.rounds * (point.in_flight or 1)


def run_of(point: Point, catalog: Catalog, seed: int = 0) -> Run | str:
    """How to replay `point`, or the reason why it cannot be replayed."""
    deployment = deployment_of(point, catalog)
    if isinstance(deployment, str):
        return deployment
    rng = np.random.Generator(np.random.PCG64([seed, zlib.crc32(point.group.encode())]))
    count = _count(point)
    kind, longest_prompt, longest_output = _shape(point)
    prompt = spread(point.input_tokens, count, kind, rng, longest_prompt)
    output = spread(point.output_tokens, count, "fixed" if _imposed(point) else kind, rng, longest_output)
    blocks = kv_blocks(deployment)
    if blocks == 0:
        return f"weights do not fit {point.tensor_parallel} x {point.gpu}"
    room = room_tokens(deployment)
    if int((prompt + output).max()) > room:
        return f"a request needs more than the {room} KV tokens that remain"
    arrival_s: Floats | None = None
    in_flight = 0
    if point.scenario == "fixed_qps":
        gaps = rng.exponential(1.0, count) if "constant" not in point.distribution else np.ones(count)
        arrival_s = np.cumsum(gaps) * (count / gaps.sum()) / float(point.rate_rps or 1.0)
    elif point.scenario == "offline":
        in_flight = count
    else:
        in_flight = min(point.in_flight or 1, count)
    warm = in_flight if "after warmup" in point.notes else 0
    if warm and point.requests is None:
        prompt, output = (np.concatenate([column[:warm], column]) for column in (prompt, output))
    return Run(deployment, prompt, output, arrival_s, in_flight, point.cached_tokens, warm)
