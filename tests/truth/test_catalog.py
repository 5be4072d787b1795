"""GPUs, models and formats against arithmetic, physics and published figures; offers and relays are in test_prices.py."""

from __future__ import annotations

import csv
import re
from collections import Counter

import pytest

from sim.calibration.points import GPUS
from sim.catalog.facts import Gpu, Model
from sim.catalog.loader import FOLDER, load_catalog
from tests.shared_data import shared_data

CATALOG = load_catalog()
GIB = 2**30
NOT_COUNTED = ("deepseek", "llama-3.2-11b", "llama-4", "bge")  # latent attention; vision tower; shared expert; encoder


def rows() -> list[object]:
    names = ("gpus", "models", "weight_formats", "offers", "relays", "tokenizers")
    return [row for name in names for row in getattr(CATALOG, name).values()] + list(CATALOG.calibration)


def count(model: Model, experts: int) -> int:
    """Parameters of a dense or expert model from its shape: two vocabulary matrices unless tied, grouped attention, SwiGLU, norms."""
    h, kv, d = model.hidden_size, model.kv_heads * model.head_dim, model.head_dim
    attention = 2 * h * model.heads * d + 2 * h * kv
    norms = 2 * h
    if model.id.startswith("qwen2.5"):
        attention += model.heads * d + 2 * kv
    if model.id.startswith(("qwen3", "gemma")):
        attention += 2 * d
    if model.id.startswith("gemma"):
        norms = 4 * h
    feed_forward = experts * 3 * h * model.intermediate_size + (h * model.experts if model.experts > 1 else 0)
    if model.id.startswith("gpt-oss"):  # biases everywhere, and a sink per head
        attention += model.heads * d + 2 * kv + h + model.heads
        feed_forward += experts * (2 * model.intermediate_size + h) + model.experts
    vocabulary = (1 if model.tied_embedding else 2) * model.vocab_size * h
    return vocabulary + model.layers * (attention + feed_forward + norms) + h


@pytest.mark.parametrize("name", [m for m in CATALOG.models if not m.startswith(NOT_COUNTED)])
def test_parameters_are_those_that_the_shape_counts_to(name: str) -> None:
    model = CATALOG.models[name]
    assert model.parameters == count(model, model.experts)
    assert model.active_parameters == count(model, model.experts_per_token)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.1-70b", 70_553_706_496),
        ("mistral-7b", 7_248_023_552),
        ("mixtral-8x7b", 46_702_792_704),
        ("qwen2.5-7b", 7_615_616_512),
        ("deepseek-v3.2", 671_026_419_200),
        ("bge-m3", 567_754_752),
    ],
)
def test_parameters_match_the_sum_that_the_checkpoints_publish(name: str, published: int) -> None:
    assert CATALOG.models[name].parameters == published


def test_active_parameters_match_the_papers() -> None:
    assert CATALOG.models["mixtral-8x7b"].active_parameters == pytest.approx(12.9e9, rel=0.01)
    assert CATALOG.models["qwen3-30b-a3b"].active_parameters == pytest.approx(3.3e9, rel=0.02)
    assert CATALOG.models["deepseek-v3.2"].active_parameters == pytest.approx(37e9, rel=0.02)
    oss = CATALOG.models["gpt-oss-120b"]  # the card leaves the input embedding out
    assert oss.active_parameters - oss.vocab_size * oss.hidden_size == pytest.approx(5.13e9, rel=0.01)


@pytest.mark.parametrize(
    ("name", "kv_bytes"),
    [("llama-3.1-8b", 131_072), ("llama-3.1-70b", 327_680), ("mixtral-8x7b", 131_072), ("deepseek-v3.2", 70_272)],
)
def test_a_token_takes_the_published_bytes_of_cache(name: str, kv_bytes: int) -> None:
    model = CATALOG.models[name]
    per_layer = model.kv_elements_per_layer or 2 * model.kv_heads * model.head_dim
    assert 2 * model.layers * per_layer == kv_bytes


def test_weights_of_three_models_weigh_what_their_files_weigh() -> None:
    for name, gigabytes in (("llama-3.1-8b", 16.06), ("llama-3.1-70b", 141.1), ("mixtral-8x7b", 93.4)):
        assert CATALOG.models[name].parameters * 2 / 1e9 == pytest.approx(gigabytes, rel=1e-3)


