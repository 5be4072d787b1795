"""Credit that a seller says is cheap: at face value unless the scenario trusts it, then in every price, next to the list price."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from optimize.money.price_book import relay_prices
from optimize.money.price_claims import claim_flags
from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

CATALOG = load_catalog()
TEXT = """
name: credit
traffic: {{rate_rps: 1}}
request_classes: [{{name: a, share: 1, input_tokens: 1000, output_tokens: 100, models: [gpt-4.1], slo: {{ttft: {{p95: 5}}}}}}]
candidates: {{offers: [], relays: [{relay}]}}
budget: {{per_month: 100000}}
"""


def loaded(tmp_path: Path, relay: str) -> Scenario:
    path = tmp_path / "credit.yaml"
    path.write_text(TEXT.format(relay=relay))
    return load_scenario(path)


def test_credit_is_taken_at_face_value_until_it_is_trusted(tmp_path: Path) -> None:
    (plain,) = loaded(tmp_path, "holysheep.gpt-4.1").relays
    (trusted,) = loaded(tmp_path, "{name: holysheep.gpt-4.1, trust_credit: true}").relays
    rate = CATALOG.fx_usd["CNY"]
    assert trusted.usd_per_mtok_input == pytest.approx(plain.usd_per_mtok_input * rate)
    assert trusted.usd_per_mtok_output == pytest.approx(plain.usd_per_mtok_output * rate)
    assert trusted.grade == "claimed" and trusted.credit_applied and not plain.credit_applied
    assert any("at face value" in flag for flag in claim_flags(plain, CATALOG))
    assert any("trusted (trust_credit)" in flag for flag in claim_flags(trusted, CATALOG))


def test_the_list_price_stands_next_to_what_trusted_credit_costs(tmp_path: Path) -> None:
    (trusted,) = loaded(tmp_path, "{name: holysheep.gpt-4.1, trust_credit: true}").relays
    price = relay_prices(trusted, CATALOG, True, date(2026, 12, 1), "scenario")[0]  # type: ignore[arg-type]
    assert (
        price.claimed_usd == pytest.approx(trusted.usd_per_mtok_input)
        and price.list_usd == CATALOG.relays["openai.gpt-4.1"].usd_per_mtok_input
    )


def test_a_seller_of_the_users_own_states_its_credit(tmp_path: Path) -> None:
    own = "{name: mine, model: gpt-4.1, usd_per_mtok_input: 2, usd_per_mtok_output: 8, ttft_p50_s: 1, tokens_per_s: 50, trust_credit: true"
    (relay,) = loaded(tmp_path, own + ", billing_currency: CNY, credit_per_unit: 0.5}").relays
    assert relay.usd_per_mtok_output == pytest.approx(8 * CATALOG.fx_usd["CNY"] / 0.5)
    with pytest.raises(InputError, match="no rate of credit is known"):
        loaded(tmp_path, own + "}")
