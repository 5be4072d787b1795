"""Own hosts: parts by hand, edges, and what stays open."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.money import capital, contracts, extras, power
from optimize.money.assumptions import finance_facts
from optimize.money.ownership import OPEN_WORDS, OwnHost, allowance_usd, owned_month, values_of, verdict
from sim.scenario.scenario import Finance

NODE = OwnHost(8, 27_500.0, 700.0)
GIVEN = {"cost_of_capital": 0.1, "maintenance_share": 0.05, "staff_usd_per_month": 900.0}


def test_a_node_of_eight_h100_costs_what_the_literature_says_before_staff() -> None:
    per_gpu_hour = owned_month(NODE, 1, 1.0, values_of(Finance())).known_usd / (8 * 730)
    assert 2.05 <= per_gpu_hour <= 2.40


def test_parts_of_an_owned_month_by_hand() -> None:
    parts = {line.name: line.usd for line in owned_month(NODE, 2, 0.5, values_of(Finance(values=GIVEN))).lines}
    price = 2 * 8 * 27_500 * 1.4 * 1.125
    draw_w = 2 * 8 * (700 * 0.177 + 700 * (1 - 0.177) * 0.5) * 1.82
    assert parts["electricity"] == pytest.approx(draw_w / 1000 * 1.54 * 730 * 0.146)
    assert parts["colocation"] == pytest.approx(2 * 8 * 0.7 * 1.82 * 194.95)
    assert parts["failures"] == pytest.approx(16 * 27_500 * 0.09 / 12)
    assert parts["maintenance"] == pytest.approx(price * 0.05 / 12)
    assert parts["staff"] == 900.0
    assert parts["capital"] == pytest.approx(capital.annuity_usd(price, 0.3 * price, 36, 0.1))


def test_failures_are_told_of_all_gpus() -> None:
    (line,) = [line for line in owned_month(NODE, 2, 0.5, values_of(Finance())).lines if line.name == "failures"]
    assert line.how == "0.09 a year x 16 GPUs x $27,500"


def test_what_has_no_source_is_named_and_never_zero() -> None:
    month = owned_month(NODE, 1, 1.0, values_of(Finance()))
    assert month.open == ("staff", "maintenance", "cost of capital")
    assert {line.name for line in month.lines} == {"capital", "electricity", "colocation", "failures"}
    for name in OPEN_WORDS:
        assert finance_facts().assumptions[name].value is None
    assert (
        verdict(20_000.0, month)
        == f"owning wins only below ${20_000 - month.known_usd:,.0f} a month for staff, maintenance and cost of capital"
    )


def test_a_zero_that_the_user_writes_is_a_value() -> None:
    month = owned_month(NODE, 1, 1.0, values_of(Finance(values=dict.fromkeys(GIVEN, 0.0))))
    assert month.open == () and verdict(1e6, month).startswith("owning wins:")
    assert verdict(0.0, month).startswith("owning does not win:")
    assert verdict(month.known_usd, month).startswith("owning does not win:")
    assert verdict(month.known_usd + 0.01, month).startswith("owning wins:")


@given(st.floats(0.0, 1.0), st.integers(1, 40))
def test_more_load_and_more_hosts_never_cost_less(load: float, hosts: int) -> None:
    values = values_of(Finance())
    month = owned_month(NODE, hosts, load, values)
    assert month.known_usd <= owned_month(NODE, hosts, 1.0, values).known_usd + 1e-6
    assert month.known_usd == pytest.approx(hosts * owned_month(NODE, 1, load, values).known_usd)
    assert allowance_usd(month.known_usd, month) == 0.0


@given(st.floats(1.0, 1e7), st.floats(0.0, 0.9), st.integers(1, 120), st.floats(0.0, 0.5))
def test_an_annuity_repays_the_price(price: float, residual: float, months: int, rate: float) -> None:
    payment = capital.annuity_usd(price, residual * price, months, rate)
    flows = [-price, *[payment] * (months - 1), payment + residual * price]
    assert capital.npv_usd(flows, rate) == pytest.approx(0.0, abs=1e-6 * price)


def test_an_annuity_tends_to_straight_line_as_capital_gets_cheap() -> None:
    assert capital.annuity_usd(1e5, 2e4, 48, 1e-9) == pytest.approx(capital.straight_line_usd(1e5, 2e4, 48), rel=1e-6)


@pytest.mark.parametrize(
    ("gigabytes", "usd"), [(0, 0), (100, 0), (10_000, 891.0), (50_000, 4291.0), (150_000, 11_291.0), (150_001, 11_291.05)]
)
def test_egress_is_exact_at_the_edges_of_its_tiers(gigabytes: float, usd: float) -> None:
    assert extras.egress_usd(gigabytes, finance_facts().egress["aws"]) == pytest.approx(usd)


def test_a_reservation_is_owed_whether_used_or_not() -> None:
    paid, owed = contracts.reservation_usd(3, 2.0, 36, 40)
    assert (paid, owed) == (3 * 2.0 * 730 * 36, 0.0)


def test_free_credits_never_pay_more_than_they_hold() -> None:
    assert sum([100.0] * 5) - sum(extras.after_credits_usd([100.0] * 5, 250.0)) == 250.0


def test_energy_of_an_answer_holds_idle_hours() -> None:
    assert power.joule_per_answer(500.0, 1.0, 730.0, 1000.0) == pytest.approx(500.0 * 730 * 3600 / 1000)
    assert power.joule_per_answer(500.0, 1.0, 730.0, 0.0) == math.inf


def test_the_book_value_falls_evenly_to_what_the_hosts_are_worth_at_the_end_of_the_book_life() -> None:
    """By the planning figures 30 % are left after 36 months, so that a book of 60 months ends at 0.3 ^ (60 / 36)."""
    values = values_of(Finance(values={"book_life_months": 60.0}))
    month = owned_month(NODE, 2, 0.5, values)
    assert month.purchase_usd == pytest.approx(2 * 8 * 27_500 * 1.4 * 1.125)
    assert month.residual_usd == pytest.approx(0.3 * month.purchase_usd)
    assert month.book_usd == pytest.approx(month.purchase_usd * (1 - 0.3 ** (60 / 36)) / 60)


def test_each_part_of_an_owned_month_shows_its_formula() -> None:
    how = {line.name: line.how for line in owned_month(NODE, 2, 0.5, values_of(Finance(values=GIVEN))).lines}
    assert how["capital"] == "$693,000 less $207,900 over 36 months, annuity at 10.0% a year"
    assert how["electricity"] == "12.00 kW x PUE 1.54 x 730 h x $0.146" and how["colocation"] == "20.38 kW x $194.95"
    assert how["maintenance"] == "5.0% of $693,000 a year" and how["staff"] == "as given"
    bare = {line.name: line.how for line in owned_month(NODE, 2, 0.5, values_of(Finance())).lines}
    assert bare["capital"].endswith("36 months, straight line, cost of capital left open")


def test_what_is_left_for_open_parts_is_named_part_by_part() -> None:
    one = owned_month(NODE, 1, 1.0, values_of(Finance(values={"cost_of_capital": 0.1, "maintenance_share": 0.05})))
    assert one.open == ("staff",) and verdict(one.known_usd + 1000.0, one) == "owning wins only below $1,000 a month for staff"
    assert verdict(one.known_usd, one).startswith("owning never wins:") and allowance_usd(one.known_usd - 5.0, one) == pytest.approx(-5.0)


def test_what_one_off_work_costs_is_told_in_years_of_serving() -> None:
    assert extras.once_per_year_usd(24_000.0, 1000.0) == 2.0
    assert extras.once_per_year_usd(100.0, 0.0) == math.inf and extras.once_per_year_usd(6.0, 0.5) == 1.0


def test_answers_that_are_sent_weigh_their_bytes_in_gigabytes_of_a_billion() -> None:
    assert extras.answer_gigabytes(2e6, 1000.0) == 2.0 and extras.double_running_usd(100.0, 2.5) == 250.0


def test_credits_expire_and_pay_the_first_bills_only() -> None:
    assert extras.after_credits_usd([100.0, 50.0, 100.0], 120.0) == [0.0, 30.0, 100.0]
    assert extras.after_credits_usd([100.0, 100.0, 100.0], 1000.0, expire_after_months=2) == [0.0, 0.0, 100.0]


def test_a_saving_repays_inside_its_month_and_a_present_value_falls_with_the_cost_of_capital() -> None:
    assert capital.payback_months(100.0, [100.0]) == 1.0 and capital.payback_months(-5.0, []) == 0.0
    assert capital.payback_months(100.0, [40.0, -10.0, 140.0]) == 2.5
    assert capital.npv_usd([-100.0, 0.0, 121.0], 1.1**12 - 1) == pytest.approx(0.0)
    assert capital.drifted(100.0, 0.21, 6) == pytest.approx(110.0) and capital.residual_share(0.25, 18) == pytest.approx(0.5)
