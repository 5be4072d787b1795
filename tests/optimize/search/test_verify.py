"""Which hours decide, and when seeds that were seen speak for one that was not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.program.solve import solve
from optimize.records import ProgramSolution, SloRow
from optimize.search.fresh_seeds import look_bound
from optimize.search.hour_evidence import HourEvidence, decided, gather
from optimize.search.simulated_hour import Hour, HourSample, warmup_keep
from optimize.search.verify import hours_to_simulate, untested, verification
from sim.fleet.fleet import Fleet
from tests.optimize.program.problems import offer, pool, problem, relay

HOUR = Hour(0, Fleet((), np.zeros((1, 0))), (), (), 1.0)
NONE = np.zeros((1, 1), np.int64)
FIVE = 5  # hours that share the risk of 5 %: each is judged at 99 %


def evidence(*attainment: float, hours_of_week: int = FIVE) -> HourEvidence:
    """One promise, one seed per number."""
    return HourEvidence(HOUR, np.array(attainment)[:, None], NONE, NONE, (), 100, hours_of_week)


def holds(quantile: float, *attainment: float) -> bool:
    return bool(evidence(*attainment).holds(np.array([quantile]))[0])


# --- HourEvidence.holds


def test_mean_alone_does_not_hold_when_seeds_scatter() -> None:
    assert holds(0.95, 0.96, 0.96, 0.96, 0.96)
    assert not holds(0.95, 0.99, 0.93, 0.99, 0.93)


def test_bound_is_that_of_a_fresh_seed_and_not_of_the_mean() -> None:
    """Ten seeds, sample deviation s, at their look's fifth of 1 %: t of nine degrees of freedom at 99.8 % is 3.8079."""
    seeds = [0.96 + side * 0.003 for side in (-1, 1)] * 5
    spread = float(np.std(seeds, ddof=1))
    fresh = 0.96 - 3.807 * spread * math.sqrt(1.1)
    assert float(look_bound(np.array(seeds)[:, None], FIVE)[0]) == pytest.approx(fresh, abs=1e-4)
    assert fresh < 0.96 - 3.807 * spread / math.sqrt(10)


def test_single_seed_is_taken_at_its_word() -> None:
    assert holds(0.95, 0.95) and not holds(0.95, 0.9499)


def test_same_scatter_on_fewer_seeds_proves_less() -> None:
    few, many = (0.957, 0.961) * 2, (0.957, 0.961) * 10
    assert holds(0.95, *many) and not holds(0.95, *few)


def test_each_promise_is_judged_against_its_own_quantile() -> None:
    both = HourEvidence(HOUR, np.array([[0.97, 0.97]] * 4), NONE, NONE, (), 100, FIVE)
    assert both.holds(np.array([0.95, 0.99])).tolist() == [True, False]


def test_week_of_more_hours_leaves_less_risk_to_each() -> None:
    seeds = (0.958, 0.962) * 5
    assert evidence(*seeds, hours_of_week=1).holds(np.array([0.95]))[0]
    assert not evidence(*seeds, hours_of_week=48).holds(np.array([0.95]))[0]


# --- decided


def counted(*met: int) -> list[HourSample]:
    """A seed per number: so many of a thousand requests met the promise, alike in all blocks."""
    share = [np.full((6, 1), n) for n in met]
    return [
        HourSample(np.array([[n]]), np.array([[1000]]), (), 1000, blocks_met=each, blocks_seen=np.full((6, 1), 1000))
        for n, each in zip(met, share, strict=True)
    ]


def test_clear_hours_are_closed_early_and_close_ones_are_not() -> None:
    quantiles = np.array([0.95])
    assert decided(counted(991, 990, 991, 990), quantiles, 48)  # holds with room
    assert decided(counted(940, 950, 940, 945), quantiles, 48)  # below the promise already
    assert decided(counted(990), quantiles, 48) and decided(counted(900), quantiles, 48)  # one seed, whose blocks agree
    assert not decided(uneven(955), quantiles, 48)


def uneven(met: int) -> list[HourSample]:
    """One seed whose blocks scatter."""
    blocks = np.array([[met - 30], [met + 30]] * 3)
    return [replace(each, blocks_met=blocks) for each in counted(met)]


