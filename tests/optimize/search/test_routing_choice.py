"""Which classes keep a classifier, what each class on its strongest tier would cost, and how long answers are thought to take."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from optimize.market.pools import slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.records import SloRow
from optimize.search import routing
from optimize.search.cache import CapacityStore
from optimize.search.loop import Market, Restriction, Settled
from optimize.search.routing import (
    NO_ROUTING,
    market_without_routing,
    pool_times,
    routing_alternative,
    routing_notes,
    served_models,
    settle_routed,
    strongest_only,
    with_escalations,
    without_late,
)
from sim.engine.deployment import PS
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of
from tests.optimize.program.problems import offer, pool, problem
from tests.optimize.search.by_hand import settled_of
from tests.optimize.search.test_routing import scenario_at


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return scenario_at(tmp_path_factory.mktemp("choice"))


def market_of(scenario: Scenario, said: list[str] | None = None) -> Market:
    demand, slos = demand_of(scenario), slo_rows(scenario)
    relays = relay_terms(scenario, demand, slos)
    tell = said.append if said is not None else lambda _: None
    return Market(scenario, demand, slos, [], list(relays), 1000.0, CapacityStore(None), 1, tell, measured=7)


def plan_at(usd: float, served: bool = True) -> Settled:
    settled = settled_of(problem([[1.0]], [pool(offer("o", 1.0), [0.5])]))
    unserved = settled.solution.unserved + (0.0 if served else 1.0)
    return replace(settled, solution=replace(settled.solution, cost_usd=usd, unserved=unserved))


# --- the alternative


def test_models_of_a_class_are_those_of_relays_that_it_may_use(scenario: Scenario) -> None:
    found = served_models(market_of(scenario))
    assert {"llama-3.1-8b", "gpt-4.1"} <= found[0] and found[1] == {"gpt-4.1"}


def test_a_class_on_its_strongest_tier_has_no_classifier_and_others_stay(scenario: Scenario) -> None:
    served = served_models(market_of(scenario))
    narrow = strongest_only(scenario, served, frozenset((0,)))
    assert narrow.request_classes[0].models == ("gpt-4.1",) and narrow.request_classes[0].classifier is None
    assert narrow.request_classes[1] is scenario.request_classes[1]
    assert narrow.routing is not None and "faq" in narrow.routing.narrowed and "code" not in narrow.routing.narrowed
    other = strongest_only(scenario, served, frozenset((1,)))
    assert other.request_classes[0] is scenario.request_classes[0]
    weak_only = strongest_only(scenario, [{"llama-3.1-8b"}, set()], None)
    assert weak_only.request_classes[0].models == ("llama-3.1-8b",) and weak_only.request_classes[1].models == ("gpt-4.1",)


def test_without_routing_there_is_no_market_where_every_class_is_on_its_strongest_tier_already(scenario: Scenario) -> None:
    narrow = market_without_routing(market_of(scenario))
    assert narrow is not None and narrow.measured == 0
    assert [(terms.relay.id, terms.eligible.tolist()) for terms in narrow.relays] == [("openai.gpt-4.1", [True, True])]
    assert market_without_routing(narrow) is None
    assert market_without_routing(replace(market_of(scenario), scenario=replace(scenario, routing=None))) is None


@pytest.mark.parametrize(
    ("usd", "served", "status"),
    [(900.0, True, "within_budget"), (1000.0, True, "within_budget"), (1000.01, True, "over_budget"), (1.0, False, "infeasible")],
)
def test_the_alternative_says_what_it_costs_and_whether_the_budget_allows_it(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, usd: float, served: bool, status: str
) -> None:
    asked: list[Restriction] = []

    def settle(market: Market, restriction: Restriction, rounds: int) -> Settled:
        asked.append(restriction)
        return plan_at(usd, served)

    monkeypatch.setattr(routing, "settle", settle)
    (found,) = routing_alternative(market_of(scenario))
    assert (found.name, found.status, found.per_month_usd) == (NO_ROUTING, status, usd if served else None)
    assert asked[0].budget_usd == math.inf and asked[0].rough
    assert not served or "faq: gpt-4.1" in found.note


def test_notes_name_the_classes_that_are_looked_at_with_price_and_delay(scenario: Scenario) -> None:
    (note,) = routing_notes(scenario)
    assert "the classifier looks at faq for $1e-05 and 0.3 s a request; 10% of what it sends to a weaker model is answered twice." in note
    assert routing_notes(replace(scenario, routing=None)) == []
    bare = tuple(replace(each, classifier=None) for each in scenario.request_classes)
    assert routing_notes(replace(scenario, request_classes=bare)) == []


def test_a_class_without_anything_weaker_hides_no_class_after_it(scenario: Scenario) -> None:
    """The first class looks at every request in vain: it has one tier. The second has two."""
    looked = next(each for each in scenario.request_classes if each.classifier is not None)
    alone = replace(scenario.request_classes[1], classifier=looked.classifier)
    turned = replace(scenario, request_classes=(alone, looked))
    market = market_of(turned)
    _, relays = with_escalations(turned, market.demand, market.slos, (), {}, [replace(each, escalation=None) for each in market.relays])
    found = {terms.relay.id: terms.escalation for terms in relays}
    weak, strong = found["deepinfra.llama-3.1-8b"], found["openai.gpt-4.1"]
    assert weak is not None and strong is not None
    assert weak.share.tolist() == [0.0, 0.1] and strong.strongest.tolist() == [False, True]


# --- whether a classifier pays


@pytest.mark.parametrize(
    ("with_it", "without", "kept"),
    [
        ((100.0, True), (99.95, True), True),  # less than a thousandth
        ((100.0, True), (99.8, True), False),
        ((100.0, True), (50.0, False), True),  # cheaper, and something is left out
        ((100.0, False), (300.0, True), False),  # dearer, and nothing is left out
    ],
)
def test_a_classifier_stays_unless_the_strongest_tier_is_clearly_cheaper_or_alone_serves_everything(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, with_it: tuple[float, bool], without: tuple[float, bool], kept: bool
) -> None:
    def settle(market: Market, restriction: Restriction, rounds: int = 12) -> Settled:
        return plan_at(*(with_it if market.scenario.request_classes[0].classifier is not None else without))

    monkeypatch.setattr(routing, "settle", settle)
    said: list[str] = []
    market, settled = settle_routed(market_of(scenario, said))
    assert (market.scenario.request_classes[0].classifier is not None) is kept
    assert settled.solution.cost_usd == (with_it if kept else without)[0]
    assert any("routing does not pay for faq" in words for words in market.scenario.warnings) is not kept
    assert said == ["routing: faq on its strongest tier, without classifier"]


# --- how long answers take


def engine(steps_s: list[float], per_context_s: float = 0.0) -> Any:
    """A step of batch k takes steps_s[k] and so much per token of context of each sequence."""
    size = len(steps_s)
    return SimpleNamespace(base_ps=np.array(steps_s) * PS, sequence_ps=0.0, context_ps=np.full(size, per_context_s * PS), pair_ps=0.0)


def times_of(
    cost: Any, outputs: list[float], limit_s: float | None = None, most: int = 64, room: int = 10_000
) -> tuple[list[float], list[float]]:
    """(TTFT, E2E) of prompts of 100 tokens with these answers, network 0.5 s."""
    deployment = SimpleNamespace(id="d", limits=SimpleNamespace(max_num_seqs=most))
    option = cast(Any, SimpleNamespace(deployment=deployment, token_factors=None))
    sample = SimpleNamespace(input_tokens=np.full(len(outputs), 100), output_tokens=np.array(outputs))
    rows = () if limit_s is None else (SloRow(0, "tpot", 0.95, limit_s), SloRow(1, "tpot", 0.95, 1e-9), SloRow(0, "ttft", 0.95, 1e-9))
    scenario = cast(Any, SimpleNamespace(policy=SimpleNamespace(network_s=0.5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routing, "kv_blocks", lambda _: room)
        patch.setattr(routing, "counted_by_class", lambda sample, factors: sample)
        found = pool_times(option, {"d": cost}, cast(Any, sample), scenario, rows, 0)
    return found.ttft_s.tolist(), found.e2e_s.tolist()


def test_an_answer_takes_its_prefill_and_a_step_for_each_token_after_the_first() -> None:
    ttft, e2e = times_of(engine([0.0, 0.01, 0.02, 0.04]), [1, 11])
    chunk = 0.5 + 100 * 0.04 / 3
    assert ttft == pytest.approx([chunk, chunk]) and e2e == pytest.approx([chunk, chunk + 10 * 0.04])


@pytest.mark.parametrize(("limit_s", "step_s"), [(0.04, 0.04), (0.039, 0.02), (0.01, 0.01), (0.001, 0.01), (None, 0.04)])
def test_the_batch_is_the_largest_that_the_promise_of_the_class_allows(limit_s: float | None, step_s: float) -> None:
    ttft, e2e = times_of(engine([0.0, 0.01, 0.02, 0.04]), [11], limit_s)
    assert e2e[0] - ttft[0] == pytest.approx(10 * step_s)


def test_the_batch_is_bounded_by_sequences_and_by_memory() -> None:
    steps = [0.0, 0.01, 0.02, 0.04]
    for found in (times_of(engine(steps), [11], most=2), times_of(engine(steps), [11], room=14)):  # 14 blocks of 16: two requests of 111
        assert found[1][0] - found[0][0] == pytest.approx(10 * 0.02)
    small = times_of(engine(steps), [11], room=1)
    assert small[1][0] - small[0][0] == pytest.approx(10 * 0.01), "one request at least"


def test_steps_read_the_context_of_every_sequence_at_the_middle_of_its_answer() -> None:
    ttft, e2e = times_of(engine([0.0, 0.01], per_context_s=1e-4), [11])
    assert e2e[0] - ttft[0] == pytest.approx(10 * (0.01 + 1e-4 * 105.5))


def test_a_program_without_estimates_of_lateness_keeps_everything_else(scenario: Scenario) -> None:
    from optimize.records import Escalation

    late = Escalation(np.array([0.1]), np.array([False]), np.array([0.3]))
    given = problem([[1.0]], [pool(offer("o", 1.0), [0.5], [0.0])], [], [SloRow(0, "ttft", 0.95, 1.0)])
    option = replace(given.pools[0].option, escalation=late)
    bare = without_late(replace(given, pools=(replace(given.pools[0], option=option),)))
    found = bare.pools[0].option.escalation
    assert found is not None and found.late.tolist() == [0.0] and found.share.tolist() == [0.1]
    assert without_late(given).pools[0].option.escalation is None
