"""What the program is told of each relay: who may use it, what a request costs there, how often it misses each promise."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from optimize.contract_terms import contracted
from optimize.money import relay_request_usd
from optimize.permits import class_reason, relay_reason
from optimize.records import Dropped, RelayTerms, SloRow
from optimize.token_factors import class_factors
from sim.catalog.records import Relay
from sim.model_tokens import counted_by_class
from sim.relay import relay_miss
from sim.scenario.records import RequestClass, Scenario, Slo, SyntheticTraffic
from sim.traffic import at_rates
from sim.traffic.columns import Demand, Requests

SAMPLE = 20_000
CACHE_LIFETIME_S = 300.0  # shortest lifetime that vendors state for automatic prompt caching
CACHE_GRAIN = 128  # cached prefixes are billed in steps of 128 tokens


def may_serve(relay: Relay, request_class: RequestClass, scenario: Scenario | None = None) -> bool:
    """Whether class and, with `scenario`, its policy let this relay answer: `permits` has the reasons.

    Without `scenario` the relay is taken as chosen by hand: only the class decides.
    """
    if relay.model not in request_class.models or class_reason(relay, request_class):
        return False
    return scenario is None or not relay_reason(relay, scenario)


def relay_drops(scenario: Scenario, wanted: Iterable[int]) -> list[Dropped]:
    """For each relay of a model that a wanted class accepts and that may not be used all the same: why."""
    dropped = []
    classes = [scenario.request_classes[c] for c in wanted]
    for relay in scenario.relays:
        named = [each for each in classes if relay.model in each.models]
        if not named:
            continue  # sells a model that nobody asked for
        reason = relay_reason(relay, scenario)
        if reason:
            dropped.append(Dropped(relay.id, reason))
            continue
        for each in named:
            reason = class_reason(relay, each)
            if reason and reason != "self_hosted_only":  # the class says so itself
                dropped.append(Dropped(f"{relay.id}:{each.name}", reason))
    return dropped


def cache_survival(scenario: Scenario) -> float:
    """Probability that the next turn of a conversation comes within the cache lifetime (log-normal think time); 1 without sessions."""
    traffic = scenario.traffic
    if not isinstance(traffic, SyntheticTraffic):
        return 1.0
    z = math.log(CACHE_LIFETIME_S / traffic.think_time_median_s) / traffic.think_time_sigma
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def cached_tokens(sample: Requests, relay: Relay, survival: float, input_factor: float = 1.0) -> float:
    """Mean input tokens per request that the relay bills at its cached price; its tokenizer makes `input_factor` of each of ours."""
    if relay.usd_per_mtok_cached is None:
        return 0.0
    prefix = np.floor(sample.prefix_tokens * input_factor)
    eligible = np.where(prefix >= relay.cache_min_prefix, prefix // CACHE_GRAIN * CACHE_GRAIN, 0)
    return float(eligible.mean()) * survival


def cached_and_written(
    sample: Requests, relay: Relay, survival: float, input_factor: float, tokens: tuple[float, float]
) -> tuple[float, float]:
    """Mean input tokens per request at the cached price and at the price of cache writes; (0, 0) where caching costs more than it saves.

    With caching on, what a prompt of the vendor's least length does not find in the cache is written to it, also by last turns that
    nobody continues. Writes count only where they have a price of their own. `tokens` are the mean input and output of a request.
    """
    cached = cached_tokens(sample, relay, survival, input_factor)
    if relay.usd_per_mtok_cache_write is None or cached == 0.0:
        return cached, 0.0
    long = float(np.mean(np.where(sample.input_tokens * input_factor >= relay.cache_min_prefix, sample.input_tokens * input_factor, 0.0)))
    written = min(max(long - cached, 0.0), tokens[0] - cached)
    dear = relay_request_usd(relay, tokens[0], cached, tokens[1], written)
    return (cached, written) if dear < relay_request_usd(relay, tokens[0], 0.0, tokens[1]) else (0.0, 0.0)


def class_sample(scenario: Scenario, c: int) -> Requests:
    """A fixed sample of the requests of class `c`."""
    rates = [0.0] * len(scenario.request_classes)
    rates[c] = 1.0
    return at_rates(scenario, rates, seed=77, n_requests=SAMPLE)


def relay_terms(scenario: Scenario, demand: Demand, slos: tuple[SloRow, ...]) -> list[RelayTerms]:
    """Terms of every candidate relay that at least one class may use."""
    classes = range(len(scenario.request_classes))
    samples = {c: class_sample(scenario, c) for c in classes}
    survival = cache_survival(scenario)
    answer = []
    for relay in scenario.relays:
        if relay_reason(relay, scenario):
            continue
        eligible = np.array([may_serve(relay, scenario.request_classes[c]) for c in classes])
        if not eligible.any():
            continue
        usd, miss = np.full(len(eligible), np.inf), np.zeros(len(slos))
        cached, new = np.zeros(len(eligible)), np.zeros(len(eligible))
        given = class_factors(scenario.request_classes, relay.model)
        factors = np.ones((len(eligible), 2)) if given is None else given
        inputs, outputs = demand.input_tokens * factors[:, 0], demand.output_tokens * factors[:, 1]
        for c in np.flatnonzero(eligible):
            sample = counted_by_class(samples[int(c)], given)
            cached[c], new[c] = cached_and_written(samples[int(c)], relay, survival, factors[c, 0], (inputs[c], outputs[c]))
            usd[c] = relay_request_usd(relay, inputs[c], cached[c], outputs[c], new[c])
            rows = [i for i, row in enumerate(slos) if row.class_index == c]
            before_s = scenario.request_classes[int(c)].before_s
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
            )
        )
    return contracted(answer, scenario.policy, demand)
