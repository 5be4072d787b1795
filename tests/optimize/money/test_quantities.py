"""A plan's bill at another demand: what follows requests, what follows whole hosts, and what stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money import CLASSIFIER
from optimize.money.quantities import (
    billed_share,
    load_share,
    needed,
    pool_work,
    requests_of,
    scaled_hosts,
    scaling,
    tokens_per_month,
)
from optimize.records import CostLine, LoadLevel, PoolTerms
from optimize.result import Plan
from tests.optimize.program.problems import offer, pool
from tests.optimize.report import plan_fixture

GPU, RELAY, FIXED = 11_234.565 + 3_270.4, 18_765.4349 + 5_012.3349, 500.0


@pytest.fixture
def plan() -> Plan:
    return plan_fixture.plan()


def with_line(plan: Plan, *lines: CostLine) -> Plan:
    return replace(plan, lines=(*plan.lines, *lines))


def with_stock(plan: Plan, p: int, stock: int) -> Plan:
    """The plan where only so many hosts of pool p's offer exist."""
    terms = plan.program.pools[p]
    limited = replace(terms, option=replace(terms.option, offer=replace(terms.option.offer, stock=stock)))
    pools = tuple(limited if k == p else each for k, each in enumerate(plan.program.pools))
    return replace(plan, program=replace(plan.program, pools=pools))


def test_at_todays_demand_the_bill_is_the_plans_kind_by_kind(plan: Plan) -> None:
    today = scaling(plan).at(1.0)
    assert (today.gpu_usd, today.relay_usd, today.fixed_usd) == pytest.approx((GPU, RELAY, FIXED))
    assert today.usd == pytest.approx(GPU + RELAY + FIXED)
    assert today.short == () and today.hosts == (int(plan.solution.hosts[0].max()), 4)
    assert today.host_hours[1] == pytest.approx(4 * 730.0)


def test_tokens_follow_demand_and_a_minimum_payment_does_not(plan: Plan) -> None:
    once, twice = (scaling(plan).at(demand).relay_usd for demand in (1.0, 2.0))
    assert twice == pytest.approx(2 * once)
    kept = with_line(plan, CostLine("lab.thinker minimum", "relay", 250.0))
    assert scaling(kept).at(2.0).relay_usd == pytest.approx(twice + 250.0)
    assert scaling(kept).at(0.0).relay_usd == pytest.approx(250.0)


def test_fixed_costs_stay_and_a_classifier_looks_at_every_request(plan: Plan) -> None:
    looked = with_line(plan, CostLine(CLASSIFIER, "fixed", 40.0), CostLine("support", "agreed", 7.0))
    assert scaling(looked).at(1.0).fixed_usd == pytest.approx(FIXED + 47.0)
    assert scaling(looked).at(3.0).fixed_usd == pytest.approx(FIXED + 7.0 + 3 * 40.0)


def test_prices_scale_their_own_part_of_the_bill_alone(plan: Plan) -> None:
    assert scaling(plan).at(1.0, gpu_price=2.0).usd == pytest.approx(2 * GPU + RELAY + FIXED)
    assert scaling(plan).at(1.0, api_price=0.5).usd == pytest.approx(GPU + 0.5 * RELAY + FIXED)
    assert scaling(plan).at(1.0, api_price=0.5, more_usd=9.0).relay_usd == pytest.approx(0.5 * RELAY + 9.0)


def test_longer_answers_need_hosts_and_no_further_tokens(plan: Plan) -> None:
    one, slower = scaling(plan).at(1.0), scaling(plan).at(1.0, load=2.0)
    assert slower.relay_usd == one.relay_usd and slower.hosts == scaling(plan).at(2.0).hosts
    assert slower.gpu_usd > 1.5 * one.gpu_usd


def test_an_offer_whose_stock_does_not_suffice_is_named_and_one_that_just_does_is_not(plan: Plan) -> None:
    most = scaling(plan).at(2.0).hosts[0]
    assert scaling(with_stock(plan, 0, most)).at(2.0).short == ()
    assert scaling(with_stock(plan, 0, most - 1)).at(2.0).short == ("neo.h100x2",)


def test_hosts_follow_the_capacity_line_and_keep_what_was_added_to_it(plan: Plan) -> None:
    """Pool 0 carries 14 requests/s a host: the ceiling of the work; a reserve host of today stays."""
    rate = plan.solution.pool_flow[0].sum(axis=0)
    run, paid = scaled_hosts(plan, 0, 1.5)
    assert run.tolist() == paid.tolist() == np.ceil(1.5 * rate / 14).tolist()
    spare = replace(plan, solution=replace(plan.solution, hosts=plan.solution.hosts + 1, billed=plan.solution.billed + 1))
    assert scaled_hosts(spare, 0, 1.5)[0].tolist() == (run + 1).tolist()


