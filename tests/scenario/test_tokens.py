"""Laws of token counts keep the figures that were written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.scenario import shapes, tokens
from sim.scenario.scenario import Tokens

PUBLISHED = {  # mean, p50, p99 of the traces
    "azure_2023_conv_input": (1155, 1020, 4142),
    "azure_2023_conv_output": (211, 129, 601),
    "azure_2023_code_input": (2048, 1469, 7436),
    "azure_2023_code_output": (28, 13, 252),
    "reasoning_input": (1268, 208, 23423),
    "reasoning_output": (1527, 792, 12607),
}


def at(law: Tokens, quantile: float) -> float:
    return float(np.interp(quantile, law.quantiles, law.tokens))


@pytest.mark.parametrize("name", PUBLISHED)
def test_named_shapes_have_the_published_mean_and_quantiles(name: str) -> None:
    law, (mean, p50, p99) = shapes.load().tokens[name], PUBLISHED[name]
    assert law.mean == pytest.approx(mean, rel=0.01)
    assert (at(law, 0.5), at(law, 0.99)) == pytest.approx((p50, p99), rel=0.01)


def test_mean_is_the_area_under_the_law() -> None:
    law = tokens.lognormal(3.09, 1.40)
    assert law.mean == pytest.approx(np.trapezoid(law.tokens, law.quantiles))
    assert law.mean == pytest.approx(math.exp(3.09 + 1.4**2 / 2), rel=1e-3)
    assert at(law, 0.5) == pytest.approx(math.exp(3.09), rel=0.01)


def test_weibull_has_its_closed_form_mean_and_median() -> None:
    law = tokens.weibull(1.39, 305)
    assert law.mean == pytest.approx(305 * math.gamma(1 + 1 / 1.39), rel=1e-3)
    assert at(law, 0.5) == pytest.approx(305 * math.log(2) ** (1 / 1.39), rel=0.01)


def test_median_and_mean_alone_give_the_lognormal_of_both() -> None:
    law = tokens.summary({0.5: 100}, 165)
    assert law.mean == pytest.approx(165, rel=1e-6) and at(law, 0.5) == pytest.approx(100, rel=1e-6)


@example(p50=21.923002202897067, ratio=24.5, p90=1.0)
@given(p50=st.floats(1, 1e4), ratio=st.floats(1.0, 50), p90=st.floats(0, 1))
def test_a_summary_meets_every_figure_it_was_given(p50: float, ratio: float, p90: float) -> None:
    quantiles = {0.5: p50, 0.9: p50 * ratio**p90, 0.99: p50 * ratio}
    free = tokens.summary(quantiles, None)
    with_mean = tokens.summary(quantiles, free.mean)
    assert with_mean.mean == pytest.approx(free.mean, rel=1e-6)
    assert all(at(with_mean, q) == pytest.approx(x, rel=1e-6) for q, x in quantiles.items())
    assert list(with_mean.tokens) == sorted(with_mean.tokens) and with_mean.quantiles[0] == 0 and with_mean.quantiles[-1] == 1


def test_points_that_fall_are_refused() -> None:
    with pytest.raises(ValueError, match=r"falls from 200 at 0\.5 to 100 at 0\.9"):
        tokens.from_points([(0.5, 200), (0.9, 100)])


def test_day_shapes_sum_to_one_and_consumer_chat_peaks_at_seven_percent() -> None:
    days = shapes.load().days
    assert all(len(day) == 24 and sum(day) == pytest.approx(1) for day in days.values())
    assert max(days["consumer_chat"]) == pytest.approx(0.07, abs=1e-4)


def test_consumer_chat_is_the_azure_day_with_more_contrast() -> None:
    days = shapes.load().days
    stretched = np.array(days["azure_2024_conv"]) ** 2.08
    assert np.allclose(stretched / stretched.sum(), days["consumer_chat"], atol=2e-4)
