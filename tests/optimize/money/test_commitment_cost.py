"""A first stage over the horizon: before its hosts come, while they serve, and after their term."""

from __future__ import annotations

import pytest

from optimize.money.commitment_cost import Held, Timing, cash_by_month, horizon_usd


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


@pytest.mark.parametrize("rent", [1.0, 1.5])
@pytest.mark.parametrize("timing", [Timing(12), Timing(12, lead=3, overlap=1.5), Timing(6.5, lead=2), Timing(3, lead=5), Timing(0.5)])
@pytest.mark.parametrize(
    "held",
    [
        (),
        (Held(month_usd=10.0, term_months=4, follows_rent=True),),
        (Held(purchase_usd=1000.0, month_usd=10.0, residual_36m=0.3),),
        (Held(purchase_usd=500.0, residual_36m=0.2), Held(month_usd=7.0, term_months=24)),
    ],
)
def test_the_months_sum_to_the_horizon(held: tuple[Held, ...], timing: Timing, rent: float) -> None:
    months = cash_by_month(held, timing, 50.0, 80.0, once_usd=33.0, rent=rent)
    assert sum(months) == pytest.approx(horizon_usd(held, timing, 50.0, 80.0, once_usd=33.0, rent=rent))


def test_purchases_and_one_off_costs_come_first_and_resale_and_what_is_owed_last() -> None:
    own = Held(purchase_usd=1000.0, month_usd=10.0, residual_36m=0.3)
    assert cash_by_month((own,), Timing(3), 50.0, 80.0, once_usd=7.0) == pytest.approx([1067.0, 60.0, 60.0 - own.resale_usd(3)])
    term = Held(month_usd=10.0, term_months=12)
    assert cash_by_month((term,), Timing(3, lead=1), 50.0, 80.0) == pytest.approx([80.0, 60.0, 60.0 + 10 * 10.0])
    assert cash_by_month((), Timing(2.5), 50.0, 80.0, once_usd=7.0) == pytest.approx([87.0, 80.0, 40.0])


def test_both_fleets_are_paid_while_one_takes_over_and_a_part_of_a_month_counts_as_such() -> None:
    term = Held(month_usd=10.0, term_months=2)
    assert cash_by_month((term,), Timing(4, lead=0.5, overlap=1), 50.0, 80.0) == pytest.approx([110.0, 100.0, 70.0, 80.0])


def test_what_is_bought_outright_and_runs_for_nothing_costs_its_price_and_is_worth_nothing_in_the_end() -> None:
    bought = Held(purchase_usd=1000.0)
    assert horizon_usd((bought,), Timing(36), 50.0, 80.0) == pytest.approx(1000 + 36 * 50)
    assert bought.resale_usd(12) == 0.0 and bought.exit_usd(12) == 1000.0 and bought.owed_usd(3) == 0.0
    assert Held().committed_usd() == Held().resale_usd(0) == 0.0 and Held(term_months=12).held_months(6, 9) == 0.0
