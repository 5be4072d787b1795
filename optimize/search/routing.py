"""Several models per class in the program: who is weaker, what an answer in vain costs in time, and what routing saves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from optimize.market.candidates import candidates
from optimize.market.cascades import tiers_of
from optimize.market.context_fit import class_sample, fitting
from optimize.market.pools import pool_states
from optimize.market.relay_terms import relay_terms
from optimize.money.amounts import share_of
from optimize.records import Alternative, Escalation, Floats, PoolOption, ProgramInput, RelayTerms, SloRow
from optimize.search.loop import Market, Restriction, Settled, settle
from sim.engine.deployment import BLOCK_TOKENS, PS, StepCost
from sim.engine.memory import kv_blocks
from sim.engine.step_cost import step_cost
from sim.relay.latency_draw import prompt_s, unthrottled_latency
from sim.requests import Demand, Requests
from sim.scenario.scenario import Scenario
from sim.streams import stream
from sim.traffic.model_tokens import counted_by_class

NO_ROUTING = "no routing: each class on its strongest tier"
DRAWS = 4000
PAYS = 1e-3
TRIAL = Restriction("routing", budget_usd=math.inf, gap=0.001, rough=True)
NAMED = 2  # models of a class in a note
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Times:
    """Seconds of the answers of one target to a sample of a class's requests."""

    ttft_s: Floats
    e2e_s: Floats


def with_escalations(
    scenario: Scenario, demand: Demand, slos: tuple[SloRow, ...], options: Sequence[PoolOption], costs: dict[str, StepCost],
    relays: Sequence[RelayTerms],
) -> tuple[tuple[PoolOption, ...], list[RelayTerms]]:  # fmt: skip
    """Pools and relays that know which of their answers are in vain.

    Weaker is what is below the strongest tier among all candidates of the class; a class with one tier of candidates is left alone.
    """
    models = [each.deployment.model.id if each.deployment else None for each in options] + [each.relay.model for each in relays]
    size, rows = len(models), len(slos)
    share, strongest, late = (np.zeros((size, len(demand.mean_rps))), np.zeros((size, len(demand.mean_rps)), bool), np.zeros((size, rows)))
    for c, each in enumerate(scenario.request_classes):
        if each.classifier is None or each.classifier.misroute_share <= 0:
            continue
        serves = np.array([c in option.classes for option in options] + [bool(terms.eligible[c]) for terms in relays], bool)
        weak, top = tiers_of(scenario, models, serves)
        if not weak.any():
            continue
        share[weak, c], strongest[top, c] = each.classifier.misroute_share, True
        late += lateness(scenario, demand, slos, c, options, costs, relays, weak, top)
    if not share.any():
        return tuple(options), list(relays)
    found = [Escalation(share[k], strongest[k], late[k]) for k in range(size)]
    pools = tuple(replace(option, escalation=each) for option, each in zip(options, found, strict=False))
    return pools, [replace(terms, escalation=each) for terms, each in zip(relays, found[len(options) :], strict=True)]


def lateness(
    scenario: Scenario, demand: Demand, slos: tuple[SloRow, ...], c: int, options: Sequence[PoolOption], costs: dict[str, StepCost],
    relays: Sequence[RelayTerms], weak: Bools, top: Bools,
) -> Floats:  # fmt: skip
    """[targets, slo rows] share of class `c`'s requests answered in vain at each weaker target that miss a promise in the end.

    The classifier, the whole weak answer, then the strong one, which is that of the quickest strongest target; relays as their laws
    say, pools at their largest allowed batch without a queue. An estimate to plan with: the simulation of the plan has the word.
    """
    sample = class_sample(scenario, c)
    sample = Requests(**{name: getattr(sample, name)[:DRAWS] for name in Requests.__dataclass_fields__})
    times: dict[int, Times] = {}
    for k in np.flatnonzero(weak | top).tolist():
        if k < len(options):
            times[k] = pool_times(options[k], costs, sample, scenario, slos, c)
        else:
            times[k] = relay_times(relays[k - len(options)], sample, stream(scenario.seed, "late", k))
    answer = np.zeros((len(weak), len(slos)))
    for i, row in enumerate(slos):
        if row.class_index != c or row.metric == "tpot":
            continue
        name = "ttft_s" if row.metric == "ttft" else "e2e_s"
        left_s = row.limit_s - scenario.request_classes[c].before_s(row.metric)
        quickest = min((getattr(times[k], name) for k in np.flatnonzero(top).tolist()), key=lambda seconds: float(seconds.mean()))
        for k in np.flatnonzero(weak).tolist():
            answer[k, i] = float(np.mean(times[k].e2e_s + quickest > left_s))
    return answer


