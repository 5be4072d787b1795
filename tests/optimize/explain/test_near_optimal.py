"""Plans that cost nearly the same: found where there are any, never beyond 3 %, and recommended only after simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.explain import near_optimal as module
from optimize.explain.near_optimal import groups, least, near
from optimize.market.operating_point import OperatingPoint
from optimize.market.pools import PoolState, slo_rows
from optimize.program.solve import solve
from optimize.records import Alternative, LoadLevel, PoolOption, PoolTerms, RelayTerms
from optimize.search.cache import CapacityStore
from optimize.search.loop import Market, Restriction, Settled
from sim.catalog.loader import load_catalog
from sim.requests import Demand
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

TWO = Path(__file__).resolve().parents[3] / "scenarios" / "two_offers.yaml"
HOURS = 730.0


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(TWO, [], None)


def pool(name: str, gpu: str, usd: float, stock: int | None, slos: int) -> PoolState:
    """A host that carries one request a second."""
    offer = replace(load_catalog().offers["aws.g6e.xlarge"], id=name, provider=name, gpu=gpu, usd_per_hour=usd, stock=stock)
    option = PoolOption(name, offer, None, 1, (0,))
    given = PoolTerms(option, (LoadLevel(np.array([1.0]), np.zeros(slos)),), 1.0, 0.0, True)
    return PoolState(option, None, np.array([1.0]), (), {(1, (1.0,)): OperatingPoint(1.0, (0.0,), 0.0, 1)}, given=given)


def plan(scenario: Scenario, rate_rps: float, pools: list[PoolState], call_usd: float | None) -> tuple[Market, Settled]:
    """Market and plan at one rate; `call_usd` is what a request costs at the relay, None for no relay."""
    slos = slo_rows(scenario)
    one = np.array([1.0])
    demand = Demand(("all",), np.array([HOURS]), np.array([[rate_rps]]), 1.0, one, one, np.zeros(1))
    relays = []
    if call_usd is not None:
        eligible = np.array([True])
        relays = [RelayTerms(scenario.relays[0], eligible, np.array([call_usd]), np.array([2.0]), np.zeros(len(slos)), False)]
    market = Market(scenario, demand, slos, pools, relays, 1e6, CapacityStore(None), 1, lambda _: None)
    problem = market.problem(Restriction(), pools)
    return market, Settled(problem, solve(problem), tuple(pools))


def kinds(market: Market, settled: Settled, full: bool) -> tuple[Alternative, ...]:
    """What a report shows: every group asked, the least of each kind."""
    solved = [(group, near(group, settled.solution.cost_usd, market)) for group in groups(market, settled)]
    return least(market, settled, solved, full)


def test_one_gpu_type_that_costs_little_more_is_shown(scenario: Scenario) -> None:
    """Two cheap hosts are all there are; three dear ones cost 1.3 % more than two and one."""
    rows = len(slo_rows(scenario))
    pools = [pool("cheap", "l40s", 1.0, 2, rows), pool("dear", "a100-80", 1.02, None, rows)]
    market, settled = plan(scenario, 3.0, pools, None)
    found = {each.name: each for each in kinds(market, settled, full=False)}
    other = found["fewest GPU types: a100-80"]
    assert other.per_month_usd == pytest.approx(3 * 1.02 * HOURS) and not other.verified
    assert other.note == "1 GPU types instead of 2; an estimate until simulated: --explain full"
    assert "one vendor: dear" in found


def test_nothing_beyond_three_percent_is_shown(scenario: Scenario) -> None:
    rows = len(slo_rows(scenario))
    pools = [pool("cheap", "l40s", 1.0, 2, rows), pool("dear", "a100-80", 1.2, None, rows)]
    assert kinds(*plan(scenario, 3.0, pools, None), full=False) == ()


def test_less_relay_spend_is_priced_at_true_prices(scenario: Scenario) -> None:
    """0.98 of a host's requests cost 0.99 of it at the relay: without them a third host costs a third of a percent more."""
    rows = len(slo_rows(scenario))
    per_request = 0.99 / (0.98 * 3600)
    market, settled = plan(scenario, 2.98, [pool("cheap", "l40s", 1.0, None, rows)], per_request)
    assert settled.solution.relay_flow.sum() == pytest.approx(0.98)
    (other, *_) = [each for each in kinds(market, settled, full=False) if each.name == "least relay spend"]
    assert other.per_month_usd == pytest.approx(3 * HOURS) and other.note.startswith("0 USD to relays instead of 723")


def test_with_full_only_what_holds_in_simulation_is_recommended(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = len(slo_rows(scenario))
    pools = [pool("cheap", "l40s", 1.0, 2, rows), pool("dear", "a100-80", 1.02, None, rows)]
    market, settled = plan(scenario, 3.0, pools, None)
    for holds, status, word in ((True, "met", "recommended: every"), (False, "missed", "not recommended")):
        monkeypatch.setattr(module, "keeps", lambda *_, holds=holds: holds)
        found = {each.name: each for each in kinds(market, settled, full=True)}
        other = found["fewest GPU types: a100-80"]
        assert other.verified and other.status == status and word in other.note