# --- hours_to_simulate


def plan_of(rates: list[float], hosts: list[int]) -> tuple[list[int], ProgramSolution]:
    """Hours chosen for one pool that serves `rates` with `hosts`; a replica carries one request/s."""
    given = problem([rates], [pool(offer("o", 1.0), [1.0])])
    flow = np.array([[rates]])
    counts = np.array([hosts])
    none = np.zeros((0, 1, len(rates)))
    answer = ProgramSolution(counts, counts, flow, none, np.zeros((1, len(rates))), 0.0, 0.0, "optimal", "test", 0.0)
    return hours_to_simulate(given, answer), answer


def test_tightest_hour_is_simulated_even_when_it_is_neither_peak_nor_least() -> None:
    chosen, _ = plan_of([1.0, 9.0, 4.9, 3.0, 2.0, 2.0], [2, 12, 5, 5, 5, 5])
    assert 2 in chosen  # 98 % of capacity, the peak has 75 %


def test_peak_and_least_hour_are_always_among_the_chosen() -> None:
    chosen, _ = plan_of([5.0, 9.0, 5.0, 1.0, 5.0], [5, 90, 5, 90, 5])
    assert chosen[0] == 1 and 3 in chosen


def test_no_hour_is_simulated_twice_and_the_limit_is_kept() -> None:
    given = problem([[5.0] * 30], [pool(offer(f"o{k}", 1.0), [1.0]) for k in range(6)])
    answer = solve(given)
    chosen = hours_to_simulate(given, answer, limit=4)
    assert len(chosen) == len(set(chosen)) <= 4
    assert all(0 <= t < 30 for t in chosen)


def test_plan_of_relays_alone_is_simulated_in_its_peak_and_its_least_hour() -> None:
    given = problem([[2.0, 7.0, 1.0]], relays=[relay("r", [0.001])])
    assert hours_to_simulate(given, solve(given)) == [1, 2]


# --- warm-up, verdicts


def test_warm_up_is_thinned_to_the_hour_when_the_hour_before_was_busier() -> None:
    rates = [4.0, 8.0, 2.0] + [2.0] * 21
    day = replace(problem([rates]).demand, slices=tuple(f"weekday {h}" for h in range(24)))
    assert [warmup_keep(day, t) for t in (1, 2, 3)] == [1.0, 0.25, 1.0]
    assert warmup_keep(day, 0) == 1.0  # midnight follows the quiet 23rd hour of the same kind of day
    assert warmup_keep(replace(day, mean_rps=day.mean_rps[:, ::-1]), 0) == 0.5  # and here a busy one


def test_verification_without_promises_counts_its_requests() -> None:
    found = verification([evidence(1.0), evidence(1.0)], (1, 2))
    assert found.requests_simulated == 200 and found.seeds == (1, 2) and found.met


# --- gather


def sample(met: int, seen: int) -> HourSample:
    """One seed of one promise at one target: so many of the requests met it."""
    late, soon = np.full(seen - met, 9.0, np.float32), np.full(met, 0.1, np.float32)
    return HourSample(np.array([[met], [0]]), np.array([[seen], [0]]), (np.concatenate([soon, late]),), seen)


def test_hour_without_a_request_of_a_class_neither_keeps_nor_breaks_its_promise() -> None:
    rare = problem([[1.0]], slos=[SloRow(0, "ttft", 0.95, 1.0)])
    assert gather(rare, HOUR, [sample(0, 0)] * 4, {}).verdicts == ()
    assert [v.met for v in gather(rare, HOUR, [sample(0, 0), sample(2, 2)], {}).verdicts] == [True]
    assert [v.met for v in gather(rare, HOUR, [sample(0, 0), sample(0, 2)], {}).verdicts] == [False]


def test_promises_that_no_request_put_to_the_test_are_named() -> None:
    rare = problem([[1.0]], slos=[SloRow(0, "ttft", 0.95, 1.0)])
    assert untested(rare, [gather(rare, HOUR, [sample(2, 2)], {})]) == []
    assert untested(rare, []) == []
    (said,) = untested(rare, [gather(rare, HOUR, [sample(0, 0)], {})])
    assert said.startswith("c0: no request came")
