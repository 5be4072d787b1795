"""A model that the catalogue lacks, from the `config.json` that comes with its weights (Hugging Face format)."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sim import named_files
from sim.catalog.facts import Model, Source
from sim.catalog.parameters import Dimensions, Family, count
from sim.errors import InputError, quoted

LARGEST_FILE = 5_000_000  # bytes; the longest config.json of a model is under 100 kB
FAMILIES: dict[str, Family] = {
    "llama": Family(qkv_bias=None, output_bias=None, mlp_bias=None),
    "mistral": Family(),
    "ministral3": Family(),
    "mixtral": Family(),
    "qwen2": Family(qkv_bias=True),
    "qwen2_moe": Family(qkv_bias=True),
    "qwen3": Family(qkv_bias=None, output_bias=None, qk_norm=True),
    "qwen3_moe": Family(qkv_bias=None, output_bias=None, qk_norm=True),
    "phi3": Family(),
    "gemma": Family(qkv_bias=None, output_bias=None, tied=True),
    "gemma2": Family(qkv_bias=None, output_bias=None, tied=True, norms=4),
    "gemma3_text": Family(qkv_bias=None, output_bias=None, tied=True, norms=4, qk_norm=True),
    "deepseek_v2": Family(latent=True),
    "deepseek_v3": Family(latent=True),
    "deepseek_v32": Family(latent=True),
    "gpt_oss": Family(qkv_bias=True, output_bias=True, mlp_bias=True, sinks=True),
    "bert": Family(encoder=True, mlp_matrices=2, tied=True),
    "xlm-roberta": Family(encoder=True, mlp_matrices=2, tied=True),
}
# What a file may leave out because the library's default is what the publisher meant: google/gemma-3 text_config.
DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma3_text": {
        **{"vocab_size": 262208, "max_position_embeddings": 131072, "head_dim": 256},
        **{"num_attention_heads": 8, "num_key_value_heads": 4},
    },
    "bert": {"type_vocab_size": 2},
    "xlm-roberta": {"type_vocab_size": 1},
}
EXPERT_KEYS = ("num_local_experts", "num_experts", "n_routed_experts")
WINDOW_PATTERNS = {"gemma2": 2, "gemma3_text": 6, "gpt_oss": 2}  # every n-th layer sees the whole context, where the file does not say
SKIPPED_LAYERS = ("decoder_sparse_step", "moe_layer_freq")  # other than 1: some layers between have no experts


class _Keys:
    """The mapping of a file; collects every key that is missing or no whole number."""

    def __init__(self, path: Path, raw: dict[str, Any]) -> None:
        self.path, self.raw, self.problems = path, raw, list[str]()

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        value = self.raw.get(key, default)
        if value is None and default is None:
            self.problems.append(f'{self.path}: {key}: missing; a "{self.raw["model_type"]}" config states it as a whole number')
        elif isinstance(value, bool) or not isinstance(value, int) or not least <= value < 10**9:
            if value is None:
                return default or 0
            self.problems.append(f"{self.path}: {key}: {quoted(value)} is not a whole number of {least} or more")
        else:
            return value
        return 1

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.raw.get(key, default)
        if not isinstance(value, bool):
            self.problems.append(f"{self.path}: {key}: {quoted(value)} is not true or false")
            return default
        return value


def load_model_config(path: Path, id: str | None = None) -> Model:
    """The model that a `config.json` describes, its parameters counted from the shape.

    `path` is the file or the folder that holds it. `id` is how scenarios name the model; without it the name in the file, else that of
    the folder. Of a model with images the text part is read. Layers with a sliding window hold no more than it (`windows`).
    Reads these `model_type`s: FAMILIES. InputError with every problem for any other file.
    """
    path = Path(path)
    file = path / "config.json" if os.path.isdir(path) else path
    raw = text_part(file, read_json(file))
    keys = _Keys(file, raw)
    kind = raw["model_type"]
    d = dimensions(keys, FAMILIES[kind])
    context = keys.whole("max_position_embeddings")
    checks(keys, d)
    if keys.problems:
        raise InputError(keys.problems)
    family = FAMILIES[kind]
    counted = count(family, d)
    window_layers, window_tokens = windows(keys, d.layers, context)
    if keys.problems:
        raise InputError(keys.problems)
    return Model(
        id=id or name_in(file, raw),
        parameters=float(counted.parameters),
        active_parameters=float(counted.active),
        layers=d.layers,
        hidden_size=d.hidden,
        heads=d.heads,
        kv_heads=d.kv_heads,
        head_dim=d.head_dim,
        intermediate_size=d.intermediate,
        vocab_size=d.vocabulary,
        max_context=context - 2 if kind == "xlm-roberta" else context,  # positions 0 and 1 are padding
        source=Source(f"{file.name}, model_type {kind}, parameters counted from the shape", "", "written by the user"),
        experts=d.experts,
        experts_per_token=d.experts_per_token,
        kv_elements_per_layer=d.kv_rank + d.rope_dim if family.latent else None,
        window_layers=window_layers,
        window_tokens=window_tokens,
        kind="embedding" if family.encoder else "chat",
        tied_embedding=d.tied,
    )


def read_json(file: Path) -> dict[str, Any]:
    """The JSON object in `file`; InputError where it is missing, too long, torn, or no object."""
    raw = named_files.read_json(file, "the config.json of a model", LARGEST_FILE)
    if not isinstance(raw, dict):
        raise InputError(f"{file}: holds no JSON object; a config.json is {{...}}")
    return raw


def text_part(file: Path, raw: dict[str, Any]) -> dict[str, Any]:
    """The part that describes the language model, completed by DEFAULTS; InputError where this file cannot read it."""
    inner = raw.get("text_config")
    if isinstance(inner, dict) and raw.get("model_type") not in FAMILIES:
        outer = {"_name_or_path": raw.get("_name_or_path"), "tie_word_embeddings": raw.get("tie_word_embeddings")}
        raw = {**{key: value for key, value in outer.items() if value is not None}, **inner}
    kind = raw.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        close = get_close_matches(str(kind).lower()[:60], FAMILIES, n=1, cutoff=0.6)
        hint = f"; the nearest is {close[0]}" if close else ""
        readable = ", ".join(FAMILIES)
        said = "has no model_type" if kind is None else f'model_type "{str(kind)[:60]}" is not one that can be read'
        raise InputError(f"{file}: {said}{hint} (readable: {readable})")
    return {**DEFAULTS.get(kind, {}), **{key: value for key, value in raw.items() if value is not None}}


def dimensions(keys: _Keys, family: Family) -> Dimensions:
    """Sizes from the keys of the file; its problems are collected in `keys`."""
    hidden, heads = keys.whole("hidden_size"), keys.whole("num_attention_heads")
    experts_key = next((key for key in EXPERT_KEYS if key in keys.raw), None)
    latent: dict[str, Any] = latent_sizes(keys) if family.latent else {}
    default_dim = latent.pop("head_dim", None) or max(hidden // heads, 1)
    return Dimensions(
        layers=keys.whole("num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=heads if family.latent else keys.whole("num_key_value_heads", heads),
        head_dim=default_dim if family.latent else keys.whole("head_dim", default_dim),
        vocabulary=keys.whole("vocab_size"),
        tied=keys.flag("tie_word_embeddings", family.tied),
        attention_bias=keys.flag("attention_bias"),
        mlp_bias=keys.flag("mlp_bias"),
        positions=keys.whole("max_position_embeddings") + keys.whole("type_vocab_size") if family.encoder else 0,
        **latent,
        **(mixture(keys, experts_key) if experts_key else {"intermediate": keys.whole("intermediate_size")}),
    )


def latent_sizes(keys: _Keys) -> dict[str, int]:
    """Ranks and head sizes of multi-head latent attention."""
    rope = keys.whole("qk_rope_head_dim")
    return {
        "q_rank": keys.whole("q_lora_rank", 0, least=0),
        "kv_rank": keys.whole("kv_lora_rank"),
        "rope_dim": rope,
        "value_dim": keys.whole("v_head_dim"),
        "head_dim": keys.whole("qk_nope_head_dim") + rope,
    }


def mixture(keys: _Keys, experts_key: str) -> dict[str, Any]:
    """Experts, their width, shared experts, and layers without experts."""
    experts = keys.whole(experts_key)
    width = keys.whole("moe_intermediate_size", keys.raw.get("intermediate_size"))
    alone = keys.raw.get("mlp_only_layers") or []
    first_dense = keys.whole("first_k_dense_replace", 0, least=0)
    dense = first_dense or (len(alone) if isinstance(alone, list) else 0)
    shared = keys.whole("shared_expert_intermediate_size", 0, least=0)
    return {
        "experts": experts,
        "experts_per_token": keys.whole("num_experts_per_tok", keys.raw.get("experts_per_token")),
        "intermediate": width,
        "shared_intermediate": shared or keys.whole("n_shared_experts", 0, least=0) * width,
        "shared_gate": shared > 0,
        "router_bias": keys.raw["model_type"] in ("gpt_oss", "deepseek_v3", "deepseek_v32"),
        "dense_layers": dense,
        "dense_intermediate": keys.whole("intermediate_size") if dense else 0,
    }


def windows(keys: _Keys, layers: int, context: int) -> tuple[int, int]:
    """How many layers see a sliding window only, and how many tokens it has; (0, 0) where all see the whole context.

    Newer files list the kind of every layer; older ones say that every n-th sees everything, or mean all layers (Mistral 7B v0.1).
    """
    window, kind = keys.whole("sliding_window", 0, least=0), keys.raw["model_type"]
    if not window or window >= context or not keys.flag("use_sliding_window", kind not in ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe")):
        return 0, 0
    listed = keys.raw.get("layer_types")
    if isinstance(listed, list):
        return sum(one == "sliding_attention" for one in listed), window
    every = keys.whole("sliding_window_pattern", WINDOW_PATTERNS.get(kind, 0), least=0)
    return layers - (layers // every if every else 0), window


def checks(keys: _Keys, d: Dimensions) -> None:
    """Sizes that cannot be those of one model."""
    if keys.problems:
        return
    path = keys.path
    if d.heads % d.kv_heads:
        keys.problems.append(f"{path}: num_key_value_heads: {d.kv_heads} does not divide {d.heads} attention heads")
    if d.experts_per_token > d.experts:
        keys.problems.append(f"{path}: num_experts_per_tok: {d.experts_per_token} is more than {d.experts} experts")
    if d.dense_layers > d.layers:
        keys.problems.append(f"{path}: {d.dense_layers} layers without experts, but only {d.layers} layers")
    for key in SKIPPED_LAYERS:
        if keys.raw.get(key, 1) != 1:
            keys.problems.append(f"{path}: {key}: {quoted(keys.raw[key])} cannot be read; only layers that all have experts are counted")


def name_in(file: Path, raw: dict[str, Any]) -> str:
    """A name for scenarios: the last part of the name in the file, else the folder's.

    >>> name_in(Path("models/tiny/config.json"), {"_name_or_path": "org/My Model-3B"})
    'my-model-3b'
    """
    given = raw.get("_name_or_path")
    name = str(given).rstrip("/").split("/")[-1] if isinstance(given, str) and given.strip("/. ") else file.resolve().parent.name
    return re.sub(r"[^a-z0-9_.\-]+", "-", name.lower()).strip("-._") or "model"
