"""Offers and relays against the collected price files, published arithmetic and each other."""

from __future__ import annotations

import csv
import doctest
from collections import Counter

import pytest
from ruamel.yaml import YAML

from optimize.money.price_claims import claim_flags, retired
from sim.catalog.loader import FOLDER, load_catalog
from tests.shared_data import shared_data

CATALOG = load_catalog()
OFFERS, RELAYS = CATALOG.offers.values(), CATALOG.relays.values()
REAL = [relay for relay in RELAYS if relay.grade != "claimed"]
CORE_GPUS = ("t4", "a10g", "l4", "l40s", "a100-80", "h100")
# Sellers whose prices come from their own pages or other lists than the collected file, named in the row's source.
OTHER_SOURCES = ("owned", "cn", "primeintellect")


def test_every_gpu_of_the_core_has_two_sellers_where_prices_are_public() -> None:
    for name in CORE_GPUS:
        sellers = {o.provider for o in OFFERS if o.gpu == name and o.term == "on_demand" and o.grade != "claimed"}
        assert len(sellers) >= (1 if name == "a10g" else 2), (name, sellers)  # the A10G is made for one cloud


def test_all_kinds_of_sellers_are_there() -> None:
    sellers = {offer.provider for offer in OFFERS}
    assert {"aws", "azure", "gcp"} <= sellers  # hyperscalers
    assert {"nebius", "verda", "lambda"} <= sellers  # neoclouds
    assert {"vast", "primeintellect"} <= sellers  # marketplaces
    assert {"owned", "cn"} <= sellers
    assert {"on_demand", "reserved_1y", "spot", "owned"} == {offer.term for offer in OFFERS}


def test_offers_cost_what_a_gpu_hour_can_cost() -> None:
    bands = {"t4": (0.1, 1.2), "a10g": (0.9, 2.1), "l4": (0.6, 1.8), "l40s": (0.5, 3.8)}
    bands |= {"a100-80": (0.4, 5.1), "h100": (0.8, 12.5)}
    for offer in OFFERS:
        low, high = bands.get(offer.gpu, (0.2, 15))
        assert low <= offer.usd_per_hour / offer.gpus <= high, offer.id
        assert offer.gpus in (1, 2, 4, 8)
        if offer.price_low_usd_per_hour is not None and offer.price_high_usd_per_hour is not None:
            assert offer.price_low_usd_per_hour <= offer.usd_per_hour <= offer.price_high_usd_per_hour, offer.id


def test_spot_is_a_distribution_below_the_same_host_on_demand() -> None:
    for offer in OFFERS:
        assert bool(offer.spot_usd_per_hour) == (offer.term == "spot"), offer.id
        if offer.term == "spot":
            assert offer.usd_per_hour < CATALOG.offers[offer.id.removesuffix(".spot")].usd_per_hour, offer.id
            assert offer.usd_per_hour == max(offer.spot_usd_per_hour.values()), offer.id
            assert all(0 <= float(quantile) <= 1 for quantile in offer.spot_usd_per_hour)


def test_owned_nodes_cost_what_their_facts_add_up_to() -> None:
    rows = YAML(typ="safe").load((FOLDER / "finance.yaml").read_text())
    plan = {row["name"]: row.get("value") for row in rows["assumptions"]}
    cards = {row["gpu"]: (row["low"] + row["high"]) / 2 for row in rows["purchase"]}
    owned = [offer for offer in OFFERS if offer.term == "owned"]
    assert {(offer.gpu, offer.gpus) for offer in owned} == {("h100", 8), ("l40s", 2)}
    for offer in owned:
        assert offer.capex_usd and offer.power_w and offer.capex_source and not offer.elastic
        kw = offer.power_w / 1000
        capital = offer.capex_usd * (1 + plan["network_share"]) / (plan["life_months"] * 730)
        running = kw * plan["pue"] * plan["electricity_usd_per_kwh"] + kw * plan["colocation_usd_per_kw_month"] / 730
        assert offer.usd_per_hour == pytest.approx(capital + running, rel=0.001), offer.id
        assert kw * 1000 == pytest.approx(offer.gpus * CATALOG.gpus[offer.gpu].tdp_w * plan["host_power_factor"], rel=0.005)
    assert CATALOG.offers["owned.l40sx2"].capex_usd == pytest.approx(2 * cards["l40s"] * (1 + plan["host_share"]))
    assert 2.06 < CATALOG.offers["owned.h100x8"].usd_per_hour / 8 < 2.39


