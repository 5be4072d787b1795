"""Limits found by overload: offer more than is accepted, and count what is accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sim.probe.attempts import OK, THROTTLED, Attempt, Setup, Shape
from sim.probe.load import Tell, even, open_arrivals
from sim.probe.prompts import prompts
from sim.probe.send import Sender

REQUESTS, TOKENS = "limit of requests", "limit of tokens"  # levels
TINY = Shape(16, 1)
HEAVY_TOKENS = 4000  # prompt of the token search: at most vendors' ratio of TPM to RPM (1,000) tokens bind before requests
STEP_S = 1.0
HOLD_S = 10.0  # at the highest rate: vendors' buckets may be a minute deep
OVERLOAD = 1.5  # offered over the rate at which the first refusal came
WANTED = 100  # accepted requests between refusals: the limit is then known to about 1/150
FEWEST = 20
SAME = 0.1  # a token search that accepts this near the request limit has found only that


@dataclass(frozen=True)
class Found:
    """Accepted requests per second under overload; None when nothing was refused up to `offered_rps`."""

    rate_rps: float | None
    offered_rps: float
    accepted: int


def accepted_rate_rps(attempts: Sequence[Attempt]) -> tuple[float | None, int]:
    """(accepted per second, accepted counted) while the limit binds: from the first acceptance after a refusal to the last such.

    Between two such moments a token bucket has refilled exactly what was accepted, and a counter of fixed windows has gone
    through whole windows, so neither bursts nor the start of a window bias it. None with fewer than two such moments.
    """
    seen = sorted((a.started_s, a.reply.outcome) for a in attempts if a.reply.outcome in (OK, THROTTLED))
    reopened = [late for early, late in pairwise(seen) if early[1] == THROTTLED and late[1] == OK]
    if len(reopened) < 2:
        return None, 0
    first, last = reopened[0][0], reopened[-1][0]
    accepted = sum(first <= when < last for when, outcome in seen if outcome == OK)
    return accepted / (last - first), accepted


async def find_limits(sender: Sender, setup: Setup, tell: Tell) -> tuple[dict[str, float | None], list[str]]:
    """({rpm, tpm}, notes). Tiny requests, which only a request limit stops; then heavy ones, which a token limit stops first."""
    limits: dict[str, float | None] = {"rpm": None, "tpm": None}
    notes: list[str] = []
    request_rps = None
    if setup.limits != "tokens":
        tiny = await _overload(sender, setup, TINY, REQUESTS, tell)
        request_rps = tiny.rate_rps
        limits["rpm"] = None if request_rps is None else request_rps * 60
        notes.append(_said("rpm", tiny, limits["rpm"], 1))
    if setup.limits != "requests" and not sender.stopped:
        shape = Shape(max(HEAVY_TOKENS, *(shape.input_tokens for shape in setup.shapes)), 1)
        heavy = await _overload(sender, setup, shape, TOKENS, tell)
        sizes = [a.input_tokens + a.prompt.output_tokens for a in sender.attempts if a.level == TOKENS and a.ok]
        mean = sum(sizes) / len(sizes) if sizes else shape.input_tokens
        if heavy.rate_rps is not None and request_rps is not None and heavy.rate_rps > (1 - SAME) * request_rps:
            notes.append(f"tpm: not found; the request limit came first, at {heavy.rate_rps * 60 * mean:,.0f} tokens a minute")
        else:
            limits["tpm"] = None if heavy.rate_rps is None else heavy.rate_rps * 60 * mean
            notes.append(_said("tpm", heavy, limits["tpm"], mean))
    return limits, notes


def _said(name: str, found: Found, value: float | None, tokens: float) -> str:
    if value is None:
        return f"{name}: not found; no steady refusal at {found.offered_rps * 60 * tokens:,.0f} a minute"
    return f"{name}: {value:,.0f}, from {found.accepted} requests accepted under overload (+-{100 / max(found.accepted, 1):.1f} %)"


async def _overload(sender: Sender, setup: Setup, shape: Shape, level: str, tell: Tell) -> Found:
    wanted = prompts(setup, np.random.default_rng([setup.seed, len(level)]), (shape,))
    rate_rps = setup.load.first_rps
    while True:
        before = len(sender.attempts)
        highest = rate_rps >= setup.load.most_rps
        count = max(round(rate_rps * (HOLD_S if highest else STEP_S)), 4)

        def refused(start: int = before) -> bool:
            return any(a.reply.outcome == THROTTLED for a in sender.attempts[start:])

        gaps = even(rate_rps)
        await open_arrivals(sender, wanted, gaps, count, level, setup.load.most_in_flight, retries=False, enough=refused)
        if sender.stopped:
            return Found(None, rate_rps, 0)
        if refused():
            break
        if highest:
            return Found(None, rate_rps, 0)
        rate_rps = min(2 * rate_rps, setup.load.most_rps)
    rate_rps *= OVERLOAD
    tell(f"{level}: refusals at {rate_rps / OVERLOAD:g} requests/s; offering {rate_rps:g}")
    start = len(sender.attempts)

    def enough() -> bool:
        return accepted_rate_rps(sender.attempts[start:])[1] >= WANTED

    await open_arrivals(sender, wanted, even(rate_rps), setup.caps.requests, level, setup.load.most_in_flight, retries=False, enough=enough)
    rate, accepted = accepted_rate_rps(sender.attempts[start:])
    return Found(rate if accepted >= FEWEST else None, rate_rps, accepted)


REQUEST_HEADERS = ("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit")
TOKEN_HEADERS = ("x-ratelimit-limit-tokens", "anthropic-ratelimit-tokens-limit")


def limits_told(headers: Mapping[str, str]) -> tuple[float | None, float | None]:
    """(requests, tokens) a minute as `x-ratelimit-limit-*` says (OpenAI, Azure, Groq, LiteLLM: a minute); None where it does not.

    >>> limits_told({"x-ratelimit-limit-requests": "600", "x-ratelimit-limit-tokens": "-1"})
    (600.0, None)
    """
    return _first(headers, REQUEST_HEADERS), _first(headers, TOKEN_HEADERS)


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        try:
            value = float(headers.get(name) or "nan")
        except ValueError:
            continue
        if math.isfinite(value) and value > 0:
            return value
    return None
