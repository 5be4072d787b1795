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
