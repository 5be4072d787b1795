"""Model ids as LiteLLM, OpenRouter, Azure, Bedrock, Vertex and Hugging Face write them: right, or asked about, and never another model."""

from __future__ import annotations

import pytest

from sim.catalog.loader import load_catalog
from sim.start.names import known_model

RIGHT = {
    "qwen/qwen3-32b-04-28": "qwen3-32b",
    "openai/gpt-4.1-mini-2025-04-14": "gpt-4.1-mini",
    "azure/gpt-4.1-2025-04-14": "gpt-4.1",
    "azure/eu/gpt-4.1-mini": "gpt-4.1-mini",
    "openrouter/meta-llama/llama-3.3-70b-instruct:free": "llama-3.3-70b",
    "meta-llama/Llama-3.3-70B-Instruct-Turbo": "llama-3.3-70b",
    "us.meta.llama3-3-70b-instruct-v1:0": "llama-3.3-70b",
    "meta.llama3-1-8b-instruct-v1:0": "llama-3.1-8b",
    "arn:aws:bedrock:us-east-1::foundation-model/openai.gpt-oss-120b-1:0": "gpt-oss-120b",
    "qwen.qwen3-32b-v1:0": "qwen3-32b",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4.5",
    "anthropic/claude-4.5-sonnet-20250929": "claude-sonnet-4.5",
    "vertex_ai/claude-haiku-4-5@20251001": "claude-haiku-4.5",
    "publishers/google/models/gemini-2.5-flash-001": "gemini-2.5-flash",
    "vertex_ai/meta/llama-3.3-70b-instruct-maas": "llama-3.3-70b",
    "gemini/gemini-2.5-flash-lite": "gemini-2.5-flash-lite",
    "Qwen/Qwen3-32B-AWQ": "qwen3-32b",
    "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4": "qwen2.5-7b",
    "Qwen/Qwen3-30B-A3B-Instruct-2507": "qwen3-30b-a3b",
    "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic": "llama-3.1-8b",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral-7b",
    "mistralai/Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b",
    "google/gemma-3-27b-it": "gemma-3-27b",
    "deepseek-ai/DeepSeek-V3.2": "deepseek-v3.2",
    "accounts/fireworks/models/llama-v3p1-8b-instruct": "llama-3.1-8b",
    "groq/llama-3.1-8b-instant": "llama-3.1-8b",
    "ollama/llama3.1:8b": "llama-3.1-8b",
    "openai/gpt-oss-20b": "gpt-oss-20b",
    "microsoft/Phi-4-mini-instruct": "phi-4-mini",
    "neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w4a16": "llama-3.1-8b",
    "ollama/llama3.3:70b-instruct-q4_K_M": "llama-3.3-70b",
    "together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo-Free": "llama-3.3-70b",
    "global.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4.5",
    "azure/text-embedding-3-large": "text-embedding-3-large",
}
ASKED = [
    "gpt-4.1-nano", "gpt-4o-mini", "gpt-41", "meta-llama/Meta-Llama-3-8B-Instruct", "deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
    "Qwen/Qwen3-30B-A3B-Thinking-2507", "Qwen/Qwen3-235B-A22B", "Qwen/Qwen2.5-Coder-7B-Instruct", "claude-opus-4.5", "gemini-2.5-pro",
    "mistral-small-24b", "llama-3.1-nemotron-70b-instruct", "deepseek.v3-v1:0", "my-deployment", "", "gpt-4.1-mini-custom",
]  # fmt: skip


@pytest.mark.parametrize("written", RIGHT)
def test_an_id_is_resolved_by_family_version_and_size(written: str) -> None:
    assert known_model(written, load_catalog()) == RIGHT[written]


@pytest.mark.parametrize("written", ASKED)
def test_an_id_of_another_model_is_never_taken_for_one_of_the_catalogue(written: str) -> None:
    assert known_model(written, load_catalog()) is None


def test_every_model_of_the_catalogue_is_itself() -> None:
    catalog = load_catalog()
    names = {*catalog.models, *(relay.model for relay in catalog.relays.values())}
    assert {name: known_model(name, catalog) for name in names} == {name: name for name in names}
