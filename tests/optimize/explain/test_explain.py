"""Why this plan, and why none: answers differ by what stands in the way, parts add up, prices are confirmed by solving again."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.explain.attribution import attribution, pool_keys
from optimize.explain.bottleneck import KV_MEMORY, SEQUENCES, Point, narrowest, parts_of
from optimize.explain.duals import demand_duals, measured_only, relaxation, shadows
from optimize.explain.explanation import served_for
from optimize.explain.near_optimal import Kind, gpu_types, keeps
from optimize.explain.no_plan import no_plan
from optimize.explain.prompts_too_long import too_long
from optimize.explain.why import known_and_least, why
from optimize.market.candidates import candidates
from optimize.market.pools import pool_states, slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.money import cost_lines
from optimize.plan import budget_usd, costs_of
from optimize.plan import optimize as find_plan
from optimize.program.solve import solve
from optimize.records import ProgramInput
from optimize.result import Why
from optimize.search.cache import CapacityStore
from optimize.search.loop import Market, Restriction, Settled, settle
from optimize.tables.bill_lines import bill_of
from optimize.tables.decision_why import ALL, class_cost_table, sections
from sim.catalog.loader import load_catalog
from sim.engine.deployment import Deployment
from sim.engine.pool import TargetStats
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of

TEXT = """
name: small
traffic: {daily_active_users: 40_000, conversations_per_user: 2, turns_per_conversation: 2, day_shape: consumer_chat}
request_classes:
  - name: chat
    share: 0.7
    input_tokens: 400
    output_tokens: 150
    models: [llama-3.1-8b]
    slo: {ttft: {p95: 1.0}, tpot: {p95: 0.06}}
  - name: private
    share: 0.3
    input_tokens: 800
    output_tokens: 100
    models: [llama-3.1-8b]
    self_hosted_only: true
    slo: {ttft: {p95: 2.0}}
candidates:
  offers: [{name: host, gpu: l40s, usd_per_hour: 0.8, elastic: true}]
  relays: [{name: r, model: llama-3.1-8b, usd_per_mtok_input: 0.04, usd_per_mtok_output: 0.08, ttft_p50_s: 0.3, tokens_per_s: 60}]
  weights: [fp8]
  tensor_parallel: [1]
budget: {per_month: 1000}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("explain")
    (made / "small.yaml").write_text(TEXT)
    return made


def scenario(folder: Path, *settings: str) -> Scenario:
    return load_scenario(folder / "small.yaml", list(settings), None)


def market_of(given: Scenario, folder: Path) -> Market:
    """What `optimize` searches in."""
    demand, slos = demand_of(given), slo_rows(given)
    options, _ = candidates(given, demand)
    states = pool_states(options, costs_of(given, options), demand, slos)
    store = CapacityStore(folder / "store")
    return Market(given, demand, slos, states, relay_terms(given, demand, slos), budget_usd(given), store, 1, lambda _: None)


@pytest.fixture(scope="module")
def settled(folder: Path) -> tuple[Market, Settled]:
    market = market_of(scenario(folder), folder)
    return market, settle(market, Restriction(rough=True))


def words(given: Scenario, folder: Path) -> tuple[str, list[str]]:
    """(status, sentences on what would make a plan) of the whole `optimize`."""
    plan = find_plan(given, jobs=1, cache=folder / "store")
    said = dict(sections(plan, bill_of(plan)))
    return plan.status, said.get("What would make a plan", [])


def test_half_of_the_budget_says_the_smallest_that_works(folder: Path, settled: tuple[Market, Settled]) -> None:
    """One host is needed in every hour for the private class: $584, so that $300 cannot do it."""
    status, said = words(scenario(folder, "budget.per_month=300"), folder)
    assert status == "over_budget"
    least = settled[1].solution.cost_usd
    assert any(f"smallest budget that serves everything: ${least:,.2f}" in line for line in said)
    assert any(line.startswith("private:") and "hours" in line for line in said)


def test_without_gpus_nobody_may_serve_what_must_stay_at_home(folder: Path) -> None:
    status, said = words(scenario(folder, "candidates.offers=[]"), folder)
    assert status == "infeasible"
    assert any("no candidate may serve private" in line for line in said)
    assert any("at best 70.00%" in line for line in said)


