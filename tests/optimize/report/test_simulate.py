"""The screen and JSON of one simulated hour."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from optimize.report.terminal.console import WIDTH
from optimize.report.terminal.render_simulate import render_simulation, simulation_json
from optimize.simulate.named_fleet import SimulationRun
from sim.engine.deployment import PS, EngineLimits, StepCost
from sim.engine.pool import Pool, Status, TargetStats
from sim.fleet.fleet import Fleet, SimulationResult
from sim.relay.endpoint import RelayEndpoint
from sim.request_log import RequestLog
from tests.optimize.report import plan_fixture

HOUR_PS = 3600 * PS


def run() -> SimulationRun:
    """400 requests, one a 10 s from 400 s before the hour on, of the four classes in turn; TTFT is 0.1 s x (1 + i % 10)."""
    i = np.arange(400)
    arrival = i * 10 * PS
    first = arrival + (1 + i % 10) * PS // 10
    status = np.where(i % 40 == 39, Status.REJECTED, Status.FINISHED).astype(np.int8)
    end = np.where(status == Status.FINISHED, first + 100 * PS // 50, -1)
    small = np.zeros(400, dtype=np.int32)
    log = RequestLog(
        arrival_ps=arrival, first_ps=np.where(end < 0, -1, first), finish_ps=end, class_id=(i % 4).astype(np.int16),
        target=(i % 2).astype(np.int16), replica=small, status=status, input_tokens=small + 500, output_tokens=small + 101,
        preemptions=small, attempts=small,
    )  # fmt: skip
    cost = StepCost(np.ones(2, dtype=np.int64), np.ones(2, dtype=np.int64), 1, 1, 1, 1, False, {})
    endpoint = RelayEndpoint("lab.thinker", plan_fixture.relay("lab.thinker", "thinker", 2.0, 8.0, None))
    fleet = Fleet((Pool("own", cost, 100, EngineLimits(), 2), endpoint), np.full((4, 2), 0.5))
    stats = (
        TargetStats("own", 200, 9000, 0.71, 0.4, 0.93, 11.5, 3, 2, 60_000),
        TargetStats("lab.thinker", 200, attempts=230, throttled=30, billed_input_tokens=100_000, billed_output_tokens=20_200),
    )
    result = SimulationResult(log, stats, 4100 * PS)
    return SimulationRun(plan_fixture.scenario(), "weekday 14", fleet, result, 400 * PS, 400 * PS + HOUR_PS, False)


def test_the_json_counts_what_arrived_in_the_hour() -> None:
    said = simulation_json(run())
    json.dumps(said, allow_nan=False)
    assert said["requests"] == 360 and said["status"] == {
        "finished": 351, "rejected": 9, "failed": 0, "timed_out": 0, "in_flight": 0,
    }  # fmt: skip
    assert [row["requests"] for row in said["classes"]] == [90] * 4


def test_quantiles_are_of_the_class_with_rejected_ones_as_never() -> None:
    classes = {row["name"]: row for row in simulation_json(run())["classes"]}
    assert classes["chat"]["latency_s"]["ttft"] == {"p50": 0.5, "p90": 0.9, "p95": 0.9, "p99": 0.9}
    assert classes["chat"]["latency_s"]["tpot"]["p50"] == 0.02
    assert classes["faq"]["latency_s"]["ttft"]["p99"] == 1e9  # a tenth of them is rejected
    assert classes["faq"]["slo"][0]["met"] is False and classes["chat"]["slo"][0]["met"] is True


def test_throughput_is_what_finished_in_the_hour() -> None:
    rate = simulation_json(run())["throughput"]
    assert rate["requests_per_s"] == pytest.approx(351 / 3600, rel=0.01)
    assert rate["output_tokens_per_s"] == pytest.approx(101 * rate["requests_per_s"])


def test_the_screen_says_load_and_latency_and_what_is_not_calibrated() -> None:
    screen = render_simulation(run())
    for word in ("p50", "p99", "never", "MISSED", "71.0 %", "93.0 %", "queue peak", "429", "not calibrated", "351 finished"):
        assert word in screen
    assert max(map(len, screen.splitlines())) <= WIDTH
    assert render_simulation(run()) == screen


def test_a_class_without_requests_has_no_latency() -> None:
    empty = run()
    log = replace(empty.result.log, class_id=np.zeros(400, dtype=np.int16))
    said = simulation_json(replace(empty, result=replace(empty.result, log=log)))
    assert said["classes"][1]["latency_s"]["ttft"]["p50"] is None and said["classes"][1]["slo"][0]["met"] is None
    assert "-" in render_simulation(replace(empty, result=replace(empty.result, log=log)))
