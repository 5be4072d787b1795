"""Batches, long prompts and hours of the day: what a plan is priced with, decided by and billed at."""

from __future__ import annotations

import doctest
from dataclasses import fields, replace

import numpy as np
import pytest

from optimize.explain.hit_flip import at_full_price
from optimize.market.relay_bills import Kept, class_bill, price_notes
from optimize.market.relay_terms import relay_terms
from optimize.money import charges as charges_module
from optimize.money import contracts, metering
from optimize.money import off_peak as hours
from optimize.money.bill import cost_lines, plan_cost_usd
from optimize.money.charges import OTHER, Charge, charges, rounded
from optimize.money.metering import KINDS, Metered, metered_usd, plain_meter, sold_in_batches, tiered
from optimize.program.solve import solve
from optimize.records import ProgramInput, ProgramSolution, RelayTerms
from sim.catalog import price_terms
from sim.catalog.facts import Relay
from sim.catalog.loader import load_catalog
from sim.catalog.price_terms import LongPrompt, OffPeak
from sim.requests import Requests
from sim.scenario.scenario import Classifier, ConstantTraffic, RequestClass, Scenario, Slo, SyntheticTraffic
from sim.traffic import demand as demand_of
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.report import plan_fixture
from tests.optimize.repriced_plan import at_prices_of, repriced
from tests.optimize.token_oracle import LongContext, TokenCount, TokenPrices, token_usd
from tests.traffic.scenarios import request_class, scenario

CATALOG = load_catalog()
DAY = 86_400.0
LUNA, CHEAP_AT_NIGHT = CATALOG.relays["openai.gpt-6-luna"], CATALOG.relays["deepseek.deepseek-v4-flash"]
NIGHTLY = replace(CHEAP_AT_NIGHT, off_peak=OffPeak(0.5, ("10:00-01:00", "04:00-06:00")))  # on every day of the week
LONG = LongPrompt(1000, 6.0, 22.5, 0.6, 7.5)


def row(**changes: object) -> Relay:
    return replace(LUNA, **{"usd_per_mtok_input": 3.0, "usd_per_mtok_output": 15.0, "usd_per_mtok_cached": 0.3, **changes})


def test_the_expected_price_is_the_mean_over_requests_each_in_its_own_tier() -> None:
    """Against `token_usd` request by request; the price of the mean request is another, because the price has a step."""
    rng = np.random.default_rng(5)
    prompt, answer = rng.lognormal(6.5, 0.8, 4000).round(), rng.lognormal(5, 1, 4000).round()
    cached = np.floor(prompt * 0.4)
    sold = row(long_prompts=(LONG,), usd_per_mtok_cache_write=None)
    kinds = dict(zip(KINDS, (prompt - cached, cached, 0 * prompt, answer), strict=True))
    mean = plain_meter(float(prompt.mean()), float(cached.mean()), 0.0, float(answer.mean()))
    meter = tiered(sold, mean, Metered(prompt, kinds))
    prices = TokenPrices(3.0, 15.0, 0.3, long_context=(LongContext(1000, 6.0, 22.5, 0.6, 7.5),))
    each = [token_usd(prices, TokenCount(*row)) for row in zip(prompt, answer, cached, strict=True)]
    assert metered_usd(sold, meter) == pytest.approx(float(np.mean(each)), rel=1e-9)
    assert sum(meter.values()) == pytest.approx(float((prompt + answer).mean()))
    of_the_mean = token_usd(prices, TokenCount(prompt.mean(), answer.mean(), cached.mean()))
    assert abs(of_the_mean / np.mean(each) - 1) > 0.1


def test_every_tier_prices_its_own_requests() -> None:
    sold = row(long_prompts=(LongPrompt(10, 4.0, 0.0), LongPrompt(20, 5.0, 0.0)), usd_per_mtok_cached=None)
    prompt = np.array([10.0, 20.0, 21.0])  # at the threshold is not above it
    meter = tiered(sold, {"input": 17.0}, Metered(prompt, {"input": prompt}))
    assert meter == {"input": pytest.approx(10 / 3), "input above 10": pytest.approx(20 / 3), "input above 20": pytest.approx(7.0)}
    assert metered_usd(sold, meter) == pytest.approx((10 * 3 + 20 * 4 + 21 * 5) / 3 / 1e6)


