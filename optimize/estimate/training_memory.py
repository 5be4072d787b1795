"""Bytes that training keeps, part by part, and the smallest number of GPUs over which they fit when sharded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from optimize.estimate.adapters import NF4, adapter_parameters
from sim.catalog.facts import Gpu, Model
from sim.engine.memory import RESERVE_BYTES, RESERVE_TP_BYTES, embedding_parameters, weight_bytes

WEIGHT_BYTES = 2.0  # 16-bit copy that the products read
GRADIENT_BYTES = 2.0
MASTER_BYTES = 4.0  # 32-bit copy that the optimiser changes
ADAM_BYTES = 8.0  # two 32-bit moments
STATE_BYTES = WEIGHT_BYTES + GRADIENT_BYTES + MASTER_BYTES + ADAM_BYTES  # 16 per parameter: Rajbhandari et al. 2020 (ZeRO), section 3.1
LAYER_BYTES = 34.0  # activations per token, hidden number and layer: Korthikanti et al. 2022, equation 1, attention matrices apart
MATRIX_BYTES = 5.0  # per token, token of context, head and layer, where the attention kernel stores its matrices
CHECKPOINT_BYTES = 2.0  # per token, hidden number and layer, when only each layer's input is kept
LOGIT_BYTES = 4.0  # per token and word: Korthikanti et al. 2022, section 4.3
METHODS = ("full", "lora", "qlora")


@dataclass(frozen=True)
class States:
    """Bytes of one whole model in training; sharded data parallelism (ZeRO stage 3) divides them over the GPUs."""

    weights: float
    gradients: float
    adam_moments: float
    master_weights: float

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.adam_moments + self.master_weights


@dataclass(frozen=True)
class Activations:
    """Bytes on each GPU for its `micro_batch` sequences; they are not divided."""

    kept: float  # everything kept, fused attention (no matrices stored)
    attention_matrices: float  # what an attention kernel that stores them adds
    checkpointed: float  # each layer's input, and one layer in full while it is recomputed


def training_states(model: Model, method: str, rank: int) -> States:
    """Weights, gradients, Adam moments and master weights; 16 bytes per parameter when all are trained with mixed precision.

    With adapters the model is frozen in 16 bit (lora) or 4 bit (qlora), and only the adapters have the rest.
    Engines that sum gradients in 32 bit take 2 bytes per trained parameter more.
    """
    if method == "full":
        trained, weights = model.parameters, WEIGHT_BYTES * model.parameters
    else:
        trained = adapter_parameters(model, rank)
        frozen = WEIGHT_BYTES * model.parameters if method == "lora" else weight_bytes(model, NF4)
        weights = frozen + WEIGHT_BYTES * trained
    return States(weights, GRADIENT_BYTES * trained, ADAM_BYTES * trained, MASTER_BYTES * trained)


def training_activations(model: Model, context: int, micro_batch: int) -> Activations:
    """Activations of `micro_batch` sequences of `context` tokens, 16 bit, without tensor parallelism.

    Korthikanti et al. 2022 counted a GPT layer; a gated feed-forward without dropout comes within a fifth of it (approximation).
    Experts are counted as one dense layer.
    """
    tokens = float(context * micro_batch)
    layer, logits = LAYER_BYTES * tokens * model.hidden_size, LOGIT_BYTES * tokens * model.vocab_size
    inputs = CHECKPOINT_BYTES * tokens * model.hidden_size * model.layers
    matrices = MATRIX_BYTES * model.heads * tokens * context * model.layers
    return Activations(layer * model.layers + logits, matrices, inputs + layer + logits)


def gathered_bytes(model: Model, states: States) -> float:
    """Weights that ZeRO-3 holds whole on each GPU at a time: two layers (one computes, one is fetched), or a vocabulary matrix."""
    layers = max(states.weights - 2 * WEIGHT_BYTES * embedding_parameters(model), 0.0) / model.layers
    return max(2 * layers, WEIGHT_BYTES * embedding_parameters(model))


def bytes_per_gpu(model: Model, states: States, activations: float, gpus: int) -> float:
    """Peak bytes on each of `gpus`: its share of the states, gathered layers, activations, and the reserve that serving has too."""
    if gpus == 1:
        return states.total + activations + RESERVE_BYTES
    return states.total / gpus + gathered_bytes(model, states) + activations + RESERVE_BYTES + RESERVE_TP_BYTES


def gpus_needed(model: Model, states: States, activations: float, gpu: Gpu) -> int | None:
    """The smallest number of GPUs that holds everything sharded (ZeRO stage 3); None when activations and two layers alone exceed one.

    Memory is what CUDA gives (`Gpu.memory_bytes`); fragmentation of the allocator is not counted (optimistic).
    """
    if bytes_per_gpu(model, states, activations, 1) <= gpu.memory_bytes:
        return 1
    room = gpu.memory_bytes - (bytes_per_gpu(model, states, activations, 2) - states.total / 2)
    return max(2, math.ceil(states.total / room)) if room > 0 else None
