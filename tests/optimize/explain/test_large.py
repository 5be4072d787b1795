"""Where pools are narrow, said of hours that are too large to simulate as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from optimize.explain.bottleneck import MAX_REQUESTS, few_replicas
from optimize.plan import optimize
from sim.catalog.facts import Relay, Source
from sim.engine.deployment import PS
from sim.engine.pool import Pool
from sim.fleet.fleet import Fleet
from sim.relay.endpoint import RelayEndpoint
from sim.scenario import load_scenario
from tests.samples import make_cost, make_pool

SOURCE = Source("made up for this test", "2026-11-30")
RELAY = Relay(
    id="r", vendor="v", model="m", usd_per_mtok_input=1.0, usd_per_mtok_output=2.0, usd_per_mtok_cached=None,
    ttft_p50_s=0.5, ttft_sigma=0.4, tokens_per_s=80.0, tokens_sigma=0.2, source=SOURCE, latency_source=SOURCE,
)  # fmt: skip


def fleet(replicas: Sequence[int], shares: Sequence[Sequence[float]]) -> Fleet:
    """Pools and a relay; one row of shares per class."""
    cost = make_cost(PS // 200, PS // 50_000, 200_000, 8_000_000, 100, 1000)
    pools = tuple(make_pool(cost, replicas=n) for n in replicas)
    return Fleet((*pools, RelayEndpoint("r", RELAY)), np.array(shares))


def test_an_hour_that_fits_is_simulated_as_it_is() -> None:
    given = fleet([4], [[0.5, 0.5]])
    assert few_replicas(given, MAX_REQUESTS) == (given, 1.0)


def test_requests_that_no_pool_sees_are_not_made() -> None:
    given = fleet([4], [[1e-7, 2e-7]])
    kept, scale = few_replicas(given, 9e11)
    assert kept.targets == given.targets[:1]
    assert scale * 9e11 == pytest.approx(9e4) and kept.shares.tolist() == [[1.0]]


def test_a_pool_of_thousands_is_seen_on_few_replicas_that_are_as_busy() -> None:
    given = fleet([20_000, 2, 400], [[0.6, 0.0, 0.0, 0.0], [0.2, 0.001, 0.1, 0.5]])
    requests = 4e8
    kept, scale = few_replicas(given, requests)
    small = [each for each in kept.targets if isinstance(each, Pool)]
    before = given.shares[:, :3] * requests / np.array([20_000, 2, 400])
    after = kept.shares * scale * requests / np.array([pool.replicas for pool in small])
    assert np.allclose(before, after)
    assert 0.5 * MAX_REQUESTS < scale * requests < 1.5 * MAX_REQUESTS and (kept.shares.sum(axis=1) <= 1 + 1e-9).all()


def test_where_only_relays_serve_nothing_is_sent() -> None:
    kept, scale = few_replicas(fleet([4], [[0.0, 0.4]]), 9e11)
    assert scale == 0.0 and not kept.shares.any()


def test_more_money_buys_hosts_that_the_budget_does_not_reach(tmp_path: Path) -> None:
    """One H100 costs more than the budget, three of them less than the relay: between the two, hosts serve more for the money."""
    given = ["candidates.offers=[nebius.h100]", "traffic.rate_rps=150", "budget.per_month=2000"]
    scenario = load_scenario(Path(__file__).parents[3] / "scenarios/two_offers.yaml", given)
    plan = optimize(scenario, jobs=1, tell=lambda _: None, cache=tmp_path)
    assert plan.status == "over_budget" and plan.why is not None and plan.why.no_plan is not None
    usd_per_share = plan.solution.cost_usd / (1 - float(plan.solution.unserved[0, 0]) / 150)  # at the relay
    assert all(point.served_share > 1.2 * point.budget_usd / usd_per_share for point in plan.why.frontier)