def test_prompts_that_fit_no_context_are_named_with_the_limit_and_no_promise_is_relaxed(folder: Path) -> None:
    """8 % of the requests are over the context, and a 95th percentile may miss 5 %."""
    prompts = "request_classes.chat.input_tokens={quantiles: {0: 100000, 0.9: 110000, 1: 200000}}"
    own = ["candidates.offers=[]", "request_classes.private.self_hosted_only=false", "candidates.relays.0.max_context=128000"]
    given = scenario(folder, *own, prompts)
    market = market_of(given, folder)
    found = no_plan(market, settle(market, Restriction(rough=True)), "infeasible", full=False)
    (long,) = found.too_long
    assert (long.class_name, long.candidate, long.context_tokens, long.quantile) == ("chat", "r", 128000, 0.95)
    assert 150_000 < long.prompt_tokens < 160_000 and 199_000 < long.longest_prompt_tokens <= 200_000
    assert found.never == ("chat",) and found.gives == ()
    status, said = words(given, folder)
    assert status == "infeasible" and any("do not fit the context of any candidate; the largest is 128,000 (r)" in line for line in said)
    roomy = market_of(scenario(folder, *own[:2], "candidates.relays.0.max_context=160000", prompts), folder)
    assert too_long(roomy, 0) is None and too_long(market, 1) is None


def test_an_own_model_without_room_for_the_longest_prompt_is_named_and_not_called_forbidden(folder: Path) -> None:
    status, said = words(scenario(folder, "candidates.relays=[]", "request_classes.private.input_tokens=140000"), folder)
    assert status == "infeasible"
    assert any("private: prompts of up to 140,000 tokens" in line and "131,072 (llama-3.1-8b)" in line for line in said)
    assert not any("no candidate may serve private" in line for line in said)


def test_without_relays_own_hosts_serve_everything(folder: Path, settled: tuple[Market, Settled]) -> None:
    given = scenario(folder, "candidates.relays=[]")
    alone = settle(market_of(given, folder), Restriction(rough=True))
    assert not alone.unserved and not alone.solution.relay_flow.any()
    assert alone.solution.cost_usd >= settled[1].solution.cost_usd - 0.01


@pytest.mark.slow  # what it takes to keep a promise is also asked of two_offers, in tests/optimize/finance/commitment/test_command.py
def test_a_promise_ten_times_as_tight_says_by_how_much_it_must_give(folder: Path) -> None:
    """0.02 s is the network alone: no one keeps that; the limit said can be kept, at about the cost said, and a fifth less cannot."""
    given = scenario(folder, "request_classes.private.slo.ttft.p95=0.02")
    market = market_of(given, folder)
    found = no_plan(market, settle(market, Restriction(rough=True)), "infeasible", full=False)
    assert found.never == ("private",) and found.nobody == () and found.smallest_budget_usd is None
    (give,) = found.gives
    assert give.needed_s is not None and 0.035 < give.needed_s < 0.2  # 20 ms of network and 15 ms of tokenising come first
    at, any_budget = "request_classes.private.slo.ttft.p95", Restriction(budget_usd=math.inf, rough=True)
    loose = settle(market_of(scenario(folder, f"{at}={give.needed_s}"), folder), any_budget)
    tight = settle(market_of(scenario(folder, f"{at}={give.needed_s / 1.25}"), folder), any_budget)
    assert not loose.unserved and give.then_usd == pytest.approx(loose.solution.cost_usd, rel=0.02)
    assert tight.unserved


def test_cost_by_class_and_hour_sums_to_the_bill_to_the_cent(folder: Path) -> None:
    plan = find_plan(scenario(folder), jobs=1, cache=folder / "store")
    assert plan.why is not None and plan.why.attribution is not None
    assert plan.why.attribution.usd.sum() == pytest.approx(sum(line.per_month_usd for line in plan.lines), abs=1e-6)
    rows = class_cost_table(plan, plan.why.attribution).rows
    cents = [round(100 * float(row[2] or 0)) for row in rows if row[1] == ALL]
    assert sum(cents) == bill_of(plan).total
    assert sum(round(100 * float(row[2] or 0)) for row in rows if row[1] != ALL) == bill_of(plan).total


