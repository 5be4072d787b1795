"""The price book: what stands beside what, and what it warns of."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from optimize.pricebook import PriceBook, first_day, month_after, price_book
from sim.catalog.records import Catalog, Offer, Relay, Source
from sim.scenario.records import Finance, Scenario
from tests.optimize.report import plan_fixture

LISTED = replace(
    plan_fixture.relay("openai.gpt-4.1", "gpt-4.1", 2.0, 8.0, 0.5), source=Source("price file", "2026-11"), negotiable=True, maker="openai"
)
CLAIM = replace(LISTED, id="relay.gpt-4.1", vendor="relay", usd_per_mtok_input=8.0, grade="claimed", maker="")
HOST = Offer("aws.g6e.xlarge", "aws", "l40s", 1, 1.86, "on_demand", Source("price list", "2026-05-06"))


def book(
    *relays: Relay, listed: tuple[Relay, ...] = (LISTED,), offers: tuple[Offer, ...] = (), used: tuple[str, ...] = (), **finance: object
) -> PriceBook:
    catalog = Catalog({}, {}, {}, {HOST.id: HOST}, {row.id: row for row in listed}, (), "2026-11-30", "d", {"USD": 1.0, "CNY": 0.1503})
    given = replace(plan_fixture.scenario(), relays=relays, offers=offers, catalog=catalog, finance=Finance(**finance))  # type: ignore[arg-type]
    assert isinstance(given, Scenario)
    return price_book(given, used)


def test_a_claimed_price_stands_beside_the_list_price() -> None:
    first = book(CLAIM).prices[0]
    assert (first.item, first.list_usd, first.contracted_usd, first.claimed_usd, first.plan_usd) == ("input", 2.0, None, 8.0, 8.0)
    assert first.reference == "openai.gpt-4.1"


@pytest.mark.parametrize("grade", ["claimed", "quote"])
def test_an_input_price_that_is_the_official_output_price_is_said(grade: str) -> None:
    (said,) = [w for w in book(replace(CLAIM, grade=grade)).warnings if "output" in w]
    assert said.startswith("relay.gpt-4.1: its input price $8 is the ") and "$2" in said


def test_a_deep_discount_is_traced_to_the_credit_rate_where_it_is_known() -> None:
    cheap = replace(CLAIM, grade="quote", usd_per_mtok_input=0.3, usd_per_mtok_output=1.2)
    assert any("85% below" in w and "ask what one dollar of credit costs" in w for w in book(cheap).warnings)
    yuan = replace(cheap, billing_currency="CNY", credit_per_unit=1.0)
    assert any("85.0% of that is the seller's credit rate" in w for w in book(yuan).warnings)
    assert any("by exchange rate alone" in w for w in book(replace(yuan, grade="claimed")).warnings)


def test_a_first_token_below_50_ms_is_not_believed() -> None:
    assert any("first token after 0.049 s" in w for w in book(replace(CLAIM, ttft_p50_s=0.049)).warnings)
    assert book(LISTED).warnings == ()


@pytest.mark.parametrize(("source", "stale"), [("2026-09-01", False), ("2026-08-31", True), ("2026-08", True), ("2026", True)])
def test_a_used_price_older_than_90_days_is_warned_of(source: str, stale: bool) -> None:
    row = replace(LISTED, source=Source("price file", source))
    given = book(row, used=(row.id,))
    assert given.prices[0].age_days == (date(2026, 11, 30) - first_day(source)).days
    assert any("ask again before signing" in w for w in given.warnings) is stale
    assert not any("ask again" in w for w in book(row).warnings)


def test_a_price_that_the_user_wrote_does_not_bear_the_day_of_the_row_that_it_overrides() -> None:
    quoted = replace(HOST, usd_per_hour=0.4, grade="quote")
    assert any("ask again before signing" in w for w in book(offers=(HOST,), used=(HOST.id,)).warnings)
    assert not any("ask again before signing" in w for w in book(offers=(quoted,), used=(HOST.id,)).warnings)


def test_a_model_that_retires_inside_the_horizon_names_its_successor_and_price() -> None:
    after = replace(LISTED, id="openai.gpt-5.5", usd_per_mtok_input=3.0, usd_per_mtok_output=12.0)
    row = replace(LISTED, retires_on="2027-01-14", successor=after.id)
    (said,) = book(row, listed=(row, after), used=(row.id,), horizon_months=12).warnings
    assert "retires on 2027-01-14, inside the horizon (to 2027-10-31)" in said and "openai.gpt-5.5 at $3/$12" in said
    assert book(row, listed=(row, after), used=(row.id,), horizon_months=1).warnings == ()
    assert any("has retired" in w for w in book(row, listed=(row, after), used=(row.id,), start="2027-03").warnings)


def test_a_price_that_the_scenario_overrides_is_a_quote_beside_the_list() -> None:
    quoted = replace(HOST, usd_per_hour=1.2)
    (price,) = book(offers=(quoted,), listed=()).prices
    assert (price.grade, price.list_usd, price.contracted_usd, price.plan_usd) == ("quote", 1.86, 1.2, 1.2)
    contract = replace(LISTED, grade="contract", usd_per_mtok_input=1.5)
    assert (book(contract).prices[0].list_usd, book(contract).prices[0].contracted_usd) == (2.0, 1.5)


def test_used_prices_come_first() -> None:
    given = book(CLAIM, LISTED, used=("openai.gpt-4.1",))
    assert [price.used for price in given.prices] == [True] * 3 + [False] * 3


def test_months_roll_over_years() -> None:
    assert month_after(date(2026, 12, 1), 1) == date(2027, 1, 1) and month_after(date(2026, 1, 31), 0) == date(2026, 1, 1)
