"""Kinds of tokens, their prices, and requests split over tiers of prompt length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money.metering import Metered, batch_meter, metered_usd, plain_meter, tiered, token_price
from sim.catalog.price_terms import LongPrompt
from tests.optimize.report import plan_fixture

ROW = replace(
    plan_fixture.relay("lab.thinker", "thinker", 2.0, 8.0, None), long_prompts=(LongPrompt(10, 4.0, 16.0, 1.0), LongPrompt(20, 6.0, 20.0))
)


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_a_kind_is_split_in_the_proportions_of_the_sample_however_few_its_tokens(scale: float) -> None:
    prompt = np.array([5.0, 15.0, 25.0])
    meter = tiered(ROW, {"cached": 12.0}, Metered(prompt, {"cached": scale * np.array([1.0, 2.0, 1.0])}))
    assert meter == {"cached": pytest.approx(3.0), "cached above 10": pytest.approx(6.0), "cached above 20": pytest.approx(3.0)}


def test_a_kind_that_the_sample_does_not_hold_is_below_every_threshold() -> None:
    meter = tiered(ROW, {"written": 4.0}, Metered(np.array([15.0]), {"written": np.zeros(1)}))
    assert meter == {"written": 4.0, "written above 10": 0.0, "written above 20": 0.0}


def test_what_has_no_price_of_its_own_goes_at_the_next_plainer_one() -> None:
    prices = {
        kind: token_price(ROW, kind)
        for kind in ("cached", "written", "cached above 10", "written above 10", "cached above 20", "input above 99")
    }
    assert prices == {
        "cached": 2.0,
        "written": 2.0,
        "cached above 10": 1.0,
        "written above 10": 4.0,
        "cached above 20": 6.0,
        "input above 99": 2.0,
    }
    assert (token_price(ROW, "batch input"), token_price(ROW, "batch output"), token_price(ROW, "output above 20")) == (2.0, 8.0, 20.0)
    sold = replace(ROW, usd_per_mtok_batch_input=0.0, usd_per_mtok_batch_output=4.0, usd_per_mtok_cached=0.0, usd_per_mtok_cache_write=2.5)
    assert [token_price(sold, kind) for kind in ("batch input", "batch output", "cached", "written")] == [0.0, 4.0, 0.0, 2.5]


def test_a_request_costs_its_tokens_kind_by_kind() -> None:
    meter = plain_meter(1000.0, 300.0, 200.0, 50.0)
    assert meter == {"input": 500.0, "cached": 300.0, "written": 200.0, "output": 50.0}
    assert metered_usd(ROW, meter) == pytest.approx((1000 * 2.0 + 50 * 8.0) / 1e6)
    assert batch_meter(10.0, 5.0) == {"batch input": 10.0, "batch output": 5.0}