def batch_class(*slos: Slo, kind: str = "batch") -> RequestClass:
    return replace(request_class("jobs", 1.0), kind=kind, slo=slos)


@pytest.mark.parametrize(
    ("waits", "sold"),
    [
        (batch_class(), True),
        (batch_class(Slo("e2e", 0.95, DAY)), True),
        (batch_class(Slo("e2e", 0.95, DAY - 1)), False),
        (batch_class(Slo("e2e", 0.95, DAY), Slo("ttft", 0.95, 2.0)), False),
        (batch_class(Slo("tpot", 0.95, DAY)), False),
        (batch_class(Slo("e2e", 0.95, DAY), kind="chat"), False),
        (replace(batch_class(), classifier=Classifier(1e-5, 0.1, 0.0)), False),
    ],
)
def test_only_a_batch_class_whose_promises_leave_the_vendor_its_window_is_sent_in_batches(waits: RequestClass, sold: bool) -> None:
    assert sold_in_batches(row(), waits, 500.0) is sold
    assert not sold_in_batches(row(usd_per_mtok_batch_input=None), waits, 500.0)
    assert not sold_in_batches(row(long_prompts=(LONG,)), waits, 1001.0)


def market(traffic: ConstantTraffic | SyntheticTraffic, *relays: Relay, classes: tuple[RequestClass, ...]) -> Scenario:
    named = tuple(replace(each, models=tuple(r.model for r in relays)) for each in classes)
    return replace(scenario(traffic, *named), relays=relays, catalog=CATALOG)


def terms_of(given: Scenario) -> list[RelayTerms]:
    return relay_terms(given, demand_of(given), ())


def test_a_batch_class_pays_the_batch_price_and_a_chat_class_beside_it_does_not() -> None:
    both = (replace(batch_class(Slo("e2e", 0.95, DAY)), share=0.5), replace(request_class("chat", 1.0), share=0.5))
    given = market(ConstantTraffic(2.0), LUNA, classes=both)
    (found,) = terms_of(given)
    demand = demand_of(given)
    half = (demand.input_tokens[0] * LUNA.usd_per_mtok_batch_input + demand.output_tokens[0] * LUNA.usd_per_mtok_batch_output) / 1e6
    assert found.usd_per_request[0] == pytest.approx(half)
    (alone,) = terms_of(replace(given, request_classes=(replace(both[0], kind="chat", models=(LUNA.model,)), given.request_classes[1])))
    assert found.usd_per_request[1] == alone.usd_per_request[1] and alone.meter is None
    assert alone.usd_per_request[0] > found.usd_per_request[0]
    assert any("batch service" in note and "24 h" in note for note in price_notes(given, [found], np.ones((1, 2, 1)), np.ones(1)))


def test_a_cache_that_saves_more_than_a_batch_is_kept() -> None:
    """1,024 of 1,100 tokens cached at a hundredth of 3 beat half price of all; without a common prefix the batch is cheaper."""
    sold = row(usd_per_mtok_cached=0.03, usd_per_mtok_cache_write=None, usd_per_mtok_batch_input=1.5, usd_per_mtok_batch_output=7.5)
    ones = np.ones(10, np.int64)
    common = Requests(ones, ones.astype(np.int16) * 0, ones * 1100, ones * 10, -ones, ones * 1050)
    kept = class_bill(sold, batch_class(), common, Kept(1.0, 1.0), (1.0, 1.0), (1100.0, 10.0))
    assert not kept.batch and kept.cached == 1024 and kept.usd == pytest.approx((76 * 3 + 1024 * 0.03 + 10 * 15) / 1e6)
    apart = class_bill(sold, batch_class(), replace(common, prefix_tokens=ones * 0), Kept(1.0, 1.0), (1.0, 1.0), (1100.0, 10.0))
    assert apart.batch and apart.cached == 0 and apart.usd == pytest.approx((1100 * 1.5 + 10 * 7.5) / 1e6)


def test_without_such_terms_prices_have_neither_meter_nor_hours() -> None:
    given = market(ConstantTraffic(2.0), CATALOG.relays["openai.gpt-4.1"], LUNA, classes=(request_class("chat", 1.0),))
    for terms in terms_of(given):
        assert terms.meter is None and terms.hour_factors is None


