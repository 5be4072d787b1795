"""What a user knows when a scenario begins; None stands for what public traffic must fill."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sim.errors import InputError
from sim.scenario.read.document import nearest, shown
from sim.start import public


@dataclass(frozen=True)
class Answers:
    """Options of `servemix new`. Tokens are means per request; limits are seconds at p95; money is a month's."""

    name: str
    users: float | None = None
    requests_per_user: float | None = None
    budget: float | None = None
    currency: str = "USD"
    models: tuple[str, ...] = ()
    mix: str = "chat"
    input_tokens: float | None = None
    output_tokens: float | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    bill: float | None = None


def amount(option: str, text: str | None, most: float = 1e12) -> float | None:
    """The number that a user wrote, such as 1e6, 42_000, 42k or 1.5M; None for None. Raises InputError.

    >>> amount("--users", "1.5M"), amount("--from-bill", "42_000")
    (1500000.0, 42000.0)
    """
    if text is None:
        return None
    clean = text.strip().lstrip("$").replace(",", "").replace("_", "")
    factor = {"k": 1e3, "m": 1e6, "b": 1e9}.get(clean[-1:].lower(), 1.0)
    try:
        value = float(clean[:-1] if factor > 1 else clean) * factor
    except ValueError:
        raise InputError(f"{option} {shown(text)} is not a number; write for example 42000 or 1e6") from None
    if not math.isfinite(value) or not 0 < value <= most:
        raise InputError(f"{option} {shown(text)} is out of range; write a number above 0, at most {most:g}")
    return value


def check(answers: Answers, currencies: set[str]) -> None:
    """Raises InputError with every answer that a scenario could not hold."""
    problems = []
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,79}", answers.name):
        problems.append(f"NAME {shown(answers.name)} is not a name; write letters, digits, `_`, `-` or `.`, at most 80")
    if answers.currency not in currencies:
        problems.append(f"--currency {shown(answers.currency)} has no rate; {nearest(answers.currency, currencies)}")
    if answers.mix not in public.load().mixes:
        problems.append(f"--mix {shown(answers.mix)} is no public traffic; {nearest(answers.mix, public.load().mixes)}")
    if answers.bill is not None and answers.requests_per_user is not None:
        problems.append("--requests-per-user and --from-bill: the bill says how many requests there are; leave one out")
    if problems:
        raise InputError(problems)
