"""Break-even from programs that are solved again: exact where a pencil suffices, monotone, and honest about what was only scaled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.finance.bill_sensitivity import sensitivity
from optimize.finance.break_even import DEMANDS, BreakEven, break_even
from optimize.finance.curves import Curves, known_program
from optimize.finance.resolve_program import Curve, Shift, Work, hour_programs, shifted, solved
from optimize.money import cost_lines
from optimize.records import Alternative, PoolTerms, RelayTerms
from optimize.result import Plan
from sim.requests import Demand
from sim.scenario.scenario import Finance
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.report import plan_fixture

HOST, CALL = 1.0, 1e-4  # USD an hour; USD a request: 0.36 an hour for 1 request/s
ENOUGH = 1e6


def plan_of(pools: list[PoolTerms], relays: list[RelayTerms], rates: list[list[float]]) -> Plan:
    """A plan that sends everything to the first relay; its bill is empty."""
    given = problem(rates, pools, relays)
    whole, shape = plan_fixture.plan(), given.demand.mean_rps.shape
    hosts = np.zeros((len(pools), shape[1]), np.int64)
    calls = np.zeros((len(relays), *shape))
    calls[:1] = given.demand.mean_rps
    nothing = replace(
        whole.solution, hosts=hosts, billed=hosts, pool_flow=np.zeros((len(pools), *shape)), relay_flow=calls, unserved=np.zeros(shape)
    )
    return replace(whole, demand=given.demand, program=given, solution=nothing, alternatives=(), lines=())


def host_or_call(stock: int | None = None, rpm: float | None = None) -> Plan:
    """One rate all month: a host at $730 a month that carries 10/s against 0.0001 a request, which is $262.80 a month for 1/s."""
    return plan_of([pool(offer("host", HOST, elastic=False, stock=stock), [0.1])], [relay("api", [CALL], rpm=rpm)], [[1.0]])


@pytest.fixture(scope="module")
def seen() -> BreakEven:
    return break_even(host_or_call(), ENOUGH)


def test_the_crossing_is_where_a_whole_host_costs_as_much_as_the_calls(seen: BreakEven) -> None:
    """730 = 0.0001 x 3600 x 730 x d: d = 2.78, found within one percent; a host carries that under any error of the simulator."""
    assert seen.at is not None and seen.at * 1.0000001 >= 730 / 262.8 and seen.at == pytest.approx(730 / 262.8, rel=0.01)
    assert seen.at_low == pytest.approx(730 / 262.8, rel=0.01) == seen.at_high


def test_each_strategy_costs_what_a_pencil_says(seen: BreakEven) -> None:
    for point in seen.points:
        hosts = range(4)
        assert point.api_usd == pytest.approx(262.8 * point.demand)
        assert point.own_usd == pytest.approx(730 * np.ceil(point.demand / 10))
        mixed = min(730 * n + 262.8 * max(0.0, point.demand - 10 * n) for n in hosts)
        assert point.plan_usd == pytest.approx(0.0 if point.demand == 1.0 else mixed), "today's plan is its bill, which is empty here"


def test_no_demand_costs_less_than_a_smaller_one(seen: BreakEven) -> None:
    for name in ("api_usd", "own_usd", "own_low_usd", "own_high_usd"):
        costs = [getattr(point, name) for point in seen.points]
        assert costs == sorted(costs), name
    for point in seen.points:
        assert point.own_low_usd is not None and point.own_usd is not None and point.own_high_usd is not None
        assert point.own_low_usd <= point.own_usd <= point.own_high_usd


def test_twice_the_tokens_need_half_the_users(seen: BreakEven) -> None:
    at, low, high = seen.with_tokens(2.0)
    assert seen.at is not None and at == seen.at / 2 and low is not None and high is not None
    assert seen.with_tokens(1.0) == (seen.at, seen.at_low, seen.at_high)


def test_doubling_every_price_moves_no_crossing(seen: BreakEven) -> None:
    plan = host_or_call()
    double = replace(plan, program=shifted(plan.program, Shift(gpu_price=2.0, api_price=2.0)))
    again = break_even(double, ENOUGH)
    assert again.at == seen.at
    assert [p.api_usd for p in again.points] == pytest.approx([2 * (p.api_usd or 0) for p in seen.points])


def test_a_stock_that_ends_ends_the_self_hosted_curve() -> None:
    found = {point.demand: point for point in break_even(host_or_call(stock=1), ENOUGH).points}
    assert found[10.0].own_usd == pytest.approx(730.0)
    short = break_even(plan_of([pool(offer("host", HOST, stock=1), [0.2])], [relay("api", [CALL])], [[1.0]]), ENOUGH)
    assert short.points[-1].own_usd is None and short.points[-2].own_usd == pytest.approx(730.0)
    assert short.at is None, "with one host at most, relays serve what hosts cannot"


def test_a_limit_on_calls_ends_the_all_api_curve() -> None:
    """600 calls a minute with a peak minute of 1.2 times the mean: at most 8.3/s."""
    found = break_even(host_or_call(rpm=600.0), ENOUGH)
    assert found.points[-1].api_usd is None and found.points[-2].api_usd == pytest.approx(5 * 262.8)


def test_hosts_that_follow_the_hour_are_counted_by_the_hour() -> None:
    """Half the month at 1/s, half at 9/s: hosts carry 4/s, so 1 and 3 of them, and twice that at twice the demand."""
    plan = plan_of([pool(offer("host", HOST), [0.25])], [relay("api", [CALL])], [[1.0, 9.0]])
    cost = {point.demand: point.own_usd for point in break_even(plan, ENOUGH).points}
    assert [cost[k] for k in (1.0, 2.0, 10.0)] == pytest.approx([365 * (1 + 3), 365 * (1 + 5), 365 * (3 + 23)])


def test_what_the_work_does_not_reach_is_left_out_and_never_extrapolated() -> None:
    found = break_even(host_or_call(), 1.5)  # one program of one hour without a pool, and a half
    assert [point.demand for point in found.points] == [1.0] and found.points[0].own_usd is None
    assert found.at is None and any("not shown" in note for note in found.notes)


def test_both_sides_of_the_crossing_are_solved(seen: BreakEven) -> None:
    assert seen.at is not None and seen.below is not None and 1 < seen.at / seen.below < 1.01
    for demand in (seen.below, seen.at):
        own, api = 730 * np.ceil(demand / 10), 262.8 * demand
        assert (own < api) == (demand == seen.at)


def test_the_mix_never_costs_more_than_a_pure_strategy(seen: BreakEven) -> None:
    for point in seen.points:
        assert point.plan_usd <= min(point.api_usd or np.inf, point.own_usd or np.inf) * (1 + 1e-9)


def test_today_stands_at_the_solved_alternatives() -> None:
    plan = replace(
        host_or_call(), alternatives=(Alternative("all relay", "within_budget", 270.0), Alternative("all self-hosted", "", 735.0))
    )
    (today,) = [point for point in break_even(plan, ENOUGH).points if point.demand == 1.0]
    assert (today.api_usd, today.own_usd) == (pytest.approx(270.0), pytest.approx(735.0))


def test_sensitivity_to_demand_is_what_the_program_costs_at_that_demand() -> None:
    plan = host_or_call()
    plan = replace(plan, lines=cost_lines(plan.program, plan.solution))
    (row,) = [row for row in sensitivity(plan) if row.name == "requests a month"]
    assert row.how == "solved" and (row.low_usd, row.high_usd) == (pytest.approx(0.8 * 262.8), pytest.approx(1.2 * 262.8))
    (row,) = [row for row in sensitivity(plan, Curves(plan, 0.5)) if row.name == "requests a month"]
    assert row.how == "scaled"


def test_an_estimate_lies_between_the_solutions_around_it() -> None:
    given = replace(host_or_call().program, relays=())
    curve = Curve(given, lambda demand: 50.0 * demand, Work(ENOUGH))
    assert curve.solve(5.0) and curve.solve(25.0)
    assert curve.at(5.0) == 730.0 and curve.at(25.0) == 3 * 730.0
    assert [730.0 <= curve.at(x) <= 3 * 730.0 for x in (6.0, 12.0, 24.0)] == [True] * 3
    assert curve.at(2.0) <= 730.0 and not curve.known(12.0)


def test_the_work_of_a_program_is_counted_by_its_distinct_hours() -> None:
    plan = plan_of([pool(offer("host", HOST), [0.25])], [relay("api", [CALL])], [[1.0, 9.0, 1.0]])
    assert hour_programs(plan.program) == pytest.approx(2 * 1.1)
    priced = replace(plan.program.relays[0], hour_factors=np.array([[1.0, 1.0, 0.5]]))
    assert hour_programs(replace(plan.program, relays=(priced,))) == pytest.approx(3 * 1.1)


def test_pools_without_a_measurement_serve_only_classes_that_no_other_pool_serves() -> None:
    wide, narrow = pool(offer("wide", 1.0), [0.1, 0.1]), pool(offer("narrow", 1.0), [0.1, np.inf])
    plan = plan_of([replace(wide, measured=False), narrow], [relay("api", [CALL, CALL])], [[1.0], [1.0]])
    known, measured = known_program(plan)
    assert known.pools[0].levels[0].load.tolist() == [np.inf, 0.1] and known.pools[1] == narrow and not measured
    assert any("not measured" in note for note in break_even(plan, ENOUGH).notes)
    both, all_known = known_program(plan_of([wide, narrow], [], [[1.0], [1.0]]))
    assert all_known and both.pools == (wide, narrow)


def test_a_shift_moves_demand_prices_and_tokens_and_nothing_else() -> None:
    given = host_or_call().program
    moved = shifted(given, Shift(2.0, 3.0, 5.0, 7.0))
    assert moved.demand.mean_rps[0, 0] == 2.0 and moved.pools[0].option.offer.usd_per_hour == 3.0
    assert moved.pools[0].levels[0].load[0] == pytest.approx(0.7)
    assert moved.relays[0].usd_per_request[0] == pytest.approx(35 * CALL) and moved.relays[0].tokens_per_request[0] == 700.0
    same, answer = solved(shifted(given, Shift())), solved(given)
    assert same is not None and answer is not None and same.cost_usd == answer.cost_usd
    assert isinstance(given.demand, Demand) and 1.0 in DEMANDS


def test_where_every_class_goes_where_it_must_the_strategies_are_one_and_never_cross() -> None:
    """One class that only the pool can serve, one that only the relay may."""
    pools, relays = [pool(offer("host", HOST), [0.25, np.inf])], [relay("api", [np.inf, CALL])]
    found = break_even(plan_of(pools, relays, [[1.0, 7.0], [2.0, 3.0]]), ENOUGH)
    assert found.at is found.at_low is found.at_high is None
    for point in found.points:
        hosts = np.ceil(point.demand / 4) + np.ceil(point.demand * 7 / 4)
        assert point.api_usd == point.own_usd == pytest.approx(365 * hosts + 2.5 * 3600 * 730 * CALL * point.demand)


def test_all_in_the_crossing_moves_to_where_the_hosts_also_pay_their_people() -> None:
    """730 x hosts + 1,000 = 262.8 d: one host carries 10/s, so d = 6.58; bare it is 2.78. All-in figures stand next to the bare ones."""
    plan = host_or_call()
    plan = replace(plan, scenario=replace(plan.scenario, finance=Finance(values={"staff_usd_per_month": 1_000.0})))
    edge = break_even(plan, ENOUGH)
    assert edge.at == pytest.approx(730 / 262.8, rel=0.01)
    assert edge.all_in is not None and edge.all_in[1] == pytest.approx(1730 / 262.8, rel=0.01)
    for point in edge.points:
        assert point.own_all_in_usd == pytest.approx((point.own_usd or 0.0) + 1_000) and point.api_all_in_usd == point.api_usd
        assert point.plan_all_in_usd is not None and point.plan_all_in_usd <= min(point.own_all_in_usd, point.api_all_in_usd or 0.0)


def test_an_open_part_leaves_the_all_in_figures_of_gpus_empty() -> None:
    edge = break_even(host_or_call(), ENOUGH)
    assert edge.all_in is None and all(point.own_all_in_usd is None and point.api_all_in_usd is not None for point in edge.points)
