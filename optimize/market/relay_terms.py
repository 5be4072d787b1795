"""What the program is told of each relay: who may use it, what a request costs there, how often it misses each promise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from optimize.market.context_fit import KnownLengths, class_sample
from optimize.market.contract_terms import contracted
from optimize.market.permits import class_reason, relay_reason
from optimize.market.relay_bills import class_bill, hour_factors, kept_of, meter_of
from optimize.market.token_factors import class_factors
from optimize.records import Dropped, RelayTerms, SloRow
from sim.catalog.facts import Relay
from sim.relay.server import relay_miss
from sim.requests import Demand
from sim.scenario.scenario import RequestClass, Scenario, Slo
from sim.traffic.model_tokens import counted_by_class


def may_serve(relay: Relay, request_class: RequestClass, scenario: Scenario | None = None) -> bool:
    """Whether class and, with `scenario`, its policy let this relay answer: `permits` has the reasons.

    Without `scenario` the relay is taken as chosen by hand: only the class decides.
    """
    if relay.model not in request_class.models or class_reason(relay, request_class):
        return False
    return scenario is None or not relay_reason(relay, scenario)


def relay_drops(scenario: Scenario, wanted: Iterable[int]) -> list[Dropped]:
    """For each relay of a model that a wanted class accepts and that may not be used all the same: why."""
    dropped, lengths = [], KnownLengths(scenario)
    classes = {c: scenario.request_classes[c] for c in wanted}
    for relay in scenario.relays:
        named = {c: each for c, each in classes.items() if relay.model in each.models}
        if not named:
            continue  # sells a model that was not asked for
        reason = relay_reason(relay, scenario)
        if reason:
            dropped.append(Dropped(relay.id, reason))
            continue
        for c, each in named.items():
            reason = class_reason(relay, each) or lengths.reason(c, relay.model, relay.max_context)
            if reason and reason != "self_hosted_only":  # the class says so itself
                dropped.append(Dropped(f"{relay.id}:{each.name}", reason))
    return dropped


def relay_terms(scenario: Scenario, demand: Demand, slos: tuple[SloRow, ...]) -> list[RelayTerms]:
    """Terms of every candidate relay that at least one class may use."""
    classes = range(len(scenario.request_classes))
    samples = {c: class_sample(scenario, c) for c in classes}
    answer, lengths = [], KnownLengths(scenario, samples)
    for relay in scenario.relays:
        if relay_reason(relay, scenario):
            continue
        eligible = np.array([may_serve(relay, each) for each in scenario.request_classes])
        eligible = np.array([e and not lengths.reason(c, relay.model, relay.max_context) for c, e in enumerate(eligible)])
        if not eligible.any():
            continue
        usd, miss = np.full(len(eligible), np.inf), np.zeros(len(slos))
        cached, new = np.zeros(len(eligible)), np.zeros(len(eligible))
        given = class_factors(scenario.request_classes, relay.model)
        factors = np.ones((len(eligible), 2)) if given is None else given
        inputs, outputs = demand.input_tokens * factors[:, 0], demand.output_tokens * factors[:, 1]
        bills = {}
        for c in map(int, np.flatnonzero(eligible)):
            sample = counted_by_class(samples[c], given)
            kept = kept_of(scenario, demand, c)
            bill = class_bill(relay, scenario.request_classes[c], samples[c], kept, factors[c], (inputs[c], outputs[c]))
            bills[c], usd[c], cached[c], new[c] = bill, bill.usd, bill.cached, bill.written
            rows = [i for i, row in enumerate(slos) if row.class_index == c]
            before_s = scenario.request_classes[c].before_s
            promises = [Slo(slos[i].metric, slos[i].quantile, slos[i].limit_s - before_s(slos[i].metric)) for i in rows]
            miss[rows] = relay_miss(relay, promises, sample.input_tokens, sample.output_tokens, seed=scenario.seed)
        answer.append(
            RelayTerms(
                relay=relay,
                eligible=eligible,
                usd_per_request=usd,
                tokens_per_request=inputs + outputs,
                miss=miss,
                hard_limits=not (relay.negotiable and scenario.policy.limits_negotiable),
                token_factors=given,
                cached=cached,
                written=new if new.any() else None,
                meter=meter_of(bills, (inputs, outputs), len(eligible)),
                hour_factors=hour_factors(relay, scenario, demand, bills),
            )
        )
    return contracted(answer, scenario.policy, demand)
