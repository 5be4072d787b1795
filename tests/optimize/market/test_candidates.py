"""Which deployments become pools, and why the others do not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optimize.market.candidates import USUAL_SIZES, candidates, no_own_hosts, offer_drops
from optimize.plan import unverified_plan
from optimize.program.solve import solve
from optimize.records import PoolOption
from optimize.search.user_capacity import measured_alternatives, measured_terms
from sim.catalog.facts import Offer, Source
from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario.scenario import Budget, ConstantTraffic, Policy, Scenario
from sim.scenario.schema.candidate import Candidates
from sim.traffic import demand as demand_of
from tests.optimize.program.problems import problem
from tests.traffic.scenarios import request_class, scenario, uniform

CATALOG = load_catalog()
SOURCE = Source("made up for a test", "2026-01-01")


def host(name: str, gpu: str, gpus: int = 1, price: float = 2.0, **more: Any) -> Offer:
    return Offer(name, "seller", gpu, gpus, price, more.pop("term", "on_demand"), SOURCE, elastic=True, **more)


def market(*offers: Offer, models: tuple[str, ...] = ("llama-3.1-8b",), **changes: Any) -> Scenario:
    """Two classes that accept `models`, and the offers given."""
    classes = [replace(request_class(name, 0.5), models=models) for name in ("chat", "faq")]
    base = scenario(ConstantTraffic(5.0), *classes)
    given = {"offers": offers, "weights": ("bf16",), "tensor_parallel": (1, 2, 4, 8), "catalog": CATALOG} | changes
    return replace(base, **given)


def found(given: Scenario) -> tuple[list[str], dict[str, str]]:
    """Ids of the pools, and reasons by name."""
    options, dropped = candidates(given, demand_of(given))
    return [each.id for each in options], {each.name: each.reason for each in dropped}


def test_each_deployment_gets_a_pool_per_class_and_a_shared_one() -> None:
    pools, dropped = found(market(host("h", "l40s")))
    assert pools == ["h/llama-3.1-8b/bf16:chat", "h/llama-3.1-8b/bf16:faq", "h/llama-3.1-8b/bf16:chat+faq"]
    assert dropped == {}


def test_weights_that_do_not_fit_say_how_large_they_are_and_what_would_fit() -> None:
    pools, dropped = found(market(host("a10g-1", "a10g"), models=("llama-3.1-70b",)))
    reason = dropped["a10g-1/llama-3.1-70b/bf16"]
    assert pools == []
    assert re.fullmatch(r"weights 141 GB > (19|20|21)\.\d GB usable; try tensor_parallel 8, or int4 on 4", reason)


def test_format_without_hardware_is_dropped_with_formats_that_run() -> None:
    _, dropped = found(market(host("h", "a100-80"), weights=("fp8",)))
    assert dropped["h/llama-3.1-8b/fp8"].startswith("a100-80 has no fp8 arithmetic; try bf16 or")


def test_tensor_parallel_divides_the_host_and_may_be_as_wide_as_it() -> None:
    """The widest group is the fastest, and may be the only one that is fast enough: what it costs is for the program to weigh."""
    pools, dropped = found(market(host("h", "h100", 8)))
    tails = ("", "/tp2", "/tp4", "/tp8")
    assert [each for each in pools if each.endswith(":chat")] == [f"h/llama-3.1-8b/bf16{tail}:chat" for tail in tails]
    assert not any(name.startswith("h/llama-3.1-8b/bf16") for name in dropped)


def test_replicas_per_host_follow_from_tensor_parallel() -> None:
    given = market(host("h", "h100", 8))
    options: tuple[PoolOption, ...] = candidates(given, demand_of(given))[0]
    assert {o.id.split("/")[-1].split(":")[0]: o.replicas_per_host for o in options} == {"bf16": 8, "tp2": 4, "tp4": 2, "tp8": 1}


def test_a_degree_that_no_offer_can_use_is_said_and_so_is_an_offer_that_none_fits() -> None:
    given = market(host("one", "l40s"), host("eight", "h100", 8), tensor_parallel=(3, 8))
    pools, dropped = found(given)
    assert {pool.split("/")[0] for pool in pools} == {"eight"}
    assert dropped["tensor_parallel 3"] == "no offer can be split into groups of 3 GPUs; a host has 1 or 8"
    assert dropped["one"] == "tensor_parallel [3, 8] does not divide 1 GPU"


def test_a_market_without_any_pool_warns_with_the_first_reason() -> None:
    given = market(host("one", "l40s"), tensor_parallel=(3,))
    _, dropped = candidates(given, demand_of(given))
    (warning,) = no_own_hosts(given, demand_of(given), dropped)
    assert "although 1 offer is given: tensor_parallel 3: no offer can be split" in warning
    closed = market(host("one", "l40s"), models=("gpt-4.1",))
    (warning,) = no_own_hosts(closed, demand_of(closed), ())
    assert "no request class accepts a model whose weights can be had" in warning


def test_a_market_whose_hosts_nobody_wanted_does_not_warn() -> None:
    given = market(host("one", "l40s"), tensor_parallel=(3,), policy=Policy(deny=("seller",)))
    whole = market(*CATALOG.offers.values(), models=("gpt-4.1",))
    for each in (market(), given, whole):
        assert no_own_hosts(each, demand_of(each), candidates(each, demand_of(each))[1]) == []


def test_the_usual_degrees_are_the_default_of_the_scenario() -> None:
    assert list(USUAL_SIZES) == Candidates().tensor_parallel


def test_heads_that_do_not_split_are_said() -> None:
    odd = replace(CATALOG.models["llama-3.1-8b"], heads=33)
    catalog = replace(CATALOG, models={**CATALOG.models, "llama-3.1-8b": odd})
    _, dropped = found(market(host("h", "h100", 2), catalog=catalog))
    assert dropped["h/llama-3.1-8b/bf16/tp2"] == "33 attention heads do not split over 2 GPUs"


def test_policy_allows_and_denies_by_pattern_on_offer_seller_and_gpu() -> None:
    given = market(host("x.one", "l40s"), host("y.two", "l4", residency=("eu",)))
    denied = replace(given, policy=replace(given.policy, deny=("x.*",)))
    allowed = replace(given, policy=replace(given.policy, allow=("l4",)))
    assert found(denied)[1]["x.one"] == 'policy.deny "x.*" matches it'
    assert found(allowed)[1]["x.one"] == "policy.allow does not name it (l4)"
    assert all(each.startswith("y.two") for each in found(allowed)[0])


def test_data_that_must_stay_somewhere_bars_offers_elsewhere_for_that_class_only() -> None:
    given = market(host("h", "l40s", residency=("us",)))
    classes = (replace(given.request_classes[0], data_residency=("eu",)), given.request_classes[1])
    pools, dropped = found(replace(given, request_classes=classes))
    assert pools == ["h/llama-3.1-8b/bf16:faq"]
    assert dropped["h/llama-3.1-8b/bf16:chat"] == "data must stay in eu; the offer states us"


def test_longest_request_must_fit_context_and_cache() -> None:
    given = market(host("h", "l40s"))
    long = replace(given.request_classes[0], input_tokens=uniform(10, 200_000))
    wide = replace(given.request_classes[0], input_tokens=uniform(10, 125_000))
    _, dropped = found(replace(given, request_classes=(long, given.request_classes[1])))
    assert re.match(
        r"longest request 2\d\d,\d{3} tokens > context of 131,072: refuses 3\d.* %.*; the promise lets 5 % miss",
        dropped["h/llama-3.1-8b/bf16:chat"],
    )
    _, dropped = found(replace(given, offers=(host("h", "l4"),), request_classes=(wide, given.request_classes[1])))
    assert "tokens > context of" in dropped["h/llama-3.1-8b/bf16:chat"]


def test_the_same_replica_sold_dearer_is_dropped_unless_the_cheap_one_can_run_out() -> None:
    cheap, dear = host("cheap", "l40s", price=1.0), host("dear", "l40s", price=1.5)
    pools, dropped = found(market(dear, cheap))
    assert all(each.startswith("cheap") for each in pools)
    assert dropped["dear/llama-3.1-8b/bf16"] == "$1.500 per replica-hour; the same replica costs $1.000 at cheap"
    pools, dropped = found(market(dear, replace(cheap, stock=3)))
    assert any(each.startswith("dear") for each in pools) and dropped == {}


def test_spot_is_left_out_unless_policy_names_it() -> None:
    given = market(host("h.spot", "l40s", term="spot"))
    assert found(given)[0] == []
    assert found(replace(given, policy=replace(given.policy, allow=("h.*",))))[0] != []


def test_every_catalogue_offer_ends_as_pool_or_with_a_reason() -> None:
    given = market(*CATALOG.offers.values(), models=("llama-3.1-8b", "llama-3.1-70b"), weights=("bf16", "fp8", "int4"))
    pools, dropped = found(given)
    named = {each.split("/")[0] for each in [*pools, *dropped]}
    assert named - set(CATALOG.relays) == set(CATALOG.offers)
    assert all(reason for reason in dropped.values())


def measured(folder: Path, text: str, **changes: Any) -> Scenario:
    path = folder / "rates.csv"
    path.write_text(text)
    return market(host("A10G", "A10G", price=1.01), host("A100", "A100", price=3.67), measured_capacity=path, **changes)


def test_measured_rates_become_loads_and_zero_means_cannot_serve(tmp_path: Path) -> None:
    given = measured(tmp_path, "offer,class,rate_rps\nA10G,chat,2\nA10G,faq,0\nA100,chat,20\nA100,faq,5\n")
    terms = measured_terms(given, ())
    assert [t.option.id for t in terms] == ["A10G:chat", "A100:chat+faq"]
    assert terms[0].levels[0].load.tolist() == [0.5, np.inf]
    assert terms[1].levels[0].load.tolist() == [0.05, 0.2]
    assert (terms[0].slope, terms[0].intercept) == (1.0, 0.0)


def test_rates_at_two_pool_sizes_give_a_line_through_both(tmp_path: Path) -> None:
    given = measured(tmp_path, "offer,class,rate_rps,pool_size\nA10G,chat,1,1\nA10G,chat,2,5\nA100,chat,9,1\n")
    terms = measured_terms(given, ())[0]
    load = terms.levels[0].load[0]
    assert (terms.slope * 1 - terms.intercept) / load == pytest.approx(1.0)
    assert (terms.slope * 5 - terms.intercept) / load == pytest.approx(10.0)


def test_offer_that_serves_nobody_is_left_out(tmp_path: Path) -> None:
    given = measured(tmp_path, "offer,class,rate_rps\nA10G,chat,0\nA100,chat,9\n")
    assert [t.option.offer.id for t in measured_terms(given, ())] == ["A100"]


def test_bad_rows_are_named_by_file_and_line(tmp_path: Path) -> None:
    given = measured(tmp_path, "offer,class,rate_rps\nA10G,chat,fast\nA11,chat,1\nA100,chat,-1\n")
    with pytest.raises(InputError) as caught:
        measured_terms(given, ())
    text = str(caught.value)
    assert "rates.csv:2:" in text and "rates.csv:3:" in text and "rates.csv:4:" in text


def test_alternatives_of_measured_capacity_are_each_offer_relays_and_separate_pools(tmp_path: Path) -> None:
    given = measured(tmp_path, "offer,class,rate_rps\nA10G,chat,2\nA100,chat,20\nA100,faq,5\n")
    terms = measured_terms(given, ())
    program = problem([[4.0], [2.0]], terms)
    assert solve(program).unserved.sum() == 0
    alone = {each.name: each.status for each in measured_alternatives(program)}
    assert alone == {
        "A10G alone": "infeasible",
        "A100 alone": "within_budget",
        "relays alone": "infeasible",
        "pools of its own for each class": "within_budget",
    }


def test_policy_and_evidence_hold_for_measured_capacities_too(tmp_path: Path) -> None:
    given = measured(tmp_path, "offer,class,rate_rps\nA10G,chat,2\nA10G,faq,2\nA100,chat,20\nA100,faq,5\n")
    claimed = replace(given.offers[1], grade="claimed")
    denied = replace(given, offers=(given.offers[0], claimed), policy=replace(given.policy, deny=("A10G",)), budget=Budget(1e6, "USD"))
    reasons = {each.name: each.reason for each in offer_drops(denied)}
    assert reasons["A10G"] == 'policy.deny "A10G" matches it' and "only claimed" in reasons["A100"]
    plan = unverified_plan(denied, 1, lambda _: None)
    assert plan.status == "infeasible" and {each.name for each in plan.dropped} == {"A10G", "A100"}
    assert unverified_plan(replace(denied, policy=replace(denied.policy, trust_claims=True)), 1, lambda _: None).status == "unverified"


def test_an_fp8_cache_is_a_deployment_of_its_own_where_it_is_asked_for_and_the_card_can_read_it() -> None:
    plain, _ = found(market(host("h", "h100"), host("a", "a100-80")))
    asked, dropped = found(market(host("h", "h100"), host("a", "a100-80"), kv_formats=("auto", "fp8")))
    assert set(asked) - set(plain) == {name.replace("/bf16:", "/bf16/kv-fp8:") for name in plain if name.startswith("h/")}
    assert dropped["a/llama-3.1-8b/bf16/kv-fp8"].startswith("a100-80 has no fp8 arithmetic")
