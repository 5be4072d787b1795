"""The timetable is played: what users feel when hosts come and go, and what the plan learns from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from optimize.market.candidates import candidates
from optimize.market.operating_point import OperatingPoint
from optimize.market.pools import SIZES, pool_states, slo_rows
from optimize.plan import budget_usd, costs_of
from optimize.records import Verification
from optimize.search import stretch, timetable_proof
from optimize.search.cache import CapacityStore
from optimize.search.loop import Market, Restriction, Settled, settle
from optimize.search.played_hours import Played, play, with_played
from optimize.search.stretch import LONGEST_REQUESTS, day_stretches, steepest_changes, stretch_of
from optimize.search.timetable_proof import blamed, hold_longer, prove_timetable
from sim.engine.deployment import PS
from sim.scenario import load_scenario
from sim.traffic import demand as demand_of

LONG_CHATS: dict[str, Any] = {
    "name": "flips",
    "seed": 1,
    "traffic": {
        "daily_active_users": 17_000,
        "conversations_per_user": 1,
        "turns_per_conversation": 10,
        "day_shape": [1, 1, 1, 3, 3, 3] * 4,
        "weekend_factor": 1.0,
        "minute_noise_cv": 0.0,
    },
    "request_classes": [
        {
            "name": "chat",
            "share": 1,
            "task": "long conversations",
            "conversation": {"system_prompt_tokens": 500, "user_tokens": 1500, "history_cap_tokens": 16000},
            "output_tokens": 150,
            "models": ["llama-3.1-8b"],
            "slo": {"ttft": {"p95": 2.5}},
        }
    ],
    "candidates": {"offers": ["aws.g6e.xlarge"], "weights": ["fp8"], "relays": []},
    "engine": {"max_num_seqs": 256, "max_num_batched_tokens": 2048},  # else the plan would try others
    "budget": {"per_month": 100000, "currency": "USD"},
}
RATE = 0.43  # requests/s that one replica carries, about what the simulator measures


def market_of(folder: Path, changes: dict[str, object] | None = None) -> Market:
    """A market of one pool whose capacity is known beforehand."""
    path = folder / "flips.yaml"
    path.write_text(yaml.safe_dump({**LONG_CHATS, **(changes or {})}), encoding="utf-8")
    scenario = load_scenario(path, [], None)
    demand, slos = demand_of(scenario), slo_rows(scenario)
    options, _ = candidates(scenario, demand)
    states = pool_states(options, costs_of(scenario, options), demand, slos)
    for size in SIZES:
        states[0].points[(size, (1.0,))] = OperatingPoint(RATE * size, (0.0,), 0.0, 0)
    return Market(scenario, demand, slos, states, [], budget_usd(scenario), CapacityStore(None), 1, lambda _: None)


@pytest.fixture(scope="module")
def flips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Market, Settled]:
    market = market_of(tmp_path_factory.mktemp("flips"))
    return market, settle(market, Restriction())


def played_once(market: Market, settled: Settled, proof: str = "changes") -> list[Played]:
    costs = [state.cost for state in settled.pools]
    return play(market.scenario, settled.problem, settled.solution, costs, (9001,), 1, proof)


@pytest.fixture(scope="module")
def played(flips: tuple[Market, Settled]) -> list[Played]:
    """The steepest changes, played once."""
    return played_once(*flips)


@pytest.mark.slow
def test_hosts_that_come_to_full_caches_are_felt_and_the_plan_learns_to_boot_earlier(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Sessions stay where their prefix is cached: when traffic triples at the full hour, empty hosts do not relieve the old ones.

    A tenth may be late: nine in ten are on time on average all along, but a fresh hour surely so only with hosts that came earlier.
    """
    (chat,) = LONG_CHATS["request_classes"]
    market = market_of(tmp_path, {"request_classes": [{**chat, "slo": {"ttft": {"p90": 2.5}}}]})
    market.store = CapacityStore(tmp_path)
    first = settle(market, Restriction())
    assert set(first.solution.hosts[0]) == {3, 7}
    monkeypatch.setattr(stretch, "steepest_changes", lambda *_: [3])
    monkeypatch.setattr(timetable_proof, "prove", lambda _, settled: (settled, []))
    monkeypatch.setattr(timetable_proof, "slim_down", lambda _, settled, evidence: (settled, evidence))
    (felt,) = timetable_proof.hours_played(market, first, "changes")
    assert not felt.met and felt.soon.attainment.mean() < 0.9 * felt.hour.attainment.mean()
    settled, _, (after,) = prove_timetable(market, first, [], "changes")
    assert after.met and after.moves[0].lead_s > 0
    assert after.soon.attainment.mean() > felt.soon.attainment.mean() + 0.02
    starts = 8 * 4 * 30.4 / 2  # of the weekday's and the weekend's four rises with four hosts each, 730 / 24 days a month
    paid = starts * after.moves[0].lead_s / 3600 * market.states[0].option.offer.usd_per_hour
    assert settled.solution.cost_usd - first.solution.cost_usd == pytest.approx(paid, rel=0.02)
    assert timetable_proof.hours_played(market, settled, "changes")[0].hour.verdicts == after.hour.verdicts  # found again, every digit


