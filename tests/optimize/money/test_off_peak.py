"""Prices by the hour of the day: which part of the demand pays the cheaper price, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money.contracts import cheapest_and_dearest, hour_factor, paid_request_usd, slice_usd
from optimize.money.off_peak import off_peak_note, off_peak_part, off_peak_share, off_peak_shares, slice_factors
from optimize.records import RelayTerms, SpendTier
from sim.catalog.price_terms import OffPeak, span_h
from sim.scenario.scenario import ConstantTraffic, SyntheticTraffic
from tests.optimize.program.problems import relay

NIGHT = OffPeak(0.5, ("16:30-00:30",))
HOURS = tuple(f"weekday {hour:02d}" for hour in range(24))


def clock(utc_offset_h: float | None) -> SyntheticTraffic:
    return SyntheticTraffic(1e6, 3.0, 2.5, tuple([1 / 24] * 24), 0.85, 1.17, utc_offset_h=utc_offset_h)


def terms(*factors: float) -> RelayTerms:
    """One class; a factor on the price for each slice."""
    row = relay("night", [2.0])
    return replace(row, relay=replace(row.relay, off_peak=NIGHT), hour_factors=np.array([factors]))


def test_spans_are_read_minute_by_minute_and_pass_midnight() -> None:
    quarter = OffPeak(0.5, ("10:15-10:30", "23:00-01:00"))
    assert [off_peak_share(quarter, hour) for hour in (10, 11, 23, 0, 1, 10.25, 24)] == [0.25, 0.0, 1.0, 1.0, 0.0, 0.25, 1.0]


def test_slices_of_the_day_pay_by_the_clock_of_the_traffic() -> None:
    """Eight hours ahead of UTC the night of 16:30 to 00:30 is the morning, 00:30 to 08:30."""
    factors = slice_factors(NIGHT, clock(8.0), HOURS)
    assert factors is not None
    assert factors.tolist() == [0.75] + [0.5] * 7 + [0.75] + [1.0] * 15
    assert slice_factors(NIGHT, clock(None), HOURS) is None and slice_factors(None, clock(8.0), HOURS) is None


def test_traffic_at_one_rate_pays_the_mean_of_the_day() -> None:
    factors = slice_factors(OffPeak(0.1, ("00:00-06:00",)), ConstantTraffic(1.0), ("every hour",))
    assert factors == pytest.approx([1 - 0.9 / 4])


def test_the_part_that_pays_less_is_read_back_from_the_factor() -> None:
    shares = off_peak_shares(terms(1.0, 0.75, 0.5))
    assert shares is not None and shares.tolist() == [[0.0, 0.5, 1.0]]
    weight_h, flow = np.array([100.0, 100.0, 200.0]), np.array([[2.0, 2.0, 1.0]])
    assert off_peak_part(terms(1.0, 0.75, 0.5), flow, weight_h) == pytest.approx((0.5 * 200 + 200) / 600)
    assert off_peak_part(terms(1.0, 0.75, 0.5), 0 * flow, weight_h) == 0.0


def test_factors_that_no_mixture_of_the_two_prices_gives_have_no_off_peak_part() -> None:
    assert off_peak_shares(terms(1.0, 0.4)) is None and off_peak_shares(terms(1.2, 0.5)) is None
    assert off_peak_shares(replace(terms(1.0), hour_factors=None)) is None
    assert off_peak_part(terms(1.0, 0.4), np.ones((1, 2)), np.ones(2)) == 0.0
    same = terms(1.0, 1.0)
    assert off_peak_shares(replace(same, relay=replace(same.relay, off_peak=OffPeak(1.0, ("00:00-06:00",))))) is None


def test_the_note_says_which_part_pays_less_in_which_hours_and_on_which_clock() -> None:
    flow, weight_h = np.ones((1, 2)), np.ones(2)
    note = off_peak_note(terms(1.0, 0.5), flow, weight_h, clock(-5.5))
    assert note == (
        "night: 50% of its requests pay the off-peak price, 0.5 of the list price in 16:30-00:30 UTC; "
        "the clock of the traffic is UTC-5.5 h (traffic.utc_offset_h)."
    )
    assert "spread evenly over the week" in off_peak_note(terms(0.75), np.ones((1, 1)), np.ones(1), ConstantTraffic(1.0))
    assert off_peak_note(terms(1.0, 1.0), flow, weight_h, clock(0.0)) == ""
    one_in_a_thousand = np.array([[999.0, 1.0]])
    assert off_peak_note(terms(1.0, 0.5), one_in_a_thousand, weight_h, clock(0.0)) != ""


def test_the_price_of_a_request_is_that_of_its_hour_and_tier() -> None:
    cheap = replace(terms(1.0, 0.25), tiers=(SpendTier(0.0), SpendTier(100.0, price_factor=0.5)))
    assert slice_usd(cheap, 0).tolist() == [2.0] and slice_usd(cheap, 1).tolist() == [0.5]
    assert paid_request_usd(cheap, -1).tolist() == [[2.0, 0.5]] and paid_request_usd(cheap, 1).tolist() == [[1.0, 0.25]]
    assert cheapest_and_dearest(cheap, 0) == (0.5, 2.0) and hour_factor(cheap, 0, 1) == 0.25
    flat = replace(cheap, hour_factors=None)
    assert paid_request_usd(flat, 1).tolist() == [1.0] and slice_usd(flat, 1).tolist() == [2.0]
    assert cheapest_and_dearest(flat, 0) == (2.0, 2.0) and hour_factor(flat, 0, 1) == 1.0


def test_weekends_are_cheap_all_day_where_the_row_says_so() -> None:
    weekly = OffPeak(0.5, ("10:00-01:00", "04:00-06:00"), weekends=True)
    hours = tuple(f"{day} {hour:02d}" for day in ("weekday", "weekend") for hour in range(24))
    factors = slice_factors(weekly, clock(0.0), hours)
    assert factors is not None and factors[24:].tolist() == [0.5] * 24 and factors[2] == 1.0 and factors[12] == 0.5
    constant = slice_factors(weekly, ConstantTraffic(1.0), ("every hour",))
    assert constant is not None and constant[0] == pytest.approx(1 - 0.5 * 133 / 168)


def test_a_weekend_begins_and_ends_by_utc_and_not_by_the_clock_of_the_traffic() -> None:
    weekly = OffPeak(0.5, ("10:00-01:00", "04:00-06:00"), weekends=True)
    factors = slice_factors(weekly, clock(8.0), ("weekday 03", "weekend 10"))
    assert factors is not None
    assert factors[0] == 0.5 and factors[1] == 0.5  # 19 UTC of the day before; 2 UTC of Saturday and of Sunday
    early = slice_factors(weekly, clock(-6.0), ("weekend 23",))
    assert early is not None and early[0] == 0.5  # 5 UTC of Sunday and of Monday


@pytest.mark.parametrize("span", ["10:00-10:00", "00:00-00:00"])
def test_a_span_that_begins_where_it_ends_is_refused(span: str) -> None:
    with pytest.raises(ValueError, match="begins where it ends"):
        span_h(span)


def test_a_clock_that_is_that_of_utc_is_told_as_such() -> None:
    note = off_peak_note(terms(1.0, 0.5), np.ones((1, 2)), np.ones(2), clock(0.0))
    assert note.endswith("; the clock of the traffic is UTC+0 h (traffic.utc_offset_h).")


def test_rows_without_hours_of_their_own_say_nothing_of_them() -> None:
    plain = relay("plain", [2.0])
    assert off_peak_shares(plain) is None and off_peak_part(plain, np.ones((1, 2)), np.ones(2)) == 0.0
    assert off_peak_note(plain, np.ones((1, 2)), np.ones(2), clock(0.0)) == ""


def test_without_days_an_hour_counts_on_each_day_of_the_week() -> None:
    """Noon is dear from Monday to Friday and cheap on two days of seven."""
    weekly = OffPeak(0.5, ("00:00-01:00",), weekends=True)
    assert off_peak_share(weekly, 12) == pytest.approx(2 / 7) and off_peak_share(weekly, 12, range(5)) == 0.0


def test_the_cheapest_and_the_dearest_hour_of_a_class_are_at_its_own_factors() -> None:
    assert cheapest_and_dearest(terms(0.7, 0.3, 0.5), 0) == pytest.approx((0.6, 1.4))
