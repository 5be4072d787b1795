"""The price by the hour of an owned host follows from purchase, life, power and `finance`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optimize.finance.commitment.first_stages import held_terms
from optimize.money.owned_price import owned_notes, owned_price, with_owned_prices
from optimize.money.ownership import values_of
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

TEXT = """
name: own
traffic: {rate_rps: 20}
request_classes:
  - {name: chat, share: 1.0, input_tokens: 500, output_tokens: 200, models: [llama-3.1-8b], slo: {ttft: {p95: 1.0}}}
candidates:
  offers: [OFFER]
  relays: []
budget: {per_month: 50000}
"""


def read(tmp_path: Path, offer: str = "owned.l40sx2", **finance: Any) -> Scenario:
    path = tmp_path / "own.yaml"
    path.write_text(TEXT.replace("OFFER", offer) + (f"finance: {finance}\n" if finance else ""))
    return load_scenario(path, [], None)


def hour(scenario: Scenario) -> float:
    return with_owned_prices(scenario).offers[0].usd_per_hour


def test_without_figures_of_the_user_the_price_of_the_catalogue_holds_and_follows_from_its_own_arithmetic(tmp_path: Path) -> None:
    assert hour(read(tmp_path)) == 1.646
    again = hour(read(tmp_path, electricity_usd_per_kwh=0.146))
    assert again == pytest.approx(1.646, abs=0.001), "the planning figure itself, written out"


def test_running_costs_are_the_month_without_its_capital(tmp_path: Path) -> None:
    scenario = read(tmp_path, electricity_usd_per_kwh=0.146, maintenance_share=0.05)
    found = owned_price(scenario.offers[0], scenario)
    assert found is not None
    parts = dict(found.parts)
    assert {"capital", "electricity"} < set(parts) and min(parts.values()) >= 0
    assert found.running_usd == pytest.approx(found.month_usd - parts["capital"]) and found.running_usd > 0
    assert found.usd_per_hour == pytest.approx(found.month_usd / 730, abs=1e-6)


def test_what_is_rented_keeps_its_price_whatever_own_hosts_would_cost(tmp_path: Path) -> None:
    """Also where `finance` states what its GPU costs to buy."""
    for name in ("aws.g6e.xlarge", "{name: mine, gpu: l40s, usd_per_hour: 0.9}", "{name: mine, gpu: l40s, usd_per_hour: 0.9, term: spot}"):
        scenario = read(tmp_path, name, gpu_purchase_usd={"l40s": 1000}, electricity_usd_per_kwh=1.0)
        assert owned_price(scenario.offers[0], scenario) is None
        assert hour(scenario) == scenario.offers[0].usd_per_hour


def test_electricity_and_purchase_move_the_price_by_what_they_are(tmp_path: Path) -> None:
    base = hour(read(tmp_path, electricity_usd_per_kwh=0.146))
    kw = 1.274 * 1.54
    assert hour(read(tmp_path, electricity_usd_per_kwh=1.0)) - base == pytest.approx(kw * (1.0 - 0.146), abs=1e-5)
    cheap = hour(read(tmp_path, gpu_purchase_usd={"l40s": 1000}))
    assert base - cheap == pytest.approx((2 * 8500 - 2 * 1000) * 1.4 * 1.125 / 36 / 730, abs=1e-5)
    assert hour(read(tmp_path, cost_of_capital=0.1)) > base > hour(read(tmp_path, life_months=72))
    assert hour(read(tmp_path, residual_share_36m=0.3)) < base < hour(read(tmp_path, maintenance_share=0.05))


def test_an_offer_states_its_own_terms_and_the_formula_is_shown(tmp_path: Path) -> None:
    given = "{name: mine, gpu: l40s, gpus: 2, purchase_usd: 20000, life_months: 40, residual_share: 0.2, power_w: 1000, "
    scenario = read(tmp_path, given + "maintenance_usd_per_month: 50, colocation_usd_per_month: 100}")
    want = (20_000 * 0.8 / 40 + 1.0 * 1.54 * 730 * 0.146 + 100 + 50) / 730
    assert scenario.offers[0].term == "owned" and hour(scenario) == pytest.approx(want, abs=1e-6)
    (note,) = owned_notes(with_owned_prices(scenario))
    assert note.startswith("mine: (capital $400.00 + electricity $164.13 + colocation $100.00 + maintenance $50.00) a month / 730 h")


def test_hosts_that_are_paid_already_cost_what_they_run_on(tmp_path: Path) -> None:
    price = owned_price(read(tmp_path, "{name: mine, gpu: l40s, gpus: 2, purchase_usd: 0}").offers[0], read(tmp_path))
    assert price is not None and price.purchase_usd == 0.0 and price.month_usd == price.running_usd > 0


def test_a_price_by_the_hour_that_is_written_holds_here_and_in_decide(tmp_path: Path) -> None:
    scenario = read(tmp_path, "{name: owned.l40sx2, usd_per_hour: 0.9}", electricity_usd_per_kwh=1.0)
    assert hour(scenario) == 0.9
    held, missing, _ = held_terms(scenario, scenario.offers[0], 2, values_of(scenario.finance))
    assert held.purchase_usd == 0.0 and held.month_usd == pytest.approx(2 * 0.9 * 730) and missing == []


def test_decide_buys_at_the_purchase_price_of_the_offer(tmp_path: Path) -> None:
    scenario = read(tmp_path, "{name: mine, gpu: l40s, gpus: 2, purchase_usd: 20000, power_w: 1000}")
    held, missing, _ = held_terms(scenario, scenario.offers[0], 3, values_of(scenario.finance))
    assert held.purchase_usd == 60_000.0 and missing == ["staff", "maintenance", "cost of capital"]


def test_prices_are_set_once(tmp_path: Path) -> None:
    once = with_owned_prices(read(tmp_path, pue=1.2))
    assert with_owned_prices(once) == once


def test_a_purchase_price_of_a_rented_host_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a price to buy hosts"):
        read(tmp_path, "{name: aws.g6e.xlarge, term: on_demand, purchase_usd: 9}")


def test_a_scenario_that_repeats_what_the_catalogue_says_changes_nothing(tmp_path: Path) -> None:
    """The purchase price of the catalogue is without the network, whoever writes it."""
    (row,) = read(tmp_path).offers
    assert row.capex_usd is not None
    again = f"{{name: owned.l40sx2, purchase_usd: {row.capex_usd:.1f}}}"
    assert hour(read(tmp_path, again)) == hour(read(tmp_path))
    assert hour(read(tmp_path, again, pue=1.2)) == hour(read(tmp_path, pue=1.2))
