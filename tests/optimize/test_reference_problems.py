"""From file to plan on measured capacities: problems of the kind that Mélange states, against brute force over whole GPUs.

A replica serves so many requests/s of a class and fractions add (sum of rate / throughput <= GPUs), as in the worked example of its
repository; here flows may split over types, so the optimum is the fractional one.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from optimize.plan import optimize
from optimize.result import Plan
from sim.scenario import load_scenario

Rates = dict[str, dict[str, float]]  # offer -> class -> requests/s of one replica
MOST = 40


def plan_of(
    folder: Path, rate: float, shares: dict[str, float], price: dict[str, float], rates: Rates, stock: dict[str, int] | None = None
) -> Plan:
    """What `optimize` answers to a scenario file and its CSV."""
    rows = [f"{offer},{name},{each}" for offer, row in rates.items() for name, each in row.items()]
    (folder / "rates.csv").write_text("\n".join(["offer,class,rate_rps", *rows]) + "\n")
    limits = {name: f", stock: {n}" for name, n in (stock or {}).items()}
    classes = [f"  - {{name: {n}, share: {s}, input_tokens: 100, output_tokens: 100, models: [m]}}" for n, s in shares.items()]
    offers = [f"    - {{name: {n}, usd_per_hour: {usd}, elastic: false{limits.get(n, '')}}}" for n, usd in price.items()]
    text = [
        *("name: reference", "seed: 1", f"traffic: {{rate_rps: {rate}}}", "request_classes:", *classes, "candidates:", "  offers:"),
        *(*offers, "  relays: []", "  measured_capacity: rates.csv", "budget: {per_month: 10000000}", "policy: {safety: 0}"),
    ]
    (folder / "reference.yaml").write_text("\n".join(text) + "\n")
    return optimize(load_scenario(folder / "reference.yaml"), only_plan=True)


def serves(counts: dict[str, int], demand: dict[str, float], rates: Rates) -> bool:
    """Whether these GPUs carry the demand, by an LP over shares of each class on each type."""
    keys = [(o, c) for o, row in rates.items() for c, each in row.items() if each > 0 and counts[o] > 0]
    if any(need > 0 and not any(c == d for _, d in keys) for c, need in demand.items()):
        return False
    upper = [[demand[c] / rates[o][c] if o == offer else 0.0 for o, c in keys] for offer in rates]
    equal = [[1.0 if d == c else 0.0 for _, d in keys] for c in demand]
    found = linprog([0.0] * len(keys), A_ub=upper, b_ub=[counts[o] for o in rates], A_eq=equal, b_eq=[1.0] * len(demand), method="highs")
    return bool(found.status == 0)


def cheapest(demand: dict[str, float], price: dict[str, float], rates: Rates, stock: dict[str, int]) -> float:
    """USD an hour of the cheapest GPUs that carry the demand; inf if none do. Counts up to MOST, cheapest first."""
    need = {o: math.ceil(sum(demand[c] / x for c, x in rates[o].items() if x > 0)) for o in rates}
    ranges = [range(min(MOST, stock.get(o, MOST), need[o]) + 1) for o in rates]
    order = sorted(itertools.product(*ranges), key=lambda counts: sum(n * price[o] for n, o in zip(counts, rates, strict=True)))
    for counts in order:
        named = dict(zip(rates, counts, strict=True))
        if serves(named, demand, rates):
            return sum(n * price[o] for o, n in named.items())
    return math.inf


def hour_usd(plan: Plan) -> float:
    return plan.solution.cost_usd / 730


@pytest.mark.parametrize("rate", [1, 3, 10, 30, 100, 300])
def test_from_one_to_three_hundred_requests_a_second_the_optimum_is_found(rate: float, tmp_path: Path) -> None:
    shares, price = {"short": 0.6, "long": 0.4}, {"small": 1.01, "large": 3.67}
    rates = {"small": {"short": 12.0, "long": 4.0}, "large": {"short": 40.0, "long": 20.0}}
    plan = plan_of(tmp_path, rate, shares, price, rates)
    best = cheapest({c: rate * s for c, s in shares.items()}, price, rates, {})
    assert plan.status == "unverified"
    assert hour_usd(plan) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_with_zero_rows_and_stock_give_the_optimum(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    names = [f"g{k}" for k in range(int(rng.integers(2, 4)))]
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    price = {n: round(float(rng.uniform(0.5, 6.0)), 2) for n in names}
    rates = {n: {c: round(float(rng.uniform(1, 4) * price[n]), 2) if rng.random() < 0.8 else 0.0 for c in shares} for n in names}
    stock = {names[0]: int(rng.integers(1, 4))} if rng.random() < 0.5 else {}
    rate = float(rng.integers(2, 25))
    plan = plan_of(tmp_path, rate, shares, price, rates, stock)
    best = cheapest({c: rate * s for c, s in shares.items()}, price, rates, stock)
    if math.isinf(best):
        assert plan.status == "infeasible" and plan.solution.unserved.any()
    else:
        assert plan.status == "unverified"
        assert hour_usd(plan) == pytest.approx(best, rel=1e-6)


def test_stock_that_makes_the_obvious_mix_impossible_moves_to_the_next_best(tmp_path: Path) -> None:
    shares, price = {"short": 0.5, "long": 0.5}, {"small": 1.0, "large": 3.0, "spare": 2.5}
    rates = {"small": {"short": 5.0, "long": 0.0}, "large": {"short": 10.0, "long": 10.0}, "spare": {"short": 4.0, "long": 5.0}}
    free = plan_of(tmp_path, 20, shares, price, rates)
    assert hour_usd(free) == pytest.approx(5.0)  # 2 small for short, 1 large for long
    short = plan_of(tmp_path, 20, shares, price, rates, {"large": 0})
    assert hour_usd(short) == pytest.approx(cheapest({"short": 10, "long": 10}, price, rates, {"large": 0})) == pytest.approx(7.0)


def test_greedy_by_price_per_request_overpays_by_two_thirds_and_the_plan_does_not(tmp_path: Path) -> None:
    price, rates = {"big": 5.0, "small": 1.0}, {"big": {"all": 10.0}, "small": {"all": 1.5}}
    greedy = math.ceil(10.5 / 10) * 5.0  # the most requests per dollar, rounded up
    plan = plan_of(tmp_path, 10.5, {"all": 1.0}, price, rates)
    assert hour_usd(plan) == pytest.approx(6.0)
    assert greedy / hour_usd(plan) == pytest.approx(1.67, abs=0.005)


def test_rows_of_zero_throughput_cannot_serve_at_any_price(tmp_path: Path) -> None:
    price, rates = {"cheap": 0.1, "dear": 9.0}, {"cheap": {"easy": 100.0, "hard": 0.0}, "dear": {"easy": 0.0, "hard": 2.0}}
    plan = plan_of(tmp_path, 10, {"easy": 0.7, "hard": 0.3}, price, rates)
    assert hour_usd(plan) == pytest.approx(0.1 + 2 * 9.0)
    nobody = plan_of(tmp_path, 10, {"easy": 0.7, "hard": 0.3}, price, {"cheap": rates["cheap"], "dear": {"easy": 0.0, "hard": 0.0}})
    assert nobody.status == "infeasible" and nobody.solution.unserved[1].sum() == pytest.approx(3.0)
