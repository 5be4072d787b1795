"""Parameters of a transformer, counted from the shape that its config.json states: every matrix, norm and bias once.

A `Counted` holds the sum and what one token touches. Positions that are computed (rotary) have no parameters. Parts that serve no text
traffic (vision towers, multi-token prediction, sparse-attention indexers) are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """What a `model_type` implies and its config.json does not say. `None` where the file says it (`attention_bias`, `mlp_bias`)."""

    qkv_bias: bool | None = False
    output_bias: bool | None = False
    qk_norm: bool = False  # a norm over head_dim on queries and on keys
    norms: int = 2  # of one hidden size each, per layer
    mlp_matrices: int = 3  # gate, up, down; 2 without a gate
    mlp_bias: bool | None = False
    tied: bool = False  # default of `tie_word_embeddings`
    sinks: bool = False  # one number per head
    latent: bool = False  # multi-head latent attention
    encoder: bool = False  # no output head; positions learned; biases everywhere


@dataclass(frozen=True)
class Dimensions:
    """Sizes of the layers. `dense_layers` of a mixture of experts run a feed-forward of `dense_intermediate` instead of experts."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int  # of one expert, or of the only one
    vocabulary: int
    tied: bool
    experts: int = 1
    experts_per_token: int = 1
    shared_intermediate: int = 0  # of the experts that every token takes, together
    shared_gate: bool = False
    router_bias: bool = False
    dense_layers: int = 0
    dense_intermediate: int = 0
    attention_bias: bool = False
    mlp_bias: bool = False
    q_rank: int = 0  # latent attention; 0: queries are not compressed
    kv_rank: int = 0
    rope_dim: int = 0
    value_dim: int = 0
    positions: int = 0  # learned positions and token types of an encoder


@dataclass(frozen=True)
class Counted:
    parameters: int
    active: int


def count(family: Family, d: Dimensions) -> Counted:
    """All parameters, and those on the path of one token; both vocabulary matrices are on it.

    >>> llama = Dimensions(32, 4096, 32, 8, 128, 14336, 128256, tied=False)
    >>> count(Family(), llama).parameters
    8030261248
    """
    if family.encoder:
        whole = encoder_parameters(d)
        return Counted(whole, whole)
    outside = (1 if d.tied else 2) * d.vocabulary * d.hidden + d.hidden
    outside += d.layers * (attention_parameters(family, d) + family.norms * d.hidden)
    outside += d.dense_layers * feed_forward(family, d, d.dense_intermediate)
    mixed = d.layers - d.dense_layers
    outside += mixed * (router_parameters(d) + feed_forward(family, d, d.shared_intermediate))
    expert = mixed * feed_forward(family, d, d.intermediate)
    return Counted(outside + d.experts * expert, outside + d.experts_per_token * expert)


def attention_parameters(family: Family, d: Dimensions) -> int:
    """Of one layer: projections, their biases, norms on queries and keys, sinks."""
    if family.latent:
        return latent_attention_parameters(d)
    queries, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
    total = 2 * d.hidden * queries + 2 * d.hidden * keys
    if d.attention_bias if family.qkv_bias is None else family.qkv_bias:
        total += queries + 2 * keys
    if d.attention_bias if family.output_bias is None else family.output_bias:
        total += d.hidden
    return total + (2 * d.head_dim if family.qk_norm else 0) + (d.heads if family.sinks else 0)


def latent_attention_parameters(d: Dimensions) -> int:
    """Of one layer: queries (compressed or not), joint latent of keys and values, expansions, output (DeepSeek-V2, section 2.1)."""
    queries = d.heads * d.head_dim
    down_up = d.hidden * d.q_rank + d.q_rank + d.q_rank * queries if d.q_rank else d.hidden * queries
    latent = d.hidden * (d.kv_rank + d.rope_dim) + d.kv_rank
    expand = d.kv_rank * d.heads * (d.head_dim - d.rope_dim + d.value_dim)
    return down_up + latent + expand + d.heads * d.value_dim * d.hidden


def feed_forward(family: Family, d: Dimensions, intermediate: int) -> int:
    """Of one feed-forward of that width; 0 for width 0."""
    if not intermediate:
        return 0
    bias = d.mlp_bias if family.mlp_bias is None else family.mlp_bias
    biases = (family.mlp_matrices - 1) * intermediate + d.hidden if bias else 0
    return family.mlp_matrices * d.hidden * intermediate + biases


def router_parameters(d: Dimensions) -> int:
    """Of one layer: a score per expert, its bias, and the gate of the shared experts."""
    if d.experts == 1:
        return 0
    return d.hidden * d.experts + (d.experts if d.router_bias else 0) + (d.hidden if d.shared_gate else 0)


def encoder_parameters(d: Dimensions) -> int:
    """BERT and kin: embeddings of words, positions and token types, two norms with bias per layer, biased projections, pooler."""
    h = d.hidden
    layer = 4 * (h * h + h) + 2 * h * d.intermediate + d.intermediate + h + 4 * h
    return (d.vocabulary + d.positions) * h + 2 * h + d.layers * layer + h * h + h
