"""Keys of a relay's behaviour: what `probe` measured, and how its clients retry."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sim.catalog.relay_records import FAMILIES, Law, LoadPoint, Outages, RelayLatency, RetryPolicy
from sim.scenario.schema.fields import Amount, Keys, Positive, Share, wrong_alone

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Family = Literal["lognormal", "shifted_lognormal", "loglogistic", "lognormal_pareto", "empirical"]


def said(meaning: str, unit: str = "", **more: Any) -> Any:
    """A field with its meaning and unit."""
    return Field(description=meaning, json_schema_extra={"unit": unit}, **more)


class LawSpec(Keys):
    """A distribution of seconds, as `probe` fits it."""

    family: Family = said("form of the law; parameters are explained in sim/catalog/relay_records.py")
    parameters: list[Annotated[float, Field(ge=0, le=1e6)]] = said("of the family", "s or none", default_factory=list)
    points: list[Annotated[list[float], Field(min_length=2, max_length=2)]] = said(
        "empirical: [quantile, seconds], both rising", default_factory=list
    )
    ks: Share = said("Kolmogorov-Smirnov distance to what it was fitted to", "0..1", default=0.0)
    samples: Annotated[int, Field(ge=0, le=10**9)] = said("values it was fitted to", default=0)


def _law(spec: LawSpec) -> LawSpec:
    wanted, given = FAMILIES[spec.family], spec.parameters
    if len(given) != wanted:
        wrong_alone(f"{spec.family} has {wanted} parameters, {len(given)} are given")
    median = given[1:2] if spec.family == "shifted_lognormal" else given[:1]
    if median and median[0] <= 0:
        wrong_alone("the median is 0; write seconds above 0")
    if spec.family == "lognormal_pareto" and not (0 < given[2] < 1 and given[3] > 0):
        wrong_alone("lognormal_pareto needs [median, sigma, quantile 0..1, exponent above 0]")
    if spec.family == "empirical":
        rows = spec.points
        rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(rows))
        if len(rows) < 2 or not rising or rows[0][0] < 0 or rows[-1][0] > 1 or rows[0][1] <= 0:
            wrong_alone("empirical needs two or more points [quantile 0..1, seconds above 0], both rising")
    return spec


LawOf = Annotated[LawSpec, AfterValidator(_law)]


class LoadSpec(Keys):
    """Latency with calls in flight, as a multiple of the law's."""

    in_flight: Positive = said("calls of this account that are open", "calls")
    ttft: Annotated[float, Field(ge=0.01, le=1000)] = said("multiple of TTFT")
    tpot: Annotated[float, Field(ge=0.01, le=1000)] = said("multiple of TPOT")


def _rising(load: list[LoadSpec]) -> list[LoadSpec]:
    if any(a.in_flight >= b.in_flight for a, b in pairwise(load)):
        wrong_alone("in_flight must rise from point to point")
    return load


class LatencySpec(Keys):
    """Measured latency; takes the place of ttft_* and tokens_*."""

    ttft: LawOf = said("time to first token without the part that grows with the prompt", "s")
    tpot: LawOf = said("time per output token, one draw for each answer", "s")
    ttft_s_per_input_token: Annotated[float, Field(ge=0, le=10)] = said("what a prompt token adds to TTFT", "s/token", default=0.0)
    load: Annotated[list[LoadSpec], AfterValidator(_rising)] = said("by calls in flight, linear between", default_factory=list)


class OutageSpec(Keys):
    """When nothing is answered: `at_min` one window, or `every_h` a process of exponential times."""

    minutes: Annotated[float, Field(gt=0, le=1e6)] = said("length of the window, or mean length", "min")
    every_h: Annotated[float, Field(gt=0, le=1e6)] | None = said("mean time between outages", "h", default=None)
    at_min: Annotated[float, Field(ge=0, le=1e6)] | None = said(
        "begin of the window, minutes after the start of the simulated time (its first 10 are warm-up)", "min", default=None
    )
    hangs: bool = said("true: calls wait for the connect time-out; false: they are refused at once", default=False)


def _outage(spec: OutageSpec) -> OutageSpec:
    if (spec.every_h is None) == (spec.at_min is None):
        wrong_alone("needs one of at_min and every_h")
    return spec


class RetrySpec(Keys):
    """How clients of this relay retry: exponential back-off with full jitter."""

    attempts: Annotated[int, Field(ge=1, le=20)] = said("most attempts of one request", "attempts", default=4)
    base_s: Amount = said("ceiling of the first back-off; it doubles", "s", default=0.5)
    max_wait_s: Amount = said("highest ceiling", "s", default=8.0)
    timeout_s: Seconds = said("patience of the user, over all attempts", "s", default=600.0)
    first_token_s: Seconds | None = said("an attempt without a token for so long is given up, and billed", "s", default=None)
    connect_s: Seconds = said("connect time-out, where an outage hangs", "s", default=10.0)
    budget_share: Share | None = said("retries for each first attempt; absent: no budget", "0..1", default=None)


OutageOf = Annotated[OutageSpec, AfterValidator(_outage)]


def latency_of(spec: LatencySpec) -> RelayLatency:
    """The record that a spec means."""
    load = tuple(LoadPoint(each.in_flight, each.ttft, each.tpot) for each in spec.load)
    return RelayLatency(_law_of(spec.ttft), _law_of(spec.tpot), spec.ttft_s_per_input_token, load)


def _law_of(spec: LawSpec) -> Law:
    return Law(spec.family, tuple(spec.parameters), tuple((q, x) for q, x in spec.points), spec.ks, spec.samples)


def outages_of(spec: OutageSpec) -> Outages:
    """The record that a spec means."""
    return Outages(spec.minutes, spec.every_h, None if spec.at_min is None else spec.at_min * 60.0, spec.hangs)


def retry_of(spec: RetrySpec) -> RetryPolicy:
    """The record that a spec means."""
    return RetryPolicy(**spec.model_dump())
