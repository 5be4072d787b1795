"""Who shares a prefix with whom: sessions, chains and system prompts by number, the same for pools that share the records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.engine import kernel
from sim.engine.groups import first_rows, number_groups
from sim.engine.links import pool_links, request_links
from sim.engine.state import PoolState
from sim.fleet.run import Run
from sim.request_log import RequestLog
from sim.requests import Requests
from tests.fuzz.random_conversations import caching_case
from tests.samples import make_requests


def turns(sessions: list[int], prefix: list[int]) -> Requests:
    requests = make_requests([(i, 100, 5) for i in range(len(sessions))])
    return replace(requests, session_id=np.array(sessions, np.int64), prefix_tokens=np.array(prefix, np.int32))


def test_rows_are_grouped_alike_whether_their_keys_are_small_or_huge() -> None:
    keys = np.random.default_rng(1).integers(-1, 40, 1000)
    huge = np.where(keys < 0, keys, keys * 10**15)
    assert (first_rows(keys) == first_rows(huge)).all()
    number, count = number_groups(first_rows(huge))
    assert count == 40 and (number[keys < 0] == -1).all()
    assert len({(int(n), int(k)) for n, k in zip(number, keys, strict=True) if k >= 0}) == 40


def test_no_rows_have_no_groups() -> None:
    assert number_groups(first_rows(np.empty(0, np.int64)))[1] == 0


def test_a_chain_ends_where_the_shared_prefix_falls() -> None:
    requests = turns([3, 3, -1, 3, 3], [0, 50, 9, 20, 20])
    links, systems = request_links(requests, np.zeros(5, np.int16), replicas=4)
    assert (systems, len(links)) == (0, 5)
    assert links["session"].tolist() == [0, 0, -1, 0, 0]
    assert links["chain"].tolist() == [0, 0, -1, 3, 3]
    assert links["carried"].tolist() == [50, 0, 0, 20, 0]


def test_a_session_at_two_targets_is_two_and_carries_on_through_both() -> None:
    links, _ = request_links(turns([7] * 5, [0, 10, 20, 5, 30]), np.array([1, 0, 1, 0, 1], np.int16), replicas=0)
    assert links["session"].tolist() == [0, 1, 0, 1, 0]
    assert links["chain"].tolist() == [0, 1, 0, 3, 4]
    assert links["carried"].tolist() == [10, 20, 0, 30, 0]


def test_each_replica_has_a_record_of_each_system_prompt_of_a_block_or_more() -> None:
    requests = make_requests([(i, 100, 5) for i in range(4)], [0, 1, 0, 1])
    system = np.array([32, 32, 15, 47], np.int32)
    one, other = pool_links(replace(requests, prefix_tokens=system, system_tokens=system), requests.class_id, [2, 3], moving=False)
    assert one.records is other.records and one.systems == 3
    assert (one.prompts, other.prompts, len(one.records)) == (4, 10, 19)
    assert one.records["system"][:4].tolist() == [0, 1, -1, 2]
    assert one.records["system_blocks"][:4].tolist() == [2, 2, 0, 2]


def served(number: int, moving: bool) -> RequestLog:
    """A random case whose sessions go to every pool, with records of requests that the pools share, or of their own."""
    case = caching_case(number)
    shares = np.full(case.fleet.shares.shape, 1 / case.fleet.shares.shape[1])
    run = Run(replace(case.fleet, shares=shares), case.requests, 1, moving=moving)
    for index, state in enumerate(run.servers):
        assert isinstance(state, PoolState)
        kernel.offer_all(*state.arrays, case.requests.arrival_ps, np.flatnonzero(run.targets == index))
    return run.result(case.requests.arrival_ps, None).log


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_pools_that_share_records_serve_as_if_each_had_its_own(first: int) -> None:
    found = 0
    for number in range(first, first + 100):
        shared, own = served(number, moving=False), served(number, moving=True)
        for name in ("first_ps", "finish_ps", "replica", "preemptions", "cached_tokens"):
            assert (getattr(shared, name) == getattr(own, name)).all(), (number, name)
        found += int(shared.cached_tokens.sum())
    assert found > 0
