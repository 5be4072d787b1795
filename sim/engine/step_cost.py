"""What a step costs: the physics that the fit and the kernel share.

A step has linear layers (compute and weight traffic, combined by a p-norm because engines overlap them only
partly), reads of the keys and values of every running context, attention of prefill, two all-reduces per
layer under tensor parallelism, element-wise work and overhead per step, layer and sequence. `COEFFICIENTS`
says what each coefficient means and gives the value used where nothing was measured.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sim.catalog.records import CalibrationRow, Gpu, Model
from sim.engine.deployment import PS, Deployment, StepCost
from sim.engine.memory import embedding_parameters, kv_bytes_per_token_and_gpu

Floats = npt.NDArray[np.float64]

COEFFICIENTS: dict[str, tuple[float, str]] = {
    "compute_efficiency": (0.75, "share of the peak rate that large matrix products reach"),
    "compute_half_tokens": (24.0, "tokens at which they reach half of that"),
    "bandwidth_efficiency": (0.80, "share of the peak bandwidth at which weights are read"),
    "overlap_p": (2.2, "p of the norm that joins compute and weight traffic: 1 none overlaps, infinity all"),
    "kv_efficiency": (0.75, "share of the peak bandwidth at which a large batch reads keys and values"),
    "kv_half_batch": (6.0, "decodes at which the reads reach half of that"),
    "attention_efficiency": (0.45, "share of the peak 16-bit rate that prefill attention reaches"),
    "elementwise_passes": (
        14.0,
        "times that the hidden state of a token crosses memory per layer outside matrix products",
    ),
    "allreduce_latency_s": (6e-6, "seconds of one all-reduce of nothing between two GPUs"),
    "allreduce_hop_s": (1e-6, "seconds that each further GPU adds"),
    "allreduce_efficiency": (0.55, "share of the link rate that an all-reduce reaches"),
    "allreduce_contention": (0.25, "factor on that over PCIe between four GPUs; it falls with the root of the number"),
    "step_s": (1.5e-3, "seconds of host work per step: schedule, launch, sample, detokenise"),
    "layer_s": (8e-6, "seconds per layer that no batch size removes"),
    "sequence_s": (8e-6, "seconds of host work per sequence and step"),
    "request_s": (15e-3, "seconds per request before it reaches the queue: HTTP, tokenise"),
}


def coefficients_of(row: CalibrationRow | None) -> dict[str, float]:
    """Coefficients of `row`, completed by the defaults of `COEFFICIENTS`."""
    values = {name: default for name, (default, _) in COEFFICIENTS.items()}
    if row is not None:
        values.update(row.coefficients)
    return values


def best_row(deployment: Deployment, calibration: tuple[CalibrationRow, ...] | None) -> CalibrationRow | None:
    """The row that fits best: this GPU and format, then this GPU, then this format, then any; all of the
    deployment's engine.

    Among rows of the same rank the one with more points wins.
    """
    ranks = {
        (deployment.gpu.id, deployment.weights.id): 3,
        (deployment.gpu.id, "*"): 2,
        ("*", deployment.weights.id): 1,
        ("*", "*"): 0,
    }
    rows = [
        r for r in calibration or () if r.engine in (deployment.engine, "*") and (r.gpu, r.weights) in ranks
    ]
    return max(rows, key=lambda r: (ranks[r.gpu, r.weights], r.engine != "*", r.points), default=None)


def peak_flops(gpu: Gpu, compute: str) -> float:
    """Dense peak in FLOP/s of `compute`; bf16 and fp16 stand in for each other, as engines do on cards
    without bf16.
    """
    rate = gpu.flops.get(compute, 0.0)
    if not rate and compute in ("bf16", "fp16"):
        rate = max(gpu.flops.get("fp16", 0.0), gpu.flops.get("bf16", 0.0))
    return rate or max(gpu.flops.get("fp16", 0.0), gpu.flops.get("bf16", 0.0))


def expert_parameters(model: Model) -> float:
    """Parameters of one expert over all layers; 0 for a dense model. The totals of the model row say how
    much all of them hold.
    """
    spread = model.experts - model.experts_per_token
    return (model.parameters - model.active_parameters) / spread if spread > 0 else 0.0


def linear_parameters(model: Model, tokens: Floats) -> Floats:
    """Parameters of the layers that a step of `tokens` tokens reads: all of a dense model; of a mixture,
    the experts that it touches.

    With uniform routing T tokens touch E (1 - (1 - k/E)^T) of E experts.
    """
    expert = expert_parameters(model)
    shared = model.active_parameters - model.experts_per_token * expert - 2 * embedding_parameters(model)
    shared = max(shared, 0.0)
    if not expert:
        return np.full_like(tokens, shared)
    touched = model.experts * (1.0 - (1.0 - model.experts_per_token / model.experts) ** tokens)
    return shared + touched * expert


def linear_seconds(deployment: Deployment, c: Mapping[str, float], tokens: Floats) -> Floats:
    """Seconds of all matrix products with weights, output head included, for steps of `tokens` tokens."""
    model, gpu, size = deployment.model, deployment.gpu, deployment.tensor_parallel
    active = max(model.active_parameters - 2 * embedding_parameters(model), 0.0)
    rate = peak_flops(gpu, deployment.weights.compute) * c["compute_efficiency"] * size
    compute = 2.0 * active * (tokens + c["compute_half_tokens"]) / rate
    head_bytes = 2.0 * embedding_parameters(model)
    read = linear_parameters(model, tokens) * deployment.weights.bytes_per_weight + head_bytes
    traffic = read / (gpu.bandwidth_bytes_per_s * c["bandwidth_efficiency"] * size)
    p = c["overlap_p"]
    joined: Floats = (compute**p + traffic**p) ** (1.0 / p)
    return joined


def allreduce_seconds(deployment: Deployment, c: Mapping[str, float], tokens: Floats) -> Floats:
    """Seconds of the two all-reduces of every layer (Megatron), each of `tokens` hidden states in 16 bit.

    A ring moves 2 (n-1)/n of the message over each link; PCIe is shared once more than two GPUs talk.
    """
    model, gpu, size = deployment.model, deployment.gpu, deployment.tensor_parallel
    if size == 1:
        return np.zeros_like(tokens)
    rate = gpu.link_bytes_per_s * c["allreduce_efficiency"]
    if gpu.link != "nvlink" and size > 2:
        rate *= c["allreduce_contention"] * (4 / size) ** 0.5
    message = tokens * model.hidden_size * 2 * 2 * (size - 1) / size
    once = c["allreduce_latency_s"] + c["allreduce_hop_s"] * (size - 2) + message / max(rate, 1e9)
    total: Floats = 2 * model.layers * once
    return total


def elementwise_seconds(deployment: Deployment, c: Mapping[str, float], tokens: Floats) -> Floats:
    """Seconds of norms, activations, rotations and residuals: passes of the hidden state over memory."""
    model, gpu = deployment.model, deployment.gpu
    moved = tokens * model.hidden_size * 2 * c["elementwise_passes"] * model.layers
    seconds: Floats = moved / (gpu.bandwidth_bytes_per_s * c["bandwidth_efficiency"])
    return seconds


def base_seconds(deployment: Deployment, c: Mapping[str, float], tokens: Floats) -> Floats:
    """Seconds of a step of `tokens` tokens without attention and without what each sequence adds."""
    fixed = c["step_s"] + c["layer_s"] * deployment.model.layers
    work = linear_seconds(deployment, c, tokens) + allreduce_seconds(deployment, c, tokens)
    return fixed + work + elementwise_seconds(deployment, c, tokens)


def context_seconds(deployment: Deployment, c: Mapping[str, float], decodes: Floats) -> Floats:
    """Seconds per token of context that a step with `decodes` decodes reads: few sequences do not fill the
    memory system.
    """
    efficiency = c["kv_efficiency"] * decodes / (decodes + c["kv_half_batch"])
    rate = deployment.gpu.bandwidth_bytes_per_s * np.maximum(efficiency, 0.05)
    seconds: Floats = kv_bytes_per_token_and_gpu(deployment) / rate
    return seconds


def pair_seconds(deployment: Deployment, c: Mapping[str, float]) -> float:
    """Seconds per pair of query and key in prefill attention: 4 x heads x head_dim floating-point
    operations per layer.
    """
    model = deployment.model
    work = 4.0 * model.heads * model.head_dim * model.layers
    rate = peak_flops(deployment.gpu, "bf16") * c["attention_efficiency"] * deployment.tensor_parallel
    return work / rate


def sequence_seconds(deployment: Deployment, c: Mapping[str, float]) -> float:
    """Seconds that each sequence adds to a step: host work and its row of the output head."""
    head = 2.0 * embedding_parameters(deployment.model)
    rate = peak_flops(deployment.gpu, "bf16") * c["compute_efficiency"] * deployment.tensor_parallel
    return c["sequence_s"] + head / rate


def _ps(seconds: Floats | float) -> npt.NDArray[np.int64]:
    return np.maximum(np.rint(np.asarray(seconds, dtype=np.float64) * PS), 0).astype(np.int64)


def tabulate(
    deployment: Deployment, c: Mapping[str, float], calibrated: bool, error: dict[str, float]
) -> StepCost:
    """The step cost of `deployment` under coefficients `c` as the integer tables that the kernel reads."""
    limits = deployment.limits
    tokens = np.arange(limits.max_num_batched_tokens + 1, dtype=np.float64)
    decodes = np.arange(limits.max_num_seqs + 1, dtype=np.float64)
    prefill_read = kv_bytes_per_token_and_gpu(deployment) / (
        deployment.gpu.bandwidth_bytes_per_s * c["kv_efficiency"]
    )
    return StepCost(
        base_ps=_ps(base_seconds(deployment, c, tokens)),
        context_ps=_ps(context_seconds(deployment, c, decodes)),
        sequence_ps=int(_ps(sequence_seconds(deployment, c))),
        pair_ps=int(_ps(pair_seconds(deployment, c))),
        prefill_context_ps=int(_ps(prefill_read)),
        request_ps=int(_ps(c["request_s"])),
        calibrated=calibrated,
        error=error,
    )


def step_cost(deployment: Deployment, calibration: tuple[CalibrationRow, ...] | None) -> StepCost:
    """The step cost of `deployment` from the best matching row of `calibration`, or from the data sheet
    alone.

    `calibrated` is false where no measured point of this GPU stands behind the coefficients; `error` then
    is that of the fallback row.
    """
    row = best_row(deployment, calibration)
    calibrated = row is not None and row.points > 0 and row.gpu != "*"
    return tabulate(deployment, coefficients_of(row), calibrated, dict(row.error) if row is not None else {})
