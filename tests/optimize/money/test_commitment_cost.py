"""A first stage over the horizon: before its hosts come, while they serve, and after their term."""

from __future__ import annotations

import pytest

from optimize.money.commitment_cost import Held, Timing, horizon_usd


def test_before_the_hosts_come_and_after_their_term_the_month_without_them_is_paid() -> None:
    """Three months of waiting, twelve of the term, and the 21 that are left of three years."""
    term = Held(month_usd=10.0, term_months=12)
    assert horizon_usd((term,), Timing(36, lead=3), 50.0, 80.0) == pytest.approx(3 * 80 + 12 * (50 + 10) + 21 * 80)


def test_the_shortest_term_ends_what_is_held_together() -> None:
    terms = (Held(month_usd=10.0, term_months=12), Held(month_usd=5.0, term_months=24))
    assert horizon_usd(terms, Timing(36), 50.0, 80.0) == pytest.approx(12 * 50 + 24 * 80 + 12 * 10 + 24 * 5)


def test_rents_that_follow_the_market_follow_it_and_a_term_beyond_the_horizon_is_owed() -> None:
    floating, fixed = (Held(month_usd=10.0, term_months=12, follows_rent=follows) for follows in (True, False))
    both = [horizon_usd((each,), Timing(6), 50.0, 80.0, once_usd=7.0, rent=2.0) for each in (floating, fixed)]
    assert both == [pytest.approx(7 + 6 * (50 + 20) + 6 * 10), pytest.approx(7 + 6 * (50 + 10) + 6 * 10)]