def week(offset: float | None) -> SyntheticTraffic:
    return SyntheticTraffic(1000.0, 2.0, 2.0, (1 / 24,) * 24, 1.0, 1.2, utc_offset_h=offset)


def test_an_hour_of_the_demand_pays_the_price_of_its_hour_of_utc() -> None:
    """Dear from 1 to 4 and from 6 to 10 UTC: in Beijing from 9 to 12 and from 14 to 18."""
    (found,) = terms_of(market(week(8.0), NIGHTLY, classes=(request_class("chat", 1.0),)))
    assert found.hour_factors is not None
    dear = [t for t in range(24) if found.hour_factors[0, t] == 1.0]
    assert dear == [9, 10, 11, 14, 15, 16, 17] and set(found.hour_factors[0]) == {0.5, 1.0}
    assert (found.hour_factors[0, 24:] == found.hour_factors[0, :24]).all()
    (india,) = terms_of(market(week(5.5), NIGHTLY, classes=(request_class("chat", 1.0),)))
    assert india.hour_factors is not None and india.hour_factors[0, 6] == 0.75  # from 6:30 on it is dear there


def test_nobody_buys_an_hour_whose_place_in_the_day_is_not_known() -> None:
    given = market(week(None), NIGHTLY, classes=(request_class("chat", 1.0),))
    (found,) = terms_of(given)
    assert found.hour_factors is None
    assert any("utc_offset_h" in note for note in price_notes(given, [found], np.ones((1, 1, 1)), np.ones(1)))
    (constant,) = terms_of(market(ConstantTraffic(1.0), NIGHTLY, classes=(request_class("chat", 1.0),)))
    assert constant.hour_factors is not None and constant.hour_factors[0, 0] == pytest.approx((7 + 17 * 0.5) / 24)


def bought(traffic: ConstantTraffic | SyntheticTraffic, *relays: Relay) -> tuple[Scenario, ProgramInput, ProgramSolution]:
    """A market, its program and the answer that sends all of it to the relays."""
    given = market(traffic, *relays, classes=(request_class("chat", 1.0),))
    demand = demand_of(given)
    program = replace(problem(demand.mean_rps.tolist(), [], terms_of(given)), demand=demand, class_names=("chat",))
    return given, program, solve(program, gap=1e-6)


@pytest.mark.parametrize("traffic", [week(5.5), ConstantTraffic(1.0)])
def test_an_hour_that_is_off_peak_in_part_is_charged_at_the_two_prices_that_the_relay_states(
    traffic: ConstantTraffic | SyntheticTraffic,
) -> None:
    _, program, answer = bought(traffic, NIGHTLY)
    lines = cost_lines(program, answer)
    found = charges(program, answer, lines)
    prices = {charge.item: charge.usd_per_unit for charge in found}
    sold = NIGHTLY.usd_per_mtok_input, NIGHTLY.usd_per_mtok_output
    assert (prices["input tokens"], prices["output tokens"]) == sold
    assert (prices["off-peak (0.5) input tokens"], prices["off-peak (0.5) output tokens"]) == tuple(0.5 * each for each in sold)
    assert all(item.startswith("off-peak (0.5)") or "off" not in item for item in prices) and OTHER not in prices
    assert sum(charge.usd for charge in found) == pytest.approx(answer.cost_usd, rel=1e-12)


def test_off_peak_hours_are_told_of_when_and_only_when_the_plan_buys_in_them() -> None:
    given, program, answer = bought(ConstantTraffic(1.0), NIGHTLY)
    (line,), weight = cost_lines(program, answer), program.demand.weight_h
    assert line.detail.endswith(" requests, 71% of them off peak")  # 17 of 24 hours
    (said,) = price_notes(given, program.relays, answer.relay_flow, weight)
    assert "71% of its requests pay the off-peak price, 0.5 of the list price in 10:00-01:00, 04:00-06:00 UTC" in said
    assert "one rate counts as spread evenly over the week" in said
    assert price_notes(given, program.relays, 0 * answer.relay_flow, weight) == []
    given, program, answer = bought(week(8.0), NIGHTLY)
    assert "UTC+8 h (traffic.utc_offset_h)" in price_notes(given, program.relays, answer.relay_flow, program.demand.weight_h)[0]
    given, program, answer = bought(week(None), NIGHTLY)
    assert price_notes(given, program.relays, 0 * answer.relay_flow, program.demand.weight_h) == []


