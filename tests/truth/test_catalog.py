"""The catalogue against arithmetic, physics and published figures."""

from __future__ import annotations

import csv
import re
from collections import Counter

import pytest

from sim.catalog.loader import FOLDER, load_catalog
from sim.catalog.records import Model
from tests.shared_data import shared_data

CATALOG = load_catalog()
GIB = 2**30
TIED = {"llama-3.2-3b", "phi-4-mini", "gemma-3-12b"}
BRIEFED_GPUS = ("t4", "a10g", "l4", "l40s", "a100-80", "h100")


def rows() -> list[object]:
    names = ("gpus", "models", "weight_formats", "offers", "relays")
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
    vocabulary = (1 if model.id in TIED else 2) * model.vocab_size * h
    return vocabulary + model.layers * (attention + feed_forward + norms) + h


@pytest.mark.parametrize("name", [m for m in CATALOG.models if not m.startswith("deepseek")])
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
def test_a_gpu_lies_in_the_range_of_what_was_ever_sold(gpu) -> None:  # type: ignore[no-untyped-def]
    assert 14 * GIB < gpu.memory_bytes < 192 * GIB
    assert 2.5e11 < gpu.bandwidth_bytes_per_s < 9e12
    assert 6e13 < gpu.flops["bf16"] < 3e15
    assert 1.5e10 < gpu.link_bytes_per_s < 1e12
    assert 50 < gpu.tdp_w <= 1200
    assert (gpu.link == "nvlink") == (gpu.link_bytes_per_s >= 3e11)


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


def test_memory_is_what_a_process_gets_and_not_the_name_on_the_box() -> None:
    for name, boxed in (("l4", 24), ("a10g", 24), ("l40s", 48), ("a100-80", 80), ("h100", 80), ("t4", 16)):
        assert 0.90 < CATALOG.gpus[name].memory_bytes / (boxed * GIB) < 0.995, name


def test_every_gpu_of_the_core_has_two_sellers_where_prices_are_public() -> None:
    for name in BRIEFED_GPUS:
        sellers = {o.provider for o in CATALOG.offers.values() if o.gpu == name and o.term == "on_demand"}
        assert len(sellers) >= (1 if name == "a10g" else 2), (name, sellers)  # the A10G is made for one cloud


def test_offers_cost_what_a_gpu_hour_can_cost() -> None:
    bands = {"t4": (0.1, 1.2), "a10g": (0.9, 2), "l4": (0.6, 1.8), "l40s": (0.5, 3.8)}
    bands |= {"a100-80": (0.4, 5.1), "h100": (0.8, 12.5)}
    for offer in CATALOG.offers.values():
        low, high = bands.get(offer.gpu, (0.2, 15))
        assert low <= offer.usd_per_hour / offer.gpus <= high, offer.id
        assert offer.gpus in (1, 2, 4, 8)


def test_spot_is_cheaper_than_the_same_host_on_demand() -> None:
    for offer in CATALOG.offers.values():
        if offer.term == "spot":
            assert offer.usd_per_hour < CATALOG.offers[offer.id.removesuffix(".spot")].usd_per_hour, offer.id


def test_owned_nodes_cost_what_their_note_adds_up_to() -> None:
    offer = CATALOG.offers["owned.h100x8"]
    capital, power, colocation = 325_000 * 1.125 / (3 * 8760), 10.2 * 1.54 * 0.146, 10.2 * 194.95 / 730
    assert offer.usd_per_hour == pytest.approx(capital + power + colocation, rel=0.001)
    assert 2.06 < offer.usd_per_hour / offer.gpus < 2.39
    assert not offer.elastic


def test_relay_prices_are_the_official_sides_and_not_the_copied_table() -> None:
    official = {
        "openai.gpt-4.1": (2, 8),
        "anthropic.claude-sonnet-4.5": (3, 15),
        "gemini.gemini-2.5-flash": (0.30, 2.50),
        "deepseek.deepseek-v3.2": (0.28, 0.42),
        "deepinfra.llama-3.3-70b-turbo": (0.10, 0.32),
        "deepinfra.llama-3.1-8b-turbo": (0.02, 0.04),
    }
    for name, (price_in, price_out) in official.items():
        relay = CATALOG.relays[name]
        assert (relay.usd_per_mtok_input, relay.usd_per_mtok_output) == (price_in, price_out)


def test_the_four_models_of_the_copied_table_carry_their_retirement() -> None:
    dates = {
        "openai.gpt-4.1": "2027-01-14",
        "anthropic.claude-sonnet-4.5": "2026-11-30",
        "gemini.gemini-2.5-flash": "2026-12-01",
        "deepseek.deepseek-v3.2": "2026-07-24",
    }
    for name, date in dates.items():
        relay = CATALOG.relays[name]
        assert relay.retires_on == date
        assert relay.successor is not None and CATALOG.relays[relay.successor].retires_on is None


def test_relays_are_credible() -> None:
    for relay in CATALOG.relays.values():
        assert 0 < relay.usd_per_mtok_input <= relay.usd_per_mtok_output, relay.id
        if relay.usd_per_mtok_cached is not None:
            assert relay.usd_per_mtok_cached < relay.usd_per_mtok_input, relay.id
        assert 0.2 <= relay.ttft_p50_s <= 3.5, f"{relay.id}: below 0.2 s nothing was ever measured"
        assert 0.1 <= relay.ttft_sigma <= 1.05
        assert 15 < relay.tokens_per_s < 400


def test_open_weights_of_two_sizes_have_two_hosts_each() -> None:
    hosts = Counter((r.model, r.vendor) for r in CATALOG.relays.values())
    for model in ("llama-3.1-8b", "llama-3.1-70b", "llama-3.3-70b"):
        assert len({vendor for name, vendor in hosts if name == model}) >= 2, model


def test_exchange_rates_are_the_banks_and_not_the_vendors() -> None:
    assert 1 / CATALOG.fx_usd["CNY"] == pytest.approx(6.6529, rel=1e-4)
    assert CATALOG.fx_usd["EUR"] == 1.1172


def test_no_fact_stands_in_two_rows() -> None:
    hosts = Counter((o.provider, o.gpu, o.gpus, o.term, o.region, o.usd_per_hour) for o in CATALOG.offers.values())
    assert max(hosts.values()) == 1, hosts.most_common(1)
    for file in FOLDER.glob("*.yaml"):
        ids = Counter(re.findall(r"^  - id: (\S+)", file.read_text(), re.MULTILINE))
        assert not ids or max(ids.values()) == 1


def test_every_offer_price_is_one_of_the_collected_ones() -> None:
    with shared_data("prices/instances.csv").open() as file:
        good = [r for r in csv.DictReader(file) if r["unit"] == "USD/h" and "TRAP" not in r["note"]]
    known = {(r["provider"], float(r["gpu_count"]), float(r["value"])) for r in good if "STALE" not in r["price_kind"]}
    for offer in CATALOG.offers.values():
        if offer.term != "owned":
            assert (offer.provider, offer.gpus, offer.usd_per_hour) in known, offer.id
