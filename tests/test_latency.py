"""Latency: what counts, quantiles and their intervals, verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.latency import attainment, class_metrics, quantile, quantile_ci, replication_ci, verdict, wilson_ci
from sim.request_log import RequestLog

INF = math.inf


def log(rows: list[tuple[float, float, float, int, int, Status]]) -> RequestLog:
    """Rows of (arrival_s, first_s, finish_s, output, class, status)."""
    arrival, first, finish = (np.array([-1 if row[i] < 0 else round(row[i] * PS) for row in rows], dtype=np.int64) for i in range(3))
    zeros = np.zeros(len(rows), dtype=np.int32)
    return RequestLog(
        arrival_ps=arrival,
        first_ps=first,
        finish_ps=finish,
        class_id=np.array([row[4] for row in rows], dtype=np.int16),
        target=zeros.astype(np.int16),
        replica=zeros,
        status=np.array([row[5] for row in rows], dtype=np.int8),
        input_tokens=zeros + 10,
        output_tokens=np.array([row[3] for row in rows], dtype=np.int32),
        preemptions=zeros,
        attempts=zeros + 1,
    )


def test_metrics_follow_their_definitions() -> None:
    metrics = class_metrics(log([(1.0, 1.5, 3.5, 5, 0, Status.FINISHED)]), 0, 0, 10 * PS)
    assert {name: float(values[0]) for name, values in metrics.items()} == {
        "ttft": 0.5,
        "tpot": 0.5,
        "e2e": 2.5,
    }


@pytest.mark.parametrize("status", [Status.REJECTED, Status.FAILED, Status.TIMED_OUT])
def test_a_request_that_did_not_finish_misses_every_metric(status: Status) -> None:
    metrics = class_metrics(log([(1.0, 1.5, 2.0, 5, 0, status)]), 0, 0, 10 * PS)
    assert all(values[0] == INF for values in metrics.values())


def test_an_open_request_has_its_first_token_or_infinity() -> None:
    rows = [(1.0, 1.5, -1.0, 5, 0, Status.IN_FLIGHT), (1.0, -1.0, -1.0, 1, 0, Status.IN_FLIGHT)]
    metrics = class_metrics(log(rows), 0, 0, 10 * PS)
    assert metrics["ttft"].tolist() == [0.5, INF]
    assert metrics["tpot"].tolist() == metrics["e2e"].tolist() == [INF, INF]


def test_one_token_answers_meet_any_tpot_limit() -> None:
    metrics = class_metrics(log([(1.0, 1.5, 1.5, 1, 0, Status.FINISHED)]), 0, 0, 10 * PS)
    assert metrics["tpot"].tolist() == [0.0]


def test_the_window_is_by_arrival_and_half_open_and_by_class() -> None:
    rows = [(float(s), s + 0.5, s + 9.0, 2, s % 2, Status.FINISHED) for s in range(6)]
    assert len(class_metrics(log(rows), 0, 2 * PS, 4 * PS)["e2e"]) == 1
    assert len(class_metrics(log(rows), 1, 2 * PS, 4 * PS)["e2e"]) == 1


@given(st.integers(1, 300), st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.integers(0, 2**31))
def test_quantile_within_the_limit_is_the_same_as_attainment_of_it(size: int, q: float, seed: int) -> None:
    samples = np.random.default_rng(seed).integers(0, 20, size).astype(float)
    for limit in range(20):
        assert (quantile(samples, q) <= limit) == (attainment(samples, limit) >= q - 1e-12)


@pytest.mark.parametrize(("q", "size"), [(0.5, 40), (0.95, 300), (0.99, 1000)])
def test_the_interval_of_a_quantile_covers_the_truth_in_95_of_100_samples(q: float, size: int) -> None:
    rng, runs = np.random.default_rng(11), 600
    truth = -math.log(1 - q)
    hits = 0
    for _ in range(runs):
        low, high = quantile_ci(rng.exponential(size=size), q)
        hits += low <= truth <= high
    assert hits / runs >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / runs)


def test_too_few_samples_leave_the_upper_side_open() -> None:
    assert quantile_ci(np.arange(20.0), 0.95)[1] == INF
    assert quantile_ci(np.empty(0), 0.95) == (0.0, INF)


def test_the_interval_over_replications_covers_the_mean() -> None:
    rng, runs = np.random.default_rng(5), 1000
    hits = sum(low <= 10 <= high for low, high in (replication_ci(rng.normal(10, 1, 5).tolist()) for _ in range(runs)))
    assert abs(hits / runs - 0.95) < 4 * math.sqrt(0.05 * 0.95 / runs)


def test_wilson_covers_a_proportion_near_one() -> None:
    rng, runs = np.random.default_rng(6), 1000
    seen = (wilson_ci(float(k) / 200, 200) for k in rng.binomial(200, 0.97, runs))
    assert sum(low <= 0.97 <= high for low, high in seen) / runs > 0.92


def test_dependent_samples_widen_the_interval_of_a_verdict() -> None:
    rng = np.random.default_rng(7)
    level_by_seed = [1.0, 1.5, 2.0]  # a slow queue shifts a whole replication
    seeds = [level + rng.exponential(size=5000) for level in level_by_seed]
    said, pooled = verdict(seeds, 0.95, 5.0), quantile_ci(np.concatenate(seeds), 0.95)
    assert said.ci95_s[1] - said.ci95_s[0] > 5 * (pooled[1] - pooled[0])
    assert said.ci95_s[0] <= said.simulated_s <= said.ci95_s[1]


@given(st.lists(st.lists(st.one_of(st.floats(0, 100), st.just(INF)), max_size=30), max_size=5), st.floats(0, 100))
def test_a_verdict_is_consistent_in_itself(seeds: list[list[float]], limit: float) -> None:
    said = verdict([np.array(seed, dtype=float) for seed in seeds], 0.9, limit)
    assert said.requests == sum(map(len, seeds))
    assert said.ci95_s[0] <= said.simulated_s <= said.ci95_s[1]
    assert 0 <= said.attainment_ci95[0] <= said.attainment <= said.attainment_ci95[1] <= 1
    assert said.met == (said.simulated_s <= limit)


def test_no_request_proves_nothing() -> None:
    said = verdict([np.empty(0)], 0.95, 1.0)
    assert not said.met
    assert (said.requests, said.simulated_s, said.ci95_s) == (0, INF, (0.0, INF))


def test_six_percent_rejected_is_a_missed_p95() -> None:
    samples = np.r_[np.full(94, 0.1), np.full(6, INF)]
    said = verdict([samples, samples], 0.95, 1.0)
    assert not said.met and said.simulated_s == INF and said.attainment == pytest.approx(0.94)
