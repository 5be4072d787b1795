"""`catalog`: lists that fit a terminal, rows with sources, flags where something speaks against them."""

from __future__ import annotations

import pytest

from optimize.report.terminal.render_catalogue import COLUMNS, WIDTH, catalogue_rows, render_catalogue
from sim.catalog.loader import load_catalog
from sim.errors import InputError

CATALOG = load_catalog()


def shown(table: str, name: str | None = None) -> str:
    return render_catalogue(table, catalogue_rows(table, name), whole=name is not None)


@pytest.mark.parametrize("table", COLUMNS)
def test_a_list_fits_the_width_shows_every_row_and_every_source(table: str) -> None:
    text = shown(table)
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH
    rows = catalogue_rows(table, None)
    for row in rows:
        assert any(line.startswith(row["id"] + " ") for line in lines), row["id"]
    flat = " ".join(text.split())
    for title in {row["source"]["title"] for row in rows}:
        assert " ".join(title.split()) in flat, title


def test_claims_are_flagged_where_they_are_shown() -> None:
    text = " ".join(shown("relays").split())
    assert "! holysheep.gpt-4.1: its input price $8 is the maker's output price; the maker's input price is $2" in text
    assert "! holysheep.gpt-4.1: first token after 0.05 s: the best median ever measured is 0.2 s" in text
    assert "! gemini.gemini-2.5-flash: gemini-2.5-flash retires on 2026-12-01 inside the month that is planned" in text
    assert "! cn.a100-80.quoted: only claimed: 20 to 40 yuan per card-hour as quoted" in " ".join(shown("offers").split())
    assert "the GeForce driver licence excludes data centres" in " ".join(shown("gpus").split())


def test_one_row_shows_every_field_that_is_set_with_all_digits() -> None:
    text = shown("relays", "azure.gpt-4.1")
    assert "unit_tokens_per_minute: 3,000\n" in text and "unit_minimum: 15\n" in text and "grade: list\n" in text
    assert "starting_credit_usd" not in text  # no one says
    assert "parameters: 8,030,261,248\n" in shown("models", "llama-3.1-8b")
    assert "usd_per_hour: 10.49264\n" in shown("offers", "aws.g6e.12xlarge")
    assert "source: " in text and "(2026-03-20)" in text


def test_offers_are_sorted_by_gpu_and_price() -> None:
    rows = [row for row in catalogue_rows("offers", None) if row["gpu"] == "h100"]
    prices = [row["usd_per_hour"] / row["gpus"] for row in rows]
    assert prices == sorted(prices) and len(rows) > 10


def test_a_pattern_lists_the_rows_that_match() -> None:
    rows = catalogue_rows("offers", "aws.g6e*")
    assert len(rows) > 3 and all(row["id"].startswith("aws.g6e") for row in rows)
    assert render_catalogue("offers", rows, whole=True).startswith("id")  # a list, not rows in full


def test_another_name_of_a_format_finds_it() -> None:
    assert catalogue_rows("formats", "w4a16")[0]["id"] == "int4"


@pytest.mark.parametrize(
    ("table", "name", "said"),
    [
        ("gpus", "h10", 'catalog: gpus has no "h10"; did you mean h100'),
        ("relays", "openai.gpt4.1", "did you mean openai.gpt-4.1"),
        ("offers", "zzz*", 'offers has no "zzz*"; known: '),
        ("gpu", None, '"gpu" is not a table; did you mean gpus?'),
        ("prices", None, '"prices" is not a table; known: formats, gpus, models, offers, relays, tokenizers'),
        ("l40s", None, '"l40s" is not a table; it is a row: write `catalog gpus l40s`'),
        ("gpt-oss-20b", None, "write `catalog models gpt-oss-20b`"),
    ],
)
def test_an_unknown_name_gets_the_nearest(table: str, name: str | None, said: str) -> None:
    with pytest.raises(InputError) as caught:
        catalogue_rows(table, name)
    assert said in str(caught.value)