def test_chinese_rents_are_the_quoted_yuan_at_the_banks_rate_and_only_claims() -> None:
    yuan = CATALOG.fx_usd["CNY"]
    quoted, market = CATALOG.offers["cn.a100-80.quoted"], CATALOG.offers["cn.a100-80.market"]
    for offer, low, middle, high in ((quoted, 20, 30, 40), (market, 6, 10, 23)):
        assert offer.grade == "claimed"
        figures = (offer.price_low_usd_per_hour, offer.usd_per_hour, offer.price_high_usd_per_hour)
        assert figures == pytest.approx((low * yuan, middle * yuan, high * yuan), rel=1e-3)
    elsewhere = [o.usd_per_hour / o.gpus for o in OFFERS if o.gpu == "a100-80" and o.term == "on_demand" and o.provider in ("vast", "aws")]
    assert (min(elsewhere) / yuan, max(elsewhere) / yuan) == pytest.approx((6, 23), rel=0.05)


def test_a_discount_that_nobody_quotes_for_the_gpu_is_a_claim() -> None:
    for offer in OFFERS:
        if offer.term.startswith("reserved"):
            base = CATALOG.offers[offer.id.rsplit(".", 1)[0]]
            assert offer.grade == "claimed"
            assert offer.usd_per_hour == pytest.approx(0.7 * base.usd_per_hour, rel=1e-3)
            assert offer.price_low_usd_per_hour == pytest.approx(0.5 * base.usd_per_hour, rel=1e-3)


def test_no_host_stands_in_two_rows() -> None:
    hosts = Counter((o.provider, o.gpu, o.gpus, o.term, o.region, o.usd_per_hour) for o in OFFERS)
    assert max(hosts.values()) == 1, hosts.most_common(1)
    products = Counter((r.vendor, r.model, r.usd_per_mtok_input, r.usd_per_mtok_output, tuple(r.residency)) for r in RELAYS)
    assert max(products.values()) == 1, products.most_common(1)


CARDS = {
    **{"T4": "t4", "A10G": "a10g", "A10": "a10", "L4": "l4", "L40S": "l40s", "A100-40": "a100-40", "A100-80": "a100-80"},
    **{"H100-SXM": "h100", "H100-NVL": "h100-nvl", "H200": "h200", "B200": "b200", "RTXPRO6000": "rtx-pro-6000"},
    **{"RTX4090": "rtx4090", "RTX3090": "rtx3090", "RTX-A6000": "a6000"},
}
KINDS = {
    **{"on_demand": "on_demand", "marketplace": "on_demand"},
    **{"spot": "spot", "preemptible": "spot", "spot_low": "spot", "spot_high": "spot"},
}


def test_every_offer_is_a_collected_host_at_its_price() -> None:
    """Seller, card, cards in the host, kind of price and price are those of one line; Azure's single A100 is the PCIe card."""
    with shared_data("prices/instances.csv").open() as file:
        lines = [r for r in csv.DictReader(file) if r["unit"] == "USD/h" and "TRAP" not in r["note"] and r["gpu"] in CARDS]
    known = {(r["provider"], CARDS[r["gpu"]], float(r["gpu_count"]), KINDS.get(r["price_kind"], ""), float(r["value"])) for r in lines}
    for offer in OFFERS:
        if offer.provider in OTHER_SOURCES or offer.term.startswith("reserved"):
            continue
        card = "a100-80" if offer.gpu == "a100-pcie" else offer.gpu
        for price in (offer.usd_per_hour, *offer.spot_usd_per_hour.values()):
            assert (offer.provider, card, offer.gpus, offer.term, price) in known, (offer.id, price)


VENDORS = {"google": ("gemini", "google"), "azure": ("azure_ai",), "together": ("together_ai",), "fireworks": ("fireworks_ai",)}
REGIONAL = {r.id for r in RELAYS if r.residency and r.source.title.startswith("litellm 1.110.2")}  # rows of places, from that file alone
NOT_COLLECTED = {"azure.gpt-4.1", "xai.grok-4.1-fast", *REGIONAL}  # the first two from vendor documentation, named in the source


PRICES = {
    "input": "usd_per_mtok_input",
    "output": "usd_per_mtok_output",
    "cache_read": "usd_per_mtok_cached",
    "cache_write": "usd_per_mtok_cache_write",
    "batch_input": "usd_per_mtok_batch_input",
    "batch_output": "usd_per_mtok_batch_output",
}


def plain(name: str) -> str:
    """A model's name without maker, case, punctuation and what hosts append.

    >>> plain("deepinfra/meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo"), plain("claude-sonnet-4-5")
    ('llama318b', 'claudesonnet45')
    """
    last = name.lower().split("/")[-1].removeprefix("meta-")
    for tail in ("-turbo", "-instruct", "-fp8", "-latest", "-versatile", "-instant", "-terminus"):
        last = last.replace(tail, "")
    return "".join(character for character in last if character.isalnum())


