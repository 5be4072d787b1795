"""The draft of a scenario from sums: volume and mean lengths are the export's own, hours of the day too where it has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.start import parts, public
from sim.start.answers import Answers
from sim.start.draft import ClassDraft, Draft, Gap, Value
from sim.start.lengths import Known, both_lengths, stated
from sim.start.names import known_model, whole_shares
from sim.start.starter import DEFAULT_MODEL, MARKS
from sim.traffic.readers import Usage
from sim.traffic.readers.log_rows import Floats, Longs, class_name
from sim.traffic.readers.usage import LACKS, ModelUsage

DAY_S = 86_400.0
HOURS = 24
MOST_CLASSES = 6
EPOCH = 1e8  # starts above this are seconds since 1970, so that the hour and the day of the week are known
WEEKDAYS_A_WEEK, WEEKEND_DAYS_A_WEEK = 5, 2


def usage_draft(answers: Answers, usage: Usage, catalog: Catalog) -> Draft:
    """A class for each model of the export, up to six. Raises InputError where the export counts no requests."""
    requests = usage.total("requests")
    if not requests:
        raise InputError(f"{usage.path}: {usage.format}: counts no requests; a scenario cannot be started from it")
    gaps: list[Gap] = []
    traffic = _traffic(answers, usage, requests, gaps)
    groups = _groups(usage)
    shares = whole_shares([each.requests or 0.0 for each in groups])
    taken: set[str] = set()
    classes = []
    for index, each in enumerate(groups):
        name = class_name(each.model or "all", taken)
        taken.add(name)
        classes.append(_class(answers, each, index, name, shares[index], catalog, gaps))
    offers, relays = parts.candidates({model for each in classes for model in parts.names_of(each.models)}, catalog, answers)
    budget = Value("0", "not known yet", filled=True)
    if answers.budget is not None:
        budget = Value(parts.plain(answers.budget), f"{parts.GIVEN}, {answers.currency} a month")
    days = usage.span_s / DAY_S
    lacks = f"{usage.format}: {requests:,.0f} requests in {days:,.1f} days. It lacks {LACKS}: those are public traffic's or assumptions."
    return Draft(
        name=answers.name,
        description=f"Volume and mean lengths of {usage.path.name}: what is the cheapest way to serve this inside the promises below?",
        traffic=traffic,
        classes=tuple(classes),
        offers=offers,
        relays=relays,
        budget=budget,
        currency=answers.currency,
        per_mtok=parts.per_mtok(answers),
        region=answers.region,
        gaps=tuple(gaps),
        notes=(f"Made by `servemix new {answers.name} --from-log`. {MARKS}", lacks, *usage.notes),
    )


def _groups(usage: Usage) -> list[ModelUsage]:
    """Models with requests, most used first; those past the sixth are added to it."""
    used = [each for each in usage.models if each.requests]
    head, rest = used[: MOST_CLASSES - 1], used[MOST_CLASSES - 1 :]
    return head + ([_added(rest)] if rest else [])


def _added(rest: list[ModelUsage]) -> ModelUsage:
    def total(name: str) -> float | None:
        values = [getattr(each, name) for each in rest]
        return None if any(value is None for value in values) else float(sum(values))

    return ModelUsage(rest[0].model, total("requests"), total("input_tokens"), total("cached_tokens"), total("output_tokens"))


def _class(answers: Answers, used: ModelUsage, index: int, name: str, share: str, catalog: Catalog, gaps: list[Gap]) -> ClassDraft:
    found = known_model(used.model, catalog) if used.model else None
    if answers.models:
        names, origin = answers.models, parts.YOU
    elif found is not None:
        names, origin = (found,), f"the export ({used.model})"
    else:
        names, origin = (DEFAULT_MODEL,), f"the export's model ({used.model or 'not said'}) is not in the catalogue: an assumption"
    chosen, more = parts.models(names, index, catalog, origin)
    if not answers.models and found is None:
        chosen = replace(chosen, comment=origin, filled=True)
    gaps += more
    context = parts.context_of(parts.names_of(chosen), catalog)
    asked, answer, more = both_lengths(answers, index, _lengths(answers, used), context)
    gaps += more
    kind = parts.kind_of(chosen, catalog)
    if kind == "embedding":
        answer = Value("1", "an embedding has no answer; the engine counts the vector as one token")
        gaps[:] = [gap for gap in gaps if gap.path != f"request_classes.{index}.output_tokens"]
    ttft, tpot, e2e, more = parts.limits(answers, index, kind)
    gaps += more
    return ClassDraft(name, Value(share, "part of the export's requests"), asked, answer, chosen, ttft, tpot, kind, e2e)


def _lengths(answers: Answers, used: ModelUsage) -> tuple[Known | None, Known | None]:
    """What the user says of prompt and answer, else the means of the export, whose requests differ."""
    given, totals = stated(answers), (used.input_tokens, used.output_tokens)
    prompt, reply = (
        side if side is not None or total is None or not used.requests else Known(max(1.0, total / used.requests), "the export", True)
        for side, total in zip(given, totals, strict=True)
    )
    return prompt, reply


def _traffic(answers: Answers, usage: Usage, requests: float, gaps: list[Gap]) -> dict[str, Value]:
    """The export's volume as a week: users x conversations x turns is what a weekday has."""
    weekend, weekend_gap = parts.usual("weekend_factor", "traffic.weekend_factor")
    told = weekend_factor(usage)
    if told is None:
        gaps.append(weekend_gap)
    else:
        weekend = Value(f"{told:.4g}", "of the export")
    day, day_gap = parts.usual("day_shape", "traffic.day_shape")
    hours = hour_weights(usage)
    if hours is None:
        gaps.append(day_gap)
    else:
        day = Value("[" + ", ".join(f"{weight:.4f}" for weight in hours) + "]", "hours of the export (UTC)")
    weekday = requests / weekdays_covered(usage, float(weekend.text))
    rows = public.load().gaps
    turns = float(rows["turns_per_conversation"].value)
    per_user = float(rows["conversations_per_user"].value) * turns
    users = answers.users or weekday / per_user
    why = f"{parts.GIVEN}, users on a weekday" if answers.users else f"the export's requests at {per_user:g} a user and day"
    peak, peak_gap = parts.usual("peak_minute_factor", "traffic.peak_minute_factor")
    gaps.append(peak_gap)
    clock = {} if hours is None else {"utc_offset_h": Value("0", "the export's times are UTC; prices of the hour are counted on")}
    return {
        "daily_active_users": Value(parts.plain(users), why, filled=not answers.users),
        "conversations_per_user": Value(f"{weekday / users / turns:.7g}", "so that users x conversations x turns is the export's volume"),
        "turns_per_conversation": Value(f"{turns:g}", "only users x conversations x turns matters here", filled=True),
        "day_shape": day,
        "weekend_factor": weekend,
        "peak_minute_factor": peak,
        **clock,
    }