def test_hosts_that_do_not_follow_the_hour_are_paid_in_all_hours_at_the_largest_count(plan: Plan) -> None:
    """Four hosts at 7 requests/s; at one and a half times the demand the busiest hour decides."""
    rate = plan.solution.pool_flow[1, 3]
    more = np.ceil(1.5 * rate / 7) - np.ceil(rate / 7)
    run, paid = scaled_hosts(plan, 1, 1.5)
    assert run.tolist() == (4 + more).tolist() and set(paid.tolist()) == {4 + int(more.max())}


def test_a_pool_that_runs_nowhere_stays_empty_and_one_at_work_keeps_a_host(plan: Plan) -> None:
    hosts = plan.solution.hosts.copy()
    hosts[0] = 0
    empty = replace(plan, solution=replace(plan.solution, hosts=hosts, billed=hosts))
    assert not scaled_hosts(empty, 0, 3.0)[0].any()
    assert scaled_hosts(plan, 0, 1e-6)[0].min() == 1


@pytest.mark.parametrize(("work", "hosts"), [(0.0, 0), (0.1, 1), (1.5, 1), (1.6, 2), (3.5, 2), (3.6, 3)])
def test_hosts_needed_are_whole_and_carry_the_overhead_of_the_pool(work: float, hosts: int) -> None:
    """Two replicas a host of slope 1; the pool keeps half a replica for itself."""
    terms = pool(offer("o", 1.0), [1.0])
    given = replace(terms, intercept=0.5, slope=1.0, option=replace(terms.option, replicas_per_host=2))
    assert needed(given, np.array([work])).tolist() == [hosts]


def test_work_is_that_of_the_most_loaded_level_and_classes_that_cannot_come_add_none() -> None:
    terms: PoolTerms = pool(offer("o", 1.0), [0.5, np.inf])
    levels = (LoadLevel(np.array([0.5, np.inf]), np.zeros(1)), LoadLevel(np.array([0.8, np.inf]), np.zeros(1)))
    assert pool_work(replace(terms, levels=levels), np.array([[2.0, 4.0], [0.0, 0.0]])).tolist() == [1.6, 3.2]


def test_utilisation_counts_idle_hours_and_never_exceeds_one(plan: Plan) -> None:
    weight, rate = plan.demand.weight_h, plan.solution.pool_flow[1, 3]
    assert load_share(plan, 1) == pytest.approx(float(rate @ weight) / 7 / (4 * 730))
    assert load_share(replace(plan, solution=replace(plan.solution, pool_flow=plan.solution.pool_flow * 100)), 1) == 1.0
    assert billed_share(plan, 1) == pytest.approx(1.0)
    billed = plan.solution.billed[0]
    assert billed_share(plan, 0) == pytest.approx(float(billed @ weight) / (billed.max() * 730))
    nothing = np.zeros_like(plan.solution.billed)
    unused = replace(plan, solution=replace(plan.solution, billed=nothing, hosts=nothing))
    assert load_share(unused, 0) == billed_share(unused, 0) == 0.0


def test_tokens_of_a_month_are_requests_times_their_means(plan: Plan) -> None:
    requests = (plan.demand.mean_rps * plan.demand.weight_h).sum(axis=1) * 3600
    assert requests_of(plan) == pytest.approx(requests.sum())
    assert tokens_per_month(plan) == pytest.approx((requests @ plan.demand.input_tokens, requests @ plan.demand.output_tokens))


def test_hosts_that_are_paid_and_do_not_run_are_paid_at_any_demand(plan: Plan) -> None:
    """Two more than run in every hour, of a pool that follows the hour and of one that does not."""
    idle = replace(plan, solution=replace(plan.solution, billed=plan.solution.hosts + 2))
    for p in (0, 1):
        for factor in (0.5, 1.0, 2.0):
            run, paid = scaled_hosts(idle, p, factor)
            assert run.tolist() == scaled_hosts(plan, p, factor)[0].tolist()
            assert paid.max() == run.max() + 2
    run, paid = scaled_hosts(idle, 0, 1.5)
    assert (paid - run).tolist() == [2] * 48


def test_what_does_not_follow_hosts_moves_with_the_price_of_gpus_alone(plan: Plan) -> None:
    started = with_line(plan, CostLine("neo.h100x2/llama-3.1-70b/fp8/tp2:chat+records starts", "gpu", 90.0))
    assert scaling(started).at(1.0).gpu_usd == pytest.approx(GPU + 90.0)
    assert scaling(started).at(1.0, gpu_price=3.0).gpu_usd == pytest.approx(3 * (GPU + 90.0))
