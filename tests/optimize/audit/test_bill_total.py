"""A bill in a file: what a month of its model costs, whatever the provider calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.audit.bill_total import bill_total
from sim.catalog.loader import load_catalog
from sim.errors import InputError

CATALOG = load_catalog()
CUR = (
    "lineItem/UsageStartDate,lineItem/UsageEndDate,lineItem/UsageType,lineItem/ProductCode,product/servicename,lineItem/UsageAmount,"
    "lineItem/UnblendedCost,lineItem/CurrencyCode,lineItem/LineItemType\n"
    "2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,USE1-Claude4.5Sonnet-input-tokens,AmazonBedrock,"
    "Claude Sonnet 4.5 (Amazon Bedrock Edition),3000000,9000,USD,Usage\n"
    "2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,USE1-Claude4.5Sonnet-output-tokens,AmazonBedrock,,600000,9000,USD,Usage\n"
    "2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,,AmazonBedrock,,1,1800,USD,Tax\n"
)


def bill(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bill.csv"
    path.write_text(text)
    return path


def test_a_bedrock_bill_of_a_cost_and_usage_report_is_one_of_its_model(tmp_path: Path) -> None:
    found = bill_total(bill(tmp_path, CUR), "USD", None, CATALOG)
    assert found.model == "claude-sonnet-4.5" and found.amount == pytest.approx(18_000 * 730 / 720)
    assert any("taxes and credits of 1,800.00 USD" in note for note in found.notes)


def test_dated_and_regional_ids_are_one_model_and_what_is_none_is_said(tmp_path: Path) -> None:
    rows = "anthropic.claude-sonnet-4-5-20250929-v1:0,9000\nus.anthropic.claude-sonnet-4-5-20250929-v1:0,9000\nAmazon S3,4000\n"
    found = bill_total(bill(tmp_path, "model,cost\n" + rows), "USD", None, CATALOG)
    assert (found.amount, found.model) == (18_000, "claude-sonnet-4.5")
    assert "lines of no known model 4,000.00 USD" in found.notes[1]


def test_of_two_models_one_is_to_be_chosen(tmp_path: Path) -> None:
    path = bill(tmp_path, "model,cost\ngpt-4.1-2025-04-14,12000\ngpt-4.1-mini-2025-04-14,6000\n")
    with pytest.raises(InputError, match=r"gpt-4.1 12,000.00 USD, gpt-4.1-mini 6,000.00 USD; say with --model"):
        bill_total(path, "USD", None, CATALOG)
    assert bill_total(path, "USD", "gpt-4.1-mini", CATALOG).amount == 6000


def test_a_bill_without_a_known_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no known model"):
        bill_total(bill(tmp_path, "model,cost\nAmazon S3,5\n"), "USD", None, CATALOG)