def weekdays_covered(usage: Usage, weekend: float) -> float:
    """Days of the export, a weekend day counting as `weekend` of a weekday; those of an average week where no date is known."""
    days = usage.span_s / DAY_S
    if usage.first_start_s < EPOCH:
        week = WEEKDAYS_A_WEEK + WEEKEND_DAYS_A_WEEK
        return days * (WEEKDAYS_A_WEEK + WEEKEND_DAYS_A_WEEK * weekend) / week
    buckets = round(usage.span_s / usage.width_s)
    starts: Floats = np.arange(buckets, dtype=np.float64) * usage.width_s + usage.first_start_s
    return float(np.where(weekday_of(starts) < WEEKDAYS_A_WEEK, 1.0, weekend).mean() * days)


def weekday_of(seconds: Floats) -> Longs:
    """0 (Monday) to 6 for seconds since 1970; 1 January 1970 was a Thursday.

    >>> weekday_of(np.array([0.0, 1_762_128_000.0])).tolist()
    [3, 0]
    """
    return ((seconds // DAY_S).astype(np.int64) + 3) % 7


def hour_weights(usage: Usage) -> list[float] | None:
    """Share of each hour of the day (UTC), where buckets are an hour or less and cover a day; None elsewhere."""
    if usage.width_s > 3600 or usage.span_s < DAY_S or usage.first_start_s < EPOCH:
        return None
    hour = ((usage.first_start_s + usage.start_s) % DAY_S // 3600).astype(int)
    sums = np.bincount(hour, usage.requests, HOURS)
    return None if sums.sum() <= 0 else (sums / sums.sum()).tolist()


def weekend_factor(usage: Usage) -> float | None:
    """Mean weekend day over mean weekday, where buckets are a day or less and cover a week; None elsewhere."""
    if usage.width_s > DAY_S or usage.span_s < 7 * DAY_S or usage.first_start_s < EPOCH:
        return None
    day = ((usage.first_start_s + usage.start_s) // DAY_S).astype(int)
    first = int(day.min())
    sums = np.bincount(day - first, usage.requests)
    weekday = weekday_of((np.arange(len(sums), dtype=np.float64) + first) * DAY_S)
    inside, outside = sums[weekday < WEEKDAYS_A_WEEK], sums[weekday >= WEEKDAYS_A_WEEK]
    return float(outside.mean() / inside.mean()) if len(inside) and len(outside) and inside.mean() > 0 else None
