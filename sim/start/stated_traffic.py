"""`traffic` of a new scenario where its volume was stated outright: a rate, a month's requests, users at once, a job."""

from __future__ import annotations

from sim.start import parts, public
from sim.start.answers import Answers
from sim.start.draft import Gap, Value

SHAPE_KEYS = ("day_shape", "weekend_factor", "peak_minute_factor")


def stated_traffic(answers: Answers, gaps: list[Gap]) -> dict[str, Value] | None:
    """The keys of `traffic` in the user's own words; None where only users, or nothing, was given."""
    if answers.job is not None and answers.deadline_s is not None:
        again = "" if answers.every_s is None else f", every: {answers.every_s / 3600:g}h"
        job = f"{{amount: {parts.plain(answers.job)}, deadline: {answers.deadline_s / 3600:g}h{again}}}"
        return {"job": Value(job, f"{parts.GIVEN}: {'each run' if again else 'done once,'} within the deadline")}
    if answers.rate_rps is not None:
        return {"rate_rps": Value(f"{answers.rate_rps:g}", f"{parts.GIVEN}, requests a second, the same in every hour")}
    if answers.requests_per_month is not None:
        month = Value(parts.plain(answers.requests_per_month), f"{parts.GIVEN}, requests in a month of 730 hours")
        return {"requests_per_month": month} | day_of(answers, gaps)
    if answers.concurrent is not None:
        return _concurrent(answers, gaps)
    return None


def _concurrent(answers: Answers, gaps: list[Gap]) -> dict[str, Value]:
    """A closed loop. With pauses it is people, who have a day; requests that are always open have none."""
    users = Value(parts.plain(answers.concurrent or 1.0), f"{parts.GIVEN}, users at once in the busiest hour")
    if answers.every_s is not None:
        pause = {"every_s": Value(f"{answers.every_s:g}", f"{parts.GIVEN}: each sends a request every so many seconds")}
    elif answers.think_time_s is not None:
        pause = {"think_time_s": Value(f"{answers.think_time_s:g}", f"{parts.GIVEN}: mean pause between an answer and the next request")}
    else:
        always = {"max_concurrency": Value(users.text, f"{parts.GIVEN}: so many requests are open at any time")}
        return always if answers.day_shape is None else {"max_concurrency": users} | day_of(answers, gaps)
    return {"concurrent_users": users} | pause | day_of(answers, gaps)


def day_of(answers: Answers, gaps: list[Gap]) -> dict[str, Value]:
    """Shape of the day, weekend and busiest minute: those of the mix where public traffic tells them, else the usual ones."""
    mix = public.load().mixes[answers.filling]
    own = {"day_shape": mix.day_shape, "weekend_factor": "" if mix.weekend_factor is None else f"{mix.weekend_factor:g}"}
    found = {}
    for key in SHAPE_KEYS:
        found[key], gap = parts.usual(key, f"traffic.{key}")
        if own.get(key):
            found[key] = Value(own[key], f"of {answers.filling} traffic; Azure LLM inference trace 2024 (CC-BY-4.0)", filled=True)
        if key == "day_shape" and answers.day_shape is not None:
            found[key] = Value(answers.day_shape, parts.GIVEN)
            continue
        gaps.append(gap)
    return found
