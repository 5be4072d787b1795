"""The draft of a scenario from answers alone, or from answers and a bill."""

from __future__ import annotations

from sim.catalog.facts import Catalog
from sim.start import parts
from sim.start.answers import Answers
from sim.start.draft import ClassDraft, Draft, Gap, Value
from sim.start.lengths import both_lengths, stated
from sim.start.stated_traffic import day_of, stated_traffic

DEFAULT_USERS = 10_000.0
DEFAULT_MODEL = "llama-3.1-8b"
MARKS = "Values marked `filled:` were not given: they come from public traffic or are assumptions. Replace those that you know."


def starter(answers: Answers, catalog: Catalog, conversations: float | None = None) -> Draft:
    """One class of chat requests in a synthetic week.

    `conversations`: a day and user, computed from a bill; then users stand for the volume that was paid.
    """
    gaps: list[Gap] = []
    traffic = _traffic(answers, conversations, gaps)
    if answers.models:
        chosen, more = parts.models(answers.models, 0, catalog, "the bill" if answers.bill else parts.YOU)
    else:
        chosen, more = Value(f"[{DEFAULT_MODEL}]", "an assumption: a small open model", filled=True), []
    gaps += more
    context = parts.context_of(parts.names_of(chosen), catalog)
    asked, answer, more = both_lengths(answers, 0, stated(answers), context)
    gaps += more
    ttft, tpot, e2e, more = parts.limits(answers, 0)
    gaps += more
    offers, relays = parts.candidates(set(parts.names_of(chosen)), catalog, answers)
    budget = Value("0", "not known yet", filled=True)
    if answers.budget is not None:
        budget = Value(parts.plain(answers.budget), f"{parts.GIVEN}, {answers.currency} a month")
    elif answers.bill is not None:
        budget = Value(parts.plain(answers.bill), f"today's bill, {answers.currency} a month: a plan must not cost more")
    name, kind = ("job", "batch") if answers.job is not None else ("chat", "chat")
    made = f"`servemix new {answers.name}`" + (" --from-bill" if answers.bill is not None else "")
    return Draft(
        name=answers.name,
        description="What is the cheapest way to serve this traffic inside the promises below?",
        traffic=traffic,
        classes=(ClassDraft(name, Value("1.0", "part of all requests"), asked, answer, chosen, ttft, tpot, kind, e2e),),
        offers=offers,
        relays=relays,
        budget=budget,
        currency=answers.currency,
        per_mtok=parts.per_mtok(answers),
        region=answers.region,
        gaps=tuple(gaps),
        notes=(f"Made by {made}. {MARKS}",),
    )


def _traffic(answers: Answers, conversations: float | None, gaps: list[Gap]) -> dict[str, Value]:
    """A synthetic week; with `conversations` the volume is that of the bill, else users times what they do, or as it is stated."""
    stated = None if conversations is not None else stated_traffic(answers, gaps)
    if stated is not None:
        return stated
    turns, turns_gap = parts.usual("turns_per_conversation", "traffic.turns_per_conversation")
    often, often_gap = parts.usual("conversations_per_user", "traffic.conversations_per_user")
    users = Value(parts.plain(answers.users), f"{parts.GIVEN}, users on a weekday") if answers.users else None
    if users is None:
        users = Value(parts.plain(DEFAULT_USERS), "an assumption: users on a weekday", filled=True)
        if conversations is None:
            ends = f"{DEFAULT_USERS / 10:g}", f"{DEFAULT_USERS * 10:g}"
            gaps.append(Gap("traffic.daily_active_users", "users on a weekday", *ends, "a tenth to ten times of it: not given"))
    if conversations is not None:
        often = Value(f"{conversations:.7g}", "computed from the bill; only users x conversations x turns matters")
        turns = Value(turns.text, "only users x conversations x turns matters here", filled=True)
    elif answers.requests_per_user is not None:
        often = Value(
            f"{answers.requests_per_user / float(turns.text):.7g}", f"{answers.requests_per_user:g} requests a day, {parts.GIVEN}"
        )
        turns = Value(turns.text, "only conversations x turns matters here", filled=True)
    else:
        gaps += [often_gap, turns_gap]
    found = {"daily_active_users": users, "conversations_per_user": often, "turns_per_conversation": turns}
    return found | day_of(answers, gaps)
