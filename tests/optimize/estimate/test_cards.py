"""Training over all cards: each card as the command gives it alone, cheapest first."""

from __future__ import annotations

from typing import Any

import pytest

from optimize.estimate.cards import cards_json, estimate_over_cards
from optimize.estimate.side_by_side import training_share_rule
from optimize.estimate.training import estimate_training
from optimize.report.terminal.render_estimate import render_rules, render_training
from sim.catalog.loader import load_catalog
from sim.errors import InputError

TYPED: dict[str, Any] = {
    **{"params": None, "model": "llama-3.1-8b", "tokens": "50M", "context": None, "micro_batch": 1, "gpus": None},
    **{"mfu": None, "precision": "bf16", "method": "full", "rank": None},
}


def test_every_card_is_what_the_command_says_of_it_alone() -> None:
    estimate, cards = estimate_over_cards(**TYPED, gpu="all")
    assert {card.gpu for card in cards} == {gpu.id for gpu in load_catalog().gpus.values() if gpu.flops.get("bf16", 0) > 0}
    for card in cards[:3]:
        alone = estimate_training(**TYPED, gpu=card.gpu)
        assert (card.gpus, card.gpu_hours, card.days) == (alone.gpus_needed, alone.gpu_hours, alone.days)
        assert card.usd == next(each for each in alone.cost if each.term == "on_demand").by_currency["USD"]
    assert estimate.run.gpu.id == cards[0].gpu
    sold = [card.usd[1] for card in cards if card.offer]
    assert sold == sorted(sold) and len(sold) > 10


def test_the_screen_and_json_have_a_row_for_every_card() -> None:
    estimate, cards = estimate_over_cards(**TYPED, gpu="all")
    said = render_training(estimate, cards=cards)
    assert all(card.gpu in said for card in cards) and "no offer in the catalogue" in said
    assert [row["gpu"] for row in cards_json(estimate, cards)["cards"]] == [card.gpu for card in cards]


def test_a_number_of_cards_goes_with_one_card_only() -> None:
    with pytest.raises(InputError, match="--gpus: with --gpu all as few of each card are taken"):
        estimate_over_cards(**{**TYPED, "gpus": 8}, gpu="all")


def test_the_saying_on_the_share_of_training_stands_next_to_our_figure() -> None:
    rule = training_share_rule()
    assert rule.quoted == (0.7, 0.8) and 0 < rule.exact[0] < rule.exact[1] < rule.quoted[0]
    assert "70 .. 80 %" in render_rules([rule])
