"""What a change of the timetable that is felt teaches: who is to blame, who is held longer, who is loaded more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimize.records import HostMove, SloRow
from optimize.search import timetable_proof
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import Market, Settled
from optimize.search.played_hours import Played, by_mean
from optimize.search.timetable_proof import HELD_S, LEAST, MOST_AT_ONCE, ask_one_host_more, blamed, hold_longer, prove_timetable
from tests.optimize.program.problems import offer, pool, problem
from tests.optimize.search.by_hand import evidence_of, market_of, settled_of

PROMISE = SloRow(0, "ttft", 0.95, 1.0)


def plan_of() -> Settled:
    """Two pools that do half of the work each in two hours, with two hosts and then three."""
    pools = [pool(offer(f"o{k}", 1.0), [0.5], [0.0]) for k in range(2)]
    settled = settled_of(problem([[4.0, 8.0]], pools, [], [PROMISE]), [[2, 3], [2, 3]])
    flow = settled.solution.pool_flow * 0
    flow[:, 0] = [2.0, 4.0]
    return replace(settled, solution=replace(settled.solution, pool_flow=flow))


def change(settled: Settled, shares: tuple[float, ...], *pools: int, after: int = 3) -> Played:
    """The second hour after the first, in which the hosts of `pools` changed from two to `after`."""
    moves = tuple(HostMove(settled.problem.pools[p].option.id, 2, after, 0.0, 0.0) for p in pools)
    evidence = evidence_of(settled, 1, shares)
    return Played(0, moves, evidence, evidence)


def held(settled: Settled) -> list[tuple[float, float]]:
    return [(state.lead_s, state.linger_s) for state in settled.pools]


def test_the_pool_that_attained_less_than_a_missed_promise_is_to_blame() -> None:
    settled = plan_of()
    assert blamed(settled, change(settled, (0.80, 0.99))) == {"o0:0"}
    assert blamed(settled, change(settled, (0.90, 0.90))) == {"o0:0", "o1:0"}
    assert blamed(settled, change(settled, (0.94, 0.99))) == set(), "the promise is kept over both"


def test_a_pool_that_grew_boots_earlier_and_one_that_shrank_stays_longer() -> None:
    settled = plan_of()
    assert hold_longer(settled, [change(settled, (0.80, 0.99), 0)]) and held(settled) == [(HELD_S[1], 0.0), (0.0, 0.0)]
    assert hold_longer(settled, [change(settled, (0.80, 0.99), 0, after=1)]) and held(settled)[0] == (HELD_S[1], HELD_S[1])


def test_where_the_pool_to_blame_did_not_change_all_that_did_are_held() -> None:
    settled = plan_of()
    hold_longer(settled, [change(settled, (0.80, 0.99), 1)])
    assert held(settled) == [(0.0, 0.0), (HELD_S[1], 0.0)]
    hold_longer(settled, [change(settled, (0.80, 0.99), 0, 1)])
    assert held(settled) == [(HELD_S[1], 0.0), (HELD_S[1], 0.0)], "of those that changed the one to blame alone"


def test_times_are_tried_in_their_order_and_at_the_longest_nothing_is_left() -> None:
    settled = plan_of()
    seen = []
    while hold_longer(settled, [change(settled, (0.80, 0.99), 0)]):
        seen.append(settled.pools[0].lead_s)
    assert seen == list(HELD_S[1:]) and held(settled)[0] == (HELD_S[-1], 0.0)


@pytest.mark.parametrize(("work", "factor"), [(2.0, MOST_AT_ONCE), (2.5, 3 / 2.5 * LEAST), (3.0, LEAST), (3.2, LEAST)])
def test_a_pool_to_blame_is_loaded_until_its_hosts_do_not_suffice_by_half_more_at_once_at_most(work: float, factor: float) -> None:
    settled = plan_of()
    flow = settled.solution.pool_flow.copy()
    flow[0, 0, 1] = work / 0.5
    settled = replace(settled, solution=replace(settled.solution, pool_flow=flow))
    assert ask_one_host_more(settled, [change(settled, (0.80, 0.99))])
    assert [state.correction for state in settled.pools] == [pytest.approx(factor), 1.0]


def test_without_a_pool_to_blame_that_works_nothing_is_asked() -> None:
    settled = plan_of()
    assert not ask_one_host_more(settled, [change(settled, (0.96, 0.99))])
    idle = replace(settled, solution=replace(settled.solution, pool_flow=settled.solution.pool_flow * 0))
    assert not ask_one_host_more(idle, [change(settled, (0.80, 0.99))])


def test_first_minutes_are_shown_by_their_mean() -> None:
    kept, missed = (by_mean(evidence_of(plan_of(), 1, (share, share))).verdicts[0].met for share in (0.95, 0.94))
    assert kept and not missed


# --- the loop


def loop_of(
    monkeypatch: pytest.MonkeyPatch, rounds: list[float], unserved: bool = False, proof: str = "changes", met: float = 0.99
) -> tuple[list[str], list[Played]]:
    """What is told, and the last hours played, where the change attains what `rounds` says, round by round."""
    settled, told, played = plan_of(), list[str](), list[Played]()

    def play(market: Market, now: Settled, proof: str, evidence: list[HourEvidence]) -> list[Played]:
        played.append(change(now, (rounds[min(len(played), len(rounds) - 1)],) * 2, 0))
        return [played[-1]]

    lacking = replace(settled, solution=replace(settled.solution, unserved=settled.solution.unserved + 1.0))
    monkeypatch.setattr(timetable_proof, "hours_played", play)
    monkeypatch.setattr(timetable_proof, "settle", lambda *_: lacking if unserved else settled)
    monkeypatch.setattr(timetable_proof, "prove", lambda market, again: (again, [evidence_of(again, 0, (0.99, 0.99))]))
    monkeypatch.setattr(timetable_proof, "slim_down", lambda market, again, evidence: (again, evidence))

    class Asked:
        request_classes = ("chat",)
        traffic = None

    _, _, last = prove_timetable(market_of(settled, Asked, told.append), settled, [evidence_of(settled, 0, (met, met))], proof)
    assert not last or last == [played[-1]]
    return told, played


def test_a_change_that_is_not_felt_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told, played = loop_of(monkeypatch, [0.96])
    assert told == [] and len(played) == 1


def test_the_plan_is_made_anew_until_no_change_is_felt(monkeypatch: pytest.MonkeyPatch) -> None:
    told, played = loop_of(monkeypatch, [0.80, 0.90, 0.96])
    assert len(told) == 2 and len(played) == 3 and "(h1)" in told[0]


def test_a_change_that_is_felt_for_ever_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(loop_of(monkeypatch, [0.80])[1]) == 1 + timetable_proof.ROUNDS


def test_a_plan_that_leaves_something_out_is_not_taken_and_one_that_misses_by_itself_is_played_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(loop_of(monkeypatch, [0.80], unserved=True)[1]) == 1
    told, played = loop_of(monkeypatch, [0.80], met=0.90)
    assert told == [] and len(played) == 1


def test_hours_by_themselves_play_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loop_of(monkeypatch, [0.80], proof="hours") == ([], [])
