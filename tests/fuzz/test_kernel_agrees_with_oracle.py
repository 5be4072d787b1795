"""The compiled kernel and the plain engine give the same answer to the last picosecond, on random cases that crowd the corners."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sim.engine.pool import Pool, Status
from sim.fleet.simulate import simulate
from tests.fuzz.answers import difference, differences, kernel_answer, oracle_answer
from tests.fuzz.random_cases import Case, random_case
from tests.oracle.engine import THE_RULES, Rules
from tests.oracle.fleet import simulate_plainly

QUICK, CHUNK, SOME = 600, 50, 240


def random_cases(first: int, size: int, most_requests: int = 60) -> dict[str, Case]:
    return {f"random_case({number}, {most_requests})": random_case(number, most_requests) for number in range(first, first + size)}


@pytest.mark.parametrize("first", range(0, QUICK, CHUNK))
def test_kernel_and_oracle_agree_on_random_cases(first: int) -> None:
    assert differences(random_cases(first, CHUNK)) == []


def test_kernel_and_oracle_agree_on_occupancy() -> None:
    """Whole runs: time busy, sequences running and the peak of blocks in use agree; their mean does to a block per running sequence.

    The kernel takes the blocks in use during a jump as growing evenly in time, while they grow by one at a time. Where steps become
    longer with the context the mean is too low, without a bound that would be worth a test.
    """
    for number in range(SOME):
        case = replace(random_case(number), end_ps=None)
        result = simulate(case.fleet, case.requests, seed=0)
        log = simulate_plainly(case.fleet, case.requests)
        for pool, stats, replicas in zip(case.fleet.targets, result.targets, log.replicas, strict=True):
            assert isinstance(pool, Pool)
            span_ps = max(result.end_ps - pool.network_ps - pool.cost.request_ps, 1) * pool.replicas
            expected = (
                sum(r.busy_ps for r in replicas) / span_ps,
                max(r.peak_blocks for r in replicas) / pool.kv_blocks,
                sum(r.running_ps for r in replicas) / span_ps,
            )
            found = (stats.busy_share, stats.kv_peak_share, stats.running_mean)
            assert found == pytest.approx(expected, rel=1e-9), f"random_case({number}), {pool.name}"
            mean_blocks = sum(r.used_block_ps for r in replicas) / span_ps
            error_blocks = abs(stats.kv_mean_share * pool.kv_blocks - mean_blocks)
            if not pool.cost.context_ps.any():
                assert error_blocks <= stats.running_mean + 1e-9, f"random_case({number}), {pool.name}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 20_000, 250))
def test_kernel_and_oracle_agree_on_many_random_cases(first: int) -> None:
    assert differences(random_cases(first, 250, most_requests=150)) == []


def test_the_random_cases_reach_the_corners() -> None:
    """A fuzz that never preempts, rejects or cuts proves nothing about those; nor does one that rejects nearly everything."""
    corners = ("preempting", "preempting a partial prefill", "rejecting", "cut with work open", "tied arrivals", "mostly served")
    seen = dict.fromkeys(corners, 0)
    for number in range(SOME):
        case = random_case(number)
        log = simulate_plainly(case.fleet, case.requests, case.end_ps)
        arrivals = case.requests.arrival_ps.tolist()
        seen["preempting"] += sum(log.target_preemptions) > 0
        seen["preempting a partial prefill"] += any(replica.partial_preemptions for replicas in log.replicas for replica in replicas)
        seen["rejecting"] += Status.REJECTED in log.status
        seen["cut with work open"] += Status.IN_FLIGHT in log.status
        seen["tied arrivals"] += len(set(arrivals)) < len(arrivals)
        seen["mostly served"] += log.status.count(Status.FINISHED) > 0.8 * len(arrivals)
    assert min(seen.values()) >= SOME // 20, seen


WRONG_RULES = {
    "step ends come before arrivals of the same instant": replace(THE_RULES, arrivals_before_step_ends=False),
    "blocks of 17 tokens": replace(THE_RULES, block_tokens=17),
    "a decode asks for its block one token early": replace(THE_RULES, decode_block_slack=1),
    "the oldest is preempted": replace(THE_RULES, victim="oldest"),
    "the preempted go to the end of the queue": replace(THE_RULES, preempted_go_to="end"),
    "a small request overtakes a head that does not fit": replace(THE_RULES, overtaking=True),
    "routing ties go to the highest index": replace(THE_RULES, route_ties_to="highest"),
    "the watermark is rounded up": replace(THE_RULES, watermark_rounds="up"),
}


@pytest.mark.parametrize("wrong", WRONG_RULES.values(), ids=WRONG_RULES.keys())
def test_a_wrong_rule_in_the_oracle_is_noticed_by_the_fuzz(wrong: Rules) -> None:
    """The sharpness of the comparison: each mistake, made on purpose, shows within the quick cases."""
    for number in range(QUICK):
        case = random_case(number)
        if difference(kernel_answer(case, event_per_arrival=True), oracle_answer(case, wrong)):
            return
    pytest.fail(f"{QUICK} random cases do not tell {wrong} from the page")


def test_no_admission_after_a_preemption_follows_from_the_other_rules() -> None:
    """The head of the queue is the last victim, which needs what it held or more, while its victor has taken a block of that.

    So dropping this rule changes nothing, and the fuzz could not miss it.
    """
    dropped = replace(THE_RULES, admit_after_preemption=True)
    for number in range(SOME):
        case = random_case(number)
        assert difference(oracle_answer(case), oracle_answer(case, dropped)) == "", number
