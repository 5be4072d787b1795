"""Contracts of offers and relays: grade, hash and days of a document; what is no document or no day is said."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from sim.catalog.contract import Contract
from sim.catalog.facts import Relay
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

TEXT = """name: contracts
traffic: {{rate_rps: 2}}
request_classes:
  - {{name: chat, share: 1, input_tokens: 500, output_tokens: 100, models: [gpt-4.1], slo: {{ttft: {{p95: 5}}}}}}
candidates:
  offers: [{{name: aws.g6e.xlarge, usd_per_hour: 1.2, contract: {offer}}}]
  relays: [{{name: openai.gpt-4.1, usd_per_mtok_input: 1.5, contract: {relay}}}]
budget: {{per_month: 100000, currency: USD}}
"""


def loaded(folder: Path, relay: str = "{document: quote.pdf}", offer: str = "{document: quote.pdf}") -> Scenario:
    (folder / "quote.pdf").write_bytes(b"%PDF signed")
    file = folder / "a.yaml"
    file.write_text(TEXT.format(relay=relay, offer=offer))
    return load_scenario(file)


def test_a_contract_makes_the_grade_and_is_hashed(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, "{document: quote.pdf, valid_from: 2026-09-01, valid_until: 2027-06-30}")
    digest = hashlib.sha256(b"%PDF signed").hexdigest()
    (relay,), (offer,) = scenario.relays, scenario.offers
    assert relay.contract == Contract("quote.pdf", digest, "2026-09-01", "2027-06-30", ("usd_per_mtok_input",))
    assert (relay.grade, relay.usd_per_mtok_input, relay.source.title) == ("contract", 1.5, "quote.pdf, named in a.yaml")
    assert relay.source.date == "2026-09-01" and relay.source.note.startswith("overrides ")
    assert (
        offer.contract == Contract("quote.pdf", digest, covers=("usd_per_hour",)) and offer.grade == "contract" and offer.source.date == ""
    )


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        ("{document: other.pdf}", r'a\.yaml:7:\d+: candidates\.relays\.0\.contract\.document: "other\.pdf" is no file in'),
        ("{document: quote.pdf, valid_until: 30.06.2027}", "valid_until: .* is not a day; write 2027-06-30"),
        ("{document: quote.pdf, valid_until: 2027-06}", "is not a day; write 2027-06-30"),
        (
            "{document: quote.pdf, valid_from: 2027-07-01, valid_until: 2027-06-30}",
            "valid_until 2027-06-30 is before valid_from 2027-07-01",
        ),
        ("{valid_until: 2027-06-30}", "document"),
        ("{document: quote.pdf, until: 2027-06-30}", "until"),
        ("quote.pdf", "contract"),
    ],
)
def test_what_is_no_contract_is_one_clear_message(tmp_path: Path, contract: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as told:
        loaded(tmp_path, contract)
    assert len(told.value.problems) == 1


def relay_of(folder: Path, entry: str) -> Relay:
    (folder / "quote.pdf").write_bytes(b"%PDF signed")
    file = folder / "a.yaml"
    text = TEXT.format(relay="{document: quote.pdf}", offer="{document: quote.pdf}")
    file.write_text(re.sub(r"relays: .*", f"relays: [{{{entry}}}]", text).replace("[gpt-4.1]", "[gpt-4.1, deepseek-v4-flash]"))
    return load_scenario(file).relays[0]


@pytest.mark.parametrize(
    ("entry", "keys"),
    [
        ("name: openai.gpt-4.1, contract: {document: quote.pdf}", "usd_per_mtok_input and usd_per_mtok_output"),
        ("name: openai.gpt-4.1, rpm: 500, contract: {document: quote.pdf}", "usd_per_mtok_input and usd_per_mtok_output"),
    ],
)
def test_a_contract_beside_no_price_is_one_clear_message(tmp_path: Path, entry: str, keys: str) -> None:
    said = rf"a\.yaml:7:\d+: candidates\.relays\.0: has a contract and no price; add the prices that it states, such as {keys}"
    with pytest.raises(InputError, match=said) as told:
        relay_of(tmp_path, entry)
    assert len(told.value.problems) == 1


FLASH = "name: deepseek.deepseek-v4-flash"


@pytest.mark.parametrize(
    ("entry", "factor"),
    [
        (FLASH, 0.5),
        (f"{FLASH}, rpm: 500", 0.5),
        (f"{FLASH}, usd_per_mtok_batch_input: 0.1, usd_per_mtok_batch_output: 0.2", 0.5),  # batches have no price of the hour
        (f"{FLASH}, usd_per_mtok_input: 0.2, usd_per_mtok_output: 0.8", None),
        (f"{FLASH}, usd_per_mtok_cached: 0.01", None),
        (f"{FLASH}, usd_per_mtok_input: 0.2, off_peak: {{factor: 0.7, hours_utc: ['10:00-11:00']}}", 0.7),
    ],
)
def test_the_off_peak_hours_of_a_list_are_not_those_of_a_price_that_the_user_writes(
    tmp_path: Path, entry: str, factor: float | None
) -> None:
    off_peak = relay_of(tmp_path, entry).off_peak
    assert (None if off_peak is None else off_peak.factor) == factor