def test_llama_70b_at_four_bits_weighs_what_the_awq_file_weighs() -> None:
    model, int4 = CATALOG.models["llama-3.1-70b"], CATALOG.weight_formats["int4"]
    ends = 2 * model.vocab_size * model.hidden_size
    stored = (model.parameters - ends) * int4.bytes_per_weight + ends * 2
    assert stored / 1e9 == pytest.approx(39.8, rel=0.01)


def test_every_row_names_a_source_and_a_date_that_has_come() -> None:
    for row in rows():
        for name in ("source", "latency_source"):
            source = getattr(row, name, None)
            if source is not None:
                assert source.title.strip(), row
                assert "2017" < source.date <= "2026-12", row
    assert all(relay.latency_source.title for relay in CATALOG.relays.values())


def test_a_latency_that_was_not_measured_on_the_endpoint_says_what_was_assumed() -> None:
    for relay in CATALOG.relays.values():
        source = relay.latency_source
        assert "assumed" in source.title + source.note or "same vendor" in source.note, relay.id


@pytest.mark.parametrize("gpu", CATALOG.gpus.values(), ids=lambda g: g.id)
def test_a_gpu_lies_in_the_range_of_what_was_ever_sold(gpu: Gpu) -> None:
    assert 14 * GIB < gpu.memory_bytes < 192 * GIB
    assert 2.5e11 < gpu.bandwidth_bytes_per_s < 9e12
    assert 6e13 < gpu.flops["bf16"] < 3e15
    assert 1.5e10 < gpu.link_bytes_per_s < 1e12
    assert 50 < gpu.tdp_w <= 1200
    assert (gpu.link == "nvlink") == (gpu.link_bytes_per_s >= 3e11)


MEMORY = {  # bytes/s that cards with this memory can have: pins x rate, fewest to most chips
    "gddr6": (3.0e11, 1.0e12),
    "gddr6x": (9.0e11, 1.1e12),
    "gddr7": (1.3e12, 1.8e12),
    "hbm2": (9.0e11, 1.6e12),
    "hbm2e": (1.9e12, 2.1e12),
    "hbm3": (3.3e12, 4.0e12),
    "hbm3e": (4.8e12, 8.0e12),
}


@pytest.mark.parametrize("gpu", CATALOG.gpus.values(), ids=lambda g: g.id)
def test_bandwidth_is_one_that_the_type_of_memory_can_have(gpu: Gpu) -> None:
    low, high = MEMORY[gpu.memory_type]
    assert low <= gpu.bandwidth_bytes_per_s <= high
    assert gpu.pcie_bytes_per_s in (16e9, 32e9, 64e9, 128e9)
    assert gpu.link != "pcie" or gpu.link_bytes_per_s <= gpu.pcie_bytes_per_s


@pytest.mark.parametrize("name", ["h100", "l40s"])
def test_fp8_is_twice_bf16_on_the_cards_of_the_core(name: str) -> None:
    flops = CATALOG.gpus[name].flops
    assert flops["fp8"] == pytest.approx(2 * flops["bf16"], rel=0.015)
    assert flops["fp8"] == flops["int8"]


def test_half_the_bits_double_the_dense_rate() -> None:
    for gpu in CATALOG.gpus.values():
        assert gpu.flops["fp16"] == gpu.flops["bf16"]
        if gpu.flops["fp8"]:
            assert gpu.flops["fp8"] / gpu.flops["bf16"] == pytest.approx(2, rel=0.015), gpu.id
        if gpu.flops.get("fp4"):
            assert gpu.flops["fp4"] / gpu.flops["fp8"] == pytest.approx(2, rel=0.01), gpu.id


def test_cards_before_ada_have_no_fp8() -> None:
    for name in ("t4", "v100s", "a10g", "a10", "a40", "a100-40", "a100-80", "a100-pcie", "rtx3090", "a6000"):
        assert CATALOG.gpus[name].flops["fp8"] == 0
    for name in ("l4", "l40s", "h100", "h200", "rtx4090"):
        assert CATALOG.gpus[name].flops["fp8"] > 0


def test_cards_without_bf16_say_so() -> None:
    for name in ("t4", "v100s"):
        assert "no bf16" in CATALOG.gpus[name].caveat


def test_consumer_cards_carry_their_licence() -> None:
    for name in ("rtx3090", "rtx4090"):
        assert "licence excludes data centres" in CATALOG.gpus[name].caveat


