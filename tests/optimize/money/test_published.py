"""Published calculators to the cent, each with the meaning of utilisation that it uses; and a published claim that cannot hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from optimize.money import capital, utilisation
from optimize.money import token_prices as tokens
from optimize.money.units import credit_discount
from sim.catalog.loader import load_catalog
from tests.shared_data import shared_data

BILLED_SHARE, ALWAYS_ON, NONE = "billed share", "always on", "no utilisation"
MEANING = {  # which meaning each published case has
    "llmtco_api": NONE,
    "llmtco_rented": BILLED_SHARE,
    "llmtco_owned": NONE,
    "llmtco_breakeven": NONE,
    "induwara": ALWAYS_ON,
    "forg": ALWAYS_ON,
}


def cases() -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in json.loads(shared_data("reference/tco_formulas.json").read_text())["cases"]}


def cents(usd: float) -> int:
    return round(100 * usd)


def test_every_published_case_has_its_meaning_of_utilisation_named() -> None:
    assert set(cases()) == set(MEANING)
    stated = {name for name, case in cases().items() if "utilization" in case}
    assert {name for name in stated if MEANING[name] == NONE} == set()


def test_api_bill_of_llmtco() -> None:
    given = cases()["llmtco_api"]
    usd = tokens.token_usd(tokens.TokenPrices(given["usd_in"], given["usd_out"]), tokens.TokenCount(given["in_tok"], given["out_tok"]))
    assert cents(usd) == cents(given["expect_month"])


def test_rented_month_of_llmtco_bills_only_the_used_share_of_hours() -> None:
    given = cases()["llmtco_rented"]
    billed = utilisation.billed_share_usd(given["usd_h"], given["utilization"], given["hours"])
    always = utilisation.always_on_usd(given["usd_h"], 1, given["hours"])
    assert cents(billed) == cents(given["expect_month"])
    assert cents(always) == 109_500 and cents(always) != cents(given["expect_month"])  # the other meaning: 3.3 times as much


def test_owned_month_of_llmtco_is_straight_line_without_residual() -> None:
    given = cases()["llmtco_owned"]
    assert cents(capital.straight_line_usd(given["capex"], 0.0, given["months"])) == cents(given["expect_month"])
    assert cents(capital.annuity_usd(given["capex"], 0.0, given["months"], 0.0)) == cents(given["expect_month"])


def test_break_even_of_llmtco() -> None:
    given = cases()["llmtco_breakeven"]
    assert round(utilisation.break_even_mtok(given["self_month"], given["blended"]), 1) == given["expect_mtok"]


def test_induwara_pays_all_hours_and_a_share_on_top() -> None:
    given = cases()["induwara"]
    want = given["expect"]
    api = tokens.token_usd(
        tokens.TokenPrices(given["usd_in"], given["usd_out"]), tokens.TokenCount(given["in_mtok"] * 1e6, given["out_mtok"] * 1e6)
    )
    own = utilisation.with_overhead_usd(utilisation.always_on_usd(given["gpu_usd_h"], given["gpus"], given["hours"]), given["overhead"])
    assert (cents(api), cents(own), cents(own - api)) == (cents(want["api"]), cents(want["self_host"]), cents(want["delta"]))
    blended = tokens.blended_usd_per_mtok(given["usd_in"], given["usd_out"], given["in_mtok"] / given["out_mtok"])
    assert round(utilisation.break_even_mtok(own, blended) / 1000, 2) == want["break_even_btok"]
    assert round(utilisation.capacity_mtok(given["tok_s"], 1.0, given["hours"]) / 1000, 2) == want["capacity_btok"]


def test_forg_pays_whole_replicas_of_which_a_share_is_used() -> None:
    given = cases()["forg"]
    want = given["expect"]
    replicas = utilisation.replicas_for(given["volume_mtok"], given["capacity_mtok"])  # the stated capacity holds the load share of 0.6
    own = utilisation.always_on_usd(given["replica_month"] / 730, replicas)
    assert (replicas, cents(own)) == (want["replicas"], cents(want["self_host"]))
    assert cents(tokens.flat_usd(given["volume_mtok"] * 1e6, given["api_blended"])) == cents(want["api"])
    assert round(utilisation.break_even_mtok(own, given["api_blended"]), 1) == want["breakeven_mtok"]
    assert utilisation.usd_per_mtok(own, given["volume_mtok"]) == want["self_usd_per_mtok"]


def test_a_flat_relay_price_of_8_costs_more_than_twice_the_list_price_of_gpt_4_1() -> None:
    relay = load_catalog().relays["openai.gpt-4.1"]
    million, inputs_per_output = 1e6, 3.0
    at_list = 100 * tokens.blended_usd_per_mtok(relay.usd_per_mtok_input, relay.usd_per_mtok_output, inputs_per_output)
    assert cents(at_list) == 35_000
    assert cents(tokens.flat_usd(100 * million, 8.0)) == 80_000


def test_a_saving_of_700_to_900_on_a_bill_of_350_is_impossible() -> None:
    """The claim compares 8 "input" with 15 "official": 15 is no price of this model, and 8 is its price of output."""
    relay = load_catalog().relays["openai.gpt-4.1"]
    list_usd = 100 * tokens.blended_usd_per_mtok(relay.usd_per_mtok_input, relay.usd_per_mtok_output, 3.0)
    assert tokens.largest_saving_usd(list_usd) < 700
    assert list_usd - tokens.flat_usd(100e6, 8.0) == pytest.approx(-450)  # the relay costs 450 more
    dearest = tokens.flat_usd(100e6, relay.usd_per_mtok_output)  # nothing but output tokens
    assert tokens.largest_saving_usd(dearest) == 800 and tokens.flat_usd(100e6, 15.0) - tokens.flat_usd(100e6, 8.0) == 700


def test_85_percent_off_is_a_statement_about_an_exchange_rate() -> None:
    assert credit_discount(1.0, load_catalog().fx_usd["CNY"]) == pytest.approx(0.8497, abs=1e-4)
    assert credit_discount(7.3, 1 / 7.3) == pytest.approx(0.0)
