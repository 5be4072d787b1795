"""Published calculators to the cent, each with the meaning of utilisation that it uses; and a published claim that cannot hold."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from optimize.money import capital, utilisation
from optimize.money.metering import metered_usd, plain_meter
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


def request_usd(given: dict[str, Any], million: float = 1.0) -> float:
    """What the tokens of a case cost at a relay of its prices, by the meter that bills plans."""
    relay = replace(load_catalog().relays["openai.gpt-4.1"], usd_per_mtok_input=given["usd_in"], usd_per_mtok_output=given["usd_out"])
    inputs, outputs = (given.get(name, given.get(f"{name[:-3]}mtok")) * million for name in ("in_tok", "out_tok"))
    return metered_usd(relay, plain_meter(inputs, 0.0, 0.0, outputs))


def test_api_bill_of_llmtco() -> None:
    given = cases()["llmtco_api"]
    assert cents(request_usd(given)) == cents(given["expect_month"])


def test_rented_month_of_llmtco_bills_only_the_used_share_of_hours() -> None:
    given = cases()["llmtco_rented"]
    billed = utilisation.always_on_usd(given["usd_h"], 1, given["hours"] * given["utilization"])
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
    api = request_usd(given, 1e6)
    own = utilisation.always_on_usd(given["gpu_usd_h"], given["gpus"], given["hours"]) * (1 + given["overhead"])
    assert (cents(api), cents(own), cents(own - api)) == (cents(want["api"]), cents(want["self_host"]), cents(want["delta"]))
    blended = api / (given["in_mtok"] + given["out_mtok"])
    assert round(utilisation.break_even_mtok(own, blended) / 1000, 2) == want["break_even_btok"]
    assert round(utilisation.capacity_mtok(given["tok_s"], 1.0, given["hours"]) / 1000, 2) == want["capacity_btok"]


def test_forg_pays_whole_replicas_of_which_a_share_is_used() -> None:
    given = cases()["forg"]
    want = given["expect"]
    replicas = math.ceil(given["volume_mtok"] / given["capacity_mtok"])  # the stated capacity holds the load share of 0.6
    own = utilisation.always_on_usd(given["replica_month"] / 730, replicas)
    assert (replicas, cents(own)) == (want["replicas"], cents(want["self_host"]))
    assert round(utilisation.break_even_mtok(own, given["api_blended"]), 1) == want["breakeven_mtok"]
    assert utilisation.usd_per_mtok(own, given["volume_mtok"]) == want["self_usd_per_mtok"]


def test_a_flat_relay_price_of_8_costs_more_than_twice_the_list_price_of_gpt_4_1() -> None:
    """The claim compares 8 "input" with 15 "official" and promises to save 700: 15 is no price of this model, and 8 is that of output."""
    relay = load_catalog().relays["openai.gpt-4.1"]
    flat = replace(relay, usd_per_mtok_input=8.0, usd_per_mtok_output=8.0)
    month = plain_meter(75e6, 0.0, 0.0, 25e6)
    assert (cents(metered_usd(relay, month)), cents(metered_usd(flat, month))) == (35_000, 80_000)


def test_85_percent_off_is_a_statement_about_an_exchange_rate() -> None:
    assert credit_discount(1.0, load_catalog().fx_usd["CNY"]) == pytest.approx(0.8497, abs=1e-4)
    assert credit_discount(7.3, 1 / 7.3) == pytest.approx(0.0)
