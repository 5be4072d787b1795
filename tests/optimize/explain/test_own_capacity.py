"""Curves of own GPUs rest on measured pools, also where the plan itself buys tokens alone."""

from __future__ import annotations

from pathlib import Path

from optimize.explain.own_capacity import unmeasured, with_own_measured
from optimize.plan import market_for
from optimize.search.loop import Restriction, settle
from sim.scenario import load_scenario

TEXT = """
name: by_api
traffic: {rate_rps: 0.2}
request_classes:
  - {name: a, share: 1, input_tokens: 300, output_tokens: 100, models: [llama-3.1-8b], slo: {ttft: {p95: 2.0}, tpot: {p95: 0.06}}}
candidates:
  offers: [verda.h100]
  relays: [{name: r, model: llama-3.1-8b, usd_per_mtok_input: 0.02, usd_per_mtok_output: 0.03, ttft_p50_s: 0.4, tokens_per_s: 100}]
  weights: [fp8]
  max_num_seqs: [128]
budget: {per_month: 5000}
"""


def test_pools_that_own_gpus_alone_would_use_are_measured_and_the_market_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT)
    market, _ = market_for(load_scenario(file), jobs=1, cache=tmp_path)
    settled = settle(market, Restriction())
    before = [len(state.points) for state in market.states]
    assert not settled.solution.hosts.any() and unmeasured(settled.problem)
    found = with_own_measured(market, settled)
    assert not unmeasured(found) and [each.option.id for each in found.pools] == [each.option.id for each in settled.problem.pools]
    assert [len(state.points) for state in market.states] == before
