"""Own the base load, rent the peak: against brute force over every number of own hosts, and by pencil."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.finance.own_base import Need, OwnedFleet, base_of, owned_fleet
from optimize.finance.own_or_rent import own_or_rent
from optimize.money.ownership import OwnHost, owned_month, values_of
from sim.scenario.scenario import Finance
from tests.optimize.program.problems import offer
from tests.optimize.report import plan_fixture

WEIGHT_H = np.array([365.0, 219.0, 146.0])


def brute_force(hosts: list[int], busy: list[float], price: float, host: OwnHost, finance: Finance) -> tuple[float, int]:
    """(least cost, own hosts), hour by hour: own hosts draw power by the load that they take, rented ones are paid while they run."""
    best = []
    for n in range(max(hosts) + 1):
        rent = sum(w * max(0, h - n) * price for w, h in zip(WEIGHT_H, hosts, strict=True))
        load = sum(w * min(h, n) * b for w, h, b in zip(WEIGHT_H, hosts, busy, strict=True)) / (n * 730) if n else 0.0
        own = sum(owned_month(host, 1, load, values_of(finance)).known_usd for _ in range(n))
        best.append((rent + own, n))
    return min(best)


@pytest.mark.parametrize("seed", range(8))
def test_the_number_of_own_hosts_is_that_of_brute_force(seed: int) -> None:
    draw = np.random.default_rng(seed)
    hosts, busy = draw.integers(0, 12, 3), draw.uniform(0.2, 1.0, 3)
    hosts[0] = max(1, hosts[0])
    price, host, finance = float(draw.uniform(0.5, 3.0)), OwnHost(2, 8500.0, 350.0), Finance(values={"pue": float(draw.uniform(1.1, 1.6))})
    need = Need(replace(offer("x", price), gpus=2), host, hosts, busy)
    found = base_of(need, WEIGHT_H, values_of(finance))
    assert (found.mixed_usd, found.owned) == pytest.approx(brute_force(hosts.tolist(), busy.tolist(), price, host, finance))
    assert found.mixed_usd <= found.rent_usd == pytest.approx(price * float(hosts @ WEIGHT_H))


def test_a_host_that_runs_all_month_is_owned_and_the_peak_is_rented() -> None:
    host, values = OwnHost(1, 8500.0, 350.0), values_of(Finance())
    month = owned_month(host, 1, 0.5, values).known_usd
    price = 2 * month / 730  # owning breaks even where a host runs in half of the hours
    found = base_of(Need(offer("x", price), host, np.array([4, 1, 1]), np.full(3, 0.5)), WEIGHT_H, values)
    assert found.owned in (1, 4) and found.breaks_even == pytest.approx(0.5, rel=0.02)
    rare = base_of(Need(offer("x", price), host, np.array([1, 1, 4]), np.full(3, 0.5)), WEIGHT_H, values)
    assert rare.owned == 1 and rare.used_share == 1.0


def test_staff_that_is_given_is_paid_once_and_must_be_saved() -> None:
    plan = plan_fixture.plan()

    def with_finance(**values: float) -> OwnedFleet:
        finance = Finance(values=values, gpu_purchase_usd={"h100": 4000.0, "l40s": 1000.0})
        return owned_fleet(replace(plan, scenario=replace(plan.scenario, finance=finance)))

    free, dear = with_finance(staff_usd_per_month=0.0), with_finance(staff_usd_per_month=1e7)
    assert any(base.owned for base in free.bases) and free.best_usd < free.rent_usd
    assert not any(base.owned for base in dear.bases) and dear.best_usd == pytest.approx(dear.rent_usd)
    assert "no number of own hosts is cheaper" in dear.sentences()[-1] and "staff" not in free.open


def test_own_hosts_draw_power_by_their_load_over_all_hours() -> None:
    """Not by the load of the hours that are paid, times 730."""
    plan = plan_fixture.plan()
    for p, row in enumerate(own_or_rent(plan)):
        billed = plan.solution.billed[p]
        work_share = float(billed @ plan.demand.weight_h) / (billed.max() * plan.demand.weight_h.sum())
        assert row.load_share <= work_share + 1e-9


def test_the_rent_of_the_lead_time_is_paid_in_either_case() -> None:
    plan = plan_fixture.plan()
    finance = Finance(values={"lead_time_months": 6.0, "overlap_months": 1.0})
    (row, *_) = own_or_rent(replace(plan, scenario=replace(plan.scenario, finance=finance)))
    assert row.once_usd == pytest.approx(row.rent_usd)
