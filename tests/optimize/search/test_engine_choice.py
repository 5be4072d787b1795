"""Engine limits as a choice of the plan: which are tried, which win, and that a plan that was saved keeps them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from optimize.market.engine_settings import engine_limits
from optimize.market.pools import PoolState
from optimize.market.serve_line import serve_command
from optimize.plan import market_for
from optimize.program.solve import solve
from optimize.search import loop
from optimize.search.capacity import measure_all
from optimize.search.engine_choice import add_better_limits, climb, option_with, rivals, trials_of
from optimize.search.known_market import Market, Restriction, Settled
from optimize.simulate.saved_plan import deployment_of
from sim.catalog.loader import load_catalog
from sim.engine.deployment import EngineLimits
from sim.scenario import load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"
SHORT_STEPS = "request_classes.0.slo={ttft: {p95: 5.0}, tpot: {p99: 0.03}}"
LONG_PROMPTS = ("request_classes.0.input_tokens=6000", "request_classes.0.output_tokens=100")


@lru_cache
def market(*settings: str) -> Market:
    """One kind of host, one class of long prompts whose tokens must come steadily."""
    only = ("candidates.offers=[aws.g6e.xlarge]", "candidates.relays=[]", "candidates.weights=[fp8]", "candidates.tensor_parallel=[1]")
    scenario = load_scenario(SCENARIO, (*only, "traffic={rate_rps: 1, minute_noise_cv: 0}", *LONG_PROMPTS, SHORT_STEPS, *settings), None)
    return market_for(scenario, jobs=1)[0]


def measured(given: Market, rate_rps: float) -> PoolState:
    """The pool of the market as if `rate_rps` had been measured on one replica."""
    from optimize.market.operating_point import OperatingPoint

    state = replace(given.states[0], points={(1, (1.0,)): OperatingPoint(rate_rps, (0.0,) * len(given.slos), 0.0, 1)})
    return state


def tried(given: Market, name: str) -> list[int]:
    trials = trials_of(given, measured(given, 1.0))
    return [getattr(limits, name) for limits in rivals(given.scenario, trials, trials.deployment.limits, name)]


def test_limits_that_an_engine_starts_with_follow_the_card() -> None:
    """vLLM/engine/arg_utils.py, get_batch_defaults: large cards, A100 apart, start with 8,192 tokens and 1,024 sequences."""
    scenario, gpus = load_scenario(SCENARIO, (), None), load_catalog().gpus
    found = {name: engine_limits(scenario, gpus[name]) for name in ("h100", "h200", "a100-80", "l40s")}
    assert {name: (each.max_num_batched_tokens, each.max_num_seqs) for name, each in found.items()} == {
        "h100": (8192, 1024), "h200": (8192, 1024), "a100-80": (2048, 256), "l40s": (2048, 256),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "tokens", "seqs"),
    [("max_num_batched_tokens: 512", 512, 512), ("max_num_seqs: 64", 8192, 64), ("max_num_seqs: 2000", 8192, 2000)],
)
def test_a_limit_that_is_stated_bounds_the_other(stated: str, tokens: int, seqs: int) -> None:
    scenario = load_scenario(SCENARIO, (f"engine={{{stated}}}",), None)
    limits = engine_limits(scenario, load_catalog().gpus["h100"])
    assert (limits.max_num_batched_tokens, limits.max_num_seqs) == (tokens, seqs)


def test_smaller_steps_are_tried_only_where_the_time_per_token_is_promised() -> None:
    assert tried(market(), "max_num_batched_tokens") == [1024, 4096, 512, 8192]
    assert tried(market("request_classes.0.slo={e2e: {p95: 60}}"), "max_num_batched_tokens") == [4096, 8192]


def test_more_sequences_are_tried_only_where_the_cache_can_hold_them() -> None:
    assert tried(market(), "max_num_seqs") == [64], "some 40 prompts of 6,000 tokens fill the cache"
    assert 512 in tried(market("request_classes.0.input_tokens=50"), "max_num_seqs")


def test_a_scenario_fixes_or_bounds_the_choice() -> None:
    fixed, bounded = market("engine={max_num_seqs: 256, max_num_batched_tokens: 2048}"), market("candidates.max_num_batched_tokens=[1024]")
    assert not add_better_limits(fixed, Restriction()) and len(fixed.states) == 1
    assert tried(bounded, "max_num_batched_tokens") == [1024]


def test_limits_that_carry_more_become_a_pool_and_carry_more_when_measured() -> None:
    """Steps of 2,048 prompt tokens break a promise of 30 ms a token on this card; smaller ones keep it."""
    given = market("seed=2")
    state = given.states[0]
    solved = Restriction(rough=True)
    probe = trials_of(given, measured(given, 1.0)).probe
    state.points[1, (1.0,)] = own = measure_all(given.scenario, [probe], given.store, 1)[0]
    assert add_better_limits(given, solved)
    better = given.states[-1]
    assert better.option.deployment is not None and better.option.deployment.limits.max_num_batched_tokens < 2048
    assert better.option.id.startswith(f"{state.option.id.rpartition(':')[0]}/{better.option.deployment.variant}:")
    assert better.cost is not None and state.explored and better.explored
    point = measure_all(given.scenario, [replace(probe, option=better.option, cost=better.cost)], given.store, 1)[0]
    assert point.rate_rps > 1.02 * own.rate_rps
    assert not add_better_limits(given, solved), "what was tried is not tried again"


def test_of_limits_that_gain_nothing_none_is_chosen() -> None:
    given = market()
    trials = trials_of(given, measured(given, 1e3))
    own = trials.deployment.limits
    assert climb(given.scenario, trials, own, 1e3, list(rivals(given.scenario, trials, own, "max_num_seqs"))) == (own, 1e3)


def test_a_saved_plan_keeps_limits_and_the_format_of_the_cache() -> None:
    given = market()
    option = option_with(given.states[0].option, replace(EngineLimits(), max_num_batched_tokens=512, max_num_seqs=64))
    assert option.deployment is not None
    kept = replace(option.deployment, kv_bytes_per_number=1)
    entry: dict[str, Any] = {
        "model": kept.model.id, "weights": "fp8", "gpu": "l40s", "tensor_parallel": 1, "kv_format": "fp8",
        "engine": {"max_num_seqs": 64, "max_num_batched_tokens": 512},
    }  # fmt: skip
    again = deployment_of(entry, given.scenario)
    assert (again.limits.max_num_seqs, again.limits.max_num_batched_tokens, again.kv_format) == (64, 512, "fp8")
    assert "--max-num-seqs 64 --max-num-batched-tokens 512" in serve_command(kept) and "--kv-cache-dtype fp8" in serve_command(kept)
    old = {name: value for name, value in entry.items() if name not in ("engine", "kv_format")}
    assert deployment_of(old, given.scenario) == given.states[0].option.deployment, "plans of earlier versions state none"


@pytest.mark.parametrize(("rough", "choose", "tried_once"), [(True, False, False), (True, True, True), (False, False, True)])
def test_rough_side_questions_try_no_limits_unless_they_ask(
    monkeypatch: pytest.MonkeyPatch, rough: bool, choose: bool, tried_once: bool
) -> None:
    """What surrounds a plan asks dozens of rough questions: pilots in each would cost more than the plan."""
    calls: list[str] = []
    given = market("seed=3")
    nothing = given.problem(Restriction(), [])
    settled = Settled(nothing, solve(nothing), ())
    monkeypatch.setattr(loop, "settle_at", lambda *_, **__: settled)
    monkeypatch.setattr(loop, "add_better_limits", lambda *_: bool(calls.append("limits")))
    loop.settle(given, Restriction(rough=rough, choose_limits=choose))
    assert bool(calls) is tried_once
