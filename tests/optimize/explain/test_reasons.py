"""Where requests go unserved, the reason is named: a promise and by how much, a policy, a stock; penalties are never printed as money."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from optimize.plan import optimize
from optimize.result import Plan
from optimize.tables.bill_lines import bill_of
from optimize.tables.plan_json import plan_json
from optimize.tables.recommendation import recommendation
from sim.scenario import load_scenario

RELAY = "{name: api, model: small, usd_per_mtok_input: 1, usd_per_mtok_output: 1, ttft_p50_s: 0.9, ttft_sigma: 0.2, tokens_per_s: 100}"
TEXT = """
name: reasons
traffic: {{rate_rps: 1}}
request_classes:
  - {{name: chat, share: 1, input_tokens: 500, output_tokens: 200, models: [small], slo: {{ttft: {{p95: {limit}}}}}}}
candidates: {{offers: [], relays: [{relay}]}}
{more}
budget: {{per_month: {budget}}}
"""


def plan(folder: Path, limit: float = 3.0, budget: float = 10_000, more: str = "", relay: str = RELAY, text: str = TEXT) -> Plan:
    path = folder / "reasons.yaml"
    path.write_text(text.format(limit=limit, budget=budget, more=more, relay=relay))
    return optimize(load_scenario(path), jobs=1, cache=folder)


def test_relay_that_breaks_a_promise_says_which_and_by_how_much_and_what_it_would_cost(tmp_path: Path) -> None:
    found = plan(tmp_path, limit=1.2)
    dropped = {each.name: each.reason for each in found.dropped}
    assert dropped["api:chat"].startswith(
        "ttft p95 is 1.25 s, promised 1.2 s; with such limits it would serve chat for about $1,840 a month"
    )
    alone = next(each for each in found.alternatives if each.name == "one relay: api")
    assert alone.status == "infeasible" and "ttft p95 is 1.25 s, promised 1.2 s" in alone.note


def test_share_of_relays_that_binds_is_named_with_what_its_end_would_cost(tmp_path: Path) -> None:
    found = plan(tmp_path, more="policy: {max_relay_share: 0.3}")
    assert found.why is not None and found.why.no_plan is not None
    (said,) = found.why.no_plan.binding
    assert said.startswith("policy.max_relay_share (today 30 %) binds: without it everything is served, for $1,8")
    (scarce,) = found.why.shadows
    assert scarce.saves_usd == 0.0 and "serves up to 1 points more of all requests" in scarce.sentence


def test_what_is_paid_in_any_case_is_used_even_above_the_budget(tmp_path: Path) -> None:
    found = plan(tmp_path, budget=1_000, more="policy: {relay_accounts: [{relay: api, committed_usd: 5000}]}")
    assert found.status == "over_budget" and not found.solution.unserved.any() and found.verification is not None
    assert any("4,000 above the budget" in each for each in found.warnings)


GIVEN = """
name: given
traffic: {{rate_rps: 90, minute_noise_cv: 0}}
request_classes: [{{name: chat, share: 1, input_tokens: 500, output_tokens: 200, models: [llama-3.1-8b]}}]
candidates: {{offers: [{{name: A10, usd_per_hour: 1.0, stock: 8}}], relays: [], measured_capacity: given.csv}}
policy: {{safety: 0}}
budget: {{per_month: 100000}}
"""


def test_no_amount_of_an_unserved_plan_is_above_the_bill(tmp_path: Path) -> None:
    """A host more would serve what is left out: that is worth a penalty in the program, and no money."""
    (tmp_path / "given.csv").write_text("offer,class,rate_rps\nA10,chat,10\n")
    found = plan(tmp_path, text=GIVEN)
    assert found.why is not None and found.why.no_plan is not None and found.why.attribution is not None
    assert "serves up to 11.1 points more" in found.why.shadows[0].sentence and found.why.shadows[0].saves_usd == 0.0
    assert np.isnan(found.why.attribution.marginal_usd).all()
    assert found.why.no_plan.binding[0].startswith("the stock of A10 (today 8) binds: without it everything is served, for $6,570 a month")
    assert most(plan_json(found)["why"]) <= 100_000


def most(value: Any) -> float:
    """The largest amount of money in a JSON value: numbers under keys that say so."""
    if isinstance(value, dict):
        money = {k for k in value if ("per_month" in k and "requests" not in k) or k in ("saves", "marginal", "cost")}
        return max((float(v) if k in money else most(v) for k, v in value.items() if v), default=0.0)
    return max(map(most, value), default=0.0) if isinstance(value, list) else 0.0


OWN = """
name: own
traffic: {{rate_rps: 1}}
request_classes: [{{name: chat, share: 1, input_tokens: 300, output_tokens: 40, models: [llama-3.1-8b], slo: {{ttft: {{p95: {limit}}}}}}}]
candidates: {{offers: [aws.g6e.xlarge], relays: [{relay}], weights: [fp8], tensor_parallel: [1]}}
engine: {{max_num_seqs: 4}}
budget: {{per_month: {budget}}}
"""
SAME_MODEL = RELAY.replace("model: small", "model: llama-3.1-8b")


def test_alternative_of_own_gpus_names_the_promise_that_they_break_and_not_a_relay(tmp_path: Path) -> None:
    found = {each.name: each for each in plan(tmp_path, limit=0.01, text=OWN, relay=SAME_MODEL).alternatives}
    for name in ("own GPUs wherever possible", "own l40s only"):
        assert found[name].status == "infeasible" and found[name].note.startswith("aws.g6e.xlarge/llama-3.1-8b/fp8: ttft p95 is ")
        assert "promised 10 ms on an idle replica; with looser limits it would serve chat for $1,359 a month or more" in found[name].note
        assert "api:" not in found[name].note
    assert found["relays wherever allowed"].note.startswith("api: ttft p95 is ")


def test_nothing_bought_is_said_with_its_reason_and_without_a_price(tmp_path: Path) -> None:
    found = plan(tmp_path, limit=0.01)
    first = recommendation(found, bill_of(found))[0]
    assert first.startswith("No candidate keeps every promise of chat, so nothing is bought: api: ttft p95 is 1.25 s, promised 10 ms;")
    assert "$0.00" not in " ".join(recommendation(found, bill_of(found)))


def test_budget_below_what_any_plan_costs_is_the_reason_and_no_promise_is(tmp_path: Path) -> None:
    found = plan(tmp_path, budget=0)
    assert found.status == "over_budget" and found.why is not None and found.why.no_plan is not None
    assert found.why.no_plan.gives == ()
    assert found.why.no_plan.binding[-1].startswith("the budget alone is the reason: to serve every request costs $")
    first = recommendation(found, bill_of(found))[0]
    assert first == "The budget buys no plan, not even in part. The cheapest costs $1,840 a month, $1,840 above the budget."


def test_kinds_without_any_candidate_are_no_alternatives(tmp_path: Path) -> None:
    names = {each.name for each in plan(tmp_path).alternatives}
    assert "relays wherever allowed" in names and "own GPUs wherever possible" not in names


def test_alternative_that_the_plan_obeys_is_the_plan(tmp_path: Path) -> None:
    """What seems cheaper under the same restriction did not hold: no alternative of the same candidates undercuts the plan."""
    found = plan(tmp_path, limit=2.0, text=OWN.replace("rate_rps: 1", "rate_rps: 6"), relay="")
    own = {each.name: each.per_month_usd for each in found.alternatives}
    assert found.status == "met" and own == {
        "own GPUs wherever possible": found.solution.cost_usd,
        "own l40s only": found.solution.cost_usd,
    }
