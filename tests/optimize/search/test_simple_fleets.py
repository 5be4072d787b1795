"""Simple fleets stand next to the plan: what holds in the simulator is never called impossible, and never undercuts the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.plan import market_for, optimize
from optimize.records import LoadLevel, PoolTerms
from optimize.search.loop import Market, Restriction
from optimize.search.simple_fleets import adopted, simplest
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

TEXT = """
name: simple
traffic: TRAFFIC
request_classes: [{name: chat, share: 1.0, input_tokens: 300, output_tokens: 60, models: [llama-3.1-8b], slo: {ttft: {p95: 1.0}}}]
engine: {max_num_seqs: 4}
candidates: {offers: [OFFERS], relays: [RELAYS], weights: [fp8], tensor_parallel: [1]}
budget: {per_month: 50000}
"""


def scenario(folder: Path, traffic: str = "{rate_rps: 8}", offers: str = "aws.g6e.xlarge", relays: str = "") -> Scenario:
    path = folder / "simple.yaml"
    path.write_text(TEXT.replace("TRAFFIC", traffic).replace("OFFERS", offers).replace("RELAYS", relays), encoding="utf-8")
    return load_scenario(path)


def market(folder: Path, **given: str) -> Market:
    return market_for(scenario(folder, **given), jobs=1, cache=folder / "cache")[0]


def closed(found: Market) -> Market:
    """The market as if no pool could serve anybody."""
    for state in found.states:
        none = LoadLevel(np.full_like(state.base, np.inf), np.zeros(len(found.slos)))
        state.given = PoolTerms(state.option, (none,), 1.0, 0.0, True)
    return found


def test_fleet_that_holds_is_found_although_the_program_knows_of_none(tmp_path: Path) -> None:
    found = simplest(closed(market(tmp_path)), Restriction(), 50_000.0)
    assert found is not None
    settled, evidence = found
    assert not settled.unserved and all(verdict.met for each in evidence for verdict in each.verdicts)
    assert settled.solution.hosts.max() >= 2


def test_one_host_less_would_not_have_held(tmp_path: Path) -> None:
    """The fleet is the smallest: one that is dearer than half of it is not found when nothing above that may be paid."""
    asked = market(tmp_path)
    found = simplest(asked, Restriction(), 50_000.0)
    assert found is not None
    assert simplest(asked, Restriction(), found[0].solution.cost_usd) is None


@pytest.mark.parametrize("elastic", [False, True])
def test_a_spare_host_is_one_more_than_the_fleet_that_holds_without_it(tmp_path: Path, elastic: bool) -> None:
    """What a fleet carries is not found with the help of its spare: with one host lost it is the fleet that holds without N+1."""
    offer = f"{{name: host, gpu: l40s, usd_per_hour: 1.0, elastic: {str(elastic).lower()}}}"
    plain, spared = market(tmp_path, offers=offer), market(tmp_path, offers=offer)
    spared.scenario = replace(spared.scenario, policy=replace(spared.scenario.policy, n_plus_one=True))
    fleets = [simplest(each, Restriction(), 50_000.0) for each in (plain, spared)]
    assert fleets[0] is not None and fleets[1] is not None
    assert (fleets[1][0].solution.hosts == fleets[0][0].solution.hosts + 1).all()


def test_relay_alone_is_tried(tmp_path: Path) -> None:
    found = simplest(market(tmp_path, offers="", relays="deepinfra.llama-3.1-8b"), Restriction(), 50_000.0)
    assert found is not None and found[0].problem.relays[0].relay.id == "deepinfra.llama-3.1-8b"


def test_nothing_is_tried_where_a_class_has_no_target(tmp_path: Path) -> None:
    asked = market(tmp_path)
    assert simplest(asked, Restriction(keep_pool=lambda _: False), 50_000.0) is None


def test_bursts_of_a_log_end_in_a_plan(tmp_path: Path) -> None:
    """One replica cannot carry the bursts; that is no reason to give the pool up."""
    calm = np.linspace(0.0, 3_590.0, 300)
    bursts = np.concatenate([start + np.linspace(0.0, 10.0, 120) for start in (600.0, 1800.0, 3000.0)])
    rows = [f"{time:.3f},4000,40" for time in sorted([*calm, *bursts])]
    (tmp_path / "log.csv").write_text("\n".join(["arrival_s,input_tokens,output_tokens", *rows]), encoding="utf-8")
    plan = optimize(scenario(tmp_path, traffic="{log: log.csv}"), jobs=1, cache=tmp_path / "cache", only_plan=True)
    assert plan.status == "met"
    assert 1 < plan.solution.hosts.max() < 12


def test_quiet_hour_with_a_burst_gets_hosts_of_its_own(tmp_path: Path) -> None:
    """Hosts follow the hour; the share of a quiet hour does not carry its burst, and the other hours need not pay for it."""
    busy, quiet = np.linspace(0.0, 3_599.0, 2000), np.linspace(3_600.0, 7_150.0, 60)
    burst = 5_000.0 + np.linspace(0.0, 6.0, 120)
    rows = [f"{time:.3f},3000,20" for time in sorted([*busy, *quiet, *burst, 7_199.0])]
    (tmp_path / "log.csv").write_text("\n".join(["arrival_s,input_tokens,output_tokens", *rows]), encoding="utf-8")
    offer = "{name: host, gpu: l40s, usd_per_hour: 1.0, elastic: true}"
    found = simplest(market(tmp_path, traffic="{log: log.csv}", offers=offer), Restriction(), 50_000.0)
    assert found is not None
    hosts = found[0].solution.hosts[0]
    assert len(hosts) == 2 and hosts[1] > hosts[0]


def test_what_a_proof_contradicts_of_an_adopted_fleet_is_learnt(tmp_path: Path) -> None:
    """The fleet's deployment is known from then on by what it carried; a correction raises that load, and stays with the market."""
    asked = market(tmp_path)
    asked.states[0].correction = 1.3  # of points that the fleet makes void
    found = simplest(asked, Restriction(), 50_000.0)
    assert found is not None
    settled, _ = adopted(asked, found)
    (state,) = settled.pools
    assert state is asked.states[0] and state.correction == 1.0
    before = state.terms().levels[0].load
    state.correction *= 1.1
    assert asked.states[0].terms().levels[0].load == pytest.approx(before * 1.1)
