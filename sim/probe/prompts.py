"""Prompts of a wanted length whose longest possible token count is known before any tokeniser is."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

import numpy as np

from sim.errors import InputError
from sim.probe.attempts import Prompt, Setup, Shape

TEMPLATE_TOKENS = 64  # most that a chat template adds around one message
ASK = " \nIgnore these letters. Count upwards from 1, one number a line, and do not stop."  # an answer that fills max_tokens
ASK_TOKENS = 22


def parse_mix(text: str) -> tuple[Shape, ...]:
    """Shapes of "INPUT/OUTPUT[*WEIGHT],...". Raises InputError.

    >>> parse_mix("500/100,4000/50*0.25")
    (Shape(input_tokens=500, output_tokens=100, weight=1.0), Shape(input_tokens=4000, output_tokens=50, weight=0.25))
    """
    shapes = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,7})/(\d{1,6})(?:\*(\d+(?:\.\d+)?))?\s*", part)
        if found is None or not int(found[1]) or not int(found[2]) or (found[3] is not None and not float(found[3])):
            raise InputError(f'--mix: "{part}" is not INPUT/OUTPUT tokens; write 500/100, or 500/100*3,4000/50*1 with weights')
        shapes.append(Shape(int(found[1]), int(found[2]), float(found[3] or 1.0)))
    return tuple(shapes)


def letters(count: int, rng: np.random.Generator) -> str:
    """`count` letters with spaces between. Each is one token in the vocabularies of GPT, Llama, Qwen and Mistral, and
    two bytes: a byte-level tokeniser can make at most twice `count` of it, which keeps reservations honest and small."""
    return " ".join(np.array(list(string.ascii_lowercase))[rng.integers(0, 26, count)].tolist())


def prompts(setup: Setup, rng: np.random.Generator, shapes: tuple[Shape, ...] | None = None) -> Iterator[Prompt]:
    """Prompts without end, drawn from the mix. Each begins differently, so that no cache answers, but for `shared_prefix_tokens`."""
    mix = setup.shapes if shapes is None else shapes
    weights = np.array([shape.weight for shape in mix])
    shared = letters(setup.shared_prefix_tokens, np.random.default_rng([setup.seed, 7])) + " " if setup.shared_prefix_tokens else ""
    ask = ASK if setup.kind == "chat" else ""
    while True:
        shape = mix[int(rng.choice(len(mix), p=weights / weights.sum()))]
        own = max(shape.input_tokens - setup.shared_prefix_tokens - (ASK_TOKENS if ask else 0), 1)
        text = shared + letters(own, rng) + ask
        output = shape.output_tokens if setup.kind == "chat" else 0
        yield Prompt(text, shape.input_tokens, output, len(text.encode()) + TEMPLATE_TOKENS)