def test_marginal_prices_sum_to_the_cost_of_the_relaxation(settled: tuple[Market, Settled]) -> None:
    """Strong duality: nothing here is scarce, so that all of the cost is the price of demand."""
    found = relaxation(measured_only(settled[1].problem))
    assert demand_duals(found).sum() == pytest.approx(found.objective, rel=1e-6)


def test_an_idle_hour_of_a_host_is_charged_by_use_over_the_month(settled: tuple[Market, Settled]) -> None:
    terms = settled[1].problem.pools[0]
    load = terms.levels[0].load
    flow = np.zeros((2, 3))
    served = terms.option.classes[0]
    flow[served, :2] = 1.0 / load[served]
    keys = pool_keys(terms, flow, np.array([10.0, 20.0, 30.0]))
    assert keys.sum() == pytest.approx(60.0) and keys[served] == pytest.approx([10.0, 20.0, 30.0])


def scarce(problem: ProgramInput, hosts: int, rpm: float) -> ProgramInput:
    """The problem with a stock on the host, and a hard limit at the relay."""
    pools = tuple(
        replace(t, option=replace(t.option, offer=replace(t.option.offer, stock=hosts)), intercept=0.0, slope=1.0) for t in problem.pools
    )
    relays = tuple(replace(t, relay=replace(t.relay, rpm=rpm), hard_limits=True) for t in problem.relays)
    return replace(problem, pools=pools, relays=relays, budget_usd=math.inf)


def busy(problem: ProgramInput) -> ProgramInput:
    """Demand of which a host of one unit of capacity carries a third; the relay is dear, so that hosts are wanted."""
    (pool, *_) = [t for t in problem.pools if len(t.option.classes) == 2]
    load = np.where(np.isfinite(pool.levels[0].load), pool.levels[0].load, 0.0)
    rate = np.array([[2.0, 2.0], [1.0, 1.0]]) / load[:, None]
    demand = replace(problem.demand, slices=("a", "b"), weight_h=np.array([365.0, 365.0]), mean_rps=rate)
    relays = tuple(replace(t, usd_per_request=t.usd_per_request * 50) for t in problem.relays)
    return replace(problem, demand=demand, pools=(pool,), relays=relays)


def test_one_more_host_saves_what_its_price_says(settled: tuple[Market, Settled]) -> None:
    """The relaxation's price of stock against the program solved with one host more: equal, for capacity here has no rounding."""
    given = busy(settled[1].problem)
    before, after = scarce(given, 2, 1e9), scarce(given, 3, 1e9)
    found = shadows(relaxation(before), solve(before, gap=1e-6))
    (host,) = [shadow for shadow in found if shadow.unit == "host"]
    saved = solve(before, gap=1e-6).cost_usd - solve(after, gap=1e-6).cost_usd
    assert saved > 100 and host.saves_usd == pytest.approx(saved, rel=1e-3)
    assert "one more host host" in host.sentence


def test_more_requests_a_minute_save_what_their_price_says(settled: tuple[Market, Settled]) -> None:
    """Hosts are dear here, and the relay may take only part: 1,000 requests a minute more save what the relaxation says."""
    given = busy(settled[1].problem)
    dear = tuple(replace(t, option=replace(t.option, offer=replace(t.option.offer, usd_per_hour=500.0))) for t in given.pools)
    given = replace(given, pools=dear)
    peak = float(given.demand.mean_rps[0].max() * given.demand.peak_factor * 60)
    before, after = scarce(given, 9, peak / 4), scarce(given, 9, peak / 4 + 100.0)
    found = shadows(relaxation(before), solve(before, gap=1e-6))
    (more,) = [shadow for shadow in found if shadow.unit == "RPM"]
    saved = relaxation(before).objective - relaxation(after).objective
    assert saved > 0 and more.saves_usd == pytest.approx(saved * 10, rel=1e-3)


