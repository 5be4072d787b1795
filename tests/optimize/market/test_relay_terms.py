"""Who may use a relay, what it bills in its own tokens, and what its row and its dates warn of."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optimize.market import permits
from optimize.market.candidates import candidates
from optimize.market.permits import policy_reason, relay_reason
from optimize.market.relay_terms import may_serve, relay_terms
from optimize.money import price_claims as relay_facts
from optimize.money.price_claims import claim_flags, dated_warnings, horizon, retired
from optimize.records import Dropped
from optimize.simulate.named_fleet import parse_fleet
from sim.catalog.facts import Relay
from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import ConstantTraffic, Policy, Scenario, TokenFactor
from sim.traffic import demand as demand_of
from tests.traffic.scenarios import chat, request_class, scenario, week

CATALOG = load_catalog()
GPT, CLAIM = CATALOG.relays["openai.gpt-4.1"], CATALOG.relays["holysheep.gpt-4.1"]


def market(*relays: Relay, policy: Policy | None = None, **changes: Any) -> Scenario:
    """Two classes that accept every model of `relays`."""
    models = tuple(dict.fromkeys(relay.model for relay in relays))
    classes = [replace(request_class(name, 0.5), models=models, **changes) for name in ("chat", "faq")]
    base = scenario(ConstantTraffic(5.0), *classes)
    return replace(base, relays=relays, catalog=CATALOG, policy=policy or base.policy)


def used(given: Scenario) -> list[str]:
    return [terms.relay.id for terms in relay_terms(given, demand_of(given), ())]


def drops(given: Scenario) -> dict[str, str]:
    dropped: tuple[Dropped, ...] = candidates(given, demand_of(given))[1]
    return {each.name: each.reason for each in dropped}


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        (Policy(), True),
        (Policy(deny=("openai",)), False),
        (Policy(deny=("openai.*",)), False),
        (Policy(deny=("gpt-4*",)), False),
        (Policy(allow=("openai.gpt-4.1",)), True),
        (Policy(allow=("aws.*",)), False),
        (Policy(allow=("openai",), deny=("openai.gpt-4.1",)), False),
    ],
)
def test_policy_holds_for_relays_by_id_vendor_and_model(policy: Policy, kept: bool) -> None:
    given = market(GPT, policy=policy)
    assert used(given) == ([GPT.id] if kept else [])
    assert (GPT.id in drops(given)) != kept
    assert may_serve(GPT, given.request_classes[0], given) == kept
    assert may_serve(GPT, given.request_classes[0])  # chosen by hand


def test_a_claim_is_planned_with_only_when_claims_are_trusted() -> None:
    assert used(market(CLAIM)) == []
    assert drops(market(CLAIM))[CLAIM.id] == "its price is only claimed; get a quote, or set policy.trust_claims"
    assert used(market(CLAIM, GPT, policy=Policy(trust_claims=True))) == [CLAIM.id, GPT.id]
    assert used(market(CLAIM, policy=Policy(allow=(CLAIM.id,)))) == []  # to allow is not to trust


def test_of_two_rows_of_one_product_the_firmer_is_planned_with() -> None:
    quote = replace(GPT, id="our-quote", grade="quote", usd_per_mtok_input=1.8)
    contract = replace(GPT, id="our-contract", grade="contract")
    assert used(market(GPT, contract, quote)) == ["our-quote"]
    assert drops(market(GPT, quote))[GPT.id] == "our-quote is the same product at a quote price, which is firmer than list"
    other = replace(quote, vendor="someone else")
    assert used(market(GPT, other)) == [GPT.id, "our-quote"]
    assert used(market(GPT, quote, policy=Policy(deny=("our-quote",)))) == [GPT.id]
    assert used(market(GPT, replace(quote, weights="fp8"))) == [GPT.id, "our-quote"]


def test_a_model_that_was_retired_before_the_catalogue_is_not_bought() -> None:
    gone = CATALOG.relays["deepseek.deepseek-v3.2"]
    assert used(market(gone)) == []
    reason = drops(market(gone))[gone.id]
    assert reason.startswith("deepseek-v3.2 was retired on 2026-07-24; its successor deepseek.deepseek-v4-flash costs $0.3 in and $1.2 out")


def test_data_that_must_stay_somewhere_is_said_for_each_class() -> None:
    given = market(GPT, data_residency=("eu",))
    assert used(given) == []
    assert drops(given)["openai.gpt-4.1:chat"] == "data must stay in eu; the relay states no place"
    assert drops(market(GPT, self_hosted_only=True)) == {}  # the class says so itself


def test_relays_of_models_that_nobody_asked_for_are_not_listed() -> None:
    given = market(GPT)
    assert drops(replace(given, relays=(GPT, CLAIM, CATALOG.relays["holysheep.gemini-2.5-flash"]))).keys() == {CLAIM.id}


def test_factors_change_price_and_tokens_of_that_model_and_class_only() -> None:
    plain = market(GPT, CATALOG.relays["openai.gpt-6-luna"])
    chat = replace(plain.request_classes[0], token_factors=(TokenFactor("gpt-4.1", 1.5, 2.0),))
    changed = replace(plain, request_classes=(chat, plain.request_classes[1]))
    demand = demand_of(plain)
    (before, other), (after, same) = (relay_terms(each, demand, ()) for each in (plain, changed))
    inputs, outputs = demand.input_tokens[0], demand.output_tokens[0]
    assert after.usd_per_request[0] == pytest.approx((1.5 * inputs * 2 + 2.0 * outputs * 8) / 1e6)
    assert after.tokens_per_request[0] == pytest.approx(1.5 * inputs + 2.0 * outputs)
    assert after.usd_per_request[1] == before.usd_per_request[1]
    np.testing.assert_array_equal(same.usd_per_request, other.usd_per_request)
    assert before.token_factors is None and same.token_factors is None
    counted_in, counted_out = after.tokens(demand)
    assert (counted_in[0], counted_out[1]) == (1.5 * inputs, demand.output_tokens[1])


def test_horizon_is_the_month_after_the_catalogues_date() -> None:
    assert horizon("2026-11") == "2026-12-31"
    at = replace(CATALOG, date="2026-11")
    (inside,) = dated_warnings(CATALOG.relays["gemini.gemini-2.5-flash"], at)
    assert "retires on 2026-12-01 inside the month that is planned; its successor gemini.gemini-3.8-flash costs $0.75 in" in inside
    (later,) = dated_warnings(GPT, at)
    assert "retires on 2027-01-14; its successor" in later and "inside" not in later
    (inside,) = dated_warnings(GPT, replace(CATALOG, date="2026-12-02"))
    assert "inside the month that is planned" in inside


def test_retirement_is_certain_only_before_the_first_day_that_a_date_may_mean() -> None:
    sonnet = CATALOG.relays["anthropic.claude-sonnet-4.5"]
    assert not retired(sonnet, "2026-11")
    assert not retired(sonnet, "2026-11-30")
    assert retired(sonnet, "2026-12")


def test_an_announced_price_is_warned_of() -> None:
    (warning,) = dated_warnings(CATALOG.relays["gemini.gemini-3.8-flash"], CATALOG)
    assert "from 2027-01-01 $1.5 in and $7.5 out per million tokens; now $0.75 in and $3.75 out" in warning


def test_claims_are_held_against_list_price_physics_and_exchange_rate() -> None:
    flags = claim_flags(CLAIM, CATALOG)
    assert any(flag.startswith("first token after 0.05 s: the best median ever measured is 0.2 s; a round trip") for flag in flags)
    assert any("its input price $8 is the maker's output price; the maker's input price is $2" in flag for flag in flags)
    assert any("one yuan is said to buy $1 of credit and costs $0.15" in flag and "85% off" in flag for flag in flags)
    fair = replace(CLAIM, ttft_p50_s=0.5, usd_per_mtok_input=1.8, usd_per_mtok_output=7.0, credit_per_unit=None)
    assert claim_flags(fair, CATALOG) == []
    cheap = replace(fair, usd_per_mtok_input=0.4, usd_per_mtok_output=1.0)
    assert len(claim_flags(cheap, CATALOG)) == 2 and "80% below the maker's $2: no seller resells" in claim_flags(cheap, CATALOG)[0]
    assert claim_flags(replace(fair, model="unheard-of"), CATALOG) == ["no list price to compare with"]
    assert claim_flags(GPT, CATALOG) == []


def test_an_offer_that_is_only_claimed_says_so() -> None:
    assert policy_reason(("cn.a100-80.quoted", "cn", "a100-80"), "claimed", Policy()).startswith("its price is only claimed")
    assert policy_reason(("cn.a100-80.quoted", "cn", "a100-80"), "claimed", Policy(trust_claims=True)) == ""


@pytest.mark.parametrize("module", [permits, relay_facts])
def test_examples_in_docstrings_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_what_enters_a_cache_is_billed_at_the_price_of_writes_or_caching_stays_off() -> None:
    """A conversation that grows: each turn reads what the last one wrote and writes the rest."""
    sonnet = CATALOG.relays["anthropic.claude-sonnet-5.5"]
    free_writes = replace(sonnet, usd_per_mtok_cache_write=None)
    dear_writes = replace(sonnet, usd_per_mtok_cache_write=1000.0)
    talk = replace(request_class("chat", 1.0, conversation=chat(system=2000)), models=(sonnet.model,))
    given = replace(scenario(week(), talk), catalog=CATALOG, relays=(sonnet,))
    demand = demand_of(given)
    (billed,), (free,), (off,) = (relay_terms(replace(given, relays=(r,)), demand, ()) for r in (sonnet, free_writes, dear_writes))
    assert billed.cached is not None and billed.written is not None and free.cached is not None
    assert billed.cached[0] == free.cached[0] > 1000 and free.written is None
    assert billed.written[0] + billed.cached[0] <= demand.input_tokens[0] + 1e-9
    added = billed.written[0] * (2.5 - 2.0) / 1e6
    assert billed.usd_per_request[0] == pytest.approx(free.usd_per_request[0] + added)
    plain = (demand.input_tokens[0] * 2 + demand.output_tokens[0] * 10) / 1e6
    assert off.usd_per_request[0] == pytest.approx(plain) and off.written is None


def test_a_fleet_that_is_named_by_hand_keeps_to_policy_and_evidence() -> None:
    with pytest.raises(InputError, match=r"relay:holysheep\.gpt-4\.1: its price is only claimed"):
        parse_fleet("relay:holysheep.gpt-4.1", market(GPT))
    with pytest.raises(InputError, match=r'relay:openai\.gpt-4\.1: policy.deny "openai" matches it'):
        parse_fleet("relay:openai.gpt-4.1", market(GPT, policy=Policy(deny=("openai",))))
    assert parse_fleet("relay:holysheep.gpt-4.1", market(GPT, policy=Policy(trust_claims=True)))[1][0].name == CLAIM.id
    own = market(replace(GPT, model="llama-3.1-8b"), policy=Policy(deny=("aws",)))
    with pytest.raises(InputError, match=r'aws\.g6e\.xlarge: policy.deny "aws" matches it'):
        parse_fleet("aws.g6e.xlarge/llama-3.1-8b/fp8=1", own)


def test_a_relay_that_takes_no_payment_of_the_buyer_is_not_bought_and_says_what_it_takes() -> None:
    trusted = Policy(trust_claims=True, payment=("invoice",))
    assert drops(market(CLAIM, policy=trusted))[CLAIM.id] == "it takes wechat, alipay or card; policy.payment allows invoice"
    assert used(market(CLAIM, policy=replace(trusted, payment=("card", "invoice")))) == [CLAIM.id]
    assert used(market(GPT, policy=Policy(payment=("invoice",)))) == [GPT.id], "a seller that states no way to pay is not ruled out"


def test_payment_is_read_from_policy_and_from_a_relay_of_ones_own(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[3] / "scenarios" / "two_offers.yaml").read_text(encoding="utf-8")
    prices = "usd_per_mtok_input: 1, usd_per_mtok_output: 2, ttft_p50_s: 0.4, tokens_per_s: 60"
    own = f"{{name: mine, model: llama-3.1-8b, {prices}, payment: [WeChat]}}"
    file = tmp_path / "own.yaml"
    file.write_text(text.replace("relays: [deepinfra.llama-3.1-8b]", f"relays: [{own}]"), encoding="utf-8")
    scenario = load_scenario(file, ["policy.payment=[Card]"])
    assert relay_reason(scenario.relays[0], scenario) == "it takes wechat; policy.payment allows card"
