"""The prefix cache and priorities against times worked out on paper from docs/explanation/prefix-cache.md and engine.md.

A step costs 100 ps and 1 ps per computed token.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.engine.deployment import EngineLimits
from sim.engine.pool import Pool
from sim.errors import InputError
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import probe, simulate
from sim.request_log import RequestLog
from sim.requests import Requests
from tests.samples import make_cost, make_pool, make_requests

LIMITS = EngineLimits(max_num_seqs=8, max_num_batched_tokens=256, prefix_caching=True)


def caching_pool(kv_blocks: int = 100, replicas: int = 1) -> Pool:
    return make_pool(make_cost(base_ps=100, token_ps=1, limits=LIMITS), kv_blocks, LIMITS, replicas)


def turns(rows: list[tuple[int, int, int]], session: list[int], prefix: list[int], system: int = 0) -> Requests:
    size = len(rows)
    columns = np.array(session, np.int64), np.array(prefix, np.int32), np.full(size, system, np.int32)
    return replace(make_requests(rows), session_id=columns[0], prefix_tokens=columns[1], system_tokens=columns[2])


def first_tokens_ps(log: RequestLog) -> list[int]:
    return (log.first_ps - log.arrival_ps).tolist()


def test_the_next_turn_computes_only_what_is_not_in_whole_blocks() -> None:
    # Turn 1: 40 + 10 tokens, 49 computed, 3 whole blocks stay. Turn 2 shares 50: 48 found, 60 - 48 = 12 computed.
    result = probe(caching_pool(), turns([(0, 40, 10), (9_999, 60, 1)], [0, 0], [0, 50]))
    assert first_tokens_ps(result.log) == [140, 112]
    assert result.log.cached_tokens.tolist() == [0, 48] and result.targets[0].cached_tokens == 48
    assert result.targets[0].computed_tokens == 49 + 12


def test_at_least_one_token_is_computed_of_a_prompt_that_is_all_there() -> None:
    log = probe(caching_pool(), turns([(0, 32, 17), (9_999, 48, 1)], [0, 0], [0, 48])).log
    assert log.cached_tokens.tolist() == [0, 32] and first_tokens_ps(log) == [132, 116]


def test_a_system_prompt_is_computed_once_and_exists_once() -> None:
    # 64 tokens of system prompt, 8 of text. Three that come later together hold the same 4 blocks and one of their own each.
    rows = [(0, 72, 1), (9_999, 72, 1), (9_999, 72, 1), (9_999, 72, 1)]
    result = probe(caching_pool(kv_blocks=10), turns(rows, [-1] * 4, [64] * 4, system=64))
    assert first_tokens_ps(result.log) == [172, 124, 124, 124]
    assert result.log.cached_tokens.tolist() == [0, 64, 64, 64] and result.targets[0].kv_peak_share == 0.7


def test_the_oldest_conversation_is_given_up_first_from_its_tail() -> None:
    # 6 blocks. Sessions 0 and 1 leave 3 blocks (49 tokens computed: 48 whole) and 2 (33: 32). A stranger of 2 blocks takes the free
    # one and the last of session 0, whose next turn then finds 32 of 48.
    rows = [(0, 49, 1), (1_000, 33, 1), (2_000, 32, 1), (3_000, 50, 1)]
    log = probe(caching_pool(kv_blocks=6), turns(rows, [0, 1, -1, 0], [0, 0, 0, 49])).log
    assert log.cached_tokens.tolist() == [0, 0, 0, 32]


def test_a_conversation_whose_history_was_cut_finds_the_system_prompt_only() -> None:
    rows = [(0, 100, 29), (10_000, 140, 20), (20_000, 120, 1)]
    log = probe(caching_pool(), turns(rows, [0] * 3, [32, 129, 32], system=32)).log
    assert log.cached_tokens.tolist() == [0, 128, 32]


def test_affinity_sends_a_turn_where_its_history_is_unless_that_is_overloaded() -> None:
    rows = [(0, 40, 1), (0, 40, 1), (1_000, 500, 9), (1_001, 60, 1), (1_002, 60, 1), (1_003, 70, 1)]
    requests = turns(rows, [5, 7, -1, 5, 7, 5], [0, 0, 0, 41, 41, 60])
    fleet = Fleet((caching_pool(replicas=2),), np.ones((1, 1)), "session_affinity")
    assert simulate(fleet, requests, 1).log.replica.tolist() == [0, 1, 0, 0, 1, 0]
    assert simulate(replace(fleet, affinity_slack=0), requests, 1).log.replica.tolist() == [0, 1, 0, 1, 1, 0]


def test_whole_sessions_go_to_one_target() -> None:
    pools = caching_pool(), replace(caching_pool(), name="other")
    requests = turns([(10_000 * i, 20, 1) for i in range(200)], [i % 20 for i in range(200)], [0] * 200)
    log = simulate(Fleet(pools, np.array([[0.5, 0.5]]), "session_affinity"), requests, 1).log
    for session in range(20):
        assert len(set(log.target[requests.session_id == session].tolist())) == 1
    assert set(log.target.tolist()) == {0, 1}


def test_a_lower_number_goes_first_and_the_higher_one_is_preempted() -> None:
    limits = EngineLimits(max_num_seqs=1, max_num_batched_tokens=64)
    pool = make_pool(limits=limits)
    requests = make_requests([(0, 5, 3), (10, 5, 1), (20, 5, 1)], class_id=[0, 0, 1])
    plain = simulate(Fleet((pool,), np.ones((2, 1))), requests, 1).log.first_ps.tolist()
    ranked = simulate(Fleet((pool,), np.ones((2, 1)), priorities=(3, -1)), requests, 1).log.first_ps.tolist()
    assert (plain, ranked) == ([100, 400, 500], [100, 500, 400])
    two = make_requests([(0, 16, 17), (0, 16, 2)], class_id=[0, 1])  # three blocks: the first decode of the second finds none
    log = simulate(Fleet((make_pool(kv_blocks=3),), np.ones((2, 1)), priorities=(1, 0)), two, 1).log
    assert log.preemptions.tolist() == [1, 0]


def test_prefixes_and_priorities_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="system_tokens <= prefix_tokens <= input_tokens"):
        probe(caching_pool(), turns([(0, 40, 10)], [0], [16], system=32))
    with pytest.raises(InputError, match="one per class") as raised:
        simulate(Fleet((caching_pool(),), np.ones((2, 1)), affinity_slack=-1, priorities=(1,)), make_requests([(0, 5, 5)], [1]), 1)
    assert "affinity_slack" in str(raised.value)
