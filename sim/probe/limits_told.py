"""Limits that an endpoint tells in its headers."""

from __future__ import annotations

import math
from collections.abc import Mapping

REQUESTS = ("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit")
TOKENS = ("x-ratelimit-limit-tokens", "anthropic-ratelimit-tokens-limit")


def limits_told(headers: Mapping[str, str]) -> tuple[float | None, float | None]:
    """(requests, tokens) a minute as `x-ratelimit-limit-*` says (OpenAI, Azure, Groq, LiteLLM: a minute); None where it does not.

    >>> limits_told({"x-ratelimit-limit-requests": "600", "x-ratelimit-limit-tokens": "-1"})
    (600.0, None)
    """
    return _first(headers, REQUESTS), _first(headers, TOKENS)


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        try:
            value = float(headers.get(name) or "nan")
        except ValueError:
            continue
        if math.isfinite(value) and value > 0:
            return value
    return None
