"""Models read from the config.json that comes with their weights; shapes as the publishers' files state them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim.catalog.loader import load_catalog
from sim.catalog.model_config import FAMILIES, load_model_config
from sim.errors import InputError

CATALOG = load_catalog()


def grouped(kind: str, layers: int, hidden: int, heads: int, kv: int, ffn: int, words: int, context: int, **more: Any) -> dict[str, Any]:
    shape = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv}
    return {"model_type": kind, **shape, "intermediate_size": ffn, "vocab_size": words, "max_position_embeddings": context, **more}


LATENT = {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
FILES: dict[str, dict[str, Any]] = {
    "llama-3.1-8b": grouped("llama", 32, 4096, 32, 8, 14336, 128256, 131072, attention_bias=False, mlp_bias=False),
    "llama-3.2-3b": grouped("llama", 28, 3072, 24, 8, 8192, 128256, 131072, head_dim=128, tie_word_embeddings=True),
    "llama-2-13b": grouped("llama", 40, 5120, 40, 40, 13824, 32000, 4096),
    "mistral-7b": grouped("mistral", 32, 4096, 32, 8, 14336, 32768, 32768, sliding_window=None),
    "mixtral-8x7b": grouped("mixtral", 32, 4096, 32, 8, 14336, 32000, 32768, num_local_experts=8, num_experts_per_tok=2),
    "qwen2.5-7b": grouped("qwen2", 28, 3584, 28, 4, 18944, 152064, 32768, tie_word_embeddings=False),
    "qwen3-32b": grouped("qwen3", 64, 5120, 64, 8, 25600, 151936, 40960, head_dim=128, attention_bias=False),
    "qwen3-30b-a3b": grouped(
        *("qwen3_moe", 48, 2048, 32, 4, 6144, 151936, 40960),
        **{"head_dim": 128, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8},
        **{"decoder_sparse_step": 1, "mlp_only_layers": []},
    ),
    "phi-4-mini": grouped("phi3", 32, 3072, 24, 8, 8192, 200064, 131072, tie_word_embeddings=True, attention_bias=False),
    "gemma-3-12b": {
        "model_type": "gemma3",
        "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152},
        "text_config": {
            **{"model_type": "gemma3_text", "hidden_size": 3840, "intermediate_size": 15360},
            **{"num_attention_heads": 16, "num_hidden_layers": 48, "num_key_value_heads": 8},
        },
    },
    "gpt-oss-20b": grouped(
        *("gpt_oss", 24, 2880, 64, 8, 2880, 201088, 131072),
        **{"head_dim": 64, "num_local_experts": 32, "num_experts_per_tok": 4, "attention_bias": True},
    ),
    "deepseek-v3.2": grouped(
        *("deepseek_v32", 61, 7168, 128, 128, 18432, 129280, 163840),
        **{**LATENT, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1},
        **{"num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1},
    ),
    "bge-m3": grouped("xlm-roberta", 24, 1024, 16, 16, 4096, 250002, 8194, type_vocab_size=1),
    "qwen3-embedding-0.6b": grouped("qwen3", 28, 1024, 16, 8, 3072, 151669, 32768, head_dim=128, tie_word_embeddings=True),
}
SHAPE = ("parameters", "active_parameters", "layers", "hidden_size", "heads", "kv_heads", "head_dim", "intermediate_size", "vocab_size")
SHAPE += ("max_context", "experts", "experts_per_token", "kv_elements_per_layer", "tied_embedding")


def save(folder: Path, content: object, name: str = "config.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_model_config(path)
    return caught.value.problems


@pytest.mark.parametrize("name", FILES)
def test_a_config_gives_the_row_of_the_catalogue(tmp_path: Path, name: str) -> None:
    model, row = load_model_config(save(tmp_path, FILES[name]), name), CATALOG.models[name]
    for field in SHAPE:
        assert getattr(model, field) == getattr(row, field), field


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("gpt-oss-20b", {"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12}, (12, 128)),
        ("gpt-oss-20b", {"sliding_window": 128}, (12, 128)),
        ("qwen2.5-7b", {"sliding_window": 4096, "use_sliding_window": False}, (0, 0)),
        ("qwen2.5-7b", {"sliding_window": 4096, "use_sliding_window": True}, (28, 4096)),
        ("phi-4-mini", {"sliding_window": 262144}, (0, 0)),
        ("qwen3-32b", {}, (0, 0)),
    ],
)
def test_layers_with_a_sliding_window_are_read(tmp_path: Path, name: str, more: dict[str, Any], expected: tuple[int, int]) -> None:
    model = load_model_config(save(tmp_path, FILES[name] | more), name)
    assert (model.window_layers, model.window_tokens) == expected


def test_gemma_sees_everything_in_every_sixth_layer_only(tmp_path: Path) -> None:
    config = json.loads(json.dumps(FILES["gemma-3-12b"]))
    config["text_config"]["sliding_window"] = 1024
    model = load_model_config(save(tmp_path, config))
    assert (model.window_layers, model.window_tokens) == (40, 1024)
    assert (CATALOG.models["gemma-3-12b"].window_layers, CATALOG.models["gemma-3-12b"].window_tokens) == (40, 1024)


def published(kind: str, *sizes: int, **more: Any) -> dict[str, Any]:
    return grouped(kind, *sizes, **more)


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (published("llama", 16, 2048, 32, 8, 8192, 128256, 131072, head_dim=64, tie_word_embeddings=True), 1_235_814_400),  # Llama-3.2-1B
        (published("qwen2", 24, 896, 14, 2, 4864, 151936, 32768, tie_word_embeddings=True), 494_032_768),  # Qwen2.5-0.5B
        (published("qwen3", 28, 1024, 16, 8, 3072, 151936, 40960, head_dim=128, tie_word_embeddings=True), 596_049_920),  # Qwen3-0.6B
        (published("gemma", 18, 2048, 8, 1, 16384, 256000, 8192, head_dim=256), 2_506_172_416),  # Gemma 2B
        (published("gemma2", 26, 2304, 8, 4, 9216, 256000, 8192, head_dim=256), 2_614_341_888),  # Gemma 2 2B
        (published("phi3", 32, 3072, 32, 32, 8192, 32064, 4096), 3_821_079_552),  # Phi-3-mini
        (published("bert", 12, 768, 12, 12, 3072, 30522, 512, type_vocab_size=2), 109_482_240),  # BERT base
    ],
)
def test_counts_are_those_that_checkpoints_publish(tmp_path: Path, config: dict[str, Any], parameters: int) -> None:
    assert load_model_config(save(tmp_path, config)).parameters == parameters


def test_shared_experts_and_uncompressed_queries_are_counted(tmp_path: Path) -> None:
    """DeepSeek-V2-Lite: 15.7 billion, 2.4 active by the paper's count, which leaves the vocabulary out."""
    lite = grouped(
        *("deepseek_v2", 27, 2048, 16, 16, 10944, 102400, 163840),
        **{**LATENT, "q_lora_rank": None, "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2},
        **{"num_experts_per_tok": 6, "first_k_dense_replace": 1},
    )
    model = load_model_config(save(tmp_path, lite))
    assert model.parameters == 15_706_484_224  # the sum of the published checkpoint
    assert model.active_parameters - 2 * 102400 * 2048 == pytest.approx(2.24e9, rel=0.01)
    assert model.kv_elements_per_layer == 576


def test_the_name_is_that_of_the_file_or_else_of_the_folder(tmp_path: Path) -> None:
    plain = FILES["llama-3.1-8b"]
    folder = tmp_path / "My Model"
    folder.mkdir()
    save(folder, plain)
    assert load_model_config(folder).id == "my-model"
    assert load_model_config(save(tmp_path, {**plain, "_name_or_path": "org/Other-7B"})).id == "other-7b"
    assert load_model_config(save(tmp_path, plain), "chosen").id == "chosen"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[1, 2]", "holds no JSON object"),
        ({}, "has no model_type (readable: llama,"),
        ({"model_type": ["llama"]}, "is not one that can be read"),
        ({"model_type": "mamba2"}, 'model_type "mamba2" is not one that can be read'),
        ({"model_type": "qwen33"}, "the nearest is qwen3"),
        ({**FILES["llama-3.1-8b"], "num_key_value_heads": 5}, "num_key_value_heads: 5 does not divide 32 attention heads"),
        ({**FILES["llama-3.1-8b"], "hidden_size": 0}, "hidden_size: 0 is not a whole number of 1 or more"),
        ({**FILES["llama-3.1-8b"], "hidden_size": 40.5}, "hidden_size: 40.5 is not a whole number"),
        ({**FILES["llama-3.1-8b"], "tie_word_embeddings": "yes"}, "tie_word_embeddings: 'yes' is not true or false"),
        ({**FILES["mixtral-8x7b"], "num_experts_per_tok": 9}, "num_experts_per_tok: 9 is more than 8 experts"),
        ({**FILES["qwen3-30b-a3b"], "decoder_sparse_step": 2}, "decoder_sparse_step: 2 cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said_with_file_and_key(tmp_path: Path, content: object, said: str) -> None:
    path = save(tmp_path, content)
    found = problems(path)
    assert len(found) == 1 and found[0].startswith(f"{path}:") and said in found[0], found


def test_all_missing_keys_come_at_once(tmp_path: Path) -> None:
    found = problems(save(tmp_path, {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}))
    missing = ("num_hidden_layers", "vocab_size", "intermediate_size", "max_position_embeddings")
    assert [key in line for key, line in zip(missing, sorted(found, key=lambda x: [k in x for k in missing].index(True)), strict=True)]
    assert len(found) == 4


def test_a_file_that_is_not_there_or_not_text_is_said(tmp_path: Path) -> None:
    assert "no such file" in problems(tmp_path / "none.json")[0]
    assert "no such file" in problems(tmp_path)[0]  # a folder without one
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    assert "is UTF-16; save it as UTF-8" in problems(tmp_path / "b.json")[0]


def test_every_family_that_is_named_readable_reads_a_plain_file(tmp_path: Path) -> None:
    for kind in FAMILIES:
        more = {**LATENT, "type_vocab_size": 2, "num_experts_per_tok": 2, "moe_intermediate_size": 256}
        experts = {"n_routed_experts": 8} if kind.startswith("deepseek") else {"num_local_experts": 8} if kind == "mixtral" else {}
        model = load_model_config(save(tmp_path, grouped(kind, 4, 512, 8, 8, 1024, 1000, 2048, **more, **experts)))
        assert model.parameters >= model.active_parameters > 0, kind