def relay_times(terms: RelayTerms, sample: Requests, rng: np.random.Generator) -> Times:
    """Draws from the laws of a relay, without limits and errors."""
    counted = counted_by_class(sample, terms.token_factors)
    ttft_s, _, e2e_s = unthrottled_latency(terms.relay, counted.output_tokens, rng)
    more = prompt_s(terms.relay, counted.input_tokens)
    return Times(ttft_s + more, e2e_s + more)


def pool_times(
    option: PoolOption, costs: dict[str, StepCost], sample: Requests, scenario: Scenario, slos: tuple[SloRow, ...], c: int
) -> Times:
    """Prefill alone, then steps of the largest batch that memory and the TPOT promise allow; no queue."""
    assert option.deployment is not None
    cost = costs[option.deployment.id]
    counted = counted_by_class(sample, option.token_factors)
    inputs, outputs = counted.input_tokens.astype(float), counted.output_tokens.astype(float)
    context = float(inputs.mean() + outputs.mean() / 2)
    room = int(kv_blocks(option.deployment) * BLOCK_TOKENS / float((inputs + outputs).mean()))
    batch = np.arange(1, min(option.deployment.limits.max_num_seqs, len(cost.context_ps) - 1, max(1, room)) + 1)
    step_s = (cost.base_ps[batch] + cost.sequence_ps * batch + cost.context_ps[batch] * batch * context) / PS
    limit_s = min((row.limit_s for row in slos if row.class_index == c and row.metric == "tpot"), default=math.inf)
    allowed = step_s[step_s <= limit_s]
    chunk = len(cost.base_ps) - 1
    ttft_s = scenario.policy.network_s + (inputs * cost.base_ps[chunk] / chunk + cost.pair_ps * inputs * inputs / 2) / PS
    return Times(ttft_s, ttft_s + (outputs - 1) * float(allowed.max() if len(allowed) else step_s[0]))


def without_late(problem: ProgramInput) -> ProgramInput:
    """The program without estimates of how late second answers are: what no plan can beat does not rest on them."""

    def bare(found: Escalation | None) -> Escalation | None:
        return None if found is None else replace(found, late=np.zeros_like(found.late))

    pools = tuple(replace(terms, option=replace(terms.option, escalation=bare(terms.option.escalation))) for terms in problem.pools)
    return replace(problem, pools=pools, relays=tuple(replace(terms, escalation=bare(terms.escalation)) for terms in problem.relays))


def served_models(market: Market) -> list[set[str]]:
    """[classes] models that some pool or relay of the market may answer with."""
    found: list[set[str]] = [set() for _ in market.scenario.request_classes]
    for state in market.states:
        for c in state.option.classes if state.option.deployment else ():
            found[c].add(state.option.deployment.model.id)  # type: ignore[union-attr]
    for terms in market.relays:
        for k in np.flatnonzero(terms.eligible).tolist():
            found[k].add(terms.relay.model)
    return found


def strongest_only(scenario: Scenario, served: Sequence[set[str]], only: frozenset[int] | None = None) -> Scenario:
    """The scenario with each class (those of `only`) restricted to the strongest tier that somebody serves, and without classifier."""
    assert scenario.routing is not None
    classes, narrowed = list(scenario.request_classes), list(scenario.routing.narrowed)
    for c, each in enumerate(classes):
        if only is None or c in only:
            models = tuple(model for model in each.models if model in served[c]) or each.models
            models = models if each.kind == "embedding" else scenario.routing.strongest(models)
            narrowed += [each.name] if len(models) < len(each.models) else []
            classes[c] = replace(each, models=models, classifier=None)
    return replace(scenario, request_classes=tuple(classes), routing=replace(scenario.routing, narrowed=tuple(narrowed)))


