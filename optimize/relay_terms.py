"""What the program is told of each relay: who may use it, what a request costs there, how often it misses each promise."""

from __future__ import annotations

import math

import numpy as np

from optimize.money import relay_request_usd
from optimize.records import RelayTerms, SloRow
from sim.catalog.records import Relay
from sim.relay import relay_miss
from sim.scenario.records import RequestClass, Scenario, Slo, SyntheticTraffic
from sim.traffic import at_rates
from sim.traffic.columns import Demand, Requests

SAMPLE = 20_000
CACHE_LIFETIME_S = 300.0  # shortest lifetime that vendors state for automatic prompt caching
CACHE_GRAIN = 128  # cached prefixes are billed in steps of 128 tokens


def may_serve(relay: Relay, request_class: RequestClass) -> bool:
    """Whether policy and residency of the class let this relay answer it."""
    if request_class.self_hosted_only or relay.model not in request_class.models:
        return False
    return not request_class.data_residency or bool(set(request_class.data_residency) & set(relay.residency))


def cache_survival(scenario: Scenario) -> float:
    """Probability that the next turn of a conversation comes within the cache lifetime (log-normal think time); 1 without sessions."""
    traffic = scenario.traffic
    if not isinstance(traffic, SyntheticTraffic):
        return 1.0
    z = math.log(CACHE_LIFETIME_S / traffic.think_time_median_s) / traffic.think_time_sigma
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def cached_tokens(sample: Requests, relay: Relay, survival: float) -> float:
    """Mean input tokens per request that the relay bills at its cached price."""
    if relay.usd_per_mtok_cached is None:
        return 0.0
    eligible = np.where(sample.prefix_tokens >= relay.cache_min_prefix, sample.prefix_tokens // CACHE_GRAIN * CACHE_GRAIN, 0)
    return float(eligible.mean()) * survival


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
        eligible = np.array([may_serve(relay, scenario.request_classes[c]) for c in classes])
        if not eligible.any():
            continue
        usd, miss = np.full(len(eligible), np.inf), np.zeros(len(slos))
        for c in np.flatnonzero(eligible):
            sample = samples[int(c)]
            usd[c] = relay_request_usd(relay, demand.input_tokens[c], cached_tokens(sample, relay, survival), demand.output_tokens[c])
            rows = [i for i, row in enumerate(slos) if row.class_index == c]
            promises = [Slo(slos[i].metric, slos[i].quantile, slos[i].limit_s) for i in rows]
            miss[rows] = relay_miss(relay, promises, sample.input_tokens, sample.output_tokens, seed=scenario.seed)
        answer.append(
            RelayTerms(
                relay=relay,
                eligible=eligible,
                usd_per_request=usd,
                tokens_per_request=demand.input_tokens + demand.output_tokens,
                miss=miss,
                hard_limits=not (relay.negotiable and scenario.policy.limits_negotiable),
            )
        )
    return answer
