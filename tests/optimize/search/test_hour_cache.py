"""Hours that were simulated once: found again with every digit, and not where anything that they depend on has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.market.candidates import candidates
from optimize.market.pools import pool_states, slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.plan import budget_usd, costs_of
from optimize.search import verify as module
from optimize.search.cache import CapacityStore
from optimize.search.cache_key import content_hash
from optimize.search.hour_cache import hour_key, plausible_hour
from optimize.search.hour_evidence import HourEvidence, half_width, worth_more
from optimize.search.loop import Market, Restriction, Settled, settle
from optimize.search.simulated_hour import HourSample, fleet_of
from optimize.search.verify import verification, verify
from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario
from sim.scenario.scenario import ConstantTraffic
from sim.traffic import demand as demand_of

TWO = Path(__file__).resolve().parents[3] / "scenarios" / "two_offers.yaml"
SEEDS = (9001, 9002, 9003, 9004)


@pytest.fixture(scope="module")
def settled() -> tuple[Market, Settled]:
    """A small plan of own GPUs, measured roughly."""
    scenario = load_scenario(TWO, ["traffic.rate_rps=4"], None)
    demand, slos = demand_of(scenario), slo_rows(scenario)
    options, _ = candidates(scenario, demand)
    states = pool_states(options, costs_of(scenario, options), demand, slos)
    relays = relay_terms(scenario, demand, slos)
    market = Market(scenario, demand, slos, states, relays, budget_usd(scenario), CapacityStore(None), 1, lambda _: None)
    return market, settle(market, Restriction(keep_relay=lambda _: None, rough=True))


def proof(found: tuple[Market, Settled], store: CapacityStore, said: list[str]) -> HourEvidence:
    market, plan = found
    costs = [state.cost for state in plan.pools]
    (hour,) = verify(market.scenario, plan.problem, plan.solution, costs, SEEDS, 1, tell=said.append, store=store)
    return hour


def test_an_hour_is_simulated_once_and_found_again_with_every_digit(settled: tuple[Market, Settled], tmp_path: Path) -> None:
    said: list[str] = []
    first = proof(settled, CapacityStore(tmp_path), said)
    again = proof(settled, CapacityStore(tmp_path), said)
    assert len(said) == 1 and first.requests > 1000
    assert again.verdicts == first.verdicts and again.requests == first.requests and again.name == first.name
    assert (again.events, again.by_event) == (first.events, first.by_event)
    for name in ("attainment", "met", "seen"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))


def test_a_damaged_entry_is_simulated_again(settled: tuple[Market, Settled], tmp_path: Path) -> None:
    said: list[str] = []
    store = CapacityStore(tmp_path)
    first = proof(settled, store, said)
    (key,) = store.memory
    harms: tuple[dict[str, object], ...] = ({"attainment": [[2.0]]}, {"verdicts": [{}]}, {"met": "?"})
    for harm in harms:
        harmed = CapacityStore(tmp_path)
        harmed.put(key, {**store.memory[key], **harm})
        assert proof(settled, harmed, said).verdicts == first.verdicts
    assert len(said) == 4


def test_verdicts_that_were_not_wanted_then_are_simulated_now(settled: tuple[Market, Settled], tmp_path: Path) -> None:
    said: list[str] = []
    store = CapacityStore(tmp_path)
    first = proof(settled, store, said)
    (key,) = store.memory
    store.put(key, {**store.memory[key], "verdicts": []})
    assert proof(settled, store, said).verdicts == first.verdicts and len(said) == 2


def test_the_key_changes_with_all_that_the_hour_depends_on(settled: tuple[Market, Settled]) -> None:
    market, plan = settled
    costs = [state.cost for state in plan.pools]

    def key(scenario=market.scenario, problem=plan.problem, solution=plan.solution, costs=costs, seeds=SEEDS) -> str:  # type: ignore[no-untyped-def]
        return hour_key(scenario, problem, fleet_of(scenario, problem, solution, costs, 0), seeds)

    assert isinstance(market.scenario.traffic, ConstantTraffic)
    traffic = replace(market.scenario.traffic, minute_noise_cv=0.2)
    (slo, *rest) = plan.problem.slos
    slower = [None if cost is None else replace(cost, sequence_ps=cost.sequence_ps + 1) for cost in costs]
    keys = {
        key(),
        key(seeds=SEEDS[:3]),
        key(scenario=replace(market.scenario, traffic=traffic)),
        key(scenario=replace(market.scenario, policy=replace(market.scenario.policy, router="round_robin"))),
        key(problem=replace(plan.problem, slos=(replace(slo, limit_s=slo.limit_s + 0.1), *rest))),
        key(solution=replace(plan.solution, hosts=plan.solution.hosts + 1)),
        key(costs=slower),
    }
    assert len(keys) == 7
    assert key() == key(scenario=replace(market.scenario, description="other words"))


def test_prices_of_gpus_are_not_part_of_an_hour(settled: tuple[Market, Settled]) -> None:
    market, plan = settled
    costs = [state.cost for state in plan.pools]
    before = hour_key(market.scenario, plan.problem, fleet_of(market.scenario, plan.problem, plan.solution, costs, 0), SEEDS)
    dearer = []
    for terms in plan.problem.pools:
        offer = replace(terms.option.offer, usd_per_hour=2 * terms.option.offer.usd_per_hour)
        dearer.append(replace(terms, option=replace(terms.option, offer=offer)))
    problem = replace(plan.problem, pools=tuple(dearer))
    assert hour_key(market.scenario, problem, fleet_of(market.scenario, problem, plan.solution, costs, 0), SEEDS) == before


def test_a_hash_leaves_nothing_out_in_silence(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="function has no content"):
        content_hash(lambda: None)
    log = tmp_path / "log.csv"
    log.write_text("a")
    before = content_hash(log)
    log.write_text("b")
    assert content_hash(log) != before
    assert content_hash(np.zeros(2)) != content_hash(np.zeros((2, 1))) != content_hash(np.zeros((2, 1), np.float32))
    assert content_hash(load_catalog()) == content_hash(load_catalog())


def test_hours_that_hold_go_on_until_they_are_known_to_half_a_point(
    settled: tuple[Market, Settled], monkeypatch: pytest.MonkeyPatch
) -> None:
    market, plan = settled
    costs = [state.cost for state in plan.pools]
    more = tuple(range(9011, 9031))
    monkeypatch.setattr(module, "decided", lambda *_: True)
    monkeypatch.setattr(module, "holds", lambda *_: True)
    (hour,) = verify(market.scenario, plan.problem, plan.solution, costs, SEEDS, 1, more_seeds=more)
    assert not worth_more(hour.attainment, 24, hour.blocks)


def test_one_seed_of_a_proved_hour_is_played_event_by_event(settled: tuple[Market, Settled]) -> None:
    """SimPy has at least one event for every arrival of that seed, which is a quarter of what four seeds simulate."""
    said: list[str] = []
    hour = proof(settled, CapacityStore(None), said)
    assert hour.events >= hour.by_event > 0
    assert hour.by_event == pytest.approx(hour.requests / len(hour.attainment), rel=0.05)
    shown = verification([hour], SEEDS)
    assert (shown.events, shown.by_event) == (hour.events, hour.by_event)


def test_half_width_is_that_of_students_t() -> None:
    """Two seeds 0.02 apart: sample deviation 0.01414, t at 97.5 % and one degree of freedom 12.706."""
    assert half_width(np.array([[0.99], [0.97]]))[0] == pytest.approx(12.706 * 0.0141421 / np.sqrt(2), rel=1e-4)
    assert not worth_more(np.array([[0.99], [0.99]]), 24)


@pytest.mark.parametrize(("needed", "asked"), [(1, 1), (4, 4), (10, 10), (20, 20), (99, 24)])
def test_an_hour_that_stays_open_is_asked_again_on_more_seeds(
    settled: tuple[Market, Settled], monkeypatch: pytest.MonkeyPatch, needed: int, asked: int
) -> None:
    market, plan = settled
    costs = [state.cost for state in plan.pools]
    monkeypatch.setattr(module, "decided", lambda samples, *_: len(samples) >= needed)
    monkeypatch.setattr(module, "worth_more", lambda *_: False)
    monkeypatch.setattr(module, "simulate_hour", lambda scenario, problem, hour, seed, by_event: made(seed, len(problem.slos)))
    (hour,) = verify(market.scenario, plan.problem, plan.solution, costs, SEEDS, 1, more_seeds=tuple(range(9011, 9031)))
    assert len(hour.attainment) == asked


def made(seed: int, rows: int) -> HourSample:
    counts = np.full((2, rows), 100, np.int64)
    return HourSample(counts, counts, tuple(np.full(200, 0.1, np.float32) for _ in range(rows)), 200)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"attainment": [[0.9]], "met": [[1]]},
        {"attainment": [[0.9], [1, 2]], "met": [[1]], "seen": [[1]]},
        {"attainment": [["much"]], "met": [[1]], "seen": [[1]]},
        {"attainment": [0.9], "met": [[1]], "seen": [[1]]},
        {"attainment": [[1.1]], "met": [[1]], "seen": [[1]]},
        {"attainment": [[-0.1]], "met": [[1]], "seen": [[1]]},
        {"attainment": [[0.9]], "met": [[2]], "seen": [[1]]},
    ],
)
def test_what_does_not_look_like_evidence_is_none(value: object) -> None:
    assert not plausible_hour(value)
    assert plausible_hour({"attainment": [[0.0], [1.0]], "met": [[1]], "seen": [[1]]})
