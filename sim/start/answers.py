"""What a user knows when a scenario begins; None stands for what public traffic must fill."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

from sim.errors import InputError
from sim.scenario import shapes
from sim.scenario.read.document import nearest, shown
from sim.scenario.schema.traffic import span_s
from sim.start import public
from sim.start.own_offer import OwnOffer

USUAL_MIX = "chat"


@dataclass(frozen=True)
class Answers:
    """Options of `servemix new`. Limits are seconds at p95; money is a month's.

    input_tokens, output_tokens  means per request; `input_law` and `output_law` are their laws as YAML where more than a number was given
    mix                          named by the user: stated means are spread like its public traffic. None: a stated number is the length
                                 of every request, and what was not stated is filled from USUAL_MIX
    """

    name: str
    users: float | None = None
    requests_per_user: float | None = None
    budget: float | None = None
    currency: str = "USD"
    models: tuple[str, ...] = ()
    mix: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    input_law: str | None = None
    output_law: str | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    bill: float | None = None
    e2e_s: float | None = None
    total_tokens: float | None = None
    rate_rps: float | None = None
    requests_per_month: float | None = None
    concurrent: float | None = None
    think_time_s: float | None = None
    every_s: float | None = None
    job: float | None = None
    deadline_s: float | None = None
    per_mtok: float | None = None
    region: str | None = None
    offers: tuple[OwnOffer, ...] = ()
    owned: tuple[OwnOffer, ...] = ()
    day_shape: str | None = None

    @property
    def filling(self) -> str:
        """Name of the public traffic that fills what was not given."""
        return self.mix or USUAL_MIX

    @property
    def volumes(self) -> list[str]:
        """Options that say how many requests come, as the user wrote them."""
        stated = {
            "--users": self.users,
            "--rate": self.rate_rps,
            "--requests-per-month": self.requests_per_month,
            "--concurrent": self.concurrent,
            "--job": self.job,
        }
        return [name for name, value in stated.items() if value is not None]


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


def span(option: str, text: str | None) -> float | None:
    """Seconds of a span that a user wrote, such as 8, 2min or "3 days"; None for None. Raises InputError.

    >>> span("--deadline", "3 days"), span("--every", "5")
    (259200.0, 5.0)
    """
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = float(span_s(text))
        except PydanticCustomError as error:
            raise InputError(f"{option} {shown(text)} {error.message()}") from None
    if not 0 < seconds <= 366 * 86_400:
        raise InputError(f"{option} {shown(text)} is out of range; write for example 72h")
    return seconds


def check(answers: Answers, currencies: set[str]) -> None:
    """Raises InputError with every answer that a scenario could not hold."""
    problems = []
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,79}", answers.name):
        problems.append(f"NAME {shown(answers.name)} is not a name; write letters, digits, `_`, `-` or `.`, at most 80")
    if answers.currency not in currencies:
        problems.append(f"--currency {shown(answers.currency)} has no rate; {nearest(answers.currency, currencies)}")
    if answers.filling not in public.load().mixes:
        problems.append(f"--mix {shown(answers.filling)} is no public traffic; {nearest(answers.filling, public.load().mixes)}")
    if answers.bill is not None and answers.requests_per_user is not None:
        problems.append("--requests-per-user and --from-bill: the bill says how many requests there are; leave one out")
    problems += _volume_problems(answers)
    if problems:
        raise InputError(problems)


PLACES = {"europe": "eu", "usa": "us", "china": "cn", "india": "in", "gb": "uk", "japan": "jp"}


def place(text: str | None) -> str | None:
    """A region as prices state it.

    >>> place("EU"), place("Europe")
    ('eu', 'eu')
    """
    return None if text is None else PLACES.get(text.strip().lower(), text.strip().lower())


def _volume_problems(answers: Answers) -> list[str]:
    """Volumes that contradict each other, and options that need another."""
    problems = []
    stated = answers.volumes
    if len(stated) > 1:
        problems.append(f"{' and '.join(stated)}: each says how many requests come; write one of them")
    if answers.bill is not None and set(stated) - {"--users", "--requests-per-month"}:
        problems.append(f"{stated[0]} and --from-bill: the bill says how many requests there are; leave one out")
    if answers.think_time_s is not None and answers.concurrent is None:
        problems.append("--think-time: says how users at once pause; write --concurrent N with it")
    if answers.every_s is not None and answers.concurrent is None and answers.job is None:
        problems.append("--every: says how often users ask, or how often a job comes again; write --concurrent N or --job N with it")
    if answers.day_shape is not None and answers.day_shape not in shapes.load().days:
        problems.append(f"--day-shape {shown(answers.day_shape)} is no shape; {nearest(answers.day_shape, shapes.load().days)}")
    if answers.day_shape is not None and (answers.rate_rps is not None or answers.job is not None):
        problems.append("--day-shape: --rate is the same in every hour, and a --job has a deadline; leave it out")
    if answers.think_time_s is not None and answers.every_s is not None:
        problems.append("--think-time and --every: write one of the two")
    if (answers.job is None) != (answers.deadline_s is None):
        problems.append("--job and --deadline: a job has both; write for example --job 10M --deadline '3 days'")
    if answers.total_tokens is not None and (answers.input_tokens is not None or answers.output_tokens is not None):
        problems.append("--total-tokens stands for prompt and answer together; leave out --input-tokens and --output-tokens")
    return problems
