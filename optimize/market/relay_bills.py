"""What a request of a class costs at a relay, on average: caches, batches, long prompts, hours of the day; priced by `optimize.money`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from optimize.money import relay_request_usd
from optimize.money.metering import (
    ABOVE,
    KINDS,
    Meter,
    Metered,
    batch_meter,
    metered_usd,
    plain_meter,
    sold_in_batches,
    tiered,
)
from optimize.money.off_peak import off_peak_note, slice_factors
from optimize.records import Floats, RelayTerms
from sim.catalog.facts import Relay
from sim.exact import dot, exp, log
from sim.relay.prompt_cache import GRAIN, LIFETIME_S
from sim.requests import Demand, Requests
from sim.scenario.scenario import RequestClass, Scenario, SyntheticTraffic


@dataclass(frozen=True)
class ClassBill:
    """The mean bill of a request of a class at a relay: USD; input tokens at the cached price and at that of cache writes.

    `meter` None: nothing beyond the four plain kinds;  `batch`: it goes to the vendor's batch service
    """

    usd: float
    cached: float
    written: float
    meter: Meter | None = None
    batch: bool = False


def cache_survival(scenario: Scenario) -> float:
    """Probability that the next turn of a conversation comes within the cache lifetime (log-normal think time); 1 without sessions."""
    traffic = scenario.traffic
    if not isinstance(traffic, SyntheticTraffic):
        return 1.0
    z = log(LIFETIME_S / traffic.think_time_median_s) / traffic.think_time_sigma
    return round(0.5 * (1 + math.erf(z / math.sqrt(2))), 9)


@dataclass(frozen=True)
class Kept:
    """Probability that a relay still has what a prompt repeats: `turn`, of the session's last turn; `system`, the class's system prompt."""

    turn: float
    system: float


def kept_of(scenario: Scenario, demand: Demand, c: int) -> Kept:
    """What a relay keeps of class `c`, if all of it goes there.

    The system prompt is read again by every request of the class: with Poisson arrivals at rate r another one came within the lifetime
    L with probability 1 - exp(-r L); the mean over the requests of a month.
    """
    rate, weight = demand.mean_rps[c], demand.mean_rps[c] * demand.weight_h
    shared = float(dot(weight, 1.0 - exp(-rate * LIFETIME_S)) / weight.sum()) if weight.sum() > 0 else 0.0
    return Kept(cache_survival(scenario), shared)


def cacheable(tokens: npt.NDArray[Any], relay: Relay, input_factor: float = 1.0) -> Floats:
    """[requests] tokens of a prefix that the relay bills as cached; its tokenizer makes `input_factor` of each of ours."""
    prefix = np.floor(tokens * input_factor)
    found: Floats = np.where(prefix >= relay.cache_min_prefix, prefix // GRAIN * GRAIN, 0)
    return found


def tokens_read(sample: Requests, relay: Relay, kept: Kept, input_factor: float = 1.0) -> Floats:
    """[requests] expected input tokens at the cached price.

    A later turn finds its session's last prompt, or where that is forgotten the system prompt, which is all that a first turn can find.
    The last prompt is the prefix without the answer to it, which has not come back in a prompt yet; that answer is taken as the mean one.
    """
    later = sample.prefix_tokens > sample.system_tokens
    answer = float(sample.output_tokens.mean()) if len(sample) else 0.0
    last = np.maximum(sample.prefix_tokens - answer * (later & (sample.session_id >= 0)), sample.system_tokens)
    whole, system = (cacheable(each, relay, input_factor) for each in (last, sample.system_tokens))
    found: Floats = np.where(later, kept.turn * whole + (1 - kept.turn) * kept.system * system, kept.system * system)
    return found


def cached_tokens(sample: Requests, relay: Relay, kept: Kept, input_factor: float = 1.0) -> float:
    """Mean input tokens per request that the relay bills at its cached price."""
    if relay.usd_per_mtok_cached is None:
        return 0.0
    return float(tokens_read(sample, relay, kept, input_factor).mean())


def cached_and_written(sample: Requests, relay: Relay, kept: Kept, input_factor: float, tokens: tuple[float, float]) -> tuple[float, float]:
    """Mean input tokens per request at the cached price and at the price of cache writes; (0, 0) where caching costs more than it saves.

    With caching on, what a prompt of the vendor's least length does not find in the cache is written to it, also by last turns that
    no one continues. Writes count only where they have a price of their own. `tokens` are the mean input and output of a request.
    """
    cached = cached_tokens(sample, relay, kept, input_factor)
    if relay.usd_per_mtok_cache_write is None or cached == 0.0:
        return cached, 0.0
    long = float(np.mean(np.where(sample.input_tokens * input_factor >= relay.cache_min_prefix, sample.input_tokens * input_factor, 0.0)))
    written = min(max(long - cached, 0.0), tokens[0] - cached)
    dear = relay_request_usd(relay, tokens[0], cached, tokens[1], written)
    return (cached, written) if dear < relay_request_usd(relay, tokens[0], 0.0, tokens[1]) else (0.0, 0.0)


def class_bill(
    relay: Relay, request_class: RequestClass, sample: Requests, kept: Kept, factors: Sequence[float], tokens: tuple[float, float]
) -> ClassBill:
    """The cheaper of single requests and, where the class may wait for it, the batch service.

    sample   requests of the class in our tokens;  factors  input and output tokens of the relay per token of ours
    tokens   mean input and output tokens of a request, as the relay counts them
    """
    cached, written = cached_and_written(sample, relay, kept, factors[0], tokens)
    usd, meter = relay_request_usd(relay, tokens[0], cached, tokens[1], written), None
    prompts = np.asarray(sample.input_tokens * factors[0], dtype=np.float64)
    if relay.long_prompts and float(prompts.max(initial=0.0)) > relay.long_prompts[0].above_tokens:
        read = tokens_read(sample, relay, kept, factors[0]) * (cached > 0)
        enters = np.where(prompts >= relay.cache_min_prefix, np.maximum(prompts - read, 0.0), 0.0) * (written > 0)
        answers = np.asarray(sample.output_tokens * factors[1], dtype=np.float64)
        kinds = (np.maximum(prompts - read - enters, 0.0), read, enters, answers)
        meter = tiered(relay, plain_meter(tokens[0], cached, written, tokens[1]), Metered(prompts, dict(zip(KINDS, kinds, strict=True))))
        usd = metered_usd(relay, meter)
    if sold_in_batches(relay, request_class, float(prompts.max(initial=0.0))):
        batch = batch_meter(*tokens)
        if metered_usd(relay, batch) < usd:
            return ClassBill(metered_usd(relay, batch), 0.0, 0.0, batch, True)
    return ClassBill(usd, cached, written, meter)


def meter_of(bills: dict[int, ClassBill], tokens: Sequence[Floats], classes: int) -> dict[str, Floats] | None:
    """Kind -> [classes] mean tokens per request; None where every class has nothing but plain kinds. `tokens`: input and output means."""
    if all(bill.meter is None for bill in bills.values()):
        return None
    meter: dict[str, Floats] = {kind: np.zeros(classes) for kind in KINDS}
    for c, bill in bills.items():
        plain = plain_meter(float(tokens[0][c]), bill.cached, bill.written, float(tokens[1][c]))
        for kind, count in (plain if bill.meter is None else bill.meter).items():
            meter.setdefault(kind, np.zeros(classes))[c] = count
    return meter


def hour_factors(relay: Relay, scenario: Scenario, demand: Demand, bills: dict[int, ClassBill]) -> Floats | None:
    """[classes, slices] factor of the hour on the price of a request; 1 for batches, which run whenever the vendor likes. None: 1."""
    by_slice = slice_factors(relay.off_peak, scenario.traffic, demand.slices)
    if by_slice is None:
        return None
    factors = np.tile(by_slice, (len(demand.mean_rps), 1))
    factors[[c for c, bill in bills.items() if bill.batch]] = 1.0
    return factors


def metered_prices(terms: RelayTerms, relay: Relay) -> Floats:
    """[classes] price of a request of terms with a meter, at the prices of `relay`."""
    assert terms.meter is not None
    usd = np.full(len(terms.eligible), np.inf)
    for c in np.flatnonzero(terms.eligible):
        usd[c] = metered_usd(relay, {kind: float(tokens[c]) for kind, tokens in terms.meter.items()})
    return usd


def price_notes(scenario: Scenario, relays: Sequence[RelayTerms], flow: Floats, weight_h: Floats) -> list[str]:
    """What the prices of the hours, of batches and of long prompts take for granted, where the plan buys at them, in words.

    `flow` [relays, classes, slices], `weight_h` [slices].
    """
    sold = [(terms, used.any(axis=1)) for terms, used in zip(relays, flow, strict=True) if terms.units is None]
    notes = []
    clockless = [terms.relay.id for terms, used in sold if used.any() and terms.relay.off_peak is not None and terms.hour_factors is None]
    if clockless:
        notes.append(
            f"{', '.join(clockless)}: cheaper off peak, by UTC; the UTC hours of the traffic are not given (traffic.utc_offset_h), so "
            "every hour pays the dearest price."
        )
    bought = [(terms, each) for terms, each in zip(relays, flow, strict=True) if terms.units is None]
    notes += filter(None, (off_peak_note(terms, each, weight_h, scenario.traffic) for terms, each in bought))
    for terms, used in sold:
        meter = {kind: np.where(used, tokens, 0.0) for kind, tokens in (terms.meter or {}).items()}
        batch = [scenario.request_classes[c].name for c in np.flatnonzero(meter.get("batch input", np.zeros(0)))]
        if batch:
            notes.append(
                f"{', '.join(batch)} at {terms.relay.id}: the batch service, answers within {terms.relay.batch_window_h:g} h as the vendor "
                "says; the simulator sends single requests."
            )
        if any(ABOVE in kind and tokens.any() for kind, tokens in meter.items()):
            notes.append(f"{terms.relay.id}: long prompts pay its long-prompt prices, each request in its own tier.")
    return notes