def test_every_relay_sells_at_the_prices_of_one_collected_product() -> None:
    """All prices of a row are those that one price file has for one model of the vendor, by name."""
    with shared_data("prices/api_prices.csv").open() as file:
        figures = [r for r in csv.DictReader(file) if r["unit"] == "USD/MTok" and "claim" not in r["metric"]]
    for relay in REAL:
        if relay.kind == "embedding" or relay.id in NOT_COLLECTED:
            continue
        model = plain({"deepseek.deepseek-v3.2": "deepseek-chat"}.get(relay.id, relay.model))
        mine = [r for r in figures if r["provider"] in VENDORS.get(relay.vendor, (relay.vendor,)) and plain(r["model"]) == model]
        products: dict[tuple[str, str], dict[str, list[float]]] = {}
        for r in mine:
            products.setdefault((r["source"], r["model"]), {}).setdefault(r["metric"], []).append(float(r["value"]))
        own = {metric: getattr(relay, field) for metric, field in PRICES.items() if getattr(relay, field) is not None}
        found = [
            product
            for product, prices in products.items()
            if all(any(value == pytest.approx(price) for value in prices.get(metric, ())) for metric, price in own.items())
        ]
        assert found, (relay.id, own, sorted(products))


def test_retirement_dates_are_the_collected_ones_and_successors_live() -> None:
    with shared_data("prices/api_prices.csv").open() as file:
        dates = {r["value"] for r in csv.DictReader(file) if r["metric"] == "retirement_date"}
    for relay in REAL:
        assert relay.retires_on is None or relay.retires_on in dates or relay.id in NOT_COLLECTED, relay.id
        if relay.successor:
            assert CATALOG.relays[relay.successor].retires_on is None, relay.id


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
        assert relay.successor is not None
    assert [relay.id for relay in RELAYS if retired(relay, CATALOG.date)] == ["deepseek.deepseek-v3.2"]


TABLE = {  # seller -> model -> price per million tokens as the table has it
    "holysheep": {"gpt-4.1": 8.0, "claude-sonnet-4.5": 15.0, "gemini-2.5-flash": 2.5, "deepseek-v3.2": 0.42},
    "claimed-official": {"gpt-4.1": 15.0, "claude-sonnet-4.5": 18.0, "gemini-2.5-flash": 2.5, "deepseek-v3.2": 0.5},
    "claimed-others": {"gpt-4.1": 12.0, "claude-sonnet-4.5": 15.0, "deepseek-v3.2": 0.65},
}


def test_the_copied_table_is_there_as_claims_and_each_row_is_flagged() -> None:
    claims = [relay for relay in RELAYS if relay.grade == "claimed"]
    assert {r.vendor: {c.model: c.usd_per_mtok_input for c in claims if c.vendor == r.vendor} for r in claims} == TABLE
    for relay in claims:
        assert claim_flags(relay, CATALOG), relay.id
    for model in TABLE["holysheep"]:
        flags = " ".join(claim_flags(CATALOG.relays[f"holysheep.{model}"], CATALOG))
        assert "is the maker's output price" in flags and "first token after 0.05 s" in flags and "yuan" in flags
    assert "7.5 times the maker's $2" in " ".join(claim_flags(CATALOG.relays["claimed-official.gpt-4.1"], CATALOG))


def test_relays_are_credible() -> None:
    for relay in REAL:
        assert relay.usd_per_mtok_input > 0, relay.id
        assert relay.usd_per_mtok_output == 0 if relay.kind == "embedding" else relay.usd_per_mtok_input <= relay.usd_per_mtok_output
        if relay.usd_per_mtok_cached is not None:
            assert relay.usd_per_mtok_cached < relay.usd_per_mtok_input, relay.id
        if relay.usd_per_mtok_batch_input is not None:
            assert relay.usd_per_mtok_batch_input == pytest.approx(relay.usd_per_mtok_input / 2), relay.id
        assert 0.2 <= relay.ttft_p50_s <= 3.5, f"{relay.id}: below 0.2 s nothing was ever measured"
        assert 0.1 <= relay.ttft_sigma <= 1.05
        assert 15 < relay.tokens_per_s < 400
        units = (relay.unit_usd_per_hour, relay.unit_tokens_per_minute, relay.unit_output_weight, relay.unit_minimum)
        assert all(units) or not any(units), relay.id


def test_a_latency_that_was_not_measured_on_the_endpoint_says_what_was_assumed() -> None:
    for relay in RELAYS:
        source = relay.latency_source
        assert "assumed" in source.title + source.note or "same vendor" in source.note, relay.id


def test_open_weights_of_two_sizes_have_two_hosts_each() -> None:
    hosts = {(r.model, r.vendor) for r in REAL}
    for model in ("llama-3.1-8b", "llama-3.1-70b", "llama-3.3-70b", "gpt-oss-120b", "qwen3-32b", "deepseek-v3.2"):
        assert len({vendor for name, vendor in hosts if name == model}) >= 2, model


def test_examples_in_docstrings_hold() -> None:
    import sys

    assert doctest.testmod(sys.modules[__name__]).failed == 0
