"""How many KV blocks a replica has left after weights, activations and what the engine reserves."""

from __future__ import annotations

import math

from sim.catalog.facts import Model, WeightFormat
from sim.engine.deployment import BLOCK_TOKENS, Deployment

GIB = 2**30
RESERVE_BYTES = 0.70 * GIB  # CUDA context, graphs, fragmentation
RESERVE_TP_BYTES = 0.20 * GIB  # communication buffers of a tensor-parallel group
UNQUANTISED_BYTES = 2  # embedding and output head stay in 16 bit when the layers are quantised
LOGIT_BYTES = 8  # fp32 logits and one copy of them


def embedding_parameters(model: Model) -> float:
    """Parameters of one vocabulary matrix (input embedding or output head).

    A model of which the head would be more than a quarter of the sum shares it with the embedding; this
    function does not tell.
    """
    return float(model.vocab_size) * model.hidden_size


def weight_bytes(model: Model, weights: WeightFormat) -> float:
    """Bytes of one copy of `model` stored as `weights`; embedding and output head keep 16 bit.

    Tensor parallelism splits this over GPUs. Llama-3.1-70B with 4-bit weights of 0.52 bytes: 39.8 GB, as
    published (AWQ).
    """
    kept = min(2 * embedding_parameters(model), model.parameters)
    kept_bytes = max(weights.bytes_per_weight, min(UNQUANTISED_BYTES, 2.0))
    return (model.parameters - kept) * weights.bytes_per_weight + kept * kept_bytes


def kv_elements_per_layer(model: Model) -> int:
    """Numbers that one token holds in the cache of one layer: 2 x kv_heads x head_dim, or the compressed latent of MLA."""
    return 2 * model.kv_heads * model.head_dim if model.kv_elements_per_layer is None else model.kv_elements_per_layer


def kv_elements_per_token(model: Model) -> int:
    """Numbers that each further token adds to the cache: of layers that see the whole context (`kv_bytes_per_sequence`: the others)."""
    return (model.layers - model.window_layers - model.state_layers) * kv_elements_per_layer(model)


def kv_bytes_per_token(model: Model, bytes_per_number: int = 2) -> int:
    """Bytes of key-value cache that each further token holds in one copy of `model`.

    2 (key and value) x layers x kv_heads x head_dim x bytes per number; the same for prompt and output tokens. Source: Kwon et al. 2023
    (PagedAttention). Llama-3.1-8B: 131072, -70B: 327680, Mixtral-8x7B: 131072 in 16 bit.
    """
    return kv_elements_per_token(model) * bytes_per_number


def kv_bytes_per_sequence(model: Model, bytes_per_number: int = 2) -> float:
    """Bytes that a sequence holds however long it is: full windows of sliding attention, and states of constant size.

    A sequence shorter than the window holds less (approximation: counted whole, which is pessimistic for short prompts).
    """
    return model.window_layers * model.window_tokens * kv_elements_per_layer(model) * bytes_per_number + model.state_bytes


def kv_bytes_of(model: Model, tokens: int, bytes_per_number: int = 2) -> float:
    """Bytes of cache of one sequence of `tokens` tokens, windows no longer than it."""
    inside = min(tokens, model.window_tokens)
    window = model.window_layers * inside * kv_elements_per_layer(model) * bytes_per_number
    return float(tokens * kv_bytes_per_token(model, bytes_per_number) + window + model.state_bytes)


def _copies(deployment: Deployment) -> float:
    """The part of a cache that each GPU of the group holds.

    Heads are split over the GPUs; a group with more GPUs than KV heads holds copies, and a compressed latent (MLA) is held whole by each.
    """
    model = deployment.model
    return 1.0 if model.kv_elements_per_layer is not None else 1.0 / min(deployment.tensor_parallel, model.kv_heads)


def kv_bytes_per_token_and_gpu(deployment: Deployment) -> float:
    """Bytes of cache that each further token takes on each GPU of the group."""
    return kv_bytes_per_token(deployment.model, deployment.kv_bytes_per_number) * _copies(deployment)


def kv_bytes_per_sequence_and_gpu(deployment: Deployment) -> float:
    """Bytes that a sequence takes on each GPU however long it is."""
    return kv_bytes_per_sequence(deployment.model, deployment.kv_bytes_per_number) * _copies(deployment)


def sequence_blocks(deployment: Deployment) -> int:
    """Blocks that a sequence takes next to those of its tokens: what it holds however long it is, in blocks of the growing layers."""
    fixed = kv_bytes_per_sequence_and_gpu(deployment)
    return math.ceil(fixed / (kv_bytes_per_token_and_gpu(deployment) * BLOCK_TOKENS)) if fixed else 0


def room_tokens(deployment: Deployment) -> int:
    """Tokens of the longest sequence that the replica can hold alone; 0 where none fits."""
    return max(0, kv_blocks(deployment) - sequence_blocks(deployment)) * BLOCK_TOKENS


def activation_bytes(deployment: Deployment) -> float:
    """Peak bytes of activations on one GPU in a full prefill step, and of the logits of a full batch."""
    model, limits = deployment.model, deployment.limits
    touched = model.experts_per_token * model.intermediate_size / deployment.tensor_parallel
    hidden = limits.max_num_batched_tokens * 2 * (4 * model.hidden_size + 2 * touched)
    return hidden + limits.max_num_seqs * model.vocab_size * LOGIT_BYTES


def kv_memory_bytes(deployment: Deployment) -> float:
    """Bytes of KV cache on each GPU; negative by as much as the weights do not fit."""
    size = deployment.tensor_parallel
    share = deployment.gpu.memory_bytes * deployment.limits.gpu_memory_utilization
    reserve = RESERVE_BYTES + (RESERVE_TP_BYTES if size > 1 else 0.0)
    weights = weight_bytes(deployment.model, deployment.weights) / size
    return share - weights - activation_bytes(deployment) - reserve


def kv_blocks(deployment: Deployment) -> int:
    """Blocks of 16 tokens that the replica can hold; 0 when the weights do not fit.
    `EngineLimits.kv_blocks` overrides.

    Within 7 % of what vLLM prints on an A10G, an RTX 4090 and a pair of L40S (tests/engine/test_memory.py).
    """
    if deployment.limits.kv_blocks is not None:
        return deployment.limits.kv_blocks
    left = kv_memory_bytes(deployment)
    return max(0, math.floor(left / (kv_bytes_per_token_and_gpu(deployment) * BLOCK_TOKENS)))