def test_memory_is_what_a_process_gets_and_not_the_name_on_the_box() -> None:
    for name, boxed in (("l4", 24), ("a10g", 24), ("l40s", 48), ("a100-80", 80), ("h100", 80), ("t4", 16)):
        assert 0.90 < CATALOG.gpus[name].memory_bytes / (boxed * GIB) < 0.995, name


def test_every_model_and_gpu_of_the_measured_points_has_a_row() -> None:
    with shared_data("measurements/calibration.csv").open() as file:
        points = list(csv.DictReader(file))
    assert {point["model"] for point in points} <= set(CATALOG.models)
    assert {GPUS.get(point["gpu"], point["gpu"]) for point in points} <= {*CATALOG.gpus, "H100"}  # one point does not say which


GPU_NAMES = {
    **{"t4": "T4", "a10g": "A10G", "a10": "A10", "l4": "L4", "l40s": "L40S", "a100-40": "A100-SXM-40", "a100-80": "A100-SXM-80"},
    **{"a100-pcie": "A100-PCIe-80", "h100": "H100-SXM-80", "h100-pcie": "H100-PCIe-80", "h200": "H200-SXM-141", "b200": "B200-SXM"},
    **{"rtx3090": "RTX3090", "rtx4090": "RTX4090", "a6000": "RTX-A6000"},
}
METRICS = {
    "memory_bandwidth": ("bandwidth_bytes_per_s", 1e9),
    "tdp": ("tdp_w", 1.0),
    "fp16_bf16_tensor_dense": ("bf16", 1e12),
    "int8_tensor_dense": ("int8", 1e12),
    "fp8_tensor_dense": ("fp8", 1e12),
    "fp4_tensor_dense": ("fp4", 1e12),
    "intra_node_bw_per_direction": ("link_bytes_per_s", 1e9),
    "pcie_bw_per_direction": ("pcie_bytes_per_s", 1e9),
}


@pytest.mark.parametrize("name", GPU_NAMES)
def test_a_gpu_row_agrees_with_the_collected_figures(name: str) -> None:
    """Where two sources differ (the A10G's rate and power, the B200's bandwidth) the row has one of them, and says so."""
    gpu = CATALOG.gpus[name]
    with shared_data("prices/gpus.csv").open() as file:
        figures = [r for r in csv.DictReader(file) if r["gpu"] == GPU_NAMES[name] and r["metric"] in METRICS]
    assert len(figures) >= 3
    for metric in {r["metric"] for r in figures}:
        field, unit = METRICS[metric]
        here = gpu.flops[field] if field in gpu.flops else getattr(gpu, field)
        known = {float(r["value"]) * unit for r in figures if r["metric"] == metric}
        assert any(here == pytest.approx(value, rel=1e-6) for value in known), (metric, here, known)
        assert len(known) == 1 or gpu.caveat, metric


def test_no_fact_stands_in_two_rows() -> None:
    for file in FOLDER.glob("*.yaml"):
        ids = Counter(re.findall(r"^  - (?:id: |\{id: )([^\s,]+)", file.read_text(), re.MULTILINE))
        assert not ids or max(ids.values()) == 1, file.name
    aliases = Counter(alias for row in CATALOG.weight_formats.values() for alias in (row.id, *row.aliases))
    assert max(aliases.values()) == 1


def test_a_shape_that_two_models_share_is_said_in_both() -> None:
    """Only 3.1 and 3.3 of Llama 70B have one shape: the same row under two names would be a slip."""
    shapes = Counter((m.layers, m.hidden_size, m.kv_heads, m.vocab_size, m.kind, m.parameters) for m in CATALOG.models.values())
    assert [count for count in shapes.values() if count > 1] == [2]


def test_exchange_rates_are_the_banks_and_not_the_vendors() -> None:
    assert 1 / CATALOG.fx_usd["CNY"] == pytest.approx(6.6529, rel=1e-4)
    assert CATALOG.fx_usd["EUR"] == 1.1172


def test_every_model_that_is_sold_or_hosted_has_a_tokenizer_of_its_own_family() -> None:
    from fnmatch import fnmatchcase

    names = {*CATALOG.models, *(relay.model for relay in CATALOG.relays.values())}
    for name in names:
        families = [t.id for t in CATALOG.tokenizers.values() if any(fnmatchcase(name, p) for p in t.models)]
        assert len(families) == 2 and families[-1] == "general", (name, families)
    for row in CATALOG.tokenizers.values():
        assert all(0.1 < rate < 1.5 for rate in row.tokens_per_char.values())
    assert set(CATALOG.tokenizers["general"].tokens_per_char) == {"latin", "han"}
