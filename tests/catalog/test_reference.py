"""The reference page of the catalogue is made from the records, and names every field."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from optimize.tables.catalogue_reference import TABLES, fields_of
from optimize.tables.catalogue_reference import catalogue_reference as page

ROOT = Path(__file__).resolve().parents[2]


def test_the_written_page_is_up_to_date() -> None:
    written = (ROOT / "docs/reference/catalogue.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m optimize.tables.catalogue_reference docs/reference/catalogue.md"


def test_comments_of_all_fields_are_found() -> None:
    for _, _, record in TABLES:
        assert [name for name, _, _ in fields_of(record)] == [field.name for field in fields(record)]
    meanings = {name: meaning for _, _, record in TABLES for name, _, meaning in fields_of(record)}
    assert meanings["network_bytes_per_s"] == "per direction and host, to other hosts"
    assert not any("None" in meaning for meaning in meanings.values())
