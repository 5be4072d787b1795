"""Price x quantity by hand: the plain functions that other rooms call instead of multiplying dollars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money import amounts, request_usd, units
from optimize.records import UnitTerms
from tests.optimize.program.problems import offer, pool, relay

HOST = replace(offer("o", 8.0), gpus=4)


def test_an_hour_of_a_host_is_shared_by_its_gpus_and_its_replicas() -> None:
    assert amounts.gpu_hour_usd(HOST) == 2.0 and amounts.replica_hour_usd(HOST, 2) == 4.0
    assert amounts.load_hour_usd(HOST, 1.5, 2) == 6.0 and amounts.month_usd(2.0) == 1460.0


def test_a_request_costs_the_replica_seconds_that_it_occupies() -> None:
    """36 seconds of one of two replicas of a host at $8 an hour: a two-hundredth of $8."""
    assert amounts.load_usd(8.0, 36.0, 2.0) == pytest.approx(0.04)
    option = replace(pool(HOST, [0.5]).option, replicas_per_host=2)
    assert amounts.hours_of_load_usd(np.array([36.0, 3600.0]), option) == pytest.approx([0.04, 4.0])


def test_terms_at_another_price_change_in_their_price_alone() -> None:
    terms = pool(HOST, [0.5])
    assert amounts.pool_at(terms, 0.5).option.offer == replace(HOST, usd_per_hour=4.0) and amounts.offer_at(HOST, 1.0) is HOST
    assert replace(amounts.pool_at(terms, 0.5), option=terms.option) == terms
    sold = replace(relay("r", [0.02]), units=UnitTerms(3.0, np.array([0.1])), committed_usd=70.0)
    dearer = amounts.relay_at(sold, 1.5)
    assert dearer.units is not None and dearer.units.usd_per_hour == 4.5 and dearer.units.load.tolist() == [0.1]
    assert dearer.usd_per_request.tolist() == pytest.approx([0.03]) and dearer.committed_usd == 70.0
    calls = amounts.calls_at(sold, 1.5)
    assert calls.units is sold.units and calls.usd_per_request.tolist() == pytest.approx([0.03])
    assert amounts.relay_at(relay("r", [0.02]), 2.0).units is None


def test_factors_multiply_and_a_part_of_nothing_is_nothing() -> None:
    assert amounts.scaled_usd(100.0) == 100.0 and amounts.scaled_usd(100.0, 0.5, 3.0) == 150.0
    assert amounts.share_of(1.0, 4.0) == 0.25 and amounts.share_of(1.0, 0.0) == amounts.share_of(1.0, -2.0) == 0.0
    assert amounts.share_of(0.1, 0.2) == 0.5
    assert amounts.above_budget_cents(9_000, 100.0) == -1000.0


def test_an_amount_may_be_by_the_hour_or_the_slice() -> None:
    assert amounts.amount_usd(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist() == [3.0, 8.0]
    assert amounts.per_unit_usd(np.array([3.0, 8.0]), 2.0).tolist() == [1.5, 4.0]


def test_a_million_tokens_cost_their_price_in_any_currency_and_a_year_has_twelve_months() -> None:
    """Prices are by the million tokens; a yuan costs 15 cents; 730 hours are a month."""
    assert units.to_currency(request_usd(1e6, 0, 0, 3.0, None, 9.0), 0.15) == 20.0 and units.to_usd(20.0, 0.15) == 3.0
    assert units.to_usd(units.HOURS_PER_YEAR / units.HOURS_PER_MONTH, 1.0) == 12.0
    assert amounts.month_usd(1.0) * units.HOUR_S == 365 * 24 * 3600 / 12


@pytest.mark.parametrize(("per_credit", "usd_per_unit", "saved"), [(1.0, 0.15, 0.85), (2.0, 0.15, 0.7), (1.0, 1.2, -0.2)])
def test_a_credit_rate_saves_what_a_credit_costs_less_than_a_dollar(per_credit: float, usd_per_unit: float, saved: float) -> None:
    assert units.credit_discount(per_credit, usd_per_unit) == pytest.approx(saved)
