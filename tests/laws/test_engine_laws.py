"""What holds for a pool whatever its shape and traffic; relations between runs where the answer itself is unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from sim.engine.pool import Pool, Status
from sim.fleet.simulate import probe
from sim.requests import Requests
from tests.laws.strategies import QUICK, conversations, pools, traffic


@QUICK
@given(pools(), traffic())
def test_every_request_ends_once_and_in_order(pool: Pool, requests: Requests) -> None:
    log = probe(pool, requests).log
    finished = log.status == Status.FINISHED
    assert np.isin(log.status, [Status.FINISHED, Status.REJECTED]).all()
    assert (log.first_ps[finished] > log.arrival_ps[finished]).all() and (log.finish_ps[finished] >= log.first_ps[finished]).all()
    assert ((log.finish_ps == log.first_ps) == (log.output_tokens == 1))[finished].all()
    assert (log.first_ps[~finished] == -1).all() and (log.finish_ps[~finished] == -1).all()


@QUICK
@given(pools(), traffic())
def test_only_what_cannot_fit_an_empty_replica_is_rejected(pool: Pool, requests: Requests) -> None:
    log = probe(pool, requests).log
    blocks = -(-(requests.input_tokens + requests.output_tokens - 1) // 16)
    too_large = blocks > pool.kv_blocks - int(pool.limits.watermark * pool.kv_blocks)
    assert np.array_equal(log.status == Status.REJECTED, too_large)


@QUICK
@given(pools(), traffic())
def test_tokens_are_computed_once_unless_preempted(pool: Pool, requests: Requests) -> None:
    result = probe(pool, requests)
    finished = result.log.status == Status.FINISHED
    needed = int((requests.input_tokens + requests.output_tokens - 1)[finished].sum())
    stats = result.targets[0]
    assert stats.preemptions == int(result.log.preemptions.sum())
    assert stats.computed_tokens == needed if stats.preemptions == 0 else stats.computed_tokens >= needed


@QUICK
@given(pools(most_replicas=1), traffic())
def test_a_replica_works_exactly_while_it_has_work(pool: Pool, requests: Requests) -> None:
    """Busy time is the length of the union of the intervals from arrival to end of all served requests."""
    result = probe(pool, requests)
    log, shift_ps = result.log, pool.network_ps + pool.cost.request_ps
    finished = np.flatnonzero(log.status == Status.FINISHED)
    present_ps, until = 0, -1
    for i in finished.tolist():  # in the order of arrival
        start, end = max(int(log.arrival_ps[i]), until), int(log.finish_ps[i]) - shift_ps
        present_ps += max(end - start, 0)
        until = max(until, end)
    if len(finished):
        span_ps = max(result.end_ps - shift_ps, 1)
        assert result.targets[0].busy_share * span_ps == pytest.approx(present_ps, rel=1e-9)


@QUICK
@given(pools(), traffic())
def test_throughput_is_never_above_what_the_cheapest_step_allows(pool: Pool, requests: Requests) -> None:
    result = probe(pool, requests)
    base_ps = pool.cost.base_ps[1:]
    best = float((np.arange(1, len(base_ps) + 1) / base_ps).max())  # tokens per ps, all but the base taken as free
    assert result.targets[0].computed_tokens <= best * pool.replicas * result.end_ps * (1 + 1e-12)


@QUICK
@given(pools(), traffic())
def test_a_clock_that_runs_at_half_speed_doubles_every_time(pool: Pool, requests: Requests) -> None:
    """Costs and arrivals times two: the same decisions, so every time is exactly twice what it was."""
    cost = pool.cost
    slow_cost = replace(
        cost,
        base_ps=2 * cost.base_ps,
        context_ps=2 * cost.context_ps,
        sequence_ps=2 * cost.sequence_ps,
        pair_ps=2 * cost.pair_ps,
        prefill_context_ps=2 * cost.prefill_context_ps,
        request_ps=2 * cost.request_ps,
    )
    log = probe(pool, requests).log
    slow = probe(replace(pool, cost=slow_cost, network_ps=2 * pool.network_ps), replace(requests, arrival_ps=2 * requests.arrival_ps)).log
    for fast_ps, slow_ps in ((log.first_ps, slow.first_ps), (log.finish_ps, slow.finish_ps)):
        assert np.array_equal(np.where(fast_ps < 0, -1, 2 * fast_ps), slow_ps)
    assert np.array_equal(log.replica, slow.replica)


@QUICK
@given(traffic(), pools(most_replicas=1))
def test_a_later_request_never_hurts_an_earlier_one_that_has_left(requests: Requests, pool: Pool) -> None:
    """Causality: what ends before the last arrival is the same without that arrival."""
    whole = probe(pool, requests).log
    columns = {name: getattr(requests, name)[:-1] for name in ("arrival_ps", "class_id", "input_tokens", "output_tokens")}
    columns |= {name: getattr(requests, name)[:-1] for name in ("session_id", "prefix_tokens")}
    fewer = probe(pool, Requests(**columns)).log
    shift_ps = pool.network_ps + pool.cost.request_ps
    gone = whole.finish_ps[:-1] - shift_ps < requests.arrival_ps[-1]
    assert np.array_equal(whole.finish_ps[:-1][gone], fewer.finish_ps[gone])


@QUICK
@given(pools(), conversations())
def test_what_a_cache_finds_is_of_the_shared_prefix_and_need_not_be_computed(pool: Pool, requests: Requests) -> None:
    result = probe(replace(pool, limits=replace(pool.limits, prefix_caching=True)), requests, "session_affinity")
    log, stats = result.log, result.targets[0]
    assert (log.cached_tokens <= requests.prefix_tokens).all() and (log.cached_tokens % 16 == 0).all()
    finished = log.status == Status.FINISHED
    needed = int((requests.input_tokens + requests.output_tokens - 1)[finished].sum())
    assert stats.computed_tokens + stats.cached_tokens >= needed
    if stats.preemptions == 0:
        assert stats.computed_tokens + stats.cached_tokens == needed and stats.cached_tokens == log.cached_tokens.sum()
