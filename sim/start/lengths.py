"""Token lengths of a new scenario: as the user said, spread like public traffic around a known mean, or filled."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sim.errors import InputError
from sim.scenario import shapes, tokens
from sim.scenario.read.document import shown
from sim.scenario.scenario import Tokens
from sim.start import public
from sim.start.answers import Answers, amount
from sim.start.draft import Gap, Value
from sim.start.length_laws import longest, scaled_law

MOST_TOKENS = 2e5
QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,4})?)")


@dataclass(frozen=True)
class Known:
    """What is known of one side's lengths: `mean`, who says so, and the law as YAML where it is known too.

    `spread`: the mean is one of requests that differ (an export's), so that the public shape stands around it.
    """

    mean: float
    origin: str
    spread: bool
    law: str | None = None


def stated_length(option: str, text: str | None) -> tuple[float | None, str | None]:
    """(mean, law as YAML) of a length that a user wrote: 1024, or mean=1024,p50=900,p99=8000; the law is None for a plain number.

    Raises InputError.

    >>> stated_length("--input-tokens", "1k"), stated_length("--input-tokens", "mean=1024,p50=900")
    ((1000.0, None), (1024.0, '{mean: 1024, p50: 900}'))
    """
    if text is None or "=" not in text:
        return amount(option, text, MOST_TOKENS), None
    given: dict[str, float] = {}
    for part in text.split(","):
        key, _, value = (each.strip() for each in part.partition("="))
        found = QUANTILE.fullmatch(key)
        if key in given or (key != "mean" and (found is None or not 0 < float(found[1]) < 100)):
            raise InputError(f"{option} {shown(text)}: {shown(key)} is no quantile nor mean; write for example mean=1024,p50=900,p99=8000")
        given[key] = amount(f"{option} {key}", value, MOST_TOKENS) or 0.0
    try:
        law = tokens.summary({float(key[1:]) / 100: value for key, value in given.items() if key != "mean"}, given.get("mean"))
    except ValueError as error:
        raise InputError(f"{option} {shown(text)} {error}") from None
    written = ", ".join(f"{key}: {value:g}" for key, value in given.items())
    return round(law.mean, tokens.DIGITS), f"{{{written}}}"


def stated(answers: Answers) -> tuple[Known | None, Known | None]:
    """What the user said of prompt and answer; a total is split as the public traffic of the mix splits it."""
    if answers.total_tokens is None:
        return _stated(answers, answers.input_tokens, answers.input_law), _stated(answers, answers.output_tokens, answers.output_law)
    mix = public.load().mixes[answers.filling]
    prompt, reply = (shapes.load().tokens[shape].mean for shape in (mix.input, mix.output))
    part, total = prompt / (prompt + reply), answers.total_tokens
    origin = f"you: {total:,.0f} in all, split as in public traffic ({part:.0%} prompt)"
    spread = answers.mix is not None
    return Known(round(total * part), origin, spread), Known(total - round(total * part), origin, spread)


def _stated(answers: Answers, mean: float | None, law: str | None) -> Known | None:
    return None if mean is None else Known(mean, "you", answers.mix is not None, law)


def lengths(answers: Answers, side: str, index: int, known: Known | None, most: float = math.inf) -> tuple[Value, list[Gap]]:
    """The token law of one side ("input" or "output"): as it was stated, else the public shape, around the mean where that is known.

    No length of the shape is above `most`: what was cut is said. A mean that is not below it stays as it is.
    """
    mix = public.load().mixes[answers.filling]
    shape = getattr(mix, side)
    if known is not None:
        return _known(known, shape, mix.source, most), []
    law, width = shapes.load().tokens[shape], public.load().gaps["length_factor"]
    low, high = (scaled_law(shape, law.mean * factor, most if law.mean * factor < most else math.inf) for factor in (width.low, width.high))
    span = f"{law.mean * width.low:,.0f} .. {law.mean * width.high:,.0f}"
    gap = Gap(f"request_classes.{index}.{side}_tokens", f"mean {side} tokens", low, high, width.source, span)
    if law.tokens[-1] > most > law.mean:
        words = f"mean {law.mean:,.0f} tokens; {mix.source}; its longest are cut from {law.tokens[-1]:,.0f} to {most:,.0f} tokens"
        return Value(scaled_law(shape, law.mean, most), words, filled=True), [gap]
    return Value(shape, f"mean {law.mean:,.0f} tokens; {mix.source}", filled=True), [gap]


def _known(known: Known, shape: str, source: str, most: float) -> Value:
    """A length of which something is known, as YAML."""
    if known.law is not None:
        return Value(known.law, "given, tokens")
    if not known.spread:
        return Value(f"{known.mean:g}", f"every request has {known.mean:,.0f} tokens, from {known.origin}")
    top, mean = longest(shape, known.mean), known.mean
    cut = top > most and mean < most
    words = f"; its longest are cut from {top:,.0f} to {most:,.0f} tokens, which the model's context holds" if cut else ""
    comment = f"mean {mean:,.0f} tokens from {known.origin}; the shape around it is filled: {shape}, {source}{words}"
    return Value(scaled_law(shape, mean, most if cut else math.inf), comment)


def both_lengths(
    answers: Answers, index: int, known: tuple[Known | None, Known | None], context: int | None
) -> tuple[Value, Value, list[Gap]]:
    """Laws of prompt and answer that together fit `context`, the shortest of the models that may answer; None: not known.

    A shape of the answer takes at most a quarter of it, the prompt what its longest answer leaves.
    """
    space = math.inf if context is None else float(context)
    answer, gaps = lengths(answers, "output", index, known[1], space // 4)
    shape = public.load().mixes[answers.filling].output
    law: Tokens = shapes.load().tokens[shape]
    taken = longest(shape, law.mean if known[1] is None else known[1].mean)
    if known[1] is not None and not known[1].spread:
        taken = known[1].mean
    room = space - min(taken, space // 4) if space < math.inf else space
    asked, more = lengths(answers, "input", index, known[0], room - 1)
    return asked, answer, [*more, *gaps]


def length_note(answers: Answers) -> str:
    """What stated numbers leave open, for who starts a scenario; empty where no plain number was stated."""
    plain = [each for each in stated(answers) if each is not None and not each.spread and each.law is None]
    if not plain:
        return ""
    sides = " and ".join(
        f"{word} of {each.mean:,.0f} tokens"
        for word, each in zip(("prompts", "answers"), stated(answers), strict=True)
        if each is not None and each in plain
    )
    return (
        f"Lengths stay as you said: all {sides}. Real lengths differ, and the longest make the slowest answers: "
        "`--mix chat` (code, reasoning) spreads them around your numbers as in public traffic, "
        "and `--input-tokens mean=1024,p50=900,p99=4000` gives a law of your own."
    )
