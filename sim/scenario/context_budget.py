"""Token budget of a class: the laws that are left when what does not fit is refused or cut."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from sim.scenario.scenario import Context, Conversation, Tokens
from sim.scenario.schema.fields import Keys, wrong_alone
from sim.scenario.schema.relay import said
from sim.scenario.tokens import from_points

Size = Annotated[int, Field(ge=0, le=10_000_000)]


class ContextSpec(Keys):
    """What a client sends at most: prompt and answer share `max` tokens."""

    max: Annotated[int, Field(ge=1, le=10_000_000)] = said("prompt, reserve and answer together", "tokens")
    reserve: Size = said("kept free for tools and templates", "tokens", default=0)
    min_output: Annotated[int, Field(ge=1, le=10_000_000)] = said("room that a prompt must leave for the answer", "tokens", default=1)
    max_output: Annotated[int, Field(ge=1, le=10_000_000)] | None = said("answers end here; absent: with `max`", "tokens", default=None)
    truncate: Literal["oldest_first", "none"] = said(
        "a conversation that is too long loses its oldest turns, or is refused and begun anew", default="oldest_first"
    )


def _room(spec: ContextSpec) -> ContextSpec:
    if spec.max - spec.reserve - spec.min_output < 1:
        wrong_alone(f"max {spec.max} leaves no prompt next to reserve {spec.reserve} and min_output {spec.min_output}")
    if spec.max_output is not None and spec.max_output < spec.min_output:
        wrong_alone(f"max_output {spec.max_output} is below min_output {spec.min_output}")
    return spec


ContextOf = Annotated[ContextSpec, AfterValidator(_room)]


def context_of(spec: ContextSpec) -> Context:
    """The record that a spec means."""
    return Context(spec.max, spec.reserve, spec.min_output, spec.max_output, spec.truncate == "oldest_first")


def fitting(law: Tokens, most: float) -> tuple[Tokens, float]:
    """`law` given that it is at most `most`, and the share for which it is not. ValueError where nothing fits.

    >>> law, refused = fitting(Tokens((0.0, 1.0), (0.0, 100.0), 50.0), 75.0)
    >>> law.tokens, law.quantiles, refused
    ((0.0, 75.0), (0.0, 1.0), 0.25)
    """
    if law.tokens[-1] <= most:
        return law, 0.0
    if law.tokens[0] >= most:
        raise ValueError(f"no prompt fits: the shortest has {law.tokens[0]:g} tokens, {most:g} are left")
    share = float(np.interp(most, law.tokens, law.quantiles))
    points = [(q / share, x) for q, x in zip(law.quantiles, law.tokens, strict=True) if q < share]
    return from_points([*points, (1.0, most)]), 1.0 - share


def capped(law: Tokens, most: float) -> Tokens:
    """The law of min(tokens, most).

    >>> capped(Tokens((0.0, 1.0), (0.0, 100.0), 50.0), 50.0).mean
    37.5
    """
    if law.tokens[-1] <= most:
        return law
    if law.tokens[0] >= most:
        return from_points([(0.0, most), (1.0, most)])
    share = float(np.interp(most, law.tokens, law.quantiles))
    points = [(q, x) for q, x in zip(law.quantiles, law.tokens, strict=True) if x < most and q < share]
    return from_points([*points, (share, most), (1.0, most)])


def within(
    context: Context, prompt: Tokens | None, talk: Conversation | None, output: Tokens
) -> tuple[Tokens | None, Conversation | None, Tokens, float]:
    """(prompt law, conversation, answer law, share of prompts refused) under the budget; what depends on a single request (history,
    room for an answer) is cut where lengths are drawn. ValueError where nothing fits."""
    most = context.prompt_tokens
    answer = capped(output, min(context.max_output_tokens or context.max_tokens, context.max_tokens - context.reserve_tokens - 1))
    if talk is not None:
        user, refused = fitting(talk.user_tokens, most - talk.system_prompt_tokens)
        return None, Conversation(talk.system_prompt_tokens, user, talk.history_cap_tokens, context), answer, refused
    assert prompt is not None
    law, refused = fitting(prompt, most)
    return law, None, answer, refused
