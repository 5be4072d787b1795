"""A relay is planned with the misses of a bad hour, so that a promise that holds on the seeds seen also holds on those that nobody saw."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binom

from optimize.plan import optimize
from optimize.result import Plan
from optimize.search.fresh_seeds import FEW_MISSES, relay_room, risk
from sim.scenario import load_scenario

PRICED = "model: llama-3.1-8b, tokens_per_s: 50, ttft_sigma: 0.3, usd_per_mtok_input: {0}, usd_per_mtok_output: {0}"
CLOSE = f"{{name: close, vendor: a, ttft_p50_s: 0.6, {PRICED.format(0.05)}}}"
QUICK = f"{{name: quick, vendor: b, ttft_p50_s: 0.3, {PRICED.format(0.5)}}}"
LIMIT_S = 0.99  # of `close` 95.2 % are quicker: log-normal, 0.6 exp(0.3 z) = 0.99 at z = 1.669
TEXT = f"""\
name: close_call
seed: 1
traffic: {{rate_rps: 2}}
request_classes:
  - {{name: chat, share: 1, input_tokens: 100, output_tokens: 20, models: [llama-3.1-8b], slo: {{ttft: {{p95: {LIMIT_S}}}}}}}
candidates: {{offers: [], relays: [RELAYS]}}
budget: {{per_month: 5000}}
"""


def plan_with(folder: Path, *relays: str) -> Plan:
    path = folder / "close_call.yaml"
    path.write_text(TEXT.replace("RELAYS", ", ".join(relays)))
    return optimize(load_scenario(path), jobs=1, cache=folder, only_plan=True)


# --- relay_room


@pytest.mark.parametrize("hours", [1, 48])
@pytest.mark.parametrize(("requests", "allowed"), [(2_000, 0.05), (10_000, 0.05), (10_000, 0.01)])
def test_relay_with_its_room_breaks_a_fresh_hour_no_more_often_than_it_may(requests: int, allowed: float, hours: int) -> None:
    """At the largest miss share that the program lets through, by the exact law of the misses."""
    largest = max(m for m in (allowed * k / 1000 for k in range(1, 1000)) if m + relay_room(m, requests, allowed, hours) <= allowed)
    assert float(binom.sf(allowed * requests, requests, largest)) <= risk(hours)


def test_promise_that_allows_a_few_misses_an_hour_asks_for_no_room() -> None:
    assert relay_room(0.02, FEW_MISSES / 0.05 - 1, 0.05, 48) == 0.0 < relay_room(0.02, FEW_MISSES / 0.05 + 1, 0.05, 48)


# --- the search


def test_relay_at_the_edge_of_a_promise_is_left_as_much_traffic_as_a_fresh_hour_bears(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, CLOSE, QUICK)
    shares = {
        terms.relay.id: float(flow.sum() / plan.demand.mean_rps.sum())
        for terms, flow in zip(plan.program.relays, plan.solution.relay_flow, strict=True)
    }
    assert plan.status == "met" and 0.5 < shares["close"] < 0.95 and shares["quick"] > 0.05
    assert not [words for words in plan.warnings if "fresh week" in words]


def test_plan_without_a_surer_relay_says_on_how_many_seeds_it_holds(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, CLOSE)
    assert plan.status == "met" and plan.program.relays[0].miss[0] < 0.05  # what is kept was chosen without room
    (said,) = [words for words in plan.warnings if "fresh week" in words]
    assert said.startswith("chat ttft: kept over the hold-out seeds together, in every hour on ")