def test_missed_change_is_a_missed_promise_and_everything_played_is_counted(flips: tuple[Market, Settled], played: list[Played]) -> None:
    settled = flips[1]
    proof = with_played(Verification((1,), ("weekday 03",), 100, (), True, events=100, by_event=100), settled.problem, played)
    assert [each.hour for each in proof.played] == ["weekday 00", "weekday 03", "weekday 06", "weekday 09"]
    assert not proof.met and [verdict.hour for verdict in proof.verdicts] == ["weekday 03"]
    assert proof.events >= proof.by_event > 100 + sum(each.requests for each in proof.played)
    assert proof.requests_simulated == proof.by_event


def test_rising_pools_boot_earlier_and_shrinking_ones_stay_longer(flips: tuple[Market, Settled], played: list[Played]) -> None:
    settled = flips[1]
    held = replace(settled, pools=tuple(replace(state) for state in settled.pools))
    rise = next(each for each in played if not each.met)
    assert blamed(held, rise) == {rise.moves[0].pool}
    fall = replace(rise, moves=(replace(rise.moves[0], before=7, after=3),))
    steps = []
    while hold_longer(held, [rise]):
        steps.append(held.pools[0].lead_s)
    assert steps == [300.0, 900.0, 3600.0] and held.pools[0].linger_s == 0
    assert hold_longer(held, [fall]) and held.pools[0].linger_s == 300.0


def test_only_pools_that_follow_the_hour_change(tmp_path: Path) -> None:
    market = market_of(tmp_path, {"candidates": {**LONG_CHATS["candidates"], "offers": [{"name": "aws.g6e.xlarge", "elastic": False}]}})
    settled = settle(market, Restriction())
    assert steepest_changes(settled.problem, settled.solution) == [] and played_once(market, settled) == []


def test_steepest_changes_are_each_pools_rise_and_fall_first(flips: tuple[Market, Settled]) -> None:
    _, settled = flips
    hosts = np.full((1, 48), 5)
    hosts[0, [4, 9, 30]] = 8, 1, 6
    solution = replace(settled.solution, hosts=hosts)
    assert steepest_changes(settled.problem, solution, limit=9) == [4, 5, 9, 10, 30, 31]
    assert steepest_changes(settled.problem, solution, limit=2) == [9, 10]
    assert steepest_changes(settled.problem, solution, limit=4) == [4, 5, 9, 10]


def test_whole_week_is_played_hour_after_hour(flips: tuple[Market, Settled]) -> None:
    """Every slice once, each kind of day from its last hour on; in pieces where a day is too long for memory."""
    demand = flips[0].demand
    days = day_stretches(demand, 3600.0)
    assert [slices for slices, _ in days] == [(23, *range(24)), (47, *range(24, 48))]
    busy = replace(demand, mean_rps=demand.mean_rps / demand.mean_rps.max() * LONGEST_REQUESTS / 3600 / 4)
    pieces = [slices for slices, _ in day_stretches(busy, 3600.0)]
    assert [t for slices in pieces for t in slices[1:]] == list(range(48))
    assert all(busy.mean_rps[0, list(slices[1:])].sum() * 3600 <= LONGEST_REQUESTS + 1 for slices in pieces)
    assert all(before == (t - 1 if t % 24 else t + 23) for before, t, *_ in pieces)


def test_a_stretch_has_the_targets_of_all_its_hours_and_their_shares(flips: tuple[Market, Settled]) -> None:
    market, settled = flips
    part = stretch_of(market.scenario, settled.problem, settled.solution, [market.states[0].cost], (2, 3, 4), (1200.0, 3600.0, 3600.0))
    assert part is not None
    assert [round(at_ps / PS) for at_ps in part.begins_ps] == [600, 1800, 5400, 9000]
    assert part.fleet.targets[0].replicas == 7 and part.life.rules[0].start == 3  # type: ignore[union-attr]
    boot_s = settled.problem.pools[0].option.offer.boot_s
    assert [(change.at_ps / PS, change.replicas) for change in part.life.changes] == [(1800 - boot_s, 7)]
    assert [reroute.at_ps for reroute in part.life.reroutes] == list(part.begins_ps[1:-1])
    assert [len(moves) for moves in part.moves] == [1, 0]
