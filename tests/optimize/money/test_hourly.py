"""What each line of a bill costs in an hour: it follows what causes it, and the hours of a month sum to the line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money import CLASSIFIER
from optimize.money.hourly import hourly_usd
from optimize.records import CostLine, Floats
from optimize.result import Plan
from tests.optimize.report import plan_fixture

HOSTS, RENTED = "neo.h100x2/llama-3.1-70b/fp8/tp2:chat+records", "aws.g6e.xlarge/llama-3.1-8b/fp8:faq"


def by_name(plan: Plan) -> dict[str, Floats]:
    return {line.name: usd for line, usd in hourly_usd(plan)}


def test_hours_times_their_cost_sum_to_every_line() -> None:
    plan = plan_fixture.plan()
    for line, usd in hourly_usd(plan):
        assert float(usd @ plan.demand.weight_h) == pytest.approx(line.per_month_usd)


def test_hosts_and_their_starts_follow_the_paid_hosts_of_their_own_pool() -> None:
    whole = plan_fixture.plan()
    plan = replace(whole, lines=(*whole.lines, CostLine(f"{HOSTS} starts", "gpu", 100.0)))
    found, billed = by_name(plan), plan.solution.billed[0]
    assert found[HOSTS] / found[HOSTS][0] == pytest.approx(billed / billed[0])
    assert found[f"{HOSTS} starts"] / found[f"{HOSTS} starts"][0] == pytest.approx(billed / billed[0])
    assert found[RENTED] == pytest.approx(np.full(48, 3_270.4 / 730))


def test_calls_follow_the_requests_that_are_sent() -> None:
    plan = plan_fixture.plan()
    sent = plan.solution.relay_flow[1, 0]
    assert by_name(plan)["host.llama-3.1-70b"] / sent == pytest.approx(np.full(48, by_name(plan)["host.llama-3.1-70b"][0] / sent[0]))


def test_calls_are_dear_in_dear_hours_and_classes_count_by_their_price() -> None:
    plan = plan_fixture.plan()
    relays = list(plan.program.relays)
    factors = np.ones((4, 48))
    factors[:, 24:] = 0.5
    relays[1] = replace(relays[1], hour_factors=factors)
    cheap = by_name(replace(plan, program=replace(plan.program, relays=tuple(relays))))["host.llama-3.1-70b"]
    sent = plan.solution.relay_flow[1, 0]
    assert cheap[24] / sent[24] == pytest.approx(0.5 * cheap[0] / sent[0])


def test_a_classifier_follows_all_requests_and_what_has_no_cause_is_even() -> None:
    whole = plan_fixture.plan()
    found = by_name(replace(whole, lines=(*whole.lines, CostLine(CLASSIFIER, "fixed", 20.0), CostLine("api minimum", "relay", 73.0))))
    requests = whole.demand.mean_rps.sum(axis=0)
    assert found[CLASSIFIER] / requests == pytest.approx(np.full(48, found[CLASSIFIER][0] / requests[0]))
    assert found["gateway and monitoring"] == pytest.approx(np.full(48, 500 / 730))
    assert found["api minimum"] == pytest.approx(np.full(48, 0.1))
