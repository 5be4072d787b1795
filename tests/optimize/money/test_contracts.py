"""Terms of contracts: what is paid next to tokens and host-hours, and where it appears in the bill."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money.bill import cost_lines, plan_cost_usd, relay_lines, share_of_relays
from optimize.money.contracts import least_payment_usd, reservation_usd, start_s, start_usd, starts_usd, units_usd
from optimize.records import BootTerms, CostLine, PoolTerms, ProgramInput, ProgramSolution, RelayTerms, SpendTier, UnitTerms
from tests.optimize.program.problems import offer, pool, problem, relay

BOOT = BootTerms((1, 0), np.array([30.0, 30.0]))


def held(elastic: bool = True) -> PoolTerms:
    """A pool at $2 an hour whose hosts boot for 5 minutes, are up 4 minutes early and stay up to 3 minutes longer."""
    return replace(pool(offer("o", 2.0, elastic=elastic, boot_s=300.0), [0.5]), lead_s=240.0, linger_s=180.0)


def sold(**terms: object) -> RelayTerms:
    return replace(relay("api", [0.01]), **terms)  # type: ignore[arg-type]


def answer(hosts: list[int], calls: list[float], tier: int | None = None, units: int | None = None) -> ProgramSolution:
    """One pool and one relay over two slices, one class."""
    row = np.array([hosts])
    return ProgramSolution(
        hosts=row,
        billed=row.copy(),
        pool_flow=np.zeros((1, 1, 2)),
        relay_flow=np.array([[calls]]),
        unserved=np.zeros((1, 2)),
        cost_usd=0.0,
        model_bound_usd=0.0,
        status="optimal",
        solver="none",
        gap=0.0,
        relay_tier=None if tier is None else np.array([tier]),
        relay_units=None if units is None else np.array([units]),
    )


def given(terms: RelayTerms, boot: BootTerms | None = None) -> ProgramInput:
    return replace(problem([[1.0, 1.0]], [held()], [terms]), boot=boot)


def test_a_start_is_paid_for_the_boot_if_that_is_charged_and_for_the_time_that_the_host_is_held() -> None:
    assert start_s(BOOT, held()) == 300.0 + 240.0 + 180.0
    assert start_s(replace(BOOT, charged=False), held()) == 240.0 + 180.0
    assert start_usd(BOOT, held()) == pytest.approx(2.0 * 720 / 3600)


def test_starts_cost_nothing_where_they_are_free_or_hosts_stay_all_month() -> None:
    assert start_s(None, held()) == start_s(BOOT, held(elastic=False)) == 0.0


def test_starts_have_a_line_of_their_own_next_to_the_hours() -> None:
    """Two hosts start 30 times a month, 720 s each at $2: $24. Without a start there is no line."""
    hours, started = cost_lines(given(sold(), BOOT), answer([1, 3], [0.0, 0.0]))
    assert (hours.name, started.name) == ("o:0", "o:0 starts")
    assert started.per_month_usd == pytest.approx(24.0) == pytest.approx(starts_usd(np.array([1, 3]), BOOT, 720.0, 2.0))
    assert started.detail == "60 starts" and hours.detail == f"{4 * 365:,} host-hours"
    assert [line.name for line in cost_lines(given(sold(), BOOT), answer([2, 2], [0.0, 0.0]))] == ["o:0"]
    assert [line.name for line in cost_lines(given(sold()), answer([1, 3], [0.0, 0.0]))] == ["o:0"]


def test_provisioned_units_are_paid_for_730_hours_whatever_they_are_used_for() -> None:
    terms = sold(units=UnitTerms(3.0, np.array([0.1])))
    assert units_usd(terms, 4) == 4 * 3.0 * 730 and units_usd(sold(), 4) == 0.0
    (line,) = relay_lines(given(terms), answer([0, 0], [0.0, 0.0], units=1), 0)
    assert (line.name, line.per_month_usd, line.detail) == ("api units", 3.0 * 730, "1 provisioned unit")
    assert relay_lines(given(terms), answer([0, 0], [0.0, 0.0], units=0), 0) == []
    assert relay_lines(given(terms), answer([0, 0], [0.0, 0.0]), 0) == []


def test_the_least_payment_is_the_commitment_or_that_of_the_tier_whichever_is_more() -> None:
    tiers = (SpendTier(0.0), SpendTier(500.0, price_factor=0.5))
    assert least_payment_usd(sold(tiers=tiers), -1) == 0.0 and least_payment_usd(sold(tiers=tiers), 1) == 500.0
    assert least_payment_usd(sold(tiers=tiers, committed_usd=900.0), 1) == 900.0
    assert least_payment_usd(sold(tiers=tiers, committed_usd=300.0), 0) == 300.0


def test_what_a_contract_asks_for_beyond_the_calls_is_a_line_and_only_the_difference() -> None:
    """One request in a thousand seconds over 730 h at half of $0.01: $13.14 of the $500 that the tier asks for."""
    terms = sold(tiers=(SpendTier(0.0), SpendTier(500.0, price_factor=0.5)))
    calls, least = relay_lines(given(terms), answer([0, 0], [0.001, 0.001], tier=1), 0)
    assert (calls.name, least.name, least.detail) == ("api", "api minimum", "the contract asks for $500 a month")
    assert calls.per_month_usd == pytest.approx(730 * 3.6 * 0.005) and calls.detail == "2,628 requests"
    assert calls.per_month_usd + least.per_month_usd == pytest.approx(500.0)
    (alone,) = relay_lines(given(terms), answer([0, 0], [1.0, 1.0], tier=1), 0)
    assert alone.name == "api" and alone.per_month_usd > 500
    (list_price,) = relay_lines(given(terms), answer([0, 0], [1.0, 1.0], tier=-1), 0)
    assert list_price.per_month_usd == pytest.approx(2 * alone.per_month_usd)
    (unused,) = relay_lines(given(sold(committed_usd=70.0)), answer([0, 0], [0.0, 0.0]), 0)
    assert (unused.name, unused.per_month_usd) == ("api minimum", 70.0)


def test_lines_come_dearest_first_and_fixed_costs_last() -> None:
    problem_ = replace(given(sold(committed_usd=1e6)), fixed_usd=9e9)
    solved = answer([1, 1], [0.0, 0.0])
    assert [line.name for line in cost_lines(problem_, solved)] == ["api minimum", "o:0", "fixed costs"]
    assert plan_cost_usd(problem_, solved) == pytest.approx(1e6 + 2 * 730 + 9e9)


def test_a_classifier_is_a_line_of_its_own_taken_out_of_the_fixed_costs() -> None:
    """Two classes of one request a second; one of them is looked at for a thousandth of a cent: 2,628,000 requests, $26.28."""
    both = problem([[1.0, 1.0], [1.0, 1.0]], [pool(offer("o", 2.0), [0.5, 0.5])])
    looked = replace(both, fixed_usd=126.28, classifier_usd=np.array([1e-5, 0.0]))
    solved = replace(answer([1, 1], []), relay_flow=np.zeros((0, 2, 2)), pool_flow=np.zeros((1, 2, 2)))
    _, classifier, fixed = cost_lines(looked, solved)
    assert (classifier.name, classifier.kind, classifier.detail) == ("request classifier", "fixed", "2,628,000 requests")
    assert classifier.per_month_usd == pytest.approx(26.28) and fixed.per_month_usd == pytest.approx(100.0)
    alone = replace(looked, fixed_usd=classifier.per_month_usd)
    assert [line.name for line in cost_lines(alone, solved)] == ["o:0+1", "request classifier"]
    free = replace(both, fixed_usd=5.0, classifier_usd=np.zeros(2))
    assert [line.name for line in cost_lines(free, solved)] == ["o:0+1", "fixed costs"]


def test_the_part_of_relays_counts_all_that_is_paid_to_them() -> None:
    lines = (CostLine("a", "relay", 10.0), CostLine("a minimum", "relay", 5.0), CostLine("b", "relay", 5.0), CostLine("a", "gpu", 20.0))
    assert share_of_relays(lines, {"a"}) == 15 / 40 and share_of_relays(lines, {"a", "b"}) == 0.5
    assert share_of_relays((), {"a"}) == 0.0 and share_of_relays((CostLine("a", "relay", 0.0),), {"a"}) == 0.0


@pytest.mark.parametrize(("months", "paid"), [(-1.0, 0.0), (0.0, 0.0), (4.5, 4.5), (12.0, 12.0), (20.0, 12.0)])
def test_a_reservation_is_paid_in_part_and_owed_for_the_rest_of_its_term(months: float, paid: float) -> None:
    assert reservation_usd(2, 3.0, 12, months) == pytest.approx((2 * 3 * 730 * paid, 2 * 3 * 730 * (12 - paid)))
