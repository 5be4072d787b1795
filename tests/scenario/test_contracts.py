"""Contracts of offers and relays: grade, hash and days of a document; what is no document or no day is said."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sim.catalog.contract import Contract
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.records import Scenario

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
    assert relay.contract == Contract("quote.pdf", digest, "2026-09-01", "2027-06-30")
    assert (relay.grade, relay.usd_per_mtok_input, relay.source.title) == ("contract", 1.5, "quote.pdf, named in a.yaml")
    assert relay.source.date == "2026-09-01" and relay.source.note.startswith("overrides ")
    assert offer.contract == Contract("quote.pdf", digest) and offer.grade == "contract" and offer.source.date == ""


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
