"""What the program learns where an hour does not hold: weak pools are loaded more, relays that miss are charged."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.records import ProgramInput, SloRow
from optimize.search import loop
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import LARGEST_CORRECTION, Market, Settled, correct, failed_hours, prove
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.search.by_hand import evidence_of, market_of, settled_of

PROMISE = SloRow(0, "ttft", 0.95, 1.0)
DEAR = 1e-3


def plan_of(pools: int, relays: int) -> Settled:
    """One class in two hours."""
    hosts = [pool(offer(f"o{k}", 1.0), [0.5], [0.0]) for k in range(pools)]
    calls = [relay(f"r{k}", [DEAR], [0.01]) for k in range(relays)]
    return settled_of(problem([[2.0, 3.0]], hosts, calls, [PROMISE]))


def learnt(pools: int, relays: int, *shares: float, sent: tuple[float, ...] | None = None) -> tuple[list[float], list[float], bool]:
    """(corrections of the pools, misses of the relays, whether anything was learnt) after one hour in which targets attained `shares`."""
    settled = plan_of(pools, relays)
    market = market_of(settled)
    changed = correct(market, settled, [evidence_of(settled, 0, shares, sent)])
    return [state.correction for state in settled.pools], [round(float(terms.miss[0]), 9) for terms in market.relays], changed


@pytest.mark.parametrize(("attained", "factor"), [(0.90, 1.025), (0.949, 1.01), (0.50, LARGEST_CORRECTION)])
def test_a_pool_that_misses_is_loaded_more_by_half_of_what_is_short_and_by_one_to_six_percent(attained: float, factor: float) -> None:
    assert learnt(1, 0, attained)[0] == [pytest.approx(factor)]


def test_an_hour_that_holds_teaches_nothing() -> None:
    assert learnt(1, 1, 0.96, 0.96) == ([1.0], [0.01], False)


def test_only_the_weakest_pool_and_those_near_the_promise_are_to_blame() -> None:
    corrections, _, changed = learnt(3, 0, 0.80, 0.96, 0.999)
    assert changed and corrections[0] == corrections[1] > 1.0 and corrections[2] == 1.0


def test_the_larger_of_two_corrections_of_a_pool_is_made_once() -> None:
    settled = plan_of(1, 0)
    correct(market_of(settled), settled, [evidence_of(settled, 0, (0.90,)), evidence_of(settled, 1, (0.94,))])
    assert settled.pools[0].correction == pytest.approx(1.025)
    correct(market_of(settled), settled, [evidence_of(settled, 0, (0.90,))])
    assert settled.pools[0].correction == pytest.approx(1.025**2)


def test_a_relay_that_misses_on_purpose_is_charged_and_pools_far_from_the_promise_are_not_blamed() -> None:
    """Half of the requests at a relay that answers 80 % in time: 0.95 - 0.90 is short, with the overshoot 0.0625, all from that half."""
    corrections, misses, changed = learnt(1, 1, 1.0, 0.80)
    assert changed and corrections == [1.0]
    assert misses == [pytest.approx(0.20 + 1.25 * 0.05 / 0.5)]


def test_a_pool_near_the_promise_is_blamed_together_with_a_relay_that_misses_on_purpose() -> None:
    corrections, misses, _ = learnt(1, 1, 0.951, 0.80)
    assert corrections[0] > 1.0 and misses[0] > 0.2


def test_a_relay_alone_is_charged_at_least_a_part_of_what_its_promise_allows() -> None:
    """0.0001 is short; a fiftieth of 5 % is charged, so that the loop ends."""
    misses = learnt(0, 1, 0.9499)[1]
    assert misses == [pytest.approx(0.0501 + 0.02 * 0.05, abs=1e-6)]


def test_of_relays_alone_those_near_the_promise_are_charged_and_the_sure_one_is_not() -> None:
    misses = learnt(0, 3, 0.96, 0.90, 0.999, sent=(0.3, 0.6, 0.1))[1]
    assert misses[0] == 0.01 and misses[1] > 0.1 and misses[2] == 0.01, "one misses on purpose: it alone is charged"
    misses = learnt(0, 2, 0.9501, 0.9499, sent=(0.05, 0.95))[1]
    assert misses[0] == 0.01 and misses[1] > 0.0501


def test_a_charge_is_shared_out_by_what_was_sent_and_is_never_above_one() -> None:
    one, few = (learnt(1, 1, 1.0, 0.0, sent=(1 - part, part))[1][0] for part in (0.5, 0.06))
    assert one == pytest.approx(1.0 + min(1.0, 1.25 * 0.45 / 0.5)) and few == pytest.approx(1.0 + 1.25 * 0.01 / 0.06)


def test_a_relay_keeps_the_larger_miss_that_is_known_and_others_learn_nothing() -> None:
    settled = plan_of(0, 2)
    market = market_of(settled)
    market.relays[1] = replace(market.relays[1], miss=np.array([0.4]))
    correct(market, settled, [evidence_of(settled, 0, (0.99, 0.80), (0.5, 0.5))])
    assert [float(terms.miss[0]) for terms in market.relays] == [0.01, pytest.approx(0.4 + 1.25 * 0.055 / 0.5)]


# --- prove


def proved(
    monkeypatch: pytest.MonkeyPatch, rounds: list[float], again: ProgramInput | None = None
) -> tuple[Market, Settled, list[list[int]], list[int | None]]:
    """The loop on a relay of which the hours attain what `rounds` says, one number a round; what it asked to look at first, and stops."""
    settled, asked, stops = plan_of(0, 1), list[list[int]](), list[int | None]()

    def look(market: Market, now: Settled, stop_after: int | None, first: tuple[int, ...] = ()) -> list[HourEvidence]:
        asked.append(list(first))
        stops.append(stop_after)
        return [evidence_of(now, hour, (share,)) for hour, share in ((0, 1.0), (1, rounds[min(len(asked) - 1, len(rounds) - 1)]))]

    market = market_of(settled)
    monkeypatch.setattr(loop, "hold_out", look)
    monkeypatch.setattr(loop, "settle", lambda market, restriction: settled if again is None else settled_of(again))
    found, _ = prove(market, settled)
    return market, found, asked, stops


def test_the_loop_ends_when_every_hour_holds_and_looks_first_where_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    market, _, asked, stops = proved(monkeypatch, [0.9, 0.94, 0.96])
    assert (market.rounds, asked, stops) == (3, [[], [1], [1]], [loop.STOP_AFTER] * 3)
    assert float(market.relays[0].miss[0]) > 0.1


def test_the_loop_ends_after_its_rounds_with_a_full_look(monkeypatch: pytest.MonkeyPatch) -> None:
    market, _, asked, stops = proved(monkeypatch, [0.9])
    assert market.rounds == loop.VERIFY_ROUNDS == len(asked) - 1 and stops[-1] is None


def test_what_was_learnt_is_forgotten_where_it_leaves_requests_unserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that leaves nothing out is kept with the numbers that chose it."""
    nothing = problem([[2.0, 3.0]], [], [relay("r0", [math.inf], [0.01])], [PROMISE])
    market, found, asked, stops = proved(monkeypatch, [0.9], again=nothing)
    assert float(market.relays[0].miss[0]) == 0.01 and not found.unserved
    assert (len(asked), stops[-1]) == (2, None)


def test_hours_that_fail_are_named_by_their_slice() -> None:
    settled = plan_of(1, 0)
    assert failed_hours(settled, [evidence_of(settled, 0, (0.94,)), evidence_of(settled, 1, (0.96,))]) == [0]