def market_of(scenario: Scenario, market: Market) -> Market:
    """`market` for another scenario of the same demand and promises."""
    options, _ = candidates(scenario, market.demand)
    costs = {o.deployment.id: step_cost(o.deployment, scenario.catalog.calibration) for o in options if o.deployment is not None}
    options, relays, _ = fitting(scenario, options, relay_terms(scenario, market.demand, market.slos), market.slos)
    options, relays = with_escalations(scenario, market.demand, market.slos, options, costs, relays)
    return replace(market, scenario=scenario, states=pool_states(options, costs, market.demand, market.slos), relays=relays)


def settle_routed(market: Market) -> tuple[Market, Settled]:
    """The market in which a class has a classifier only where that pays, and its solution.

    A classifier that is on sees every request of its class, in every hour: all or nothing. Classes are tried one after the other on
    their strongest tier, and stay there where the month is cheaper by a thousandth; greedy, with rough measurements.
    """
    routed = [c for c, each in enumerate(market.scenario.request_classes) if each.classifier is not None]
    best = settle(market, TRIAL, 8) if routed else None
    for c in routed:
        assert best is not None
        name = market.scenario.request_classes[c].name
        market.tell(f"routing: {name} on its strongest tier, without classifier")
        trial = market_of(strongest_only(market.scenario, served_models(market), frozenset((c,))), market)
        settled = settle(trial, TRIAL, 8)
        if not settled.unserved and (best.unserved or settled.solution.cost_usd < best.solution.cost_usd * (1 - PAYS)):
            note = f"routing does not pay for {name}: planned on its strongest tier, without classifier"
            warnings = (*trial.scenario.warnings, note)
            market, best = replace(trial, scenario=replace(trial.scenario, warnings=warnings)), settled
    return market, settle(market, Restriction())


def market_without_routing(market: Market) -> Market | None:
    """The same market where each class is restricted to its strongest tier; None where that changes nothing."""
    if market.scenario.routing is None:
        return None
    served = served_models(market)
    narrow = strongest_only(market.scenario, served)
    if all(there <= set(each.models) for there, each in zip(served, narrow.request_classes, strict=True)):
        return None
    return market_of(narrow, replace(market, measured=0, requests_simulated=0, half_width=0.0))


def routing_alternative(market: Market) -> tuple[Alternative, ...]:
    """The same program with each class restricted to its strongest tier, without a classifier; measured like the other alternatives."""
    narrow = market_without_routing(market)
    if narrow is None:
        return ()
    market.tell(f"alternative: {NO_ROUTING}")
    settled = settle(narrow, Restriction(NO_ROUTING, budget_usd=math.inf, gap=0.01, rough=True), 8)
    cost = settled.solution.cost_usd
    if settled.unserved:
        return (Alternative(NO_ROUTING, "infeasible", None, "the strongest tiers alone cannot serve everything"),)
    return (Alternative(NO_ROUTING, "within_budget" if cost <= market.budget_usd else "over_budget", cost, _note(narrow)),)


def _note(narrow: Market) -> str:
    named = [(each.name, each.models[:NAMED], len(each.models) > NAMED) for each in narrow.scenario.request_classes]
    return "; ".join(f"{name}: {', '.join(models)}{' ...' if more else ''}" for name, models, more in named)


def routing_notes(scenario: Scenario) -> list[str]:
    """What a routed plan takes for granted, in words."""
    found = scenario.routing.classifier if scenario.routing else None
    names = [each.name for each in scenario.request_classes if each.classifier is not None]
    if scenario.routing is None or found is None or not names:
        return []
    return [
        f"Routing table {scenario.routing.table}; the classifier looks at {', '.join(names)} for ${found.usd_per_request:g} and "
        f"{found.latency_s:g} s a request; {found.misroute_share:.0%} of what it sends to a weaker model is answered twice."
    ]


def saves(alternatives: Sequence[Alternative], settled: Settled) -> str:
    """What routing saves, in words; empty where nothing was routed."""
    for other in alternatives:
        if other.name == NO_ROUTING and other.per_month_usd is not None:
            saved = other.per_month_usd - settled.solution.cost_usd
            share = share_of(saved, other.per_month_usd)
            if saved >= 0:
                return f"saves ${saved:,.0f} a month ({share:.0%}) against each class on its strongest tier"
            return f"costs ${-saved:,.0f} a month more than each class on its strongest tier: leave routing out, or name fewer models"
        if other.name == NO_ROUTING:
            return "without it no plan serves everything: the strongest tiers alone are too little"
    return ""
