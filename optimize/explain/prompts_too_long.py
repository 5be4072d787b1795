"""A class whose requests fit the context of no candidate: no budget and no relaxed promise makes a plan."""

from __future__ import annotations

import numpy as np

from optimize.market.candidates import models_of
from optimize.market.context_fit import KnownLengths, class_sample
from optimize.market.relay_terms import may_serve
from optimize.market.token_factors import class_factors
from optimize.result import Floats, TooLong
from optimize.search.loop import Market
from sim.traffic.model_tokens import counted_by_class


def too_long(market: Market, c: int) -> TooLong | None:
    """What of class `c` does not fit; None where some candidate's context holds it, or none is there to hold anything.

    A relay or an own model fails on the context when it refuses more requests than the class's strictest promise may miss.
    """
    if any(c in state.option.classes for state in market.states):
        return None
    request_class = market.scenario.request_classes[c]
    quantile = max(row.quantile for row in market.slos if row.class_index == c)
    own = models_of(market.scenario, [c]) if market.scenario.offers else []
    limits = [(model.max_context, model.id, model.id) for model in own]
    relays = [each for each in market.scenario.relays if may_serve(each, request_class, market.scenario)]
    limits += [(each.max_context, each.id, each.model) for each in relays]
    lengths = KnownLengths(market.scenario)
    if not limits or any(lengths.of(c, model).refused(limit) <= 1 - quantile for limit, _, model in limits):
        return None
    limit, name, model = max(limits, key=lambda row: row[0])
    prompts, answers = tokens_of(market, c, model)
    return TooLong(
        class_name=request_class.name,
        quantile=quantile,
        prompt_tokens=round(float(np.quantile(prompts, quantile))),
        longest_prompt_tokens=round(float(prompts.max())),
        longest_tokens=round(float((prompts + answers).max())),
        context_tokens=limit,
        candidate=name,
    )


def tokens_of(market: Market, c: int, model: str) -> tuple[Floats, Floats]:
    """Prompt and answer tokens of a sample of class `c`, as `model` counts them."""
    sample = counted_by_class(class_sample(market.scenario, c), class_factors(market.scenario.request_classes, model))
    return sample.input_tokens.astype(float), sample.output_tokens.astype(float)
