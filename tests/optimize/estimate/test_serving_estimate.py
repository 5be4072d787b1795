"""Serving: cache per token, what fits, ranking, prices, reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from optimize.estimate.rental import cheapest_host, cheapest_hosts
from optimize.estimate.serving import ServingEstimate, estimate_serving, serving_json
from optimize.estimate.subjects import cpus, model_of_size
from sim.catalog.loader import load_catalog
from sim.engine.deployment import Deployment
from sim.engine.memory import kv_blocks
from sim.errors import InputError


def serving(**given: Any) -> ServingEstimate:
    """An estimate from options as typed."""
    unset = {"weights": None, "gpu": None, "tp": None, "context": None, "prompt": None, "answer": None, "concurrency": None, "kv": "bf16"}
    return estimate_serving(**unset | given)


@pytest.mark.parametrize(
    ("model", "kv_bytes"),
    [
        ("llama-2-7b", 512 * 1024),
        ("llama-3.1-8b", 128 * 1024),
        ("llama-3.1-70b", 320 * 1024),
        ("mixtral-8x7b", 128 * 1024),
        ("deepseek-v3.2", 70_272),  # the shape of V3: 61 layers x (512 + 64) numbers
        ("qwen3-32b", 256 * 1024),
    ],
)
def test_cache_per_token_is_the_published_one(model: str, kv_bytes: int) -> None:
    assert serving_json(serving(model=model, gpu=["h200"]))["kv_bytes_per_token"] == kv_bytes
    assert serving_json(serving(model=model, gpu=["h200"], kv="fp8"))["kv_bytes_per_token"] == kv_bytes / 2


def test_a_request_takes_its_whole_blocks() -> None:
    assert serving(model="llama-3.1-8b", gpu=["h100"], context="8k").kv_bytes_per_request == 8192 * 131_072
    assert serving(model="llama-3.1-8b", gpu=["h100"], context="1001").kv_bytes_per_request == 1008 * 131_072


def test_weights_of_70_billion_are_141_gb_in_16_bit_and_40_in_4() -> None:
    found = serving(model="llama-3.1-70b")
    assert found.weight_bytes["bf16"] == pytest.approx(141.1e9, rel=1e-3)
    assert found.weight_bytes["int4"] == pytest.approx(39.8e9, rel=1e-2)
    said = serving_json(serving(model="llama-3.1-70b", weights=["int4"]))
    assert said["weight_bytes"] == found.weight_bytes["int4"]


def test_every_row_fits_and_every_device_and_format_has_a_row_or_a_reason() -> None:
    found = serving(model="llama-3.1-70b", concurrency=64)
    asked = {(gpu, weights) for gpu in {**load_catalog().gpus, **cpus()} for weights in ("bf16", "fp8", "int4")}
    rows = {(row.deployment.gpu.id, row.deployment.weights.id) for row in found.fits}
    refused = {(each.gpu, each.weights) for each in found.refused}
    assert rows | refused == asked and not rows & refused
    assert all(row.largest_batch * 8192 <= row.kv_tokens or row.largest_batch == 256 for row in found.fits)
    assert all(each.reason for each in found.refused)
    assert any("weights 141 GB > 101" in each.reason for each in found.refused if each.gpu == "t4")


def test_cards_of_consumers_and_processors_are_rows_with_a_caveat() -> None:
    rows = {row.deployment.gpu.id: row for row in serving(model="llama-3.1-8b").fits}
    for name in ("rtx3090", "rtx4090"):
        assert any("licence excludes data centres" in reason for reason in rows[name].reasons)
    for name in cpus():
        assert rows[name].deployment.tensor_parallel == 1
        assert any(reason.startswith("CPU: not calibrated") for reason in rows[name].reasons)
        assert rows[name].single.tokens_per_s < rows["l40s"].single.tokens_per_s


def test_rows_come_cheapest_answer_first_and_unsold_ones_last() -> None:
    for concurrency in (None, 64):
        prices = [row.judged.usd_per_mtok for row in serving(model="llama-3.1-8b", concurrency=concurrency).fits]
        sold = [price for price in prices if price is not None]
        assert sold == sorted(sold) and prices[: len(sold)] == sold and len(sold) < len(prices)


def test_a_concurrency_is_spread_over_as_many_replicas_as_hold_it() -> None:
    for row in serving(model="llama-3.1-8b", weights=["bf16"], concurrency=200).fits:
        assert row.fleet is not None
        assert (row.fleet.replicas - 1) * row.largest_batch < 200 <= row.fleet.replicas * row.largest_batch
        assert row.fleet.point.batch == 200 / row.fleet.replicas
        if row.fleet.usd_per_hour is not None:
            tokens_per_hour = row.fleet.replicas * row.fleet.point.tokens_per_s * 3600
            assert row.fleet.point.usd_per_mtok == pytest.approx(row.fleet.usd_per_hour / tokens_per_hour * 1e6)


def test_hosts_are_rented_whole() -> None:
    catalog = load_catalog()
    share = cheapest_host(catalog, "l40s", 4)
    assert share is not None and share[0].gpus % 4 == 0 and share[1] == pytest.approx(share[0].usd_per_hour * 4 / share[0].gpus)
    rented = cheapest_hosts(catalog, "l40s", 4, 3)
    assert rented is not None
    offer, hosts, usd = rented
    assert hosts * (offer.gpus // 4) >= 3 and usd == hosts * offer.usd_per_hour
    assert cheapest_host(catalog, "rtx6000ada") is None


def test_energy_of_an_answer_is_power_over_rate() -> None:
    [row] = serving(model="llama-3.1-8b", gpu=["l40s"], weights=["bf16"], tp=1).fits
    assert row.knee.energy_wh == pytest.approx(350 / row.knee.requests_per_s / 3600)


def test_memory_is_that_of_the_simulator() -> None:
    for row in serving(model="llama-3.1-8b").fits:
        d = row.deployment
        assert row.kv_tokens == 16 * kv_blocks(Deployment(d.model, d.weights, d.gpu, d.tensor_parallel))


def test_a_config_file_describes_a_model_that_the_catalogue_lacks(tmp_path: Path) -> None:
    shape = {
        **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32},
        **{"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256},
        **{"max_position_embeddings": 131072, "tie_word_embeddings": False},
    }
    file = tmp_path / "config.json"
    file.write_text(json.dumps(shape))
    read, known = serving(model=str(file), gpu=["h100"]), serving(model="llama-3.1-8b", gpu=["h100"])
    assert read.kv_bytes_per_token == known.kv_bytes_per_token
    assert read.weight_bytes == pytest.approx(known.weight_bytes, rel=1e-4)
    assert [row.knee.tokens_per_s for row in read.fits] == pytest.approx([row.knee.tokens_per_s for row in known.fits], rel=1e-3)


def test_the_config_of_deepseek_v3_gives_the_compressed_cache_that_its_report_states(tmp_path: Path) -> None:
    shape = {
        **{
            "model_type": "deepseek_v3",
            "hidden_size": 7168,
            "num_hidden_layers": 61,
            "num_attention_heads": 128,
            "num_key_value_heads": 128,
        },
        **{"intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1},
        **{"num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "kv_lora_rank": 512, "q_lora_rank": 1536},
        **{"qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "vocab_size": 129280, "max_position_embeddings": 163840},
        "tie_word_embeddings": False,
    }
    (tmp_path / "config.json").write_text(json.dumps(shape))
    found = serving(model=str(tmp_path), gpu=["h200"])
    assert found.kv_bytes_per_token == 70_272
    assert found.question.model.parameters == pytest.approx(671e9, rel=0.01)


def test_names_of_quantisers_are_formats_too() -> None:
    assert serving(model="llama-3.1-8b", gpu=["l4"], weights=["awq"]).question.weights[0].id == "int4"


def test_a_model_that_embeds_is_refused() -> None:
    from dataclasses import replace

    from optimize.estimate.amounts import Options
    from optimize.estimate.question import read_question

    catalog = load_catalog()
    embedder = replace(catalog.models["qwen3-8b"], id="embedder", kind="embedding")
    options = Options("estimate serving")
    unset = {"weights": None, "gpu": None, "tp": None, "context": None, "prompt": None, "answer": None, "concurrency": None, "kv": "bf16"}
    assert read_question(options, replace(catalog, models={"embedder": embedder}), model="embedder", **unset) is None
    assert "embeds and answers nothing" in options.problems[0]


def test_a_shape_from_the_number_of_parameters_is_that_of_llama_2_and_gpt_3() -> None:
    for size, layers, hidden in ((6.74e9, 32, 4096), (13.0e9, 40, 5120), (175e9, 96, 12288)):
        model = model_of_size(size)
        assert abs(model.layers - layers) <= 1 and model.hidden_size == pytest.approx(hidden, rel=0.04)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "llama-3.1-8b", "gpu": ["a100-80"], "weights": ["fp8"]}, "no fp8 arithmetic"),
        ({"model": "llama-3.1-8b", "tp": 3}, "do not split over 3"),
        ({"model": "llama-3.1-8b", "gpu": ["epyc-9654"], "tp": 2}, "no link to another"),
        ({"model": "llama-2-7b", "context": "8k"}, "more than the 4,096"),
        ({"model": "llama-2-7b", "context": "1k", "prompt": "1k"}, "are more than the context"),
        ({"model": "llama-2-7b", "kv": "int3"}, "not one of bf16, fp8"),
        ({"model": "llama-2-7"}, "did you mean llama-2-7b"),
        ({"model": "nowhere/config.json"}, "no such file"),
    ],
)
def test_options_that_contradict_each_other_get_one_message(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        serving(**given)
    assert len(raised.value.problems) == 1
