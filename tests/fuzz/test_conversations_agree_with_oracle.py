"""Kernel and plain engine agree with a prefix cache, sessions, every router, and clients who wait for their answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.engine.pool import Pool
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from tests.fuzz.answers import COLUMNS, difference, differences, kernel_answer, oracle_answer, oracle_log
from tests.fuzz.random_cases import Case, random_case
from tests.fuzz.random_conversations import caching_case, priority_case, waiting_case
from tests.oracle.engine import THE_RULES, Rules
from tests.oracle.prefix_cache import THE_CACHE_RULES, CacheRules

QUICK, CHUNK = 300, 50
KINDS = ["caching_case", "waiting_case", "priority_case"]


def cases_of(kind: str, first: int, size: int, most_requests: int = 60) -> dict[str, Case]:
    make = {"caching_case": caching_case, "waiting_case": waiting_case, "priority_case": priority_case}[kind]
    return {f"{kind}({number}, {most_requests})": make(number, most_requests) for number in range(first, first + size)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(0, QUICK, CHUNK))
def test_kernel_and_oracle_agree_on_conversations(kind: str, first: int) -> None:
    assert differences(cases_of(kind, first, CHUNK)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(10_000, 20_000, 250))
def test_kernel_and_oracle_agree_on_many_conversations(kind: str, first: int) -> None:
    assert differences(cases_of(kind, first, 250, most_requests=150)) == []


def test_the_random_conversations_reach_the_corners() -> None:
    """A fuzz that never evicts, preempts with cached blocks or moves a session proves nothing about those."""
    corners = ("hits", "evictions", "hits of the preempted", "moved sessions", "shared system prompts", "cut with work open", "waiting")
    seen = dict.fromkeys(corners, 0)
    for number in range(QUICK):
        case = waiting_case(number) if number % 2 else caching_case(number)
        log = oracle_log(case)
        caches = [replica.cache for replicas in log.replicas for replica in replicas if replica.cache]
        seen["hits"] += sum(log.cached_tokens) > 0
        seen["evictions"] += any(cache.evicted for cache in caches)
        seen["hits of the preempted"] += any(cache.hits_after_preemption for cache in caches)
        seen["shared system prompts"] += any(cache.most_holders > 1 for cache in caches)
        places = {(s, t, r) for s, t, r in zip(case.requests.session_id.tolist(), log.target, log.replica, strict=True) if s >= 0 <= r}
        seen["moved sessions"] += case.fleet.router == "session_affinity" and len(places) > len({(s, t) for s, t, _ in places})
        seen["cut with work open"] += case.end_ps is not None and 4 in log.status
        seen["waiting"] += case.turns is not None and bool((case.turns.after >= 0).any())
    assert min(seen.values()) >= QUICK // 25, seen


WRONG_RULES = {
    "the newest entry is evicted first": CacheRules(evict="newest"),
    "entries are evicted from their head": CacheRules(evict_from="head"),
    "a partly filled block counts as found": CacheRules(hit_rounds="up"),
    "the first holder that leaves takes the system prompt with it": CacheRules(system_prompt_is_released="by its first"),
    "the system prompt ages before the answer": CacheRules(system_prompt_leaves="before the request"),
    "all of the last turn is found, whatever the next one shares": CacheRules(carried="everything"),
}


@pytest.mark.parametrize("wrong", WRONG_RULES.values(), ids=WRONG_RULES.keys())
def test_a_wrong_rule_of_the_cache_is_noticed_by_the_fuzz(wrong: CacheRules) -> None:
    """The sharpness of the comparison: each mistake, made on purpose, shows within the quick cases."""
    assert wrong != THE_CACHE_RULES
    for number in range(QUICK):
        case = caching_case(number)
        try:
            wrong_answer = oracle_answer(case, replace(THE_RULES, cache=wrong))
        except AssertionError:  # the oracle itself: more blocks in use than there are
            return
        if difference(kernel_answer(case, event_per_arrival=True), wrong_answer):
            return
    pytest.fail(f"{QUICK} random cases do not tell {wrong} from the page")


WRONG_PRIORITIES = {
    "the last admitted is preempted, whatever its priority": replace(THE_RULES, victim_has_lowest_priority=False),
    "the queue knows no priorities": replace(THE_RULES, queue_by_priority=False),
    "the preempted go behind those of their priority": replace(THE_RULES, preempted_go_to="end"),
    "a higher priority is admitted in the step of a preemption": replace(THE_RULES, admit_after_preemption=True),
}


@pytest.mark.parametrize("wrong", WRONG_PRIORITIES.values(), ids=WRONG_PRIORITIES.keys())
def test_a_wrong_rule_of_priorities_is_noticed_by_the_fuzz(wrong: Rules) -> None:
    for number in range(QUICK):
        case = priority_case(number)
        if difference(kernel_answer(case, event_per_arrival=True), oracle_answer(case, wrong)):
            return
    pytest.fail(f"{QUICK} random cases do not tell {wrong} from the page")


def test_a_cache_that_nobody_shares_changes_nothing_but_recomputation() -> None:
    """Without sessions and system prompts only the preempted find anything; the rest is the run without a cache, to the last byte."""
    compared = 0
    for number in range(200):
        case = random_case(number)
        pools = tuple(replace(p, limits=replace(p.limits, prefix_caching=True)) for p in case.fleet.targets if isinstance(p, Pool))
        with_cache = simulate(Fleet(pools, case.fleet.shares, case.fleet.router), case.requests, 0, case.end_ps)
        without = simulate(case.fleet, case.requests, 0, case.end_ps)
        if sum(stats.preemptions for stats in without.targets) == 0:
            compared += 1
            for name in COLUMNS:
                assert np.array_equal(getattr(with_cache.log, name), getattr(without.log, name)), (number, name)
            assert with_cache.targets == without.targets
    assert compared > 50
