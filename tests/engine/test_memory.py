"""KV memory against what engines print."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sim.catalog.facts import Gpu, Model, Source, WeightFormat
from sim.engine.deployment import BLOCK_TOKENS, Deployment, EngineLimits
from sim.engine.memory import (
    GIB,
    kv_blocks,
    kv_bytes_of,
    kv_bytes_per_token,
    kv_bytes_per_token_and_gpu,
    room_tokens,
    sequence_blocks,
    weight_bytes,
)

SOURCE = Source("test", "2026-11-30")
BF16 = WeightFormat("bf16", 2.0, "bf16", "fp16", SOURCE)
FP8 = WeightFormat("fp8", 1.0, "fp8", "fp8", SOURCE)
INT4 = WeightFormat("int4", 0.52, "bf16", "fp16", SOURCE)


def model(name: str, size: float, layers: int, hidden: int, heads: int, kv: int, inner: int, vocab: int) -> Model:
    return Model(name, size, size, layers, hidden, heads, kv, 128, inner, vocab, 131072, SOURCE)


LLAMA_8B = model("llama-3.1-8b", 8.03e9, 32, 4096, 32, 8, 14336, 128256)
LLAMA_70B = model("llama-3.1-70b", 70.55e9, 80, 8192, 64, 8, 28672, 128256)
QWEN_7B = model("qwen2.5-7b", 7.616e9, 28, 3584, 28, 4, 18944, 152064)


def gpu(name: str, memory: float, bandwidth: float) -> Gpu:
    return Gpu(name, memory, bandwidth, {"bf16": 1e14, "fp16": 1e14, "fp8": 2e14}, "pcie", 32e9, 300, SOURCE)


A10G, L40S, RTX4090 = gpu("a10g", 22.06 * GIB, 600e9), gpu("l40s", 44.40 * GIB, 864e9), gpu("rtx4090", 23.52 * GIB, 1008e9)
H100 = gpu("h100", 79.18 * GIB, 3350e9)


@pytest.mark.parametrize(("row", "expected"), [(LLAMA_8B, 131072), (LLAMA_70B, 327680)])
def test_a_token_takes_two_numbers_per_layer_kv_head_and_dimension(row: Model, expected: int) -> None:
    assert kv_bytes_per_token(row) == expected
    assert kv_bytes_per_token(row, 1) == expected // 2


def test_a_compressed_latent_is_counted_as_the_catalogue_says_and_not_split_by_tensor_parallelism() -> None:
    latent = replace(LLAMA_8B, kv_elements_per_layer=576)
    assert kv_bytes_per_token(latent) == 32 * 576 * 2
    assert kv_bytes_per_token_and_gpu(Deployment(latent, BF16, L40S, 4)) == 32 * 576 * 2


@pytest.mark.parametrize(
    ("row", "weights", "published"),
    [(LLAMA_8B, BF16, 16.06e9), (LLAMA_70B, INT4, 39.77e9), (LLAMA_8B, FP8, 9.08e9)],
)
def test_weights_take_what_the_published_files_take(row: Model, weights: WeightFormat, published: float) -> None:
    assert weight_bytes(row, weights) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(
    ("deployment", "tokens"),
    [
        (Deployment(QWEN_7B, BF16, A10G), 89_088),  # vLLM 0.22
        (Deployment(LLAMA_70B, INT4, L40S, 2), 132_128),  # vLLM 0.16
        (Deployment(LLAMA_8B, BF16, RTX4090), 41_408),  # vLLM 0.19
    ],
    ids=lambda value: value.id if isinstance(value, Deployment) else str(value),
)
def test_kv_tokens_are_within_seven_percent_of_what_vllm_printed(deployment: Deployment, tokens: int) -> None:
    assert kv_blocks(deployment) * BLOCK_TOKENS == pytest.approx(tokens, rel=0.07)


def test_weights_that_do_not_fit_leave_no_block() -> None:
    assert kv_blocks(Deployment(LLAMA_70B, BF16, H100)) == 0
    assert kv_blocks(Deployment(LLAMA_70B, BF16, A10G)) == 0


def test_an_explicit_number_of_blocks_wins() -> None:
    assert kv_blocks(Deployment(LLAMA_70B, BF16, A10G, limits=EngineLimits(kv_blocks=77))) == 77


def test_more_gpus_than_kv_heads_hold_copies() -> None:
    eight, sixteen = Deployment(LLAMA_8B, BF16, L40S, 8), Deployment(LLAMA_8B, BF16, L40S, 16)
    assert kv_bytes_per_token_and_gpu(eight) == kv_bytes_per_token_and_gpu(sixteen) == 131072 / 8


def test_layers_with_a_window_hold_no_more_than_it() -> None:
    """Gemma 3 27B: 10 of 62 layers see 131,072 tokens, 52 see 1,024; 16 KV heads of 128 numbers: 11.2 GB, and 66.6 GB were all full."""
    gemma = replace(model("gemma-3-27b", 27.0e9, 62, 5376, 32, 16, 21504, 262208), window_layers=52, window_tokens=1024)
    assert kv_bytes_of(gemma, 131072) / 1e9 == pytest.approx(11.2, abs=0.05)
    assert kv_bytes_of(replace(gemma, window_layers=0), 131072) / 1e9 == pytest.approx(66.6, abs=0.1)
    deployment = Deployment(gemma, BF16, H100)
    assert room_tokens(deployment) > 131072  # one H100 holds it next to 54 GB of weights
    assert sequence_blocks(deployment) * BLOCK_TOKENS * kv_bytes_per_token(gemma) == pytest.approx(52 * 1024 * 8192, rel=0.01)


def test_a_state_of_constant_size_counts_once_per_sequence() -> None:
    hybrid = replace(LLAMA_8B, state_layers=24, state_bytes=50e6)
    assert kv_bytes_per_token(hybrid) == kv_bytes_per_token(LLAMA_8B) // 4
    assert kv_bytes_of(hybrid, 1000) == 1000 * kv_bytes_per_token(hybrid) + 50e6
