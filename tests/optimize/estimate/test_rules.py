"""Every contradiction of a quoted rule, both figures."""

from __future__ import annotations

import pytest

from optimize.estimate.rules import Rule, free_over_model, worked_rules
from sim.catalog.loader import load_catalog

GB = 1e9


def rule(name: str, case: str = "") -> Rule:
    [found] = [each for each in worked_rules(load_catalog()) if each.name == name and case in each.case]
    return found


def test_six_times_seven_billion_times_a_hundred_billion_is_not_two_times_ten_to_the_twentyone() -> None:
    found = rule("6 x N x D")
    assert found.quoted[0] == 2e21
    assert found.exact[0] == pytest.approx(4.2e21)


@pytest.mark.parametrize(
    ("size", "quoted", "exact", "cards", "own"),
    [(7, (76, 96), 112, 80, "may exceed"), (13, (124, 144), 208, 80, "exceeds"), (70, (580, 600), 1120, 640, "fits")],
)
def test_four_times_the_bytes_does_not_fit_the_cards_that_the_rule_recommends(
    size: int, quoted: tuple[int, int], exact: int, cards: int, own: str
) -> None:
    found = rule("parameters x bytes x 4 + 20 to 40 GB", f"train {size}B")
    assert found.quoted == pytest.approx((quoted[0] * GB, quoted[1] * GB))
    assert found.exact[0] == exact * GB > cards * GB
    assert f"figure {own}" in found.why


def test_eight_bytes_per_parameter_and_ten_times_the_weights_contradict_each_other() -> None:
    eight, ten = rule("8 bytes per parameter"), rule("ten times the weights")
    assert (eight.quoted[0], ten.quoted[0]) == (56 * GB, 140 * GB)
    assert eight.exact == ten.exact == (112 * GB, 112 * GB)


def test_one_point_two_times_the_weights_forgets_the_requests() -> None:
    found = rule("parameters x bytes x 1.2")
    assert found.quoted[0] == pytest.approx(8_030_261_248 * 2 * 1.2)
    assert found.exact[0] == pytest.approx(8_030_261_248 * 2 + 64 * 8192 * 131_072)


def test_seventy_billion_in_sixteen_bit_are_140_gb_before_any_cache() -> None:
    found = rule("one 80 GB card")
    assert found.quoted[0] == 80 * GB
    assert found.exact[0] == pytest.approx(140 * GB, rel=0.01)


def test_free_memory_over_the_model_size_gives_one_where_paged_cache_holds_dozens() -> None:
    found = rule("0.8 x free memory / (1.5 x model size), at most 32")
    assert found.quoted == (1, 1)
    assert found.exact[0] >= 24
    assert free_over_model(10e9, 20e9) == 0


def test_eight_cards_for_a_week_at_20_to_40_yuan() -> None:
    found = rule("eight A100s for a week")
    assert found.quoted == (70_000, 80_000)
    assert found.exact == (26_880, 53_760)
