"""The physics of one step as plain formulas over numbers or arrays: the one form that the fit and the
kernel share.

`COEFFICIENTS` says what each coefficient means and gives the value used where nothing was measured. `Shape`
holds what the formulas need of a deployment; its fields may be arrays (one entry per measured step) when
many deployments are fitted at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.catalog.facts import Gpu, Model
from sim.engine.deployment import Deployment
from sim.engine.memory import embedding_parameters, kv_bytes_per_sequence_and_gpu, kv_bytes_per_token_and_gpu
from sim.exact import power

Floats = npt.NDArray[np.float64]
Number = float | Floats
Coefficients = Mapping[str, Number]

COEFFICIENTS: dict[str, tuple[float, str]] = {
    "compute_efficiency": (0.75, "share of the peak rate that large matrix products reach"),
    "compute_half_tokens": (24.0, "tokens at which they reach half of that"),
    "bandwidth_efficiency": (0.80, "share of the peak bandwidth at which weights are read"),
    "overlap_p": (2.2, "p of the norm that joins compute and weight traffic: 1 none overlaps, infinity all"),
    "expert_compute": (1.0, "factor on compute_efficiency in a mixture of experts: many small products"),
    "expert_bandwidth": (1.0, "factor on bandwidth_efficiency in a mixture of experts"),
    "kv_efficiency": (0.75, "share of the peak bandwidth at which a large batch reads keys and values"),
    "kv_half_batch": (6.0, "decodes at which the reads reach half of that"),
    "attention_efficiency": (0.45, "share of the peak 16-bit rate that prefill attention reaches"),
    "elementwise_passes": (
        14.0,
        "times that a hidden state crosses memory per layer next to matrix products",
    ),
    "expert_layer_s": (25e-6, "seconds per layer of a mixture of experts that no batch size removes: routing, sorting, gathering"),
    "allreduce_latency_s": (6e-6, "seconds of one all-reduce of nothing between two GPUs, and of waiting for the slower one"),
    "allreduce_hop_s": (0.3e-6, "seconds that each further GPU adds where links do not share a bus"),
    "allreduce_bus_hop_s": (3.5e-6, "seconds that each further GPU adds over PCIe"),
    "allreduce_efficiency": (0.60, "share of the link rate that an all-reduce reaches"),
    "allreduce_contention": (
        0.25,
        "factor on that over PCIe between 4 GPUs; falls with their root",
    ),
    "group_s": (0.3e-3, "seconds of host work per step that a group of GPUs adds: its workers are told and waited for"),
    "step_s": (1.5e-3, "seconds of host work per step: schedule, launch, sample, detokenise"),
    "layer_s": (8e-6, "seconds per layer that no batch size removes"),
    "sequence_s": (8e-6, "seconds of host work per sequence and step"),
    "request_s": (15e-3, "seconds per request before it reaches the queue: HTTP, tokenise"),
}


def defaults() -> dict[str, float]:
    """The value of every coefficient where nothing was measured."""
    return {name: value for name, (value, _) in COEFFICIENTS.items()}


@dataclass(frozen=True)
class Shape:
    """What the formulas need of a deployment. Parameters are counts; rates are per GPU and second, dense
    peaks of the data sheet.

    A model whose output head is tied to its embedding has fewer parameters than is assumed here; the error
    is below 8 % of a 3B model.
    """

    layers: Number
    hidden: Number
    head: Number  # parameters of the output head
    active: Number  # parameters of the layers that one token multiplies with
    shared: Number  # those of them outside experts
    expert: Number  # parameters of one expert over all layers, 0 for a dense model
    experts: Number
    experts_per_token: Number
    heads_dim: Number  # query heads x head dimension
    weight_bytes: Number  # per parameter
    kv_bytes: Number  # of one further token of context on each GPU
    fixed_kv_bytes: Number  # of one sequence on each GPU however long it is
    attention_layers: Number  # that see the whole context
    window_pairs: Number  # layers x tokens that a token sees in the others
    gpus: Number
    bandwidth: Number
    linear_flops: Number
    flops_16: Number
    link_rate: Number
    switched: Number  # 1 where links do not share a bus (NVLink), else 0


def peak_flops(gpu: Gpu, compute: str) -> float:
    """Dense peak of `compute` in FLOP/s; 16-bit formats stand in for each other, and for what the card
    lacks.
    """
    rate = gpu.flops.get(compute, 0.0)
    return rate or max(gpu.flops.get("fp16", 0.0), gpu.flops.get("bf16", 0.0))


def expert_parameters(model: Model) -> float:
    """Parameters of one expert over all layers, from the totals of the model row; 0 for a dense model."""
    spread = model.experts - model.experts_per_token
    return (model.parameters - model.active_parameters) / spread if spread > 0 else 0.0


def shape_of(deployment: Deployment) -> Shape:
    """The numbers of `deployment` that the step cost depends on."""
    model, gpu, head = deployment.model, deployment.gpu, embedding_parameters(deployment.model)
    expert = expert_parameters(model)
    active = max(model.active_parameters - 2 * head, 0.0)
    return Shape(
        layers=model.layers,
        hidden=model.hidden_size,
        head=head,
        active=active,
        shared=max(active - model.experts_per_token * expert, 0.0),
        expert=expert,
        experts=model.experts,
        experts_per_token=model.experts_per_token,
        heads_dim=model.heads * model.head_dim,
        weight_bytes=deployment.weights.bytes_per_weight,
        kv_bytes=kv_bytes_per_token_and_gpu(deployment),
        fixed_kv_bytes=kv_bytes_per_sequence_and_gpu(deployment),
        attention_layers=model.layers - model.window_layers - model.state_layers,
        window_pairs=model.window_layers * model.window_tokens,
        gpus=deployment.tensor_parallel,
        bandwidth=gpu.bandwidth_bytes_per_s,
        linear_flops=peak_flops(gpu, deployment.weights.compute),
        flops_16=peak_flops(gpu, "bf16"),
        link_rate=gpu.link_bytes_per_s,
        switched=float(gpu.link == "nvlink"),
    )


def parameters_read(s: Shape, tokens: Number) -> Number:
    """Parameters of the layers that a step of `tokens` tokens reads: all of a dense model; of a mixture,
    the experts touched.

    With uniform routing T tokens touch E (1 - (1 - k/E)^T) of E experts.
    """
    missed = np.maximum(1.0 - np.asarray(s.experts_per_token, dtype=np.float64) / s.experts, 0.0)
    touched: Floats = s.experts * (1.0 - power(missed, tokens))
    return s.shared + touched * s.expert


def linear_seconds(s: Shape, c: Coefficients, tokens: Number) -> Number:
    """Seconds of all products with weights (of the output head the traffic; its products count per sequence)."""
    mixture = np.asarray(s.expert) > 0
    rate = s.linear_flops * c["compute_efficiency"] * np.where(mixture, c["expert_compute"], 1.0) * s.gpus
    compute = 2.0 * s.active * (tokens + c["compute_half_tokens"]) / rate
    read = parameters_read(s, tokens) * s.weight_bytes + 2.0 * s.head
    traffic = read / (s.bandwidth * c["bandwidth_efficiency"] * np.where(mixture, c["expert_bandwidth"], 1.0) * s.gpus)
    p = c["overlap_p"]
    joined: Number = power(power(compute, p) + power(traffic, p), 1.0 / p)
    return joined


def allreduce_seconds(s: Shape, c: Coefficients, tokens: Number) -> Number:
    """Seconds of the two all-reduces of every layer (Megatron), each of `tokens` hidden states in 16 bit; 0 on one GPU.

    Small messages go in one shot: every GPU reads those of all others, (n-1) messages over its link after one latency. Large ones go in
    two: scatter and gather move 2 (n-1)/n of a message after two latencies. Engines take what is faster. PCIe is shared once more than
    two GPUs talk.
    """
    gpus = np.asarray(s.gpus, dtype=np.float64)
    switched = np.asarray(s.switched)
    shared_bus = (1.0 - switched) * (gpus > 2)
    contention = np.where(shared_bus > 0, c["allreduce_contention"] * np.sqrt(4.0 / gpus), 1.0)
    rate = np.maximum(np.asarray(s.link_rate) * c["allreduce_efficiency"] * contention, 1e8)
    message = tokens * s.hidden * 2.0
    hop = np.where(switched > 0, c["allreduce_hop_s"], c["allreduce_bus_hop_s"])
    latency = c["allreduce_latency_s"] + hop * (gpus - 2)
    others = np.maximum(gpus - 1.0, 0.0)
    once = np.minimum(latency + others * message / rate, 2.0 * latency + 2.0 * others / gpus * message / rate)
    seconds: Floats = np.where(gpus > 1, 2.0 * s.layers * once, 0.0)
    return seconds


def fixed_seconds(s: Shape, c: Coefficients) -> Number:
    """Seconds of a step that no batch size removes."""
    layer_s = c["layer_s"] + np.where(np.asarray(s.expert) > 0, c["expert_layer_s"], 0.0)
    return c["step_s"] + layer_s * s.layers + np.where(np.asarray(s.gpus) > 1, c["group_s"], 0.0)


def elementwise_seconds(s: Shape, c: Coefficients, tokens: Number) -> Number:
    """Seconds of norms, activations, rotations and residuals: passes of the hidden state over memory.

    A group of GPUs shares out the half of them that works on columns of its own (activation, rotation, quantisation); norms and
    residuals every GPU does itself.
    """
    passes = tokens * s.hidden * 2.0 * c["elementwise_passes"] * s.layers / (s.bandwidth * c["bandwidth_efficiency"])
    return passes * 0.5 * (1.0 + 1.0 / np.asarray(s.gpus, dtype=np.float64))


def window_seconds(s: Shape, c: Coefficients, tokens: Number) -> Number:
    """Seconds of attention in layers of sliding windows; every token is taken to see a full one."""
    return tokens * 4.0 * s.heads_dim * s.window_pairs / (s.flops_16 * c["attention_efficiency"] * s.gpus)


def base_seconds(s: Shape, c: Coefficients, tokens: Number) -> Number:
    """Seconds of a step of `tokens` tokens without attention to the whole context and without what each sequence adds."""
    beside = fixed_seconds(s, c) + elementwise_seconds(s, c, tokens) + window_seconds(s, c, tokens)
    return beside + linear_seconds(s, c, tokens) + allreduce_seconds(s, c, tokens)


def context_seconds(s: Shape, c: Coefficients, decodes: Number) -> Number:
    """Seconds per token of context read with `decodes` decodes in the step: few sequences do not fill the
    memory system.
    """
    efficiency = c["kv_efficiency"] * decodes / (decodes + c["kv_half_batch"])
    return s.kv_bytes / (s.bandwidth * np.maximum(efficiency, 0.02))


def pair_seconds(s: Shape, c: Coefficients) -> Number:
    """Seconds per pair of query and key in prefill attention: 4 x heads x head_dim operations per layer that sees the whole context."""
    return 4.0 * s.heads_dim * s.attention_layers / (s.flops_16 * c["attention_efficiency"] * s.gpus)


def prefill_context_seconds(s: Shape, c: Coefficients) -> Number:
    """Seconds per token of context that a prefill chunk reads."""
    return s.kv_bytes / (s.bandwidth * c["kv_efficiency"])


def sequence_seconds(s: Shape, c: Coefficients) -> Number:
    """Seconds that each sequence adds to a step: host work, its row of the output head, and what it reads however long it is."""
    fixed = s.fixed_kv_bytes / (s.bandwidth * c["kv_efficiency"])
    return c["sequence_s"] + 2.0 * s.head / (s.flops_16 * c["compute_efficiency"] * s.gpus) + fixed
