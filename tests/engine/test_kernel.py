"""The kernel against times worked out on paper from docs/explanation/engine.md."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sim.engine import layout, step
from sim.engine.deployment import EngineLimits
from sim.engine.pool import Status
from sim.errors import SimulationError
from sim.fleet.simulate import probe
from sim.request_log import RequestLog
from tests.samples import make_cost, make_pool, make_requests, random_requests


def times(log: RequestLog) -> list[tuple[int, int]]:
    return list(zip(log.first_ps.tolist(), log.finish_ps.tolist(), strict=True))


def test_a_request_alone_takes_one_prefill_and_output_minus_one_decodes() -> None:
    log = probe(make_pool(), make_requests([(1000, 50, 5)])).log
    assert times(log) == [(1100, 1500)]


def test_every_term_of_the_step_cost_is_charged() -> None:
    cost = make_cost(base_ps=1000, token_ps=100, context_ps=7, sequence_ps=10, pair_ps=3, read_ps=2)
    log = probe(make_pool(cost), make_requests([(0, 4, 3)])).log
    prefill = 1000 + 4 * 100 + 10 + 3 * (4 * 5 // 2) + 2 * 4
    first_decode, second_decode = (1000 + 100 + 10 + 7 * context for context in (5, 6))
    assert times(log) == [(prefill, prefill + first_decode + second_decode)]


def test_a_prompt_longer_than_the_token_budget_is_prefilled_in_chunks() -> None:
    limits = EngineLimits(max_num_seqs=4, max_num_batched_tokens=10)
    cost = make_cost(base_ps=100, pair_ps=1, read_ps=1, limits=limits)
    log = probe(make_pool(cost, limits=limits), make_requests([(0, 25, 1)])).log
    pairs, reads = 25 * 26 // 2, 10 + 20 + 25
    assert times(log) == [(300 + pairs + reads, 300 + pairs + reads)]


def test_a_decode_goes_before_the_rest_of_a_prompt() -> None:
    limits = EngineLimits(max_num_seqs=4, max_num_batched_tokens=10)
    log = probe(make_pool(limits=limits), make_requests([(0, 1, 3), (50, 18, 1)])).log
    assert times(log) == [(100, 300), (300, 300)]  # chunks of 9 and 9 next to the decode


def test_an_arrival_at_the_time_of_a_step_end_joins_the_next_step() -> None:
    log = probe(make_pool(), make_requests([(0, 5, 10), (300, 5, 1), (301, 5, 1)])).log
    assert times(log) == [(100, 1000), (400, 400), (500, 500)]


AHEAD = EngineLimits(max_num_seqs=4, max_num_batched_tokens=64, async_scheduling=True)


def test_an_engine_that_decides_ahead_lets_an_arrival_wait_for_one_step_more() -> None:
    log = probe(make_pool(limits=AHEAD), make_requests([(0, 5, 10), (250, 5, 1)])).log
    assert times(log) == [(100, 1000), (500, 500)]  # the step from 300 to 400 was decided on at 200
    usual = probe(make_pool(limits=replace(AHEAD, async_scheduling=False)), make_requests([(0, 5, 10), (250, 5, 1)])).log
    assert times(usual) == [(100, 1000), (400, 400)]


def test_an_idle_engine_that_decides_ahead_starts_at_once() -> None:
    log = probe(make_pool(limits=AHEAD), make_requests([(0, 5, 1), (50, 5, 1), (700, 5, 1)])).log
    assert times(log) == [(100, 100), (200, 200), (800, 800)]


def test_a_sequence_holds_its_windows_beside_its_tokens() -> None:
    cost = replace(make_cost(), sequence_blocks=3)
    one = probe(make_pool(cost, kv_blocks=7), make_requests([(0, 10, 5), (0, 10, 5)])).log
    assert times(one) == [(100, 500), (600, 1000)]  # 3 + 1 blocks each: only one at a time
    both = probe(make_pool(cost, kv_blocks=8), make_requests([(0, 10, 5), (0, 10, 5)])).log
    assert times(both) == [(100, 500), (100, 500)]
    assert probe(make_pool(cost, kv_blocks=3), make_requests([(0, 10, 5)])).log.status.tolist() == [Status.REJECTED]


def test_arrivals_at_one_time_share_the_step_of_an_idle_replica() -> None:
    log = probe(make_pool(make_cost(base_ps=100, token_ps=1)), make_requests([(7, 5, 1), (7, 6, 1)])).log
    assert times(log) == [(118, 118), (118, 118)]


def test_routing_sees_the_state_before_a_step_that_ends_now() -> None:
    log = probe(make_pool(replicas=2), make_requests([(0, 5, 1), (50, 5, 9), (100, 5, 1), (101, 5, 1)])).log
    assert log.replica.tolist() == [0, 1, 0, 0]
    log = probe(make_pool(replicas=2), make_requests([(0, 5, 9), (0, 5, 1), (100, 5, 1), (101, 5, 1)])).log
    assert log.replica.tolist() == [0, 1, 0, 1]


def test_no_more_sequences_run_than_the_limit_allows() -> None:
    limits = EngineLimits(max_num_seqs=1, max_num_batched_tokens=64)
    log = probe(make_pool(limits=limits), make_requests([(0, 5, 3), (0, 5, 1)])).log
    assert times(log) == [(100, 300), (400, 400)]


def test_the_last_admitted_is_preempted_for_a_block_and_recomputed() -> None:
    """Two prompts of a block each, three blocks in all: the first decode takes the third, the second request goes back.

    Steps: 1 both prefill; 2 first decodes, second is preempted; 3..16 first decodes; at 17 it has its 16 decodes done
    and frees all; then the second recomputes 17 tokens (first token kept at step 1) and ends with its second token.
    """
    result = probe(make_pool(kv_blocks=3), make_requests([(0, 16, 17), (0, 16, 2)]))
    assert times(result.log) == [(100, 1700), (100, 1800)]
    assert result.log.preemptions.tolist() == [0, 1]
    assert result.targets[0].computed_tokens == (16 + 16) + 16 + 17
    assert result.targets[0].steps == 18


def test_a_request_that_can_never_fit_is_rejected_and_the_rest_is_served() -> None:
    log = probe(make_pool(kv_blocks=2), make_requests([(0, 30, 4), (0, 30, 3)])).log
    assert log.status.tolist() == [Status.REJECTED, Status.FINISHED]
    assert times(log)[0] == (-1, -1)


def test_the_watermark_holds_back_an_admission_but_not_into_an_empty_replica() -> None:
    requests = make_requests([(0, 32, 3), (0, 32, 1)])
    free = probe(make_pool(kv_blocks=4), requests).log
    held = probe(make_pool(kv_blocks=4, limits=EngineLimits(watermark=0.25)), requests).log
    assert (times(free)[1], times(held)[1]) == ((100, 100), (400, 400))
    assert times(held)[0] == (100, 300)


def test_no_request_overtakes_a_head_that_does_not_fit() -> None:
    log = probe(make_pool(kv_blocks=4), make_requests([(0, 32, 3), (0, 48, 1), (0, 1, 1)])).log
    assert times(log) == [(100, 300), (400, 400), (400, 400)]


def test_a_jump_to_an_arrival_ends_on_the_step_that_single_steps_would_reach() -> None:
    cost = make_cost(base_ps=12_345_678_901, context_ps=218_453, sequence_ps=8_000_001)
    table = np.concatenate([np.zeros(layout.HEADER, np.int64), cost.base_ps, cost.context_ps])
    table[layout.MAX_TOKENS], table[layout.SEQUENCE_PS] = 2048, cost.sequence_ps
    rng = np.random.default_rng(5)
    for _ in range(300):
        decodes, context, k = int(rng.integers(1, 257)), int(rng.integers(1, 500_000)), int(rng.integers(1, 4000))
        ends = [step.run_ps(table, decodes, context, j) for j in range(k + 1)]
        j = int(rng.integers(1, k + 1))
        for wait_ps in (ends[j] - 1, ends[j], min(ends[j] + 1, ends[k])):
            assert step.steps_until(table, decodes, context, k, wait_ps) == int(np.searchsorted(ends, wait_ps))


def test_totals_match_a_run_worked_out_on_paper() -> None:
    """Arrival at 100, prefill to 200 with one block of ten, decodes to 400 with two; the run ends there."""
    stats = probe(make_pool(kv_blocks=10), make_requests([(100, 16, 3)])).targets[0]
    assert (stats.steps, stats.computed_tokens, stats.waiting_peak) == (3, 18, 1)
    assert stats.busy_share == pytest.approx(300 / 400)
    assert stats.running_mean == pytest.approx(300 / 400)
    assert stats.kv_mean_share == pytest.approx((100 * 0.1 + 200 * 0.2) / 400)
    assert stats.kv_peak_share == pytest.approx(0.2)


def test_a_run_longer_than_the_clock_is_an_error_and_no_hang() -> None:
    cost = make_cost(base_ps=10**16)
    with pytest.raises(SimulationError, match="below 106 days"):
        probe(make_pool(cost), make_requests([(0, 1, 2000)]))


def test_steps_that_cost_nothing_end_at_once() -> None:
    log = probe(make_pool(make_cost(base_ps=0)), make_requests([(5, 100, 1000), (5, 3, 7)])).log
    assert times(log) == [(5, 5), (5, 5)]


@pytest.mark.parametrize("seed", range(5))
def test_tight_memory_serves_everything_under_every_law(seed: int) -> None:
    limits = EngineLimits(max_num_seqs=16, max_num_batched_tokens=64)
    pool = make_pool(make_cost(limits=limits, token_ps=3, context_ps=1), kv_blocks=30, limits=limits, replicas=3)
    result = probe(pool, random_requests(seed, 2000, gap_ps=900, mean_input=60))
    fits = result.log.input_tokens + result.log.output_tokens - 1 <= 30 * 16
    assert np.array_equal(result.log.status == Status.FINISHED, fits)
    assert result.targets[0].preemptions > 100
    assert result.targets[0].kv_peak_share == 1.0


def test_a_faster_step_never_delays_the_only_request() -> None:
    slow = make_cost(base_ps=1000, context_ps=5)
    fast = replace(slow, base_ps=slow.base_ps // 2)
    requests = make_requests([(0, 1000, 500)])
    assert times(probe(make_pool(fast), requests).log) < times(probe(make_pool(slow), requests).log)


def test_an_unwritable_cache_still_compiles() -> None:
    code = (
        "from sim.engine.jit import compiled\n"
        "f = compiled(eval('lambda x: x + 1'))\n"  # no file: numba has no place to cache
        "assert f(1) == 2"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"NUMBA_CACHE_DIR": "/dev/null/none", "PATH": ""})


def test_a_request_longer_than_the_context_of_the_model_is_rejected() -> None:
    pool = replace(make_pool(), context_tokens=100)
    log = probe(pool, make_requests([(0, 90, 10), (0, 90, 11), (0, 1, 1)])).log
    assert log.status.tolist() == [Status.FINISHED, Status.REJECTED, Status.FINISHED]