def test_what_a_solver_leaves_of_zero_is_no_charge() -> None:
    _, program, answer = bought(week(8.0), NIGHTLY)
    assert program.relays[0].hour_factors is not None
    dear = program.relays[0].hour_factors == 1.0
    dust = replace(answer, relay_flow=np.where(dear[None], 1e-15, answer.relay_flow))
    assert {charge.item for charge in charges(program, dust, cost_lines(program, dust))} == {
        f"off-peak (0.5) {kind} tokens" for kind in ("input", "output")
    }


def test_reports_show_twelve_digits_of_a_charge() -> None:
    noisy = Charge("r", "relay", "r", "input tokens", 1234.5678901234567, "million tokens", 0.22499999999999998)
    assert (rounded(noisy).quantity, rounded(noisy).usd_per_unit) == (1234.56789012, 0.225)


def test_batches_run_when_the_vendor_likes_and_pay_no_price_of_the_hour() -> None:
    sold = replace(NIGHTLY, usd_per_mtok_batch_input=0.1, usd_per_mtok_batch_output=0.4)
    classes = (replace(batch_class(), share=0.5), replace(request_class("chat", 1.0), share=0.5))
    (found,) = terms_of(market(week(0.0), sold, classes=classes))
    assert found.hour_factors is not None and (found.hour_factors[0] == 1.0).all() and found.hour_factors[1].min() == 0.5


def by_hour(factors: list[float], rates: list[float]) -> ProgramInput:
    """A host at $1 an hour that carries 10/s, and a relay at $0.36 an hour for 1/s, less in some hours."""
    remote = relay("remote", [1e-4])
    priced = replace(remote, relay=replace(remote.relay, usd_per_mtok_input=1.5, usd_per_mtok_output=0.5))
    priced = replace(priced, hour_factors=np.array([factors]))
    return problem([rates], [pool(offer("host", 1.0), [0.1])], [priced])


def test_the_plan_hosts_in_dear_hours_and_calls_in_cheap_ones() -> None:
    """At 4/s the relay costs 1.44 an hour, more than a host; at a quarter 0.36, less. Equal demand is not an equal hour."""
    given = by_hour([1.0, 0.25, 1.0, 0.25], [4.0] * 4)
    answer = solve(given, gap=1e-6)
    assert answer.hosts.tolist() == [[1, 0, 1, 0]] and answer.relay_flow[0, 0].tolist() == [0.0, 4.0, 0.0, 4.0]
    assert answer.cost_usd == pytest.approx(365 * 1.0 + 365 * 0.36) == plan_cost_usd(given, answer)
    flat = solve(replace(given, relays=(replace(given.relays[0], hour_factors=np.ones((1, 4))),)), gap=1e-6)
    none = solve(replace(given, relays=(replace(given.relays[0], hour_factors=None),)), gap=1e-6)
    assert flat.cost_usd == none.cost_usd == pytest.approx(730.0)


def test_doubling_every_price_doubles_the_cost_and_keeps_the_plan_with_prices_of_the_hour() -> None:
    given = by_hour([1.0, 0.25, 0.6, 0.25], [4.0, 5.0, 6.0, 7.0])
    twice = replace(given.relays[0], usd_per_request=2 * given.relays[0].usd_per_request)
    host = replace(given.pools[0], option=replace(given.pools[0].option, offer=replace(given.pools[0].option.offer, usd_per_hour=2.0)))
    once, double = solve(given, gap=1e-6), solve(replace(given, pools=(host,), relays=(twice,)), gap=1e-6)
    assert double.cost_usd == pytest.approx(2 * once.cost_usd) and (double.hosts == once.hosts).all()


def test_charges_by_hour_and_kind_sum_to_their_line_and_can_be_repriced() -> None:
    given = by_hour([1.0, 0.25, 0.5, 0.25], [1.0, 2.0, 3.0, 4.0])
    answer = solve(given, gap=1e-6)
    lines = cost_lines(given, answer)
    found = charges(given, answer, lines)
    assert OTHER not in {charge.item for charge in found} and sum(c.usd for c in found) == pytest.approx(answer.cost_usd, rel=1e-12)
    assert "off-peak (0.25) output tokens" in {charge.item for charge in found}
    dearer = replace(given.relays[0].relay, usd_per_mtok_input=3.0, usd_per_mtok_output=1.0)
    again = repriced(found, [], [dearer])
    relay_usd = sum(line.per_month_usd for line in lines if line.kind == "relay")
    assert sum(c.usd for c in again) == pytest.approx(answer.cost_usd + relay_usd)


