"""The price book: what stands together with what, and what it warns of."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from optimize.money.price_book import PriceBook, first_day, lapsed_words, month_after, price_book
from optimize.money.price_claims import horizon, span
from optimize.money.price_evidence import Evidence
from optimize.tables.price_table import price_lines, told
from sim.catalog.contract import Contract
from sim.catalog.facts import Catalog, Offer, Relay, Source
from sim.catalog.price_terms import LongPrompt, OffPeak
from sim.scenario.scenario import Finance, Scenario
from tests.optimize.report import plan_fixture

LISTED = replace(
    plan_fixture.relay("openai.gpt-4.1", "gpt-4.1", 2.0, 8.0, 0.5), source=Source("price file", "2026-11"), negotiable=True, maker="openai"
)
CLAIM = replace(LISTED, id="relay.gpt-4.1", vendor="relay", usd_per_mtok_input=8.0, grade="claimed", maker="")
FILES = {"relays.yaml": "a" * 64, "offers.yaml": "b" * 64}
HOST = Offer("aws.g6e.xlarge", "aws", "l40s", 1, 1.86, "on_demand", Source("price list", "2026-05-06"))

CATALOG = Catalog({}, {}, {}, {HOST.id: HOST}, {}, (), "2026-11-30", "d", {"USD": 1.0, "CNY": 0.1503}, files=FILES)
SCENARIO: Scenario = plan_fixture.scenario()


def book(
    *relays: Relay, listed: tuple[Relay, ...] = (LISTED,), offers: tuple[Offer, ...] = (), used: tuple[str, ...] = (), **finance: object
) -> PriceBook:
    catalog = replace(CATALOG, relays={row.id: row for row in listed})
    given = replace(SCENARIO, relays=relays, offers=offers, catalog=catalog, finance=Finance(**finance))  # type: ignore[arg-type]
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
    (said,) = [w for w in book(replace(CLAIM, ttft_p50_s=0.049)).warnings if "first token after 0.049 s" in w]
    assert "a round trip and one step of a large model take longer" in said
    (slower,) = [w for w in book(replace(CLAIM, ttft_p50_s=0.06)).warnings if "first token after 0.06 s" in w]
    assert "round trip" not in slower
    assert book(LISTED).warnings == ()


@pytest.mark.parametrize(("source", "stale"), [("2026-09-01", False), ("2026-08-31", True), ("2026-08", True), ("2026", True)])
def test_a_used_price_older_than_90_days_is_warned_of(source: str, stale: bool) -> None:
    row = replace(LISTED, source=Source("price file", source))
    given = book(row, listed=(row,), used=(row.id,))
    assert given.prices[0].age_days == (date(2026, 11, 30) - first_day(source)).days
    assert any("ask again before signing" in w for w in given.warnings) is stale
    assert not any("ask again" in w for w in book(row, listed=(row,)).warnings)


def test_a_price_that_the_user_wrote_does_not_bear_the_day_of_the_row_that_it_overrides() -> None:
    quoted = replace(HOST, usd_per_hour=0.4, grade="quote")
    assert any("ask again before signing" in w for w in book(offers=(HOST,), used=(HOST.id,)).warnings)
    assert not any("ask again before signing" in w for w in book(offers=(quoted,), used=(HOST.id,)).warnings)


def test_a_model_that_retires_inside_the_horizon_names_its_successor_and_price() -> None:
    after = replace(LISTED, id="openai.gpt-5.5", usd_per_mtok_input=3.0, usd_per_mtok_output=12.0)
    row = replace(LISTED, retires_on="2027-01-14", successor=after.id)
    (said,) = book(row, listed=(row, after), used=(row.id,), horizon_months=12).warnings
    assert "retires on 2027-01-14 inside the horizon (to 2027-10-31); its successor openai.gpt-5.5 costs $3 in and $12 out" in said
    assert book(row, listed=(row, after), used=(row.id,), horizon_months=1).warnings == ()
    assert any("was retired on 2027-01-14" in w for w in book(row, listed=(row, after), used=(row.id,), start="2027-03").warnings)


def test_a_price_that_the_scenario_overrides_is_a_quote_beside_the_list() -> None:
    quoted = replace(HOST, usd_per_hour=1.2)
    (price,) = book(offers=(quoted,), listed=()).prices
    assert (price.grade, price.list_usd, price.quoted_usd, price.contracted_usd, price.plan_usd) == ("quote", 1.86, 1.2, None, 1.2)
    contract = replace(LISTED, grade="contract", usd_per_mtok_input=1.5)
    assert (book(contract).prices[0].list_usd, book(contract).prices[0].contracted_usd) == (2.0, 1.5)


def test_used_prices_come_first() -> None:
    given = book(CLAIM, LISTED, used=("openai.gpt-4.1",))
    assert [price.used for price in given.prices] == [True] * 3 + [False] * 3


def test_months_roll_over_years() -> None:
    assert month_after(date(2026, 12, 1), 1) == date(2027, 1, 1) and month_after(date(2026, 1, 31), 0) == date(2026, 1, 1)


def signed(until: str = "", start: str = "", file: str = "quote.pdf") -> Relay:
    source = Source("quote.pdf, named in a.yaml", start)
    return replace(LISTED, usd_per_mtok_input=1.5, grade="contract", contract=Contract(file, "c" * 64, start, until), source=source)


def test_a_row_says_which_document_it_rests_on_with_its_hash() -> None:
    contract = book(signed("2027-06-30", "2026-09-01")).prices[0]
    assert (contract.list_usd, contract.contracted_usd, contract.claimed_usd) == (2.0, 1.5, None)
    assert contract.evidence == Evidence("quote.pdf", "c" * 64, "2026-09-01", "2027-06-30")
    assert book(LISTED).prices[0].evidence == Evidence("sim/catalog/relays.yaml", "a" * 64)
    assert book(offers=(HOST,)).prices[0].evidence == Evidence("sim/catalog/offers.yaml", "b" * 64)


def test_a_price_that_the_scenario_writes_rests_on_the_scenario_and_has_no_age() -> None:
    price = book(offers=(replace(HOST, usd_per_hour=1.2, grade="quote"),)).prices[0]
    assert (price.evidence.document, price.age_days, price.source.date) == ("by_hand.yaml", None, "")


@pytest.mark.parametrize(
    ("until", "start", "said"),
    [
        ("2026-11-29", "", "the contract quote.pdf ended on 2026-11-29, before the first day (2026-11-30)"),
        ("2026-11-30", "", "ends on 2026-11-30, inside the horizon"),
        ("2027-06-30", "", "ends on 2027-06-30, inside the horizon (to 2027-10-31): the prices of the months after it are not agreed"),
        ("", "2026-12-15", "begins on 2026-12-15, after the first day (2026-11-30)"),
        ("", "2028-01-01", "begins on 2028-01-01, after the last day (2027-10-31)"),
        ("2027-10-31", "2026-01-01", ""),
        ("", "", ""),
    ],
)
def test_a_contract_whose_days_are_not_those_of_the_plan_is_warned_of(until: str, start: str, said: str) -> None:
    row = signed(until, start)
    warnings = book(row, used=(row.id,), horizon_months=12).warnings
    assert len(warnings) == bool(said) and all(said in w for w in warnings)


def test_a_contract_that_has_ended_is_warned_of_also_where_it_is_not_bought() -> None:
    assert any("ended on 2026-11-29" in w for w in book(signed("2026-11-29")).warnings)


def test_an_old_contract_without_a_last_day_is_asked_for_again_and_one_with_it_is_not() -> None:
    old, agreed = signed("", "2026-08-01"), signed("2027-10-31", "2026-08-01")
    assert any("its price is of 2026-08-01, 121 days before the first month" in w for w in book(old, used=(old.id,)).warnings)
    assert book(agreed, used=(agreed.id,), horizon_months=2).warnings == ()


def test_a_contract_without_a_document_is_asked_for_it() -> None:
    bare = replace(LISTED, grade="contract", usd_per_mtok_input=1.5)
    assert any("no document is named; write contract: {document: FILE}" in w for w in book(bare, used=(bare.id,)).warnings)
    assert book(bare).warnings == ()


def test_an_announced_price_ends_the_validity_of_a_list_price_and_is_told() -> None:
    row = replace(LISTED, next_price_on="2027-01-01", next_usd_per_mtok_input=3.0, next_usd_per_mtok_output=9.0)
    given = book(row, listed=(row,), used=(row.id,), horizon_months=12)
    assert given.prices[0].evidence.valid_until == "2026-12-31"
    assert any("from 2027-01-01 $3 in and $9 out" in w for w in given.warnings)
    assert book(row, listed=(row,), used=(row.id,), horizon_months=1).warnings == ()


def test_every_kind_of_token_that_is_billed_has_a_row() -> None:
    tier = LongPrompt(200_000, 4.0, 16.0)
    row = replace(LISTED, usd_per_mtok_batch_input=1.0, usd_per_mtok_batch_output=4.0, usd_per_mtok_cache_write=2.5, long_prompts=(tier,))
    kinds = ("input", "written", "output", "output above 200,000", "batch input")
    charged = [(row.id, f"{kind} tokens") for kind in kinds]
    given = replace(SCENARIO, relays=(row,), offers=(), catalog=replace(CATALOG, relays={row.id: row}))
    bought = {price.item: price.list_usd for price in price_book(given, {row.id}, charged).prices}
    plain = {"input": 2.0, "cached input": 0.5, "output": 8.0}
    assert bought == plain | {"cache write": 2.5, "output above 200,000": 16.0, "batch input": 1.0}
    assert {price.item for price in price_book(given, ()).prices} == set(plain)


def test_the_screen_shows_what_is_bought_with_its_evidence_once() -> None:
    row = signed("2027-06-30", "2026-11-01")
    lines = price_lines(book(row, CLAIM, used=(row.id,)))
    assert lines == [
        ("openai.gpt-4.1", "input", "2", "-", "1.5", "-", "contract", "29 d, to 2027-06-30", "quote.pdf cccccccc"),
        ("", "cached input", "0.5", "-", "0.5", "-", "contract", "29 d, to 2027-06-30", ""),
        ("", "output", "8", "-", "8", "-", "contract", "29 d, to 2027-06-30", ""),
    ]


TERMS = replace(
    LISTED,
    usd_per_mtok_batch_input=1.0,
    usd_per_mtok_batch_output=4.0,
    long_prompts=(LongPrompt(200_000, 4.0, 16.0),),
    off_peak=OffPeak(0.5, ("10:00-01:00",)),
)


def paid(relay: Relay, *kinds: str, listed: Relay = TERMS, **finance: object) -> PriceBook:
    """The book of a plan that buys these kinds of tokens at a relay."""
    catalog = replace(CATALOG, relays={listed.id: listed})
    given = replace(SCENARIO, relays=(relay,), offers=(), catalog=catalog, finance=Finance(**finance))  # type: ignore[arg-type]
    return price_book(given, {relay.id}, [(relay.id, f"{kind} tokens") for kind in kinds])


def part_signed(*covers: str, **changes: object) -> Relay:
    contract = Contract("quote.pdf", "c" * 64, "2026-11-01", "2030-01-01", covers)
    row = replace(
        TERMS, usd_per_mtok_input=1.5, grade="contract", contract=contract, source=Source("quote.pdf, named in a.yaml", ""), off_peak=None
    )
    return replace(row, **changes)  # type: ignore[arg-type]


ALL = ("input", "cached", "output", "batch input", "output above 200,000")


def test_a_contract_is_evidence_only_for_the_prices_that_stand_beside_it() -> None:
    book = paid(part_signed("usd_per_mtok_input"), *ALL)
    (signed_row, *others) = book.prices
    assert (signed_row.item, signed_row.grade, signed_row.contracted_usd, signed_row.list_usd) == ("input", "contract", 1.5, 2.0)
    assert {(row.grade, row.contracted_usd, row.evidence.document, row.source.title) for row in others} == {
        ("list", None, "sim/catalog/relays.yaml", "price file")
    }
    assert {row.item: row.list_usd for row in others} == {
        "cached input": 0.5, "output": 8.0, "batch input": 1.0, "output above 200,000": 16.0
    }  # fmt: skip
    (said,) = [w for w in book.warnings if "list prices" in w]
    assert said.startswith(
        f"{LISTED.id}: cached input, output, output above 200,000, batch input: list prices, not in the contract quote.pdf;"
    )


def test_a_contract_that_states_every_price_that_is_paid_is_not_doubted() -> None:
    keys = ("usd_per_mtok_input", "usd_per_mtok_output", "long_prompts")
    book = paid(part_signed(*keys), "input", "output", "output above 200,000", listed=replace(TERMS, off_peak=None))
    assert {row.item: row.grade for row in book.prices} == {
        "input": "contract", "cached input": "list", "output": "contract", "output above 200,000": "contract"
    }  # fmt: skip
    assert book.warnings == ()


def test_list_prices_beside_prices_that_the_scenario_writes_are_named_where_the_plan_pays_them() -> None:
    quoted = replace(TERMS, usd_per_mtok_input=1.5, usd_per_mtok_output=6.0, grade="quote", off_peak=None)
    book = paid(quoted, "input", "batch input")
    assert {row.item: row.grade for row in book.prices} == {
        "input": "quote", "cached input": "list", "output": "quote", "batch input": "list"
    }  # fmt: skip
    assert any("batch input: list prices, not in the prices that the scenario writes" in w for w in book.warnings)
    assert any("tokens cost 0.5 of the price in 10:00-01:00 UTC; that is not in" in w for w in book.warnings)
    assert not any("list prices" in w for w in paid(quoted, "input").warnings)


def test_off_peak_prices_have_rows_of_their_own_with_their_hours_where_the_plan_pays_them() -> None:
    book = paid(TERMS, "input", "off-peak (0.5) input", "off-peak (0.5) output")
    cheap = [(row.item, row.list_usd, row.hours_utc, row.grade) for row in book.prices if row.hours_utc]
    assert cheap == [("off-peak input", 1.0, "10:00-01:00 UTC", "list"), ("off-peak output", 4.0, "10:00-01:00 UTC", "list")]
    assert not any(row.hours_utc for row in paid(TERMS, "input").prices)
    (line,) = [cells for cells in price_lines(book) if cells[1] == "off-peak output"]
    assert line[2] == "4" and line[7].endswith("10:00-01:00 UTC")


def test_an_off_peak_price_that_is_agreed_is_contracted() -> None:
    agreed = part_signed("usd_per_mtok_input", "off_peak", off_peak=OffPeak(0.1, ("10:00-01:00",)))
    (row,) = [row for row in paid(agreed, "off-peak (0.1) input").prices if row.hours_utc]
    assert (row.grade, row.contracted_usd, row.list_usd) == ("contract", 0.15, 1.0)


@pytest.mark.parametrize(
    ("until", "start", "graded"),
    [
        ("2026-11-29", "", "contract (ended 2026-11-29)"),
        ("", "2026-12-15", "contract (begins 2026-12-15)"),
        ("2027-06-30", "2026-11-30", "contract"),
    ],
)
def test_the_grade_of_a_contract_that_does_not_hold_says_so_and_the_verdict_names_it(until: str, start: str, graded: str) -> None:
    row = signed(until, start)
    shown = book(row, used=(row.id,))
    assert {price.graded for price in shown.prices} == {graded} and shown.prices[0].plan_usd == 1.5
    given = replace(SCENARIO, relays=(row,), offers=(), catalog=CATALOG)
    words = lapsed_words(given, {row.id})
    assert bool(words) == ("(" in graded) and all("openai.gpt-4.1" in text and "quote.pdf" in text for text in words)
    assert lapsed_words(given, set()) == []


def test_a_list_price_of_another_vendor_says_whose_it_is_and_a_quote_is_not_called_contracted() -> None:
    mine = replace(LISTED, id="mine", vendor="mine", usd_per_mtok_input=1.0, grade="quote")
    cells = price_lines(book(mine, used=("mine",)))[0]
    assert cells[:7] == ("mine", "input", "2 (openai)", "1", "-", "-", "quote")
    heads, right, rows = told([cells])
    assert heads[:5] == ["bought", "item", "list", "quoted", "grade"] and right == [2, 3] and rows[0][:4] == list(cells[:4])


def test_warnings_of_what_is_bought_come_first_and_each_is_told_once() -> None:
    first, second = replace(CLAIM, id="a.gpt-4.1"), replace(CLAIM, id="b.gpt-4.1")
    names = [warning.partition(":")[0] for warning in book(first, second, second, used=(second.id,)).warnings]
    assert names == sorted(names, key=lambda name: name != "b.gpt-4.1") and names[0] == "b.gpt-4.1" and "a.gpt-4.1" in names
    assert len(set(book(second, second).warnings)) == len(book(second, second).warnings) == len(book(second).warnings)


def test_a_contract_of_an_offer_is_the_evidence_of_its_price_also_where_the_catalogue_has_the_row() -> None:
    agreed = replace(HOST, grade="contract", contract=Contract("quote.pdf", "c" * 64, "2026-11-01", "2027-11-01"))
    (price,) = book(offers=(agreed,)).prices
    assert price.evidence == Evidence("quote.pdf", "c" * 64, "2026-11-01", "2027-11-01") and price.agreed


@pytest.mark.parametrize(("credit", "explained"), [(1.0, "85.0%"), (2.0, "92.5%"), (0.5, "69.9%")])
def test_what_the_credit_rate_explains_follows_the_rate(credit: float, explained: str) -> None:
    """One yuan is 0.1503 USD and buys `credit` dollars of credit: a dollar of credit costs 0.1503 / credit."""
    deep = replace(CLAIM, grade="quote", usd_per_mtok_input=0.3, usd_per_mtok_output=1.2, billing_currency="CNY", credit_per_unit=credit)
    assert any(f"{explained} of that is the seller's credit rate" in w for w in book(deep).warnings)


@pytest.mark.parametrize(("grade", "below"), [("claimed", 0.5), ("quote", 0.3)])
def test_a_discount_is_doubted_beyond_half_for_a_claim_and_beyond_seventy_percent_for_a_quote(grade: str, below: float) -> None:
    row = replace(CLAIM, grade=grade)
    close, far = (replace(row, usd_per_mtok_input=2 * part, usd_per_mtok_output=8 * part) for part in (below + 0.01, below - 0.01))
    assert not any("below the maker's" in w for w in book(close).warnings)
    assert len([w for w in book(far).warnings if "below the maker's" in w]) == 2


def test_a_claim_dearer_than_its_source_says_how_many_times_and_a_quote_may_be_dearer() -> None:
    dear = replace(CLAIM, usd_per_mtok_input=5.0, usd_per_mtok_output=16.0)
    said = [w for w in book(dear).warnings if "times" in w]
    assert ["2.5 times the maker's $2" in said[0], "2 times the maker's $8" in said[1]] == [True, True]
    assert not any("times" in w for w in book(replace(dear, grade="quote")).warnings)


def test_an_hour_outside_the_band_of_its_sources_is_said_and_one_at_its_edge_is_not() -> None:
    banded = replace(HOST, price_low_usd_per_hour=1.5, price_high_usd_per_hour=1.86)
    assert not any("outside" in w for w in book(offers=(banded,)).warnings)
    for usd in (1.49, 1.88):
        outside = replace(banded, usd_per_hour=usd, grade="quote")
        assert any(f"${usd:g} an hour is outside the $1.5 to $1.86" in w for w in book(offers=(outside,)).warnings)
    assert any("is a claim that no seller stands behind" in w for w in book(offers=(replace(HOST, grade="claimed"),)).warnings)


def test_relays_that_nothing_may_be_sent_to_are_not_warned_of() -> None:
    given = replace(SCENARIO, relays=(replace(CLAIM, usd_per_mtok_input=5.0),))
    assert price_book(given, ()).warnings
    own = tuple(replace(each, self_hosted_only=True) for each in given.request_classes)
    assert not price_book(replace(given, request_classes=own), ()).warnings
    assert not price_book(replace(given, policy=replace(given.policy, max_relay_share=0.0)), ()).warnings


def test_a_row_of_the_book_says_when_its_model_retires_and_what_follows_it() -> None:
    row = replace(LISTED, retires_on="2027-01-14", successor="openai.gpt-5.5")
    assert {(price.retires_on, price.successor) for price in book(row, listed=(row,)).prices} == {("2027-01-14", "openai.gpt-5.5")}
    assert {(price.retires_on, price.successor) for price in book(LISTED).prices} == {("", "")}


def test_only_a_list_price_of_the_catalogue_stands_beside_an_offer() -> None:
    for grade, beside in (("list", 1.86), ("claimed", None), ("quote", None)):
        catalog = replace(CATALOG, offers={HOST.id: replace(HOST, grade=grade)})
        mine = replace(HOST, usd_per_hour=1.2, grade="quote")
        (price,) = price_book(replace(SCENARIO, offers=(mine,), relays=(), catalog=catalog), ()).prices
        assert (price.list_usd, price.quoted_usd) == (beside, 1.2)


@pytest.mark.parametrize("kind", ["input", "cached", "output"])
def test_a_contract_over_off_peak_hours_alone_makes_their_prices_its_own(kind: str) -> None:
    agreed = part_signed("off_peak", off_peak=OffPeak(0.5, ("10:00-01:00",)), usd_per_mtok_input=TERMS.usd_per_mtok_input)
    rows = {row.item: row.grade for row in paid(agreed, f"off-peak (0.5) {kind}", kind).prices}
    item = "cached input" if kind == "cached" else kind
    assert (rows[f"off-peak {item}"], rows[item]) == ("contract", "list")


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2026-11-05", ("2026-11-05", "2026-11-05")),
        ("2026-02", ("2026-02-01", "2026-02-28")),
        ("2028-02", ("2028-02-01", "2028-02-29")),
        ("2026", ("2026-01-01", "2026-12-31")),
    ],
)
def test_a_date_spans_the_days_that_it_may_mean(text: str, days: tuple[str, str]) -> None:
    assert span(text) == days


def test_a_price_that_the_scenario_writes_as_the_list_has_it_is_the_list_price() -> None:
    same = replace(HOST, usd_per_hour=2 * 0.93)
    (price,) = book(offers=(same,), listed=()).prices
    assert (price.grade, price.list_usd, price.quoted_usd, price.reference) == ("list", 1.86, None, HOST.id)


def test_a_credit_rate_that_is_not_the_banks_is_told_with_what_it_would_save() -> None:
    """A yuan of $0.15 that buys a dollar of credit: $8 would cost $1.20, 85 % less; at one yuan in 5 % nothing is said."""
    sold = replace(CLAIM, billing_currency="CNY", credit_per_unit=1.0)
    (said,) = [w for w in book(sold).warnings if "credit" in w]
    assert "one yuan is said to buy $1 of credit and costs $0.15: that would make $1.2 of $8, 85% off by exchange rate alone" in said
    assert not [w for w in book(replace(sold, credit_per_unit=0.1503 * 1.05)).warnings if "credit" in w]


def test_a_price_is_held_against_the_makers_row_and_where_there_is_none_against_the_dearest() -> None:
    others = tuple(replace(LISTED, id=f"host{k}.gpt-4.1", maker="", usd_per_mtok_output=8.0 + k) for k in range(3))
    claim = replace(CLAIM, usd_per_mtok_input=0.5)
    assert book(claim, listed=(*others, LISTED)).prices[0].reference == LISTED.id
    assert book(claim, listed=others).prices[0].reference == "host2.gpt-4.1" and book(claim, listed=()).prices[0].reference == ""
    assert any("host2.gpt-4.1's" in w for w in book(replace(claim, grade="quote"), listed=others).warnings)


def test_what_is_free_costs_nothing() -> None:
    free = replace(HOST, usd_per_hour=0.0)
    (price,) = book(offers=(free,), listed=()).prices
    assert (price.plan_usd, price.quoted_usd, price.grade) == (0.0, 0.0, "quote")


def test_a_month_after_a_date_of_any_precision_ends_with_its_last_day() -> None:
    assert [horizon(day) for day in ("2026", "2026-12", "2026-01-31", "2027-11-30")] == [
        "2027-01-31",
        "2027-01-31",
        "2026-02-28",
        "2027-12-31",
    ]
