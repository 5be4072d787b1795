"""Keys of what a relay bills beyond its plain prices: long prompts, hours of the day."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field

from sim.catalog.price_terms import LongPrompt, OffPeak, span_h
from sim.scenario.schema.fields import Amount, Count, Keys, wrong_alone
from sim.scenario.schema.relay import said


class LongPromptSpec(Keys):
    """Prices of a request whose prompt is longer than a threshold: all of it is billed at them."""

    above_tokens: Count = said("longer prompts than this pay them", "tokens")
    usd_per_mtok_input: Amount = said("price of all its input tokens", "USD/million tokens")
    usd_per_mtok_output: Amount = said("price of all its output tokens", "USD/million tokens")
    usd_per_mtok_cached: Amount | None = said("price of its cached input; absent: as its input", "USD/million tokens", default=None)
    usd_per_mtok_cache_write: Amount | None = said("price of cache writes; absent: as its input", "USD/million tokens", default=None)


def _rising(tiers: list[LongPromptSpec]) -> list[LongPromptSpec]:
    if any(a.above_tokens >= b.above_tokens for a, b in pairwise(tiers)):
        wrong_alone("above_tokens must rise from tier to tier")
    return tiers


def _span(text: str) -> str:
    try:
        span_h(text)
    except ValueError as error:
        wrong_alone(str(error).removeprefix(f'"{text}" '))
    return text


LongPromptsOf = Annotated[list[LongPromptSpec], AfterValidator(_rising)]


class OffPeakSpec(Keys):
    """Hours in which all tokens cost less than the row says."""

    factor: Annotated[float, Field(gt=0, le=1)] = said("on all prices of tokens in these hours", "")
    hours_utc: Annotated[list[Annotated[str, AfterValidator(_span)]], Field(min_length=1)] = said(
        'spans of the day in UTC: ["16:30-00:30"]; they may pass midnight; their end is not their start', "UTC"
    )
    weekends: bool = said("true: all of Saturday and Sunday (UTC) too", default=False)


def long_prompts_of(tiers: list[LongPromptSpec]) -> tuple[LongPrompt, ...]:
    """The record of a checked list."""
    return tuple(LongPrompt(**tier.model_dump()) for tier in tiers)


def off_peak_of(spec: OffPeakSpec) -> OffPeak:
    """The record of a checked mapping."""
    return OffPeak(spec.factor, tuple(spec.hours_utc), spec.weekends)
