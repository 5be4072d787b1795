"""Money: each formula by hand, and published calculators' cases."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimize import money
from optimize.program.solve import solve
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.shared_data import shared_data


def case(name: str) -> dict[str, Any]:
    cases = json.loads(shared_data("reference/tco_formulas.json").read_text())["cases"]
    return next(each for each in cases if each["id"] == name)


def test_cached_tokens_are_part_of_the_input_and_cost_their_own_price() -> None:
    assert money.request_usd(1000, 600, 100, 2.0, 0.2, 8.0) == pytest.approx((400 * 2 + 600 * 0.2 + 100 * 8) / 1e6)


def test_without_a_cached_price_all_input_costs_the_input_price() -> None:
    assert money.request_usd(1000, 600, 100, 2.0, None, 8.0) == money.request_usd(1000, 0, 100, 2.0, 0.2, 8.0)


def test_a_cached_price_of_zero_is_a_price() -> None:
    assert money.request_usd(1000, 1000, 0, 2.0, 0.0, 8.0) == 0.0


def test_relay_price_reads_the_relay_row() -> None:
    row = replace(relay("r", [1.0]).relay, usd_per_mtok_input=3.0, usd_per_mtok_cached=0.3, usd_per_mtok_output=15.0)
    assert money.relay_request_usd(row, 2000, 1000, 400) == pytest.approx((1000 * 3 + 1000 * 0.3 + 400 * 15) / 1e6)


def test_api_month_of_a_published_calculator() -> None:
    given = case("llmtco_api")
    usd = money.request_usd(given["in_tok"], 0, given["out_tok"], given["usd_in"], None, given["usd_out"])
    assert usd == pytest.approx(given["expect_month"])


def test_elastic_month_of_a_published_calculator_is_its_billed_share() -> None:
    given = case("llmtco_rented")
    billed, weight_h = np.array([1, 0]), np.array([given["utilization"], 1 - given["utilization"]]) * given["hours"]
    assert money.hosts_usd(billed, weight_h, given["usd_h"]) == pytest.approx(given["expect_month"])


def test_always_on_month_of_a_published_calculator_is_730_hours() -> None:
    given = case("forg")
    assert money.hosts_usd(np.array([1]), np.array([730.0]), given["replica_month"] / 730) == pytest.approx(given["expect"]["self_host"])
    api = money.request_usd(given["volume_mtok"] * 1e6, 0, 0, given["api_blended"], None, 0)
    assert api == pytest.approx(given["expect"]["api"])


def test_token_bill_of_a_published_calculator() -> None:
    given = case("induwara")
    usd = money.request_usd(given["in_mtok"] * 1e6, 0, given["out_mtok"] * 1e6, given["usd_in"], None, given["usd_out"])
    assert usd == pytest.approx(given["expect"]["api"])


def test_lines_name_pools_and_relays_and_sum_to_the_cost() -> None:
    given = replace(
        problem(
            [[1.0, 4.0], [2.0, 2.0]],
            [pool(offer("monthly", 1.0, elastic=False), [0.5, np.inf])],
            [relay("remote", [np.inf, 1e-4])],
            hours=(500.0, 230.0),
        ),
        fixed_usd=10.0,
    )
    answer = solve(given, gap=1e-6)
    lines = money.cost_lines(given, answer)
    assert {line.name: round(line.per_month_usd, 6) for line in lines} == {
        "monthly:0": 2 * 730.0,
        "remote": round(2.0 * 730 * 3600 * 1e-4, 6),
        "fixed costs": 10.0,
    }
    assert money.plan_cost_usd(given, answer) == pytest.approx(answer.cost_usd) == pytest.approx(sum(x.per_month_usd for x in lines))


def test_currency_conversion_is_its_own_inverse() -> None:
    assert money.to_usd(money.to_currency(123.0, 0.1503), 0.1503) == pytest.approx(123.0)


def test_written_tokens_cost_their_own_price_where_there_is_one() -> None:
    row = replace(relay("r", [1.0]).relay, usd_per_mtok_input=3.0, usd_per_mtok_cached=0.3, usd_per_mtok_output=15.0)
    writing = replace(row, usd_per_mtok_cache_write=3.75)
    plain = money.relay_request_usd(row, 2000, 1000, 400)
    assert money.relay_request_usd(row, 2000, 1000, 400, 500) == plain == money.relay_request_usd(writing, 2000, 1000, 400)
    assert money.relay_request_usd(writing, 2000, 1000, 400, 500) == pytest.approx(plain + 500 * 0.75 / 1e6)


def test_no_more_tokens_are_cached_than_there_are() -> None:
    assert money.request_usd(1000, 5000, 0, 2.0, 0.5, 8.0) == pytest.approx(1000 * 0.5 / 1e6)


def test_calls_of_classes_that_are_not_sent_cost_nothing_whatever_their_price() -> None:
    flow, weight_h = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([100.0, 50.0])
    assert money.calls_usd(flow, np.array([np.inf, 0.001]), weight_h) == pytest.approx(200 * 3.6)
    by_hour = np.array([[np.inf, np.inf], [0.001, 0.002]])
    assert money.calls_usd(flow, by_hour, weight_h) == pytest.approx((100 + 2 * 100) * 3.6)


def test_an_accepted_answer_bears_the_cost_of_those_that_were_not() -> None:
    assert money.accepted_usd(90.0, 100.0, 0.5) == 1.8 and money.accepted_usd(90.0, 0.0, 0.5) == np.inf
