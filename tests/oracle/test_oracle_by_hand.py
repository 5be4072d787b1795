"""The oracle against schedules worked out on paper; the kernel must give the same ones.

Unless a test says otherwise a step costs 100 ps + 1 ps per token.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sim.engine.deployment import EngineLimits
from sim.engine.pool import Pool, Status
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from tests.oracle.fleet import OracleLog, simulate_plainly
from tests.samples import make_cost, make_requests

LIMITS = EngineLimits(max_num_seqs=4, max_num_batched_tokens=32)
Rows = list[tuple[int, int, int]]


def pool_of(kv_blocks: int = 100, limits: EngineLimits = LIMITS, replicas: int = 1, network_ps: int = 0, **cost: int) -> Pool:
    return Pool("hand", make_cost(**(cost or {"base_ps": 100, "token_ps": 1}), limits=limits), kv_blocks, limits, replicas, network_ps)


def run_both(pool: Pool, rows: Rows, router: str = "least_outstanding", end_ps: int | None = None) -> OracleLog:
    """The oracle's log, after checking that the kernel's is the same."""
    fleet, requests = Fleet((pool,), np.ones((1, 1)), router), make_requests(rows)
    plain = simulate_plainly(fleet, requests, end_ps)
    result = simulate(fleet, requests, seed=0, end_ps=end_ps)
    seen: dict[str, Any] = {
        name: getattr(result.log, name).tolist() for name in ("first_ps", "finish_ps", "status", "replica", "preemptions")
    }
    assert seen == {name: getattr(plain, name) for name in seen}
    return plain


def test_one_request_takes_one_prefill_and_then_one_decode_per_further_token() -> None:
    # step 1: 10 prompt tokens -> 110; steps 2 and 3: one token each -> 211, 312
    log = run_both(pool_of(), [(0, 10, 3)])
    assert (log.first_ps, log.finish_ps, log.steps, log.computed_tokens) == ([110], [312], [3], [12])


def test_every_term_of_the_step_cost_is_charged_where_the_page_says() -> None:
    pool = pool_of(base_ps=1, token_ps=0, context_ps=10, sequence_ps=1_000, pair_ps=100_000, read_ps=10_000_000_000)
    # budget 32, prompt 40: chunk of 32 after 0: pairs 32*33/2 = 528, prefill context 32
    #                        chunk of 8 after 32: pairs 8*32 + 8*9/2 = 292, prefill context 40
    # decode of token 41: context 41
    first = (1 + 1_000 + 528 * 100_000 + 32 * 10_000_000_000) + (1 + 1_000 + 292 * 100_000 + 40 * 10_000_000_000)
    log = run_both(pool, [(0, 40, 2)])
    assert (log.first_ps, log.finish_ps) == ([first], [first + 1 + 41 * 10 + 1_000])


def test_network_and_tokenising_delay_both_times_by_their_sum() -> None:
    log = run_both(pool_of(network_ps=7, base_ps=100, token_ps=1, request_ps=5), [(50, 10, 1)])
    assert (log.first_ps, log.finish_ps) == ([50 + 110 + 12], [50 + 110 + 12])


def test_a_prefill_in_chunks_lets_decodes_go_first_and_holds_back_admissions() -> None:
    # 0..110    A prefills 10 tokens, its first token at 110
    # 110..242  A decodes 1, B (60 tokens, came at 20) gets the 31 that are left of 32; C (5 tokens) must wait
    # 242..374  A decodes 1 and is done (3 tokens); B computes 29, its first token; C is admitted: 2 tokens of budget are left
    # 374..478  B decodes 1 and is done; C computes its last 3: 104 ps
    log = run_both(pool_of(), [(0, 10, 3), (20, 60, 2), (30, 5, 1)])
    assert log.first_ps == [110, 374, 478]
    assert log.finish_ps == [374, 478, 478]


def test_two_requests_on_three_blocks_the_younger_is_preempted_and_computed_again() -> None:
    # Blocks of 16. A and B: 16 prompt tokens (1 block each), 4 output tokens; 3 blocks in all.
    # 0..132    both prefill (32 tokens, the whole budget). Both have 1 token. free 1
    # 132..233  A asks for a block (computed 16): takes the last. B asks: none free, B is the last admitted, so B goes;
    #           its block is free now, but nothing is admitted in a step with a preemption. A alone: 101 ps. A has 2 tokens
    # 233..351  A holds 2 of 3 blocks; B's target is 16 + 1 = 17 tokens: 2 blocks > 1 free. A alone: 101 ps -> 334. A has 3
    # 334..435  A alone, 4th token, done at 435
    # 435..552  B computes 17 tokens: 117 ps. Its second token; the first stays at 132
    # 552..653, 653..754 two decodes: third and fourth token
    log = run_both(pool_of(kv_blocks=3), [(0, 16, 4), (0, 16, 4)])
    assert (log.first_ps, log.finish_ps, log.preemptions, log.steps) == ([132, 132], [435, 754], [0, 1], [7])
    assert log.computed_tokens == [32 + 3 + 17 + 2]


def test_a_partial_prefill_is_the_first_to_be_preempted() -> None:
    # A: 31 prompt tokens (2 blocks), 3 outputs. B: 33 prompt tokens (3 blocks), 1 output. 5 blocks, budget 32.
    # 0..132    A 31 tokens, B a first chunk of 1. A has 1 token
    # 132..264  A decodes (computed 31: no block), B chunk 31 -> 32 of 33. A has 2 tokens, computed 32
    # 264..365  A asks for a block, none free: the partial B goes, its 3 blocks are free. A has its 3rd token at 365, done
    # 365..497  B again from the start: 32; 497..598 the last one: first token and end
    log = run_both(pool_of(kv_blocks=5), [(0, 31, 3), (0, 33, 1)])
    assert (log.first_ps, log.finish_ps, log.preemptions, log.steps) == ([132, 598], [365, 598], [0, 1], [5])


def test_no_one_overtakes_a_head_of_the_queue_that_does_not_fit() -> None:
    # 4 blocks. A holds 2 (17 tokens), B needs 3, C needs 1 and would fit: it waits behind B.
    # 0..117 A's 17 tokens and (budget 15) nothing else: B does not fit. A decodes 117..218, done.
    # 218..350 B's first 32 of 40; 350..466 its last 8 and C's 8.
    log = run_both(pool_of(kv_blocks=4), [(0, 17, 2), (0, 40, 1), (0, 8, 1)])
    assert log.first_ps == [117, 466, 466]


@pytest.mark.parametrize(("watermark", "expected"), [(0.0, [116, 116]), (0.34, [116, 116]), (0.67, [108, 216])])
def test_the_watermark_keeps_blocks_free_at_an_admission_beside_others(watermark: float, expected: list[int]) -> None:
    # 3 blocks, two prompts of 1 block. Watermark blocks: 0, 1, 2. The second prompt finds 2 free: fits next to 0 and 1, not next to 2.
    log = run_both(pool_of(kv_blocks=3, limits=EngineLimits(4, 32, watermark=watermark)), [(0, 8, 1), (0, 8, 1)])
    assert log.first_ps == expected


@pytest.mark.parametrize(("output", "status"), [(17, Status.FINISHED), (18, Status.REJECTED)])
def test_a_request_is_rejected_when_its_last_context_needs_more_blocks_than_there_are(output: int, status: Status) -> None:
    # 2 blocks hold 32 tokens; the last context is 16 + output - 1
    log = run_both(pool_of(kv_blocks=2), [(0, 16, output)])
    assert log.status == [status]
    assert (log.first_ps[0] == -1) == (status == Status.REJECTED)


def test_an_arrival_at_the_end_of_a_step_joins_the_step_that_starts_there() -> None:
    # A's prefill ends at 110, when B comes: the next step is A's decode and B's 10 tokens
    log = run_both(pool_of(), [(0, 10, 2), (110, 10, 1)])
    assert (log.first_ps, log.finish_ps, log.steps) == ([110, 221], [221, 221], [2])


def test_an_idle_replica_waits_for_all_arrivals_of_the_instant() -> None:
    log = run_both(pool_of(), [(5, 10, 1), (5, 10, 1), (5, 10, 1)])
    assert (log.first_ps, log.steps) == ([135, 135, 135], [1])


def test_routing_sees_the_load_before_the_step_that_ends_at_the_same_instant() -> None:
    # Replica 0 serves A until 110, replica 1 serves B until 111. C comes at 110: A still counts, both have one: the lowest index.
    # D comes at 110 too: replica 0 has two by now.
    log = run_both(pool_of(replicas=2), [(0, 10, 1), (0, 11, 1), (110, 10, 1), (110, 10, 1)])
    assert log.replica == [0, 1, 0, 1]


def test_round_robin_counts_arrivals_and_looks_at_no_load() -> None:
    log = run_both(pool_of(replicas=3), [(0, 10, 1), (1000, 10, 1), (2000, 10, 1), (3000, 10, 1)], "round_robin")
    assert log.replica == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("end_ps", "first", "finish", "status"),
    [(109, -1, -1, Status.IN_FLIGHT), (110, 110, -1, Status.IN_FLIGHT), (210, 110, -1, Status.IN_FLIGHT), (211, 110, 211, Status.FINISHED)],
)
def test_what_happens_at_the_end_of_the_run_still_counts(end_ps: int, first: int, finish: int, status: Status) -> None:
    log = run_both(pool_of(), [(0, 10, 2), (10**6, 10, 2)], end_ps=end_ps)
    assert (log.first_ps, log.finish_ps, log.status) == ([first, -1], [finish, -1], [status, Status.IN_FLIGHT])