def test_a_thousand_more_of_budget_serves_what_its_price_says(settled: tuple[Market, Settled]) -> None:
    given = scarce(busy(settled[1].problem), 9, 1e9)
    limit = 0.5 * relaxation(given).objective
    found = relaxation(given, limit)
    (budget,) = [shadow for shadow in shadows(found, solve(given)) if shadow.name == "budget"]
    richer = relaxation(given, limit + 10.0)
    requests = float((given.demand.mean_rps @ given.demand.weight_h).sum()) * 3600
    gained = (found.unserved - richer.unserved) / requests
    assert gained > 0 and budget.serves_share / budget.amount == pytest.approx(gained / 10.0, rel=1e-3)
    assert budget.serves_share <= found.unserved / requests * (1 + 1e-9)


def parts(point: Point) -> dict[str, float]:
    catalog = load_catalog()
    deployment = Deployment(catalog.models["llama-3.1-8b"], catalog.weight_formats["bf16"], catalog.gpus["l40s"])
    return parts_of(deployment, catalog.calibration, point)


def test_the_parts_of_a_step_sum_to_one_and_follow_the_load() -> None:
    """Few decodes wait for weights, many with long contexts for keys and values, prompts for arithmetic."""
    points = {
        "weight bandwidth": Point(tokens=4, decodes=4, sequences=4, context=4 * 300, pairs=0, prefill_context=0),
        "KV bandwidth": Point(tokens=128, decodes=128, sequences=128, context=128 * 3000, pairs=0, prefill_context=0),
        "prefill compute": Point(tokens=2048, decodes=8, sequences=10, context=8 * 500, pairs=2e6, prefill_context=2048),
    }
    for name, point in points.items():
        shares = parts(point)
        assert sum(shares.values()) == pytest.approx(1.0) and min(shares.values()) >= 0
        assert max(shares, key=lambda key: shares[key]) == name


@pytest.mark.parametrize(
    ("stats", "limit"),
    [
        (TargetStats("p", 1, kv_peak_share=0.99), KV_MEMORY),
        (TargetStats("p", 1, preemptions=3), KV_MEMORY),
        (TargetStats("p", 1, running_mean=250.0), SEQUENCES),
        (TargetStats("p", 1, kv_peak_share=0.5), "host"),
    ],
)
def test_full_memory_and_full_batches_are_named_before_parts_of_the_step(stats: TargetStats, limit: str) -> None:
    assert narrowest({"host": 0.6, "links": 0.4}, stats, 256) == limit


def test_where_a_pool_is_narrow_is_said_for_each_pool_that_runs(settled: tuple[Market, Settled]) -> None:
    market, plan = settled
    found: Why = why(plan, "met", cost_lines(plan.problem, plan.solution), False, market)
    running = [t.option.id for p, t in enumerate(plan.problem.pools) if plan.solution.hosts[p].any()]
    assert [each.pool for each in found.bottlenecks] == running
    for each in found.bottlenecks:
        assert sum(each.parts.values()) == pytest.approx(1.0)
        assert 0 < each.busy_share <= 1 and each.sequences < each.sequences_limit


def test_more_money_serves_more_and_all_of_it_everything(settled: tuple[Market, Settled]) -> None:
    known, cost_usd = known_and_least(*settled, None)
    assert cost_usd == settled[1].solution.cost_usd
    shares = [served_for(part, known, cost_usd).served_share for part in (0.5, 0.75, 1.0)]
    assert shares == sorted(shares) and shares[0] < 1.0 and shares[-1] == pytest.approx(1.0)


def test_fixed_costs_are_charged_by_requests(settled: tuple[Market, Settled]) -> None:
    problem = replace(settled[1].problem, fixed_usd=100.0)
    solution = settled[1].solution
    lines = [line for line in cost_lines(problem, solution) if line.kind == "fixed"]
    usd = attribution(problem, solution, lines, None).usd
    assert usd.sum(axis=1) == pytest.approx([70.0, 30.0])


def test_a_plan_with_room_keeps_its_promises_in_simulation_and_one_without_does_not(settled: tuple[Market, Settled]) -> None:
    """What `--explain full` asks before it recommends: the plan as it is, and with limits that no one can keep."""
    market, plan = settled
    assert keeps(market, Kind("as it is", plan.problem, plan.pools, gpu_types, ""), plan.solution)
    hard = replace(plan.problem, slos=tuple(replace(row, limit_s=1e-3) for row in plan.problem.slos))
    assert not keeps(market, Kind("hard", hard, plan.pools, gpu_types, ""), plan.solution)
