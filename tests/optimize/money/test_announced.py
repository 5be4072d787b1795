"""Announced list prices: what moves with them, and whose price they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimize.money.announced import at_announced, list_priced
from sim.catalog.facts import Relay
from sim.catalog.price_terms import LongPrompt
from tests.optimize.report import plan_fixture

ROW = replace(
    plan_fixture.relay("lab.thinker", "thinker", 2.0, 8.0, 0.5),
    usd_per_mtok_cache_write=2.5,
    usd_per_mtok_batch_input=1.0,
    usd_per_mtok_batch_output=4.0,
    long_prompts=(LongPrompt(200_000, 4.0, 12.0, 1.0, 5.0), LongPrompt(400_000, 6.0, 20.0)),
    next_price_on="2027-01-01",
)


def announced(inputs: float | None, outputs: float | None) -> Relay:
    return at_announced(replace(ROW, next_usd_per_mtok_input=inputs, next_usd_per_mtok_output=outputs))


def test_every_price_of_input_moves_with_input_and_every_price_of_output_with_output() -> None:
    row = announced(3.0, 4.0)
    assert (row.usd_per_mtok_input, row.usd_per_mtok_cached, row.usd_per_mtok_cache_write, row.usd_per_mtok_batch_input) == (
        *(3.0, 0.75, 3.75, 1.5),
    )
    assert (row.usd_per_mtok_output, row.usd_per_mtok_batch_output) == (4.0, 2.0)
    assert row.long_prompts == (LongPrompt(200_000, 6.0, 6.0, 1.5, 7.5), LongPrompt(400_000, 9.0, 10.0))


def test_a_side_without_an_announcement_keeps_its_price() -> None:
    dearer_answers, dearer_prompts = announced(None, 16.0), announced(4.0, None)
    assert (dearer_answers.usd_per_mtok_input, dearer_answers.usd_per_mtok_cached, dearer_answers.usd_per_mtok_output) == (2.0, 0.5, 16.0)
    assert (dearer_prompts.usd_per_mtok_input, dearer_prompts.usd_per_mtok_cached, dearer_prompts.usd_per_mtok_output) == (4.0, 1.0, 8.0)


def test_what_has_no_price_of_its_own_gets_none_and_the_announcement_is_over() -> None:
    bare = at_announced(
        replace(ROW, usd_per_mtok_cached=None, usd_per_mtok_batch_output=None, next_usd_per_mtok_input=1.0, next_usd_per_mtok_output=1.0)
    )
    assert bare.usd_per_mtok_cached is None and bare.usd_per_mtok_batch_output is None
    assert (bare.next_price_on, bare.next_usd_per_mtok_input, bare.next_usd_per_mtok_output) == (None, None, None)


def test_a_price_of_nothing_that_is_announced_dearer_has_no_proportion() -> None:
    free = at_announced(replace(ROW, usd_per_mtok_input=0.0, next_usd_per_mtok_input=1.0, next_usd_per_mtok_output=8.0))
    assert (free.usd_per_mtok_input, free.usd_per_mtok_cached) == (1.0, 0.5)


@pytest.mark.parametrize(("grade", "moves"), [("list", True), ("claimed", True), ("contract", False), ("quote", False)])
def test_an_announced_list_price_does_not_touch_what_was_agreed(grade: str, moves: bool) -> None:
    row = replace(ROW, grade=grade, next_usd_per_mtok_input=3.0)
    assert list_priced(row) is moves and not list_priced(replace(row, next_usd_per_mtok_input=None))
