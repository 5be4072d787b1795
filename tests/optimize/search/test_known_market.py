"""What a search knows: the program of a narrower market, and when a plan serves all."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.records import RelayTerms, SloRow
from optimize.search.known_market import Market, Restriction, Settled
from sim.scenario.scenario import Policy
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.report import plan_fixture
from tests.optimize.search.by_hand import market_of, settled_of


def known() -> tuple[Market, Settled]:
    """Two pools and two relays of one class."""
    pools = [pool(offer(f"o{k}", 1.0), [0.5], [0.0]) for k in range(2)]
    given = problem([[2.0, 3.0]], pools, [relay("a", [1e-3], [0.01]), relay("b", [2e-3], [0.02])], [SloRow(0, "ttft", 0.95, 1.0)])
    settled = settled_of(given)
    return market_of(settled, plan_fixture.scenario()), settled


def test_a_restriction_narrows_pools_relays_budget_and_demand_and_nothing_else() -> None:
    market, _ = known()

    def without_a(terms: RelayTerms) -> RelayTerms | None:
        return None if terms.relay.id == "a" else replace(terms, usd_per_request=terms.usd_per_request * 2)

    demand = replace(market.demand, mean_rps=market.demand.mean_rps * 3)
    narrow = Restriction(keep_pool=lambda state: state.option.offer.id == "o1", keep_relay=without_a, budget_usd=70.0, demand=demand)
    kept = market.pools(narrow)
    assert [state.option.offer.id for state in kept] == ["o1"]
    found = market.problem(narrow, kept)
    assert [terms.relay.id for terms in found.relays] == ["b"] and found.relays[0].usd_per_request.tolist() == [4e-3]
    assert found.budget_usd == 70.0 and found.demand.mean_rps.tolist() == [[6.0, 9.0]] and len(found.pools) == 1
    whole = market.problem(Restriction(), market.pools(Restriction()))
    assert len(whole.pools) == len(whole.relays) == 2 and whole.budget_usd == market.budget_usd
    assert whole.demand is market.demand and whole.slos == market.slos and whole.solver == "highs"
    assert market.problem(Restriction(budget_usd=0.0), kept).budget_usd == 0.0


def test_a_pool_that_can_serve_nothing_is_not_asked() -> None:
    market, _ = known()
    broken = replace(market.states[0], given=None, correction=math.inf)
    market.states[0] = broken
    assert [state.option.offer.id for state in market.pools(Restriction())][-1] == "o1"


def test_the_policy_of_the_scenario_is_that_of_the_program() -> None:
    market, _ = known()
    policy = Policy(n_plus_one=True, max_relay_share=0.4, vendor_shares={"*": 0.3}, relay_outage_reserve=True)
    market = replace(market, scenario=replace(market.scenario, policy=policy), solver="cbc")
    found = market.problem(Restriction(), market.pools(Restriction()))
    assert (found.n_plus_one, found.max_relay_share, found.vendor_shares, found.relay_outage_reserve) == (True, 0.4, {"*": 0.3}, True)
    assert found.boot is None and found.spot is None and found.classifier_usd is None and found.fixed_usd == 0.0
    assert found.solver == "cbc"


def test_hosts_that_are_held_beyond_their_hours_pay_their_starts() -> None:
    market, _ = known()
    held = [replace(market.states[0], lead_s=60.0), market.states[1]]
    assert market.problem(Restriction(), held).boot is not None


def test_relays_are_remembered_as_they_were_before_any_proof() -> None:
    market, _ = known()
    assert {name: miss.tolist() for name, miss in market.at_first.items()} == {"a": [0.01], "b": [0.02]}
    assert replace(market, at_first={"a": np.array([0.5])}).at_first == {"a": np.array([0.5])}


def test_a_plan_serves_all_up_to_rounding() -> None:
    _, settled = known()

    def left(rps: float) -> bool:
        return replace(settled, solution=replace(settled.solution, unserved=np.array([[0.0, rps]]))).unserved

    assert not left(0.0) and not left(2e-6) and left(4e-6) and left(0.5)  # a millionth of three requests/s
