"""The contest of hand fleets: one that holds below the price of a plan is found, one that cannot hold is not, and draws are told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.beaten import contest, planned
from benchmarks.hand_fleets import homogeneous, overloaded, settled_of
from optimize.plan import market_for
from optimize.search.loop import Market
from sim.scenario import load_scenario

TEXT = """
name: contest
traffic: {rate_rps: 1}
request_classes: [{name: chat, share: 1.0, input_tokens: 300, output_tokens: 60, models: [llama-3.1-8b], slo: {ttft: {p95: 0.5}}}]
candidates:
  offers: [OFFERS]
  relays:
    - {name: fast, model: llama-3.1-8b, usd_per_mtok_input: 1, usd_per_mtok_output: 2, ttft_p50_s: 0.2, ttft_sigma: 0.1, tokens_per_s: 100}
    - {name: slow, model: llama-3.1-8b, usd_per_mtok_input: 0.1, usd_per_mtok_output: 0.1, ttft_p50_s: 1, ttft_sigma: 0.2, tokens_per_s: 99}
  weights: [fp8]
  tensor_parallel: [1]
budget: {per_month: 50000}
"""


def market(folder: Path, offers: str = "", rate: str = "1") -> Market:
    path = folder / "contest.yaml"
    path.write_text(TEXT.replace("OFFERS", offers).replace("rate_rps: 1", f"rate_rps: {rate}"), encoding="utf-8")
    return market_for(load_scenario(path), jobs=1, cache=folder / "cache")[0]


def test_fleet_that_holds_below_the_price_of_a_plan_beats_it(tmp_path: Path) -> None:
    """All requests at the fast relay cost 1,104 USD; somebody who plans for 2,000 is beaten."""
    found = contest(market(tmp_path), 2000.0, 8, ["relays_alone"], seed=1)
    assert found.beaten and all(400.0 <= each.usd < 1980.0 for each in found.beaten)


def test_plan_that_is_as_cheap_as_can_be_is_not_beaten(tmp_path: Path) -> None:
    """Five percent at the slow relay are what the promise allows at most: 1,057 USD."""
    found = contest(market(tmp_path), 1060.0, 8, ["relays_alone"], seed=1)
    assert not found.beaten and sum(found.simulated.values()) >= 4 and found.drawn >= 8


def test_overload_needs_no_simulation(tmp_path: Path) -> None:
    few = homogeneous(market(tmp_path, offers="aws.g6.xlarge", rate="400"), np.random.default_rng(1))
    assert few is not None
    for hosts, too_few in ((1, True), (500, False)):
        fleet = replace(few, hosts=(hosts,))
        assert overloaded(fleet, settled_of(fleet)) is too_few


def test_plan_that_is_kept_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = market(tmp_path).scenario
    monkeypatch.setenv("SERVEMIX_CACHE_DIR", str(tmp_path / "cache"))
    first = planned(scenario, tmp_path / "plans", 1)
    monkeypatch.delattr("benchmarks.beaten.optimize")
    assert planned(scenario, tmp_path / "plans", 1) == first and first[0] == "met"
