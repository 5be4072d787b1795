"""Overflow as a choice: who is sent what, what is measured, what the bill meters, and that a saved plan keeps it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from optimize.market.operating_point import OperatingPoint
from optimize.plan import market_for
from optimize.program.solve import solve
from optimize.records import Spill
from optimize.search import overflow_choice
from optimize.search.hour_evidence import HourEvidence
from optimize.search.known_market import Market, Restriction, Settled
from optimize.search.overflow_choice import levels_of, metered, pool_with, question
from optimize.search.simulated_hour import Hour, fleet_of, overflow_rules, through_pools
from optimize.simulate.saved_plan import spill_of
from sim.fleet.fleet import Fleet, Overflow
from sim.scenario import load_scenario
from tests.optimize.program.problems import problem, relay
from tests.optimize.program.test_overflow import spilling

SCENARIO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"


@lru_cache
def small_engine() -> Market:
    """One L40S that serves eight requests at once beside a relay; the answer's first token may take three seconds."""
    settings = (
        "candidates.offers=[aws.g6e.xlarge]", "candidates.weights=[fp8]", "candidates.tensor_parallel=[1]",
        "traffic={rate_rps: 1, minute_noise_cv: 0}", "engine={max_num_seqs: 8}", "request_classes.0.slo={ttft: {p95: 3.0}}",
    )  # fmt: skip
    return market_for(load_scenario(SCENARIO, settings, None), jobs=1)[0]


def test_requests_for_the_relay_try_the_pools_that_overflow_to_it_first() -> None:
    shares = np.array([[0.3, 0.5, 0.2], [0.0, 0.4, 0.6], [0.0, 0.0, 1.0]])
    rules = (Overflow(0, 2, 8), Overflow(1, 2, 8))
    first = through_pools(shares, rules)
    assert first == pytest.approx(np.array([[0.375, 0.625, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    assert through_pools(shares, ()) is not shares and (through_pools(shares, ()) == shares).all()


def test_a_pool_overflows_only_where_its_relay_is_a_target() -> None:
    assert overflow_rules(["pool", "r"], {0: Spill(8, "r")}) == (Overflow(0, 1, 8),)
    assert overflow_rules(["pool", "q"], {0: Spill(8, "r")}) == ()
    assert overflow_rules(["pool", "r"], {0: None}) == ()


def test_more_load_serves_more_and_lets_more_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overflow_choice, "THRESHOLDS", (8, 16))
    monkeypatch.setattr(overflow_choice, "OFFERED", (0.8, 1.1, 2.0))
    given = small_engine()
    state = replace(given.states[0], points={(1, (1.0,)): OperatingPoint(1.0, (0.0,), 0.0, 1)})
    asked = question(given, state, (1.0,), 1, given.relays[0].relay)
    seen = levels_of(given.scenario, asked)
    assert seen["threshold"] >= 8
    assert len(seen["own_rps"]) >= 2 and seen["own_rps"] == sorted(seen["own_rps"]) and seen["spill"] == sorted(seen["spill"])
    assert all(miss[0] <= 0.05 for miss in seen["misses"]), "what the pool serves itself keeps its promise at every load"
    made = pool_with(state, (1.0,), {1: seen}, Spill(seen["threshold"], "r"))
    assert made.option.id.split(":")[0].endswith(f"/overflow-{seen['threshold']}")
    loads = [float(level.load[0]) for level in made.terms().levels]
    assert loads == pytest.approx([1 / own for own in seen["own_rps"]])


def test_a_correction_raises_the_load_of_a_pool_that_overflows() -> None:
    given = small_engine()
    state = replace(given.states[0], given=spilling([(1.0, 0.0), (0.8, 0.25)]), correction=1.1)
    assert [float(level.load[0]) for level in state.terms().levels] == pytest.approx([1.1, 0.88])


def test_the_bill_meters_what_overflowed_in_the_simulation() -> None:
    """The program planned 1.67 of 10 requests a second for the relay; in the simulation it got 20 %."""
    given = problem([[10.0]], [spilling([(1.0, 0.0), (0.8, 0.25)])], [relay("r", [4e-4])])
    solution = solve(given)
    fleet = Fleet((), np.zeros((1, 2)), overflow=(Overflow(0, 1, 100),))
    seen = np.array([[800], [200], [0]])
    rows = small_engine().slos
    evidence = HourEvidence(Hour(0, fleet, (0,), (0,), 1.0), np.ones((1, 1)), seen, seen, (), 1000, 1)
    paid = metered(Settled(replace(given, slos=rows), solution, ()), [evidence])
    assert paid.solution.relay_flow[0, 0, 0] == pytest.approx(2.0) and paid.solution.pool_flow[0, 0, 0] == pytest.approx(8.0)
    assert paid.solution.cost_usd == pytest.approx(730 * (7 + 2.0 * 3600 * 4e-4))


def test_the_fleet_of_an_hour_sends_all_through_the_pool_and_lets_the_rest_overflow() -> None:
    given = small_engine()
    state, terms = given.states[0], given.relays[0]
    option = replace(state.option, overflow=Spill(16, terms.relay.id))
    inside = replace(given.problem(Restriction(), [state]), pools=(replace(state.terms(), option=option),), relays=(terms,))
    solution = solve(inside)
    both = replace(solution, pool_flow=0.75 * inside.demand.mean_rps[None], relay_flow=0.25 * inside.demand.mean_rps[None])
    hour = fleet_of(given.scenario, inside, replace(both, hosts=np.ones_like(solution.hosts)), [state.cost], 0)
    assert hour.fleet.shares.tolist() == [[1.0, 0.0]] and hour.fleet.overflow == (Overflow(0, 1, 16),)


def test_a_saved_plan_says_where_a_pool_overflows_to() -> None:
    assert spill_of({"overflow": {"threshold": 112, "to": "r"}}) == Spill(112, "r")
    assert spill_of({}) is None and spill_of({"overflow": None}) is None
