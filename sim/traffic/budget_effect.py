"""What a token budget does to a class: prompts, shared prefixes, answers, refusals, with and without it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.scenario.scenario import RequestClass
from sim.traffic.lengths import mean_lengths, turn_table


@dataclass(frozen=True)
class Effect:
    """Means of the requests that are sent, under the budget and without it; shares of 0..1. Without it, texts that the budget refuses
    are still left out: the two differ by what is cut alone."""

    input_tokens: float
    output_tokens: float
    prefix_share: float
    input_tokens_without: float
    output_tokens_without: float
    prefix_share_without: float
    refused_share: float


def budget_effect(request_class: RequestClass, turns_mean: float) -> Effect | None:
    """None for a class without a budget."""
    talk = request_class.conversation
    if request_class.context is None:
        return None
    free = replace(request_class, context=None, conversation=None if talk is None else replace(talk, context=None))
    into, out, prefix = mean_lengths(request_class, turns_mean)
    into_free, out_free, prefix_free = mean_lengths(free, turns_mean)
    refused = refused_share(request_class, turns_mean)
    return Effect(into, out, prefix / into, into_free, out_free, prefix_free / into_free, refused)


def refused_share(request_class: RequestClass, turns_mean: float) -> float:
    """Share of the prompts that users write and that the budget of the class refuses: they are not in its rate, and miss every promise."""
    talk, refused = request_class.conversation, request_class.refused_share
    if request_class.context is None or talk is None:
        return refused
    table = turn_table(talk, request_class.output_tokens, turns_mean)
    return refused + (1 - refused) * table.refused / (len(table) + table.refused)


def with_refused(samples: npt.NDArray[Any], share: float) -> npt.NDArray[Any]:
    """Latencies of what was sent, and infinity for each request that the budget refused next to them.

    >>> with_refused(np.array([1.0, 2.0, 3.0]), 0.25).tolist()
    [1.0, 2.0, 3.0, inf]
    """
    return np.append(samples, np.full(round(len(samples) * share / (1 - share)), np.inf)) if share > 0 else samples