def long_terms() -> tuple[ProgramInput, RelayTerms]:
    classes = (request_class("chat", 1.0),)
    sold = row(long_prompts=(replace(LONG, above_tokens=100),), cache_min_prefix=64)
    given = market(ConstantTraffic(2.0), sold, classes=classes)
    (terms,) = terms_of(given)
    return problem([[2.0]], [], [terms]), terms


def test_long_prompts_are_billed_by_kind_and_their_charges_are_the_line() -> None:
    given, terms = long_terms()
    assert terms.meter is not None and terms.meter["output above 100"][0] > 0
    answer = solve(given, gap=1e-6)
    found = charges(given, answer, cost_lines(given, answer))
    assert OTHER not in {charge.item for charge in found} and sum(c.usd for c in found) == pytest.approx(answer.cost_usd, rel=1e-9)
    assert any(charge.item.endswith("above 100 tokens") for charge in found)


def test_a_fixed_fleet_repriced_at_its_own_prices_costs_the_same_and_at_doubled_ones_twice() -> None:
    """Long prompts, batches and hours of the day through `compare` and the workbook's way of pricing."""
    sold = replace(NIGHTLY, usd_per_mtok_batch_input=0.1, usd_per_mtok_batch_output=0.4, long_prompts=(LONG,))
    classes = (replace(batch_class(), share=0.5), replace(request_class("chat", 1.0), share=0.5))
    given = market(week(0.0), sold, classes=classes)
    (terms,) = terms_of(given)
    demand = demand_of(given)
    program = replace(problem(demand.mean_rps.tolist(), [], [terms]), demand=demand, class_names=("jobs", "chat"))
    answer = solve(program, gap=1e-6)
    whole = replace(plan_fixture.plan(), scenario=given, demand=demand, program=program, solution=answer, alternatives=())
    plan = replace(whole, lines=cost_lines(program, answer))
    same = at_prices_of(plan, given)
    assert [line.per_month_usd for line in same.lines] == pytest.approx([line.per_month_usd for line in plan.lines], rel=1e-12)
    names = ("usd_per_mtok_input", "usd_per_mtok_output", "usd_per_mtok_cached", "usd_per_mtok_batch_input", "usd_per_mtok_batch_output")
    (row_,) = given.relays
    doubled = {f.name: 2 * getattr(LONG, f.name) for f in fields(LONG) if f.name.startswith("usd")}
    twice = replace(row_, long_prompts=(replace(LONG, **doubled),), **{name: 2 * getattr(row_, name) for name in names})
    dear = at_prices_of(plan, replace(given, relays=(twice,)))
    assert dear.lines[0].per_month_usd == pytest.approx(2 * plan.lines[0].per_month_usd)
    assert OTHER not in {charge.item for charge in charges(dear.program, dear.solution, dear.lines)}


def test_a_relay_without_a_cache_bills_every_prompt_as_input_of_its_tier() -> None:
    _, terms = long_terms()
    bare = at_full_price(terms, problem([[2.0]]).demand)
    assert bare.meter is not None and terms.meter is not None
    assert not any("cached" in kind or "written" in kind for kind in bare.meter)
    assert sum(v[0] for v in bare.meter.values()) == pytest.approx(sum(v[0] for v in terms.meter.values()))
    assert bare.usd_per_request[0] >= terms.usd_per_request[0]


def test_the_rows_of_the_catalogue_state_these_terms() -> None:
    assert LUNA.long_prompts == (LongPrompt(272_000, 0.2, 0.75, 0.02, 0.25),) and LUNA.max_context == 1_050_000
    assert CHEAP_AT_NIGHT.off_peak == OffPeak(0.5, ("10:00-01:00", "04:00-06:00"), weekends=True)
    for each in CATALOG.relays.values():
        for tier in each.long_prompts:
            assert tier.usd_per_mtok_input > each.usd_per_mtok_input and tier.above_tokens < each.max_context, each.id


def test_examples_in_docstrings_hold() -> None:
    assert all(doctest.testmod(module).failed == 0 for module in (metering, hours, contracts, charges_module, price_terms))
